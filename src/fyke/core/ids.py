"""Identifiers: 63-bit and time-ordered inside, UUIDs outside, and keys made from text.

An id holds 41 bits of milliseconds since 2020 and 22 bits that count on from a random start, so that
ids made by one process ascend and those of several do not meet. Its public name is a version 8 UUID
that carries the same 63 bits: no second column, no second index.
"""

import secrets
from hashlib import blake2b
from itertools import count
from uuid import UUID

from fyke.core import clock

__all__ = ["from_public", "key16", "key63", "made_at", "new_id", "new_ids", "public"]

EPOCH_MS = 1_577_836_800_000
COUNTER_BITS = 22
COUNTER_MASK = (1 << COUNTER_BITS) - 1

_counter = count(secrets.randbits(COUNTER_BITS - 1))
_last_ms = 0


def new_id() -> int:
    """A fresh id, greater than every id this process has made within the counter's turn."""
    global _last_ms, _counter
    ms = clock.now() // 1000 - EPOCH_MS
    step = next(_counter)
    if step > COUNTER_MASK:  # the counter is spent: borrow the next millisecond
        _counter = count(secrets.randbits(COUNTER_BITS - 1))
        step = next(_counter)
        _last_ms = max(ms, _last_ms) + 1
    _last_ms = max(ms, _last_ms)
    return _last_ms << COUNTER_BITS | step


def new_ids(amount: int) -> list[int]:
    return [new_id() for _ in range(amount)]


def made_at(number: int) -> int:
    """When an id was made, in µs, to the millisecond."""
    return ((number >> COUNTER_BITS) + EPOCH_MS) * 1000


def public(number: int) -> str:
    """The UUID that names an id outside."""
    high48, low15 = number >> 15, number & 0x7FFF
    return str(UUID(int=high48 << 80 | 8 << 76 | (low15 >> 3) << 64 | 0b10 << 62 | (low15 & 7) << 59))


def from_public(name: str) -> int:
    """The id that a public UUID names; ValueError when it names none."""
    value = UUID(name).int
    number = (value >> 80) << 15 | (value >> 64 & 0xFFF) << 3 | value >> 59 & 7
    if public(number) != str(UUID(name)):
        raise ValueError(f"{name!r} is not an id of this system")
    return number


def key16(text: str) -> bytes:
    """A 16-byte key of a text: equal texts, equal keys."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def key63(text: str) -> int:
    """A positive 63-bit key of a text."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1
