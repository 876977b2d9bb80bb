"""Small files that survive a crash whole: the old content or the new, never a part."""

from __future__ import annotations

import os
import threading
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Replaces the file by rename, after its bytes are on disk; durable when this returns. Threads may do so
    at the same time."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    with beside.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    beside.rename(path)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
