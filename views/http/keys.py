"""Who may ask: a file with a line `name: key` or `name: sha256:<hex>` each; clients send `Authorization: Bearer KEY`.

Only hashes are kept in memory. Without a file there are no keys, and the server stays on the loopback interface.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from hmac import compare_digest
from ipaddress import ip_address
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request

from chronicle.errors import ChronicleError, UsageError

_HASHED = "sha256:"


def read_keys(path: Path) -> dict[str, bytes]:
    """Name -> SHA-256 of the key. Blank lines and lines that begin with # are passed over."""
    keys: dict[str, bytes] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise ChronicleError(f"{path} is not UTF-8 text", "a line is `name: key` or `name: sha256:<hex>`") from None
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, colon, key = (part.strip() for part in text.partition(":"))
        if not colon or not name or not key:
            raise ChronicleError(f"{path}:{number}: a line is `name: key` or `name: sha256:<hex>`")
        if name in keys:
            raise ChronicleError(f"{path}:{number}: the name '{name}' is there twice")
        keys[name] = _digest(key, f"{path}:{number}")
    if not keys:
        raise ChronicleError(f"{path} has no keys", "a line is `name: key` or `name: sha256:<hex>`")
    return keys


def _digest(key: str, where: str) -> bytes:
    if not key.startswith(_HASHED):
        return sha256(key.encode()).digest()
    try:
        digest = bytes.fromhex(key.removeprefix(_HASHED))
    except ValueError:
        digest = b""
    if len(digest) != sha256().digest_size:
        raise ChronicleError(f"{where}: sha256: is followed by 64 hexadecimal digits")
    return digest


class Guard:
    """A dependency of every route that shows or takes data."""

    def __init__(self, keys: Mapping[str, bytes] | None) -> None:
        self._keys = keys

    async def __call__(self, request: Request) -> None:
        if self._keys is None:
            return
        scheme, _, key = request.headers.get("Authorization", "").partition(" ")
        given = sha256(key.strip().encode("latin-1")).digest()  # headers come as Latin-1: their bytes again
        # Every key is compared, so that the time it takes does not tell which one nearly fitted.
        fits = [compare_digest(given, known) for known in self._keys.values()]
        if scheme.lower() != "bearer" or not any(fits):
            raise HTTPException(401, "a valid key is needed: Authorization: Bearer KEY", {"WWW-Authenticate": "Bearer"})


def require_loopback(host: str, keys: Mapping[str, bytes] | None) -> None:
    """Without keys anyone who reaches the port may read and append: then only this machine may reach it."""
    if keys is None and not _is_loopback(host):
        raise UsageError(f"{host} can be reached from other machines, and no keys are given", "add --keys FILE")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
