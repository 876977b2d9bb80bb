"""Where a state is kept: a directory, or a prefix of a bucket that speaks S3 (docs/delta.md, "On an object store").

Names are relative to the state, with slashes. What a machine has for itself (the writer's lock, Spark's log, indexes)
lies on a local disk in either case: `own` and `indexes`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from chronicle.errors import ChronicleError, UsageError

ACCEPTED = "a path, s3://BUCKET/PREFIX or s3a://BUCKET/PREFIX"


class StorageAwayError(ChronicleError):
    """The object store does not answer, or not to us."""


class Storage(Protocol):
    """Frozen, so that it travels to Spark's workers; as text it is the path or the URL."""

    @property
    def own(self) -> Path:
        """This machine's directory for the lock and for logs."""
        ...

    @property
    def indexes(self) -> Path:
        """This machine's directory for indexes that follow the state."""
        ...

    @property
    def glance(self) -> float:
        """Seconds for which an answer to what rarely changes is good enough: asking an object store costs."""
        ...

    @property
    def options(self) -> dict[str, str] | None:
        """What delta-rs is told beside the URL."""
        ...

    def named(self, name: str) -> str:
        """The path or the URL of something in it."""
        ...

    def exists(self) -> bool:
        """False where it is gone for certain; nothing is asked over a network."""
        ...

    def holds(self, folder: str) -> bool: ...

    def read(self, name: str) -> bytes:
        """FileNotFoundError where there is none."""
        ...

    def stamp(self, name: str) -> str | None:
        """Another one whenever the contents are others; None where there is none."""
        ...

    def update(self, name: str, change: Callable[[bytes | None], bytes]) -> None:
        """Replaces the contents (None: there are none) by what `change` makes of them, as a whole and durably. An
        object store takes that only while nobody else has replaced them; `change` is then asked again."""
        ...

    def source(self, name: str, size: int, *, whole: bool) -> AbstractContextManager[Any]:
        """Something that Arrow reads from. `whole`: most of it will be wanted."""
        ...

    def sink(self, name: str) -> AbstractContextManager[Any]:
        """Something that Arrow writes to; the file is there, durably, when the context is left."""
        ...

    def sync(self, folder: str) -> None:
        """Makes what delta-rs has put there durable."""
        ...

    def explained(self) -> AbstractContextManager[None]:
        """Around calls of delta-rs: raises StorageAwayError where the store fails them."""
        ...


def storage_at(stated: str | Path) -> Storage:
    """The storage at a path or URL; UsageError for a URL of a kind that is not known."""
    from views.state.bucket import Bucket
    from views.state.directory import Directory

    if isinstance(stated, Path) or "://" not in stated:
        return Directory.at(Path(stated))
    url = urlsplit(stated)
    match url.scheme:
        case "file":
            return Directory.at(Path(url.path))
        case "s3" | "s3a":
            if url.username is not None or url.password is not None:
                raise UsageError(
                    f"the URL of the state in the bucket {url.hostname} has credentials in it",
                    "take them out: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY give them",
                )
            if not url.netloc or url.query or url.fragment:
                raise UsageError(f"the state {stated} names no prefix of a bucket", f"give {ACCEPTED}")
            return Bucket.at(url.netloc, url.path)
        case _:
            raise UsageError(f"the state {url.scheme}://... is not on a storage that is known", f"give {ACCEPTED}")
