"""A real server that speaks S3, in a process of its own on loopback, for the tests of states in a bucket."""

from __future__ import annotations

import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from uuid import uuid4

import pytest
from obstore.store import S3Store

from chronicle.project import Project
from views.replica import indexes
from views.state.bucket import Bucket
from views.state.directory import Directory
from views.state.storage import Storage

ROOT = Path(__file__).parents[1]
BUCKET = "chronicle"
SECRET = "never-to-be-shown"


@dataclass(frozen=True, slots=True)
class ObjectStore:
    url: str

    @property
    def environment(self) -> dict[str, str]:
        """What every process that reads or writes there is given."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "chronicle",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }

    def harm(self, what: Literal["forbid", "lose"], name: str) -> None:
        """Lets the next write of an object of this name be refused, or be done and its answer lost."""
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/!harm/{what}/{name}", method="POST")).close()


@pytest.fixture(scope="session")
def _object_store() -> Iterator[ObjectStore]:
    process = subprocess.Popen([sys.executable, "-m", "tests.s3_server"], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        store = ObjectStore(process.stdout.readline().strip())
        urllib.request.urlopen(urllib.request.Request(f"{store.url}/{BUCKET}", method="PUT")).close()
        yield store
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def object_store(
    _object_store: ObjectStore, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ObjectStore]:
    """One server for all tests; this process, and what it starts, finds it in its environment."""
    local = {"CHRONICLE_LOCAL": str(tmp_path_factory.mktemp("local"))}
    for name, value in (_object_store.environment | local).items():
        monkeypatch.setenv(name, value)
    yield _object_store
    for key in [key for key in indexes._following if isinstance(key[1], Bucket)]:
        indexes._following.pop(key).stop()  # what lookups of this process have started follows as long as it lives


@pytest.fixture
def bucket_url(object_store: ObjectStore) -> str:
    """A prefix that no other test uses."""
    return f"s3://{BUCKET}/{uuid4().hex[:12]}/state"


Keep = Callable[[Project], Project]


@pytest.fixture(params=["directory", "bucket"])
def kept(request: pytest.FixtureRequest) -> Keep:
    """The project with its state in a directory, and again in a bucket."""
    if request.param == "directory":
        return lambda project: project
    url = request.getfixturevalue("bucket_url")
    return lambda project: Project(project.loaded, url)


def remove(home: Storage, names: str) -> None:
    """Everything under a folder of a state, or what matches a pattern (`folder/*.json`)."""
    folder, _, pattern = names.partition("/*")
    if isinstance(home, Directory):
        for path in (home.path / folder).rglob(f"*{pattern}"):
            if path.is_file():
                path.unlink()
        if not pattern:
            shutil.rmtree(home.path / folder)
        return
    store = S3Store.from_url(str(home))
    listed = [each["path"] for some in store.list(f"{folder}/") for each in some]
    store.delete([path for path in listed if path.endswith(pattern)])
