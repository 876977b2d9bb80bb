"""Kafka's numbers of variable length: zigzag, and seven bits a byte."""

from __future__ import annotations

MORE, SEVEN_BITS = 0x80, 0x7F


def varint(number: int) -> bytes:
    """Of numbers that are not negative."""
    left = number << 1
    written = bytearray()
    while left > SEVEN_BITS:
        written.append(left & SEVEN_BITS | MORE)
        left >>= 7
    written.append(left)
    return bytes(written)


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that begins at a place, and the place after it."""
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & SEVEN_BITS) << shift
        at, shift = at + 1, shift + 7
        if byte < MORE:
            return (number >> 1) ^ -(number & 1), at
