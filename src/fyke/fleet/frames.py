"""Frames on a stream: four bytes of length, then MessagePack.

A call is (number, method, arguments), an answer (number, "", result) or (number, error code, its message);
number 0 from the server says that there may be new work.
"""

import asyncio

import msgspec
from msgspec import Raw, Struct

from fyke.core.outcome import Outcome, Settled
from fyke.core.task import Batch, WorkerInfo
from fyke.engine.metrics import Tallies

__all__ = [
    "ANSWERS",
    "ARGUMENTS",
    "Answer",
    "Call",
    "decode",
    "decode_text",
    "encode",
    "read_frame",
    "write_frame",
]

MOST = 256 * 1024 * 1024


class Call(Struct, frozen=True, array_like=True):
    number: int
    method: str
    arguments: Raw


class Answer(Struct, frozen=True, array_like=True):
    number: int
    error: str
    result: Raw


ARGUMENTS: dict[str, msgspec.msgpack.Decoder[tuple[object, ...]]] = {
    "open_lease": msgspec.msgpack.Decoder(tuple[WorkerInfo]),
    "claim": msgspec.msgpack.Decoder(tuple[int, int]),
    "claim_suspect": msgspec.msgpack.Decoder(tuple[int]),
    "renew": msgspec.msgpack.Decoder(tuple[int]),
    "settle": msgspec.msgpack.Decoder(tuple[int, list[Outcome]]),
    "hand_back": msgspec.msgpack.Decoder(tuple[int, list[int]]),
    "close_lease": msgspec.msgpack.Decoder(tuple[int]),
    "report": msgspec.msgpack.Decoder(tuple[Tallies]),
}

ANSWERS: dict[str, msgspec.msgpack.Decoder[object]] = {
    "open_lease": msgspec.msgpack.Decoder(int),
    "claim": msgspec.msgpack.Decoder(Batch),
    "claim_suspect": msgspec.msgpack.Decoder(Batch),
    "settle": msgspec.msgpack.Decoder(Settled),
}

encode = msgspec.msgpack.Encoder().encode
decode_text = msgspec.msgpack.Decoder(str).decode


def decode(data: bytes, kind: type[Call] | type[Answer]) -> Call | Answer:
    return msgspec.msgpack.decode(data, type=kind)


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    """The next frame; IncompleteReadError at the end of the stream."""
    length = int.from_bytes(await reader.readexactly(4), "big")
    if length > MOST:
        raise ValueError(f"a frame of {length} bytes")
    return await reader.readexactly(length)


def write_frame(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(len(data).to_bytes(4, "big"))
    writer.write(data)
