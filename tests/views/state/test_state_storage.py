"""Storages of a Delta state: the same laws in a directory and in a bucket, and what only a bucket has to keep."""

from __future__ import annotations

import os
import pickle
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from chronicle.errors import ChronicleError, UsageError
from tests.object_store import SECRET, ObjectStore
from views.state import NoStateError, Slot, read_meta
from views.state.bucket import Bucket
from views.state.meta import new_meta, register_slots, replace_meta
from views.state.storage import Storage, StorageAwayError, storage_at


@pytest.fixture(params=["directory", "bucket"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return storage_at(tmp_path if request.param == "directory" else request.getfixturevalue("bucket_url"))


@pytest.fixture
def bucket(bucket_url: str) -> Storage:
    return storage_at(bucket_url)


def test_what_was_written_is_read_and_its_stamp_is_another_one(storage: Storage) -> None:
    assert storage.stamp("a.json") is None
    with pytest.raises(FileNotFoundError):
        storage.read("a.json")
    stamps = []
    for content in (b"one", b"other"):
        storage.update("a.json", lambda before, content=content: content)  # type: ignore[misc]
        assert storage.read("a.json") == content
        stamps.append(storage.stamp("a.json"))
    assert len({None, *stamps}) == 3


def test_a_change_is_made_of_what_is_there(storage: Storage) -> None:
    for count in range(3):
        storage.update("list", lambda before, count=count: (before or b"") + str(count).encode())  # type: ignore[misc]
    assert storage.read("list") == b"012"


def test_a_change_that_is_refused_leaves_what_is_there(storage: Storage) -> None:
    def refuse(before: bytes | None) -> bytes:
        raise ChronicleError("not so")

    storage.update("a", lambda before: b"kept")
    with pytest.raises(ChronicleError, match="not so"):
        storage.update("a", refuse)
    assert storage.read("a") == b"kept"


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("size", [1000, 9 << 20])  # fetched at once, and in ranges; sent at once, and in parts
def test_what_arrow_wrote_is_what_it_reads_wherever_it_looks(storage: Storage, size: int, whole: bool) -> None:
    content = os.urandom(size)
    with storage.sink("table/partial/file") as sink:
        sink.write(content[:10])
        sink.write(content[10:])
        assert sink.tell() == size
    assert storage.holds("table/partial")
    assert not storage.holds("table/part")
    with storage.source("table/partial/file", size, whole=whole) as source:
        file = source if isinstance(source, pa.NativeFile) else pa.PythonFile(source)
        file.seek(size - 100)
        assert file.read(500) == content[-100:]
        file.seek(5)
        assert file.read(90) == content[5:95]


def test_a_storage_travels_to_other_processes(storage: Storage) -> None:
    assert pickle.loads(pickle.dumps(storage)) == storage


def test_a_registry_that_another_job_has_changed_is_not_written_over(storage: Storage) -> None:
    with pytest.raises(NoStateError):
        read_meta(storage)
    meta = new_meta("bank", 2, "2026a", "delta")
    replace_meta(storage, None, meta)
    other = register_slots(meta, {"calls": 1})
    replace_meta(storage, meta, other)
    with pytest.raises(ChronicleError, match="another job has changed"):
        replace_meta(storage, meta, register_slots(meta, {"texts": 2}))
    with pytest.raises(ChronicleError, match="another job has changed"):
        replace_meta(storage, None, new_meta("bank", 2, "2026a", "delta"))
    assert read_meta(storage).slots == (Slot("calls", 0),)


def test_changes_at_once_are_made_one_after_another(bucket: Storage) -> None:
    def add() -> None:
        for _ in range(5):
            bucket.update("count", lambda before: str(int(before or b"0") + 1).encode())

    threads = [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bucket.read("count") == b"15"


def test_a_change_whose_answer_was_lost_is_made_once(bucket: Storage, object_store: ObjectStore) -> None:
    bucket.update("list", lambda before: b"a")
    object_store.harm("lose", "list")
    bucket.update("list", lambda before: before if before == b"ab" else (before or b"") + b"b")  # type: ignore[return-value]
    assert bucket.read("list") == b"ab"


def test_a_store_that_refuses_us_is_said_without_secrets(bucket: Storage, object_store: ObjectStore) -> None:
    object_store.harm("forbid", "meta.json")
    with pytest.raises(StorageAwayError) as refused:
        replace_meta(bucket, None, new_meta("bank", 2, "2026a", "delta"))
    said = f"{refused.value.message} {refused.value.hint}"
    assert str(bucket) in said
    assert "403" in said
    assert SECRET not in said


def test_a_bucket_that_is_not_there_is_said(object_store: ObjectStore) -> None:
    nowhere = storage_at("s3://nowhere/state")
    with pytest.raises(NoStateError):
        read_meta(nowhere)
    with pytest.raises(ChronicleError, match="there is no bucket nowhere"):
        replace_meta(nowhere, None, new_meta("bank", 2, "2026a", "delta"))


def test_both_schemes_name_the_same_place_and_other_slashes_do_not_matter(object_store: ObjectStore) -> None:
    assert storage_at("s3a://calls/a/b/") == storage_at("s3://calls/a/b") == Bucket("calls", "a/b")
    assert str(storage_at("s3a://calls/a/b/")) == "s3://calls/a/b"
    assert storage_at("s3://calls").named("meta.json") == "s3://calls/meta.json"


def test_credentials_in_a_url_are_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError, match="credentials") as refused:
        storage_at(f"s3a://chronicle:{SECRET}@calls/state")
    assert SECRET not in f"{refused.value.message} {refused.value.hint}"


def test_a_store_without_encryption_has_to_be_meant(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    with pytest.raises(UsageError, match="http://"):
        storage_at("s3://calls/state")


def test_states_in_buckets_have_places_of_their_own_on_a_machine(object_store: ObjectStore) -> None:
    owns = {storage_at(url).own for url in ("s3://a/b-c", "s3://a-b/c", "s3://a/b/c", "s3://a/b_c")}
    assert len(owns) == 4
