"""`POST /v1/chronicles/{name}`: what is answered with a token is in the journal as it was sent, and nothing else is."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator

import httpx
import pytest

from chronicle.journal import Journal
from tests.views.http.http_cases import MARCH, problem_of, served
from tests.views.lookup.lookup_cases import Calls, project_in
from views.http.bodies import MAX_BODY

CALLS = "/v1/chronicles/calls"
CALL = {"caller": "c1", "seconds": 60, "amount": "1.50", "at": MARCH}
EVENT = {"specversion": "1.0", "id": "1", "source": "/test", "type": "com.example.call", "data": CALL}


@pytest.fixture
def calls(tmp_path) -> Calls:
    return Calls(project_in(tmp_path))


@pytest.fixture
def http(calls: Calls) -> Iterator[httpx.Client]:
    with served(calls) as client:
        yield client


def journalled(calls: Calls) -> list[bytes]:
    path = calls.project.journal_path
    assert path is not None
    if not path.exists():
        return []
    with Journal.open(path, create=False) as journal:
        records = list(journal.read())
    assert all(dict(record.headers)["chronicle"] == b"calls" for record in records)
    return [record.value for record in records]


def test_a_tuple_is_appended_and_answered_with_its_token(calls: Calls, http: httpx.Client) -> None:
    assert http.post(CALLS, json=CALL).json() == {"token": "journal:0"}
    assert http.post(CALLS, json=CALL).json() == {"token": "journal:1"}
    assert [json.loads(value) for value in journalled(calls)] == [CALL, CALL]


def test_digits_are_kept_as_they_were_written(calls: Calls, http: httpx.Client) -> None:
    body = b'{"caller":"\xc3\xbc","seconds":1,"amount":12345678.10,"at":"2026-03-17T10:00:00Z"}'
    batch = b" [ " + body + b" ,\n" + body + b" ] "
    assert http.post(CALLS, content=batch, headers={"content-type": "application/json"}).status_code == 200
    assert journalled(calls) == [body, body]


@pytest.mark.parametrize(
    ("kind", "body", "appends"),
    [
        ("application/json", json.dumps([CALL, CALL, CALL]), 3),
        ("application/json; charset=utf-8", json.dumps(CALL), 1),
        ("application/json", json.dumps({"calls": [CALL, CALL]}), 1),
        ("application/json", json.dumps({"customers": [{"_op": "delete", "number": "c1"}]}), 1),
        ("application/cloudevents+json", json.dumps(EVENT), 1),
        ("application/cloudevents-batch+json", json.dumps([EVENT, EVENT]), 2),
        ("application/x-ndjson", f"{json.dumps(CALL)}\n\n{json.dumps(CALL)}\n", 2),
        ("application/x-www-form-urlencoded", json.dumps(CALL), 1),
    ],
)
def test_json_cloudevents_and_lines_are_taken_one_or_many(
    calls: Calls, http: httpx.Client, kind: str, body: str, appends: int
) -> None:
    answer = http.post(CALLS, content=body.encode(), headers={"content-type": kind})
    assert answer.json() == {"token": f"journal:{appends - 1}"}
    assert len(journalled(calls)) == appends


@pytest.mark.parametrize(
    ("kind", "body", "status", "said"),
    [
        ("application/json", b"{", 400, "the body is not JSON"),
        ("application/json", b"", 400, "the body is not JSON"),
        ("application/json", b"[", 400, "the body is not JSON"),
        ("application/json", b"[1,]", 400, "the body is not JSON"),
        ("application/json", b"{} {}", 400, "the body is not JSON"),
        ("application/json", b"\xff", 400, "the body is not UTF-8"),
        ("application/json", b"[" * 200_000, 400, "the body is not JSON"),
        ("application/json", b"[]", 400, "nothing to append"),
        ("application/x-ndjson", b"\n\n", 400, "nothing to append"),
        ("application/json", b"5", 422, "the body is not a JSON object"),
        ("application/json", b"null", 422, "the body is not a JSON object"),
        ("application/json", b"{}", 422, "caller: missing"),
        ("application/json", json.dumps(CALL | {"amount": "1.505"}).encode(), 422, "amount"),
        ("application/json", json.dumps(CALL | {"at": "2026-03-17T10:00:00"}).encode(), 422, "has no offset"),
        ("application/json", json.dumps(CALL | {"caller": "\ud800"}).encode(), 422, "surrogate"),
        ("application/json", json.dumps([CALL, CALL | {"seconds": "x"}]).encode(), 422, "append 1: seconds"),
        ("application/json", json.dumps({"visits": [CALL]}).encode(), 422, "unknown chronicle 'visits'"),
        ("application/cloudevents+json", json.dumps(EVENT | {"data": 5}).encode(), 422, "data is not a JSON object"),
        (
            "application/cloudevents+json",
            b'{"specversion": "1.0", "type": "t", "data_base64": "e30="}',
            422,
            "data_base64",
        ),
        ("application/cloudevents-batch+json", b'[{"specversion": "1.0", "type": "t"}]', 422, "has no data"),
        ("application/cloudevents+json", json.dumps(CALL).encode(), 422, "has no specversion"),
        ("application/cloudevents+json", b"[5]", 422, "not a JSON object"),
        ("text/plain", b"{}", 415, "'text/plain' is not a type of append"),
        ("application/json", b" " * (MAX_BODY + 1), 413, "at most 16 MB"),
    ],
)
def test_what_is_malformed_is_a_problem_and_nothing_of_it_is_appended(
    calls: Calls, http: httpx.Client, kind: str, body: bytes, status: int, said: str
) -> None:
    answer = http.post(CALLS, content=body, headers={"content-type": kind})
    assert said in problem_of(answer, status)["detail"]
    assert journalled(calls) == []


def test_an_unknown_chronicle_is_404_and_a_relation_is_told_how(http: httpx.Client) -> None:
    found = problem_of(http.post("/v1/chronicles/call", json=CALL), 404)
    assert found["detail"] == "there is no chronicle 'call'; did you mean 'calls'?"
    assert "envelope" in problem_of(http.post("/v1/chronicles/customers", json={}), 404)["hint"]
    problem_of(http.get(CALLS), 405)


def test_a_page_of_another_site_cannot_append_through_somebodys_browser(calls: Calls, http: httpx.Client) -> None:
    problem_of(http.post(CALLS, json=CALL, headers={"origin": "https://elsewhere.example"}), 403)
    assert journalled(calls) == []
    own = f"http://{http.base_url.host}:{http.base_url.port}"
    assert http.post(CALLS, json=CALL, headers={"origin": own}).status_code == 200


def test_a_huge_batch_of_keys_is_413(http: httpx.Client) -> None:
    problem_of(http.post("/v1/views/usage/batch", content=b" " * (MAX_BODY + 1)), 413)


def test_a_coded_body_is_refused_as_such(calls: Calls, http: httpx.Client) -> None:
    answer = http.post(CALLS, content=gzip.compress(json.dumps(CALL).encode()), headers={"content-encoding": "gzip"})
    assert "gzip" in problem_of(answer, 415)["detail"]
    assert journalled(calls) == []
