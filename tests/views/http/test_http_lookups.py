"""Contract §5 over a real connection: lookups, batches, the ledger, and every wrong question answered by a problem."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import httpx
import pytest

from tests.views.http.http_cases import MARCH, filled, problem_of, served
from tests.views.lookup.lookup_cases import DEFINITION, Calls, project_in

USAGE = "/v1/views/usage"


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Calls:
    return filled(Calls(project_in(tmp_path_factory.mktemp("http"))))


@pytest.fixture(scope="module")
def http(calls: Calls) -> Iterator[httpx.Client]:
    with served(calls) as client:
        yield client


def test_the_views_are_listed_with_their_columns(http: httpx.Client) -> None:
    listed = {view["name"]: view for view in http.get("/v1/views").json()["views"]}
    assert list(listed) == ["totals", "usage", "moving", "cycles", "everyone"]
    usage = listed["usage"]
    assert (usage["class"], usage["calendar"]) == ("SCA1", "month")
    assert usage["key"] == [{"name": "caller", "type": "string", "nullable": False}]
    assert [column["name"] for column in usage["values"]] == [
        "calls", "seconds", "spend", "minutes", "discount", "due",
    ]  # fmt: skip


def test_a_row_has_the_shape_of_the_contract(http: httpx.Client) -> None:
    answer = http.get(USAGE, params={"caller": "c1"})
    assert answer.headers["content-type"] == "application/json"
    row = answer.json()
    age = row["as_of"].pop("age_ms")
    assert isinstance(age, int)
    assert row == {
        "view": "usage",
        "key": {"caller": "c1"},
        "period": {
            "label": "2026-03",
            "start": "2026-03-01T00:00:00Z",
            "end": "2026-04-01T00:00:00Z",
            "state": "open",
        },
        "values": {
            "calls": 1, "seconds": 4120, "spend": "31.40", "minutes": "68.7", "discount": "6.28", "due": "25.12",
        },
        "as_of": {"clock": MARCH, "offsets": {"journal": {"0": 7}}},
    }  # fmt: skip
    assert list(row) == ["view", "key", "period", "values", "as_of"]


def test_a_period_is_chosen_by_instant_label_or_all(http: httpx.Client) -> None:
    def seconds(**options: str) -> int:
        return http.get(USAGE, params={"caller": "c1", **options}).json()["values"]["seconds"]

    assert seconds(at="2026-02-28T23:59:59Z") == 120
    assert seconds(at="2026-02-28T19:00:00-05:00") == 4120
    assert seconds(period="2026-01") == 60
    rows = http.get(USAGE, params={"caller": "c1", "all": "true"}).json()["rows"]
    assert [(row["period"]["label"], row["values"]["seconds"]) for row in rows] == [
        ("2026-01", 60), ("2026-02", 120), ("2026-03", 4120),
    ]  # fmt: skip
    assert http.get(USAGE, params={"caller": "c1", "all": "false"}).json()["values"]["seconds"] == 4120


def test_views_without_periods_without_keys_with_panes_and_with_keyed_calendars_answer(http: httpx.Client) -> None:
    total = http.get("/v1/views/totals?caller=c1").json()
    assert (total["period"], total["values"]) == (None, {"calls": 3, "seconds": 4300})
    assert http.get("/v1/views/everyone").json()["values"] == {"calls": 4}
    moving = http.get("/v1/views/moving?caller=c1").json()
    assert (moving["period"]["label"], moving["values"]) == ("2026-03-15/P3D", {"seconds": 4120})
    cycle = http.get("/v1/views/cycles?caller=c1").json()
    assert (cycle["period"]["label"], cycle["values"]) == ("2026-03-10", {"calls": 1})


def test_a_key_may_hold_any_text(http: httpx.Client) -> None:
    row = http.get(USAGE, params={"caller": "a=b & ü/☎"}).json()
    assert (row["key"], row["values"]["seconds"]) == ({"caller": "a=b & ü/☎"}, 7)


def test_a_batch_answers_in_order_with_null_where_there_is_no_row(http: httpx.Client) -> None:
    rows = http.post(f"{USAGE}/batch", json={"keys": [{"caller": "c1"}, "nobody", "a=b & ü/☎"]}).json()["rows"]
    assert [row and row["values"]["seconds"] for row in rows] == [4120, None, 7]
    january = http.post(f"{USAGE}/batch", json={"keys": ["c1"], "period": "2026-01"}).json()["rows"]
    assert january[0]["period"]["label"] == "2026-01"
    assert http.post(f"{USAGE}/batch", json={"keys": []}).json() == {"rows": []}


def test_the_ledger_has_counts_and_reasons(http: httpx.Client) -> None:
    ledger = http.get("/v1/ledger").json()
    assert ledger["fates"] == {
        "applied": 5, "duplicate": 0, "late": 1, "future": 0, "retroactive": 0, "malformed": 1,
    }  # fmt: skip
    assert ledger["quarantine"] == [
        {"sn": 10 << 12, "fate": "late", "reason": "the period 2026-01 is closed", "body": "{}", "view": "usage"},
        {"sn": 9 << 12, "fate": "malformed", "reason": "seconds: missing", "body": '{"caller": "ü"}', "view": None},
    ]
    assert [each["fate"] for each in http.get("/v1/ledger?fate=malformed").json()["quarantine"]] == ["malformed"]
    assert http.get("/v1/ledger?limit=0").json()["quarantine"] == []


def test_after_a_token_the_answer_reflects_it_or_is_503_with_retry_after(calls: Calls, http: httpx.Client) -> None:
    assert http.get(USAGE, params={"caller": "c1", "after": "journal:3", "wait": "0s"}).status_code == 200
    late = http.get(USAGE, params={"caller": "c1", "after": f"journal:{calls.offset}", "wait": "10ms"})
    problem_of(late, 503)
    assert int(late.headers["retry-after"]) >= 1
    batch = http.post(f"{USAGE}/batch", json={"keys": ["c1"], "after": f"journal:{calls.offset}", "wait": "10ms"})
    assert problem_of(batch, 503)["detail"] == f"the append journal:{calls.offset} is not in the views yet"


def test_a_waiting_lookup_answers_as_soon_as_the_epoch_is_committed_and_holds_up_nobody(
    calls: Calls, http: httpx.Client
) -> None:
    answers: list[httpx.Response] = []
    token = f"journal:{calls.offset}"
    waiting = threading.Thread(
        target=lambda: answers.append(http.get(USAGE, params={"caller": "waits", "after": token, "wait": "30s"}))
    )
    waiting.start()
    assert http.get("/live").status_code == 200
    calls.call("waits", MARCH, seconds=1).commit()
    waiting.join(30)
    assert answers[0].json()["values"]["calls"] == 1


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/v1/views/usag?caller=c1", 404, "there is no view 'usag'; did you mean 'usage'?"),
        ("/v1/views/usage?caller=nobody", 404, "view usage has no row for caller=nobody"),
        ("/v1/views/usage?caller=c1&period=2026-04", 404, "no row"),
        ("/v1/views/cycles?caller=nobody", 404, "no row"),
        ("/v1/views/usage", 400, "the key of view usage needs caller"),
        ("/v1/views/usage?calller=c1", 400, "did you mean 'caller'"),
        ("/v1/views/usage?caller=c1&seconds=1", 400, "no key column 'seconds'"),
        ("/v1/views/usage?caller=c1&caller=c2", 400, "given twice"),
        ("/v1/views/usage?caller=c1&period=March", 400, "March"),
        ("/v1/views/usage?caller=c1&period=", 400, "period"),
        ("/v1/views/usage?caller=c1&at=yesterday", 400, "yesterday"),
        ("/v1/views/usage?caller=c1&at=2026-03-01T00:00:00", 400, "offset"),
        ("/v1/views/usage?caller=c1&at=2026-03-01T00:00:00Z&period=2026-03", 400, "not both"),
        ("/v1/views/usage?caller=c1&all=true&period=2026-03", 400, "one of at, period and all"),
        ("/v1/views/usage?caller=c1&all=perhaps", 400, "neither true nor false"),
        ("/v1/views/totals?caller=c1&period=2026-03", 400, "view totals has no periods"),
        ("/v1/views/usage?caller=c1&after=soon", 400, "is not a token"),
        ("/v1/views/usage?caller=c1&after=calls-0:1", 400, "not of this group"),
        ("/v1/views/usage?caller=c1&wait=long", 400, "is not a time to wait"),
        ("/v1/ledger?fate=lost", 400, "there is no fate 'lost'"),
        ("/v1/ledger?limit=-1", 400, "limit"),
        ("/v1/ledger?limit=many", 400, "limit"),
        ("/v1/nothing", 404, "/v1/nothing"),
    ],
)
def test_a_wrong_question_is_a_problem_that_says_what_is_wrong(
    http: httpx.Client, path: str, status: int, said: str
) -> None:
    assert said in problem_of(http.get(path), status)["detail"]


def test_an_instant_beyond_the_calendar_is_no_row_or_a_problem(http: httpx.Client) -> None:
    for at in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-23:00"):
        for view in ("usage", "moving", "cycles"):
            answer = http.get(f"/v1/views/{view}", params={"caller": "c1", "at": at})
            assert answer.status_code in (400, 404, 410), (view, at, answer.text)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "the body is no batch"),
        (b"{", "the body is no batch"),
        (b"\xff", "the body is no batch"),
        (b'{"keys": "c1"}', "keys: Input should be a valid array"),
        (b"[]", "the body is no batch"),
        (b'{"keys": [], "key": 1}', "key: Extra inputs are not permitted"),
        (b'{"keys": [5]}', "caller = 5 is no string"),
        (b'{"keys": [["c1"]]}', "is no string"),
        (b'{"keys": [{"caller": {}}]}', "is no string"),
        (b'{"keys": ["c1"], "at": 5}', "at: Input should be a valid string"),
        (b'{"keys": ["\\ud800"]}', ""),
        (b'{"keys": ' + b"[" * 100_000, "the body is no batch"),
    ],
)
def test_a_wrong_batch_is_a_problem(http: httpx.Client, body: bytes, said: str) -> None:
    answer = http.post(f"{USAGE}/batch", content=body, headers={"content-type": "application/json"})
    assert said in problem_of(answer, 400)["detail"]


def test_methods_that_a_path_does_not_have_are_405(http: httpx.Client) -> None:
    for method, path in (("POST", USAGE), ("DELETE", "/v1/views"), ("GET", f"{USAGE}/batch"), ("PUT", "/v1/ledger")):
        problem_of(http.request(method, path), 405)


def test_an_expired_period_is_gone(tmp_path) -> None:
    calls = filled(Calls(project_in(tmp_path))).call("c1", "2026-05-01T00:00:00Z").commit()
    with served(calls) as http:
        gone = problem_of(http.get(USAGE, params={"caller": "c1", "period": "2026-01"}), 410)
        assert gone["detail"] == "the period 2026-01 of view usage is expired"
        problem_of(http.get(USAGE, params={"caller": "nobody", "at": "2026-01-05T00:00:00Z"}), 410)


def test_a_refused_view_and_a_view_that_the_job_has_not_met_are_told_apart(tmp_path) -> None:
    calls = filled(Calls(project_in(tmp_path)))
    bad = "  bad: {sql: 'SELECT caller, median(seconds) AS m FROM calls GROUP BY caller'}\n"
    fresh = "  fresh: {from: calls, select: {n: count(*)}}\n"
    calls.project = project_in(tmp_path, DEFINITION + bad + fresh)
    with served(calls) as http:
        assert problem_of(http.get("/v1/views/bad"), 409)["faults"]
        problem_of(http.get("/v1/views/fresh"), 404)
        assert http.get(USAGE, params={"caller": "c1"}).status_code == 200


def test_keys_of_other_types_are_read_from_the_query_and_refused_where_they_are_none(tmp_path) -> None:
    text = DEFINITION.replace("views:\n", 'views:\n  by: {from: calls, group_by: [seconds, amount, at], '
                              'select: {n: count(*)}}\n')  # fmt: skip
    calls = Calls(project_in(tmp_path, text)).call("c1", MARCH, seconds=60, amount=150)
    calls.views = {name: view for name, view in calls.views.items() if name != "by"}
    calls.commit()
    with served(calls) as http:
        good = {"key.seconds": "60", "amount": "1.50", "key.at": MARCH}
        problem_of(http.get("/v1/views/by", params=good), 404)
        for wrong in (
            {"key.seconds": "x"}, {"key.seconds": "9" * 30}, {"key.seconds": "1_0"}, {"amount": "1.505"},
            {"amount": "NaN"}, {"amount": "1e999999999"}, {"amount": "-1e99"}, {"key.at": "2026"}, {"key.at": "5"},
        ):  # fmt: skip
            problem_of(http.get("/v1/views/by", params={**good, **wrong}), 400)


def test_a_row_whose_key_is_null_is_asked_for_by_its_name(tmp_path) -> None:
    calls = Calls(project_in(tmp_path, DEFINITION.replace("caller: string", "caller: string?")))
    calls.call(None, MARCH, seconds=7).call("null", MARCH, seconds=8).commit()
    with served(calls) as http:
        assert http.get("/v1/views/totals?null=caller").json()["key"] == {"caller": None}
        assert http.get("/v1/views/totals?caller=null").json()["key"] == {"caller": "null"}
        assert (
            "caller=null" in problem_of(http.get("/v1/views/moving?null=caller&at=2020-01-01T00:00:00Z"), 404)["detail"]
        )
        problem_of(http.get("/v1/views/totals?null=caller&caller=c1"), 400)
        problem_of(http.get("/v1/views/totals?null=number"), 400)
