"""A state under a prefix of a bucket: any store that speaks S3 and knows conditional writes (If-None-Match, If-Match).

obstore is the same Rust crate that delta-rs reads and commits with, so both find endpoint, region and credentials in
the same AWS_* variables, in a web identity or in an instance's metadata. Nothing of these is kept or shown here.
"""

from __future__ import annotations

import io
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from deltalake.exceptions import CommitFailedError, DeltaError
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

from chronicle.errors import ChronicleError, UsageError
from views.state.storage import StorageAwayError

if TYPE_CHECKING:
    from obstore import WritableFile
    from obstore.store import S3Store

_PATIENCE = timedelta(seconds=30)
"""How long a request is tried again before the store counts as away."""

_RETRIES = 8
_LITTLE = 256 << 10
_MUCH = 64 << 20
"""Up to so many bytes a file is fetched with one request where some, or most, of it is wanted."""

_BUFFER = 8 << 20
_ATTEMPTS = 20
_SIGNS = re.compile(r"\x1b\[[0-9;]*m")
_TRIED = re.compile(r" in [0-9.]+[nµm]?s(, after .*?)? +- ")
"""How long it took, which is another time at every time, and how often it was tried."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """`prefix` has no slash at either end, and may be empty."""

    bucket: str
    prefix: str

    @classmethod
    def at(cls, bucket: str, prefix: str) -> Bucket:
        endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
        if endpoint.startswith("http://") and os.environ.get("AWS_ALLOW_HTTP", "").lower() not in ("1", "true"):
            raise UsageError(
                "AWS_ENDPOINT_URL begins with http://: what is sent there could be read on the way",
                "set AWS_ALLOW_HTTP=true where that is meant, or give an https:// URL",
            )
        return cls(bucket, prefix.strip("/"))

    def __str__(self) -> str:
        return self.named("").rstrip("/")

    @property
    def own(self) -> Path:
        """The lock in it keeps two jobs on one machine apart; terms do the rest."""
        given, cache = os.environ.get("CHRONICLE_LOCAL"), os.environ.get("XDG_CACHE_HOME")
        root = Path(given) if given else (Path(cache) if cache else Path.home() / ".cache") / "chronicle" / "states"
        digest = sha256(str(self).encode()).hexdigest()[:8]
        name = re.sub(r"[^A-Za-z0-9.-]+", "-", f"{self.bucket}-{self.prefix}".rstrip("-"))[-80:]
        return root.absolute() / socket.gethostname() / f"{name}-{digest}"

    @property
    def indexes(self) -> Path:
        return self.own / "indexes"

    @property
    def glance(self) -> float:
        return 1.0

    @property
    def options(self) -> dict[str, str]:
        """A commit is a write on condition that there is no such version: never a rename, which S3 does not have."""
        patience = f"{_PATIENCE.total_seconds():.0f}s"
        return {"conditional_put": "etag", "max_retries": str(_RETRIES), "retry_timeout": patience}

    def named(self, name: str) -> str:
        return f"s3://{'/'.join(part for part in (self.bucket, self.prefix, name) if part)}"

    def exists(self) -> bool:
        return True

    def holds(self, folder: str) -> bool:
        with self._asked():
            return any(self._store.list(f"{folder}/", chunk_size=1))

    def read(self, name: str) -> bytes:
        with self._asked():
            return bytes(self._store.get(name).bytes())

    def stamp(self, name: str) -> str | None:
        try:
            with self._asked():
                return self._store.head(name)["e_tag"]
        except FileNotFoundError:
            return None

    def update(self, name: str, change: Callable[[bytes | None], bytes]) -> None:
        with self._asked():
            for _ in range(_ATTEMPTS):
                before, stamp = self._held(name)
                content = change(before)
                if content == before:
                    return  # among others what we wrote ourselves, and were not told
                try:
                    self._store.put(name, content, mode="create" if before is None else {"e_tag": stamp})
                except (AlreadyExistsError, PreconditionError):
                    continue
                except FileNotFoundError:
                    raise ChronicleError(
                        f"there is no bucket {self.bucket}", "make it, or name another with --state"
                    ) from None
                return
        raise ChronicleError(f"{self.named(name)} is being changed again and again", "let only one job have the state")

    def _held(self, name: str) -> tuple[bytes | None, str | None]:
        try:
            found = self._store.get(name)
        except FileNotFoundError:
            return None, None
        return bytes(found.bytes()), found.meta["e_tag"]

    @contextmanager
    def source(self, name: str, size: int, *, whole: bool) -> Iterator[Any]:
        if size <= (_MUCH if whole else _LITTLE):
            yield pa.BufferReader(self.read(name))
        else:
            with self._asked():
                yield pa.PythonFile(_Ranges(self._store, name, size), mode="r")

    @contextmanager
    def sink(self, name: str) -> Iterator[Any]:
        import obstore

        with self._asked(), obstore.open_writer(self._store, name, buffer_size=_BUFFER) as writer:
            yield _Upload(writer)

    def sync(self, folder: str) -> None:
        """What a store has acknowledged is durable."""

    @contextmanager
    def explained(self) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, CommitFailedError):
            raise
        except (DeltaError, OSError) as error:
            raise self._away(error) from error

    @contextmanager
    def _asked(self) -> Iterator[None]:
        try:
            yield
        except BaseError as error:
            raise self._away(error) from error

    def _away(self, error: Exception) -> StorageAwayError:
        return StorageAwayError(
            f"the object store failed a request for {self}: {_gist(error)}",
            "are AWS_ENDPOINT_URL, AWS_REGION and the credentials in AWS_* right, and is the bucket there?",
        )

    @property
    def _store(self) -> S3Store:
        return _opened(os.getpid(), str(self))


@lru_cache
def _opened(process: int, url: str) -> S3Store:
    from obstore.store import S3Store

    return S3Store.from_url(url, retry_config={"max_retries": _RETRIES, "retry_timeout": _PATIENCE})


class _Upload(io.RawIOBase):
    """A file that Arrow can write to: obstore's own has no position."""

    def __init__(self, writer: WritableFile) -> None:
        self._writer, self._written = writer, 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._written

    def write(self, content: Any) -> int:
        self._written += (size := self._writer.write(content))
        return size


class _Ranges(io.RawIOBase):
    """A file of which only what is read is fetched, each read with one request: Arrow asks for a footer, then for
    column chunks."""

    def __init__(self, store: S3Store, name: str, size: int) -> None:
        self._store, self._name, self._size, self._at = store, name, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._at + size, self._size)
        if end <= self._at:
            return b""
        content = bytes(self._store.get_range(self._name, start=self._at, end=end))
        self._at = end
        return content


def _gist(error: Exception) -> str:
    """The first line of what obstore says, the last of what delta-rs does; both tell more for their own authors."""
    lines = [_SIGNS.sub("", line).strip().removeprefix("↳ ") for line in str(error).splitlines()]
    told = [line for line in lines if line] or [type(error).__name__]
    gist = f"{told[0]}: {told[-1]}" if isinstance(error, OSError | DeltaError) and len(told) > 1 else told[0]
    return _TRIED.sub(": ", gist)
