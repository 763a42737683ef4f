"""The upper bound: a bare keep-alive client that runs Fyke's extraction on each page and keeps nothing.

No robots, no guard, no queue, no result. Runs in Fyke's own environment; prints one JSON object.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import httptools
import uvloop

from fyke.extract import extract

LIMIT_SECONDS = 120


class Client(asyncio.Protocol):
    """One connection: asks for the next URL as soon as the page before has been read."""

    def __init__(self, crawl: "Crawl") -> None:
        self.crawl = crawl
        self.url = ""
        self.body: list[bytes] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        self.ask()

    def ask(self) -> None:
        url = next(self.crawl.urls, None)
        if url is None:
            self.transport.close()
            return
        self.url = url
        self.body = []
        self.parser = httptools.HttpResponseParser(self)
        path = url[len(self.crawl.base) :]
        self.transport.write(
            f"GET {path} HTTP/1.1\r\nHost: {self.crawl.host}\r\nAccept: */*\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_body(self, data: bytes) -> None:
        self.body.append(data)

    def on_message_complete(self) -> None:
        self.crawl.read(self.url, self.parser.get_status_code(), b"".join(self.body))
        self.ask()

    def connection_lost(self, error: Exception | None) -> None:
        self.crawl.closed(self.url if error else None)


class Crawl:
    """What the connections share: the URLs still to ask for, and how many came."""

    def __init__(self, urls: list[str]) -> None:
        parts = urlsplit(urls[0])
        self.host = parts.netloc
        self.base = f"{parts.scheme}://{parts.netloc}"
        self.address = (str(parts.hostname), parts.port or 80)
        self.urls: Iterator[str] = iter(urls)
        self.pages = 0
        self.open = 0
        self.finished = asyncio.Event()
        self.lost: list[str] = []

    def read(self, url: str, status: int, body: bytes) -> None:
        record = extract(body.decode(), url, "product")
        if status == 200 and record.data.price is not None:
            self.pages += 1

    def closed(self, lost: str | None) -> None:
        if lost:
            self.lost.append(lost)
        self.open -= 1
        if self.open == 0:
            self.finished.set()

    async def run(self, concurrency: int) -> None:
        self.open = concurrency
        loop = asyncio.get_running_loop()
        for _ in range(concurrency):
            await loop.create_connection(lambda: Client(self), *self.address)
        async with asyncio.timeout(LIMIT_SECONDS):
            await self.finished.wait()


async def run(options: argparse.Namespace) -> None:
    urls = options.url_list.read_text().split()
    crawl = Crawl(urls)
    started = time.perf_counter()
    await crawl.run(options.concurrency)
    seconds = time.perf_counter() - started
    if crawl.lost or crawl.pages != len(urls):
        raise SystemExit(f"{crawl.pages} of {len(urls)} pages came; lost: {crawl.lost[:3]}")
    print(json.dumps({"pages": crawl.pages, "seconds": seconds, "version": httptools.__version__}))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--url-list", type=Path, required=True)
    options.add_argument("--concurrency", type=int, default=64)
    uvloop.run(run(options.parse_args()))


if __name__ == "__main__":
    main()
