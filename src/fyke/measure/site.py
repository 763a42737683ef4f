"""The pages of `pages`, served from a process of its own: `python -m fyke.measure.site`.

It writes prepared bytes and does next to nothing else, so that it is never what limits a crawl. It listens
on loopback, prints its address, and ends when its standard input does: with whoever started it. Besides
the pages there is `/sitemap-N.xml`, the index of as many URLs over them in gzip'd sitemaps.
"""

import asyncio
import gzip
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

from fyke.core.errors import FykeError
from fyke.measure import pages

__all__ = ["serving", "sitemap"]

MOST = 50_000  # entries of a sitemap
XML = '<?xml version="1.0" encoding="UTF-8"?>\n'
NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
STOP_SECONDS = 10


@contextmanager
def serving() -> Iterator[str]:
    """Start the server; its address."""
    command = [sys.executable, "-m", "fyke.measure.site"]
    process = subprocess.Popen(  # noqa: S603 - our own
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0,  # Ctrl-C is for whoever started it, who ends it
    )
    assert process.stdin is not None  # noqa: S101 - for the types
    assert process.stdout is not None  # noqa: S101
    try:
        address = process.stdout.readline().decode().strip()
        if not address:
            raise FykeError("the page server did not start")
        yield address
    finally:
        process.stdin.close()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def sitemap(base: str, urls: int) -> str:
    """The address of the sitemap with that many URLs."""
    return f"{base}/sitemap-{urls}.xml"


class Site:
    """What is served: paths without their query, and the whole answers."""

    def __init__(self) -> None:
        self.base = ""
        self.answers = {f"/p/{n:04d}.html": _answer(pages.page(n).encode()) for n in range(pages.COUNT)}
        self.answers["/robots.txt"] = _answer(b"User-agent: *\nDisallow: /cart\nAllow: /\n", "text/plain")

    def answer(self, path: str) -> bytes:
        found = self.answers.get(path.partition("?")[0])
        if found is not None:
            return found
        try:
            name, *numbers = path.removesuffix(".gz").removesuffix(".xml").split("-")
            if name == "/sitemap":
                return _answer(self._index(*map(int, numbers)), "application/xml")
            if name == "/part":
                return _answer(gzip.compress(self._part(*map(int, numbers)), 1), "application/gzip")
        except (TypeError, ValueError):
            pass
        return _answer(b"not here", status="404 Not Found")

    def _index(self, urls: int) -> bytes:
        parts = "".join(
            f"<sitemap><loc>{self.base}/part-{start}-{min(MOST, urls - start)}.xml.gz</loc></sitemap>\n"
            for start in range(0, urls, MOST)
        )
        return f'{XML}<sitemapindex xmlns="{NAMESPACE}">\n{parts}</sitemapindex>\n'.encode()

    def _part(self, start: int, count: int) -> bytes:
        places = range(start, start + min(count, MOST))
        entries = "".join([f"<url><loc>{pages.url(self.base, place)}</loc></url>\n" for place in places])
        return f'{XML}<urlset xmlns="{NAMESPACE}">\n{entries}</urlset>\n'.encode()


def _answer(body: bytes, kind: str = "text/html; charset=utf-8", status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Connection(asyncio.Protocol):
    """Answers GET after GET, and closes on anything else."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.waiting = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.waiting += data
        while b"\r\n\r\n" in self.waiting:
            head, _, self.waiting = self.waiting.partition(b"\r\n\r\n")
            words = head.decode("latin-1").split(" ", 2)
            if words[0] != "GET" or len(words) < 3:
                self.transport.close()
                return
            self.transport.write(self.site.answer(words[1]))


async def _serve() -> None:
    loop, ended, site = asyncio.get_running_loop(), asyncio.Event(), Site()
    server = await loop.create_server(lambda: Connection(site), "127.0.0.1", 0, backlog=1024)
    site.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    print(site.base, flush=True)
    loop.add_reader(sys.stdin, ended.set)
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(_serve())
