"""How much came over a connection, by the kernel's own count.

libcurl tells of a body without its framing: what a server hides in the framing (the extensions of chunks,
say) is seen here alone. To ask costs a microsecond or two, and is for looks from time to time.
"""

from socket import AF_INET, IPPROTO_TCP, SOCK_STREAM, socket
from struct import Struct
from sys import platform
from typing import Final

__all__ = ["received"]

TCP_INFO: Final = 11
SIZE: Final = 136
BYTES_RECEIVED: Final = Struct(f"={SIZE - 8}xQ")  # tcpi_bytes_received, there since Linux 4.1


def received(fd: int) -> int | None:
    """The bytes that a TCP socket has received in all; None where that cannot be told."""
    if fd < 0 or platform != "linux":
        return None
    borrowed = None
    try:
        borrowed = socket(AF_INET, SOCK_STREAM, IPPROTO_TCP, fd)
        told = borrowed.getsockopt(IPPROTO_TCP, TCP_INFO, SIZE)
    except OSError:  # closed meanwhile
        return None
    finally:
        if borrowed is not None:
            borrowed.detach()  # it is libcurl's to close
    return int(BYTES_RECEIVED.unpack(told)[0]) if len(told) == SIZE else None
