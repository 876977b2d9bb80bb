"""A message's bytes to one JSON object, exactly: nothing is rounded, repaired or guessed."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from chronicle.appends.values import NumberText

Body = dict[str, Any]

_LONGEST_INTEGER = 400
"""Digits; beyond the range of double in any case, and below the limit that Python puts on the length of an integer."""


class Malformed(Exception):  # noqa: N818  # named as the ledger names the fate
    """The append is malformed; `reason` says why, for the ledger."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def parse_body(value: bytes | None) -> Body:
    if value is None:
        raise Malformed("the message has no value")
    try:
        text = value.decode()
    except UnicodeDecodeError as error:
        raise Malformed(f"the body is not UTF-8 (byte {error.start})") from None
    if text.startswith("\ufeff"):
        raise Malformed("the body begins with a byte order mark")
    try:
        body = _parse(text)
    except json.JSONDecodeError as error:
        raise Malformed(f"the body is not JSON: {error.msg} at character {error.pos + 1}") from None
    except RecursionError:
        raise Malformed("the body is nested too deeply") from None
    if not isinstance(body, dict):
        raise Malformed("the body is not a JSON object")
    if "\\u" in text:
        _refuse_lone_surrogates(body)
    return body


def _parse(text: str) -> object:
    """`decode` skips white space at both ends by regular expression; most bodies have none."""
    if text.startswith("{"):
        body, end = _DECODER.raw_decode(text)
        if end == len(text):
            return body
    return _DECODER.decode(text)


def _refuse_lone_surrogates(value: object) -> None:
    """Half of a character pair has no UTF-8, so it could be neither stored nor answered."""
    match value:
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise Malformed("the body has half of a surrogate pair in a string") from None
        case dict():
            for key, item in value.items():
                _refuse_lone_surrogates(key)
                _refuse_lone_surrogates(item)
        case list():
            for item in value:
                _refuse_lone_surrogates(item)
        case _:
            pass


def _object(pairs: list[tuple[str, Any]]) -> Body:
    body = dict(pairs)
    if len(body) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for at, name in enumerate(names) if name in names[:at])
        raise Malformed(f"the field '{twice}' is there twice")
    return body


def _integer(text: str) -> int | NumberText:
    return int(text) if len(text) <= _LONGEST_INTEGER else NumberText(text)


def _constant(text: str) -> NoReturn:
    raise Malformed(f"the body is not JSON: {text} is not a JSON value")


_DECODER = json.JSONDecoder(
    parse_float=NumberText, parse_int=_integer, parse_constant=_constant, object_pairs_hook=_object
)
