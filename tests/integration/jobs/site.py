"""A site on loopback whose pages are what a test says, also between two crawls."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus

from msgspec import Struct

__all__ = ["Reply", "Site", "index_of", "product", "site", "sitemap_of"]


class Reply(Struct):
    """What is at a path; `after` is called when it is asked for, before it is sent."""

    body: bytes = b""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = {}
    after: Callable[[], None] | None = None


NOT_FOUND = Reply(b"<title>Not found</title>", status=404)


class Site:
    """Paths with their replies; a list of replies is given in turn, the last again and again."""

    def __init__(self) -> None:
        self.pages: dict[str, Reply | list[Reply]] = {}
        self.hits: Counter[str] = Counter()
        self.order: list[str] = []
        self.cookies: list[str] = []  # what came with each request for a page
        self.base = ""
        self.door = asyncio.Event()  # while it is shut, no page is answered
        self.door.set()

    def url(self, path: str) -> str:
        return f"{self.base}{path}"

    def urls(self, paths: Iterable[str]) -> tuple[str, ...]:
        return tuple(self.url(path) for path in paths)

    def products(self, count: int) -> list[str]:
        """Paths of that many product pages, which it now has."""
        paths = [f"/p/{number}" for number in range(count)]
        for number, path in enumerate(paths):
            self.pages[path] = product(f"Thing {number}", 10 + number)
        return paths

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                path = head.split(b" ", 2)[1].decode()
                self.hits[path] += 1
                self.order.append(path)
                reply = self._reply(path)
                if path != "/robots.txt":
                    self.cookies.append(_header(head, b"cookie"))
                    await self.door.wait()
                writer.write(_spelled(reply))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _reply(self, path: str) -> Reply:
        found = self.pages.get(path, NOT_FOUND)
        if isinstance(found, list):
            found = found.pop(0) if len(found) > 1 else found[0]
        if found.after is not None:
            found.after()
        return found


def _header(head: bytes, name: bytes) -> str:
    lines = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
    return next((value.strip().decode() for key, _, value in lines if key.lower() == name), "")


def _spelled(reply: Reply) -> bytes:
    lines = [
        f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}",
        f"Content-Type: {reply.kind}",
        f"Content-Length: {len(reply.body)}",
        *(f"{name}: {value}" for name, value in reply.headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + reply.body


def product(name: str, price: float | str, links: str = "") -> Reply:
    data = (
        f'{{"@context":"https://schema.org","@type":"Product","name":"{name}","sku":"S-{name}",'
        f'"offers":{{"@type":"Offer","price":"{price}","priceCurrency":"EUR",'
        f'"availability":"https://schema.org/InStock"}}}}'
    )
    return Reply(
        f"<title>{name}</title><script type='application/ld+json'>{data}</script>"
        f"<h1>{name}</h1><p>It costs {price}.</p>{links}".encode()
    )


def sitemap_of(urls: Iterable[str], extra: str = "") -> Reply:
    entries = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return Reply(
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}{extra}</urlset>'.encode(),
        "application/xml",
    )


def index_of(urls: Iterable[str]) -> Reply:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    return Reply(
        f'<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</sitemapindex>'.encode(),
        "application/xml",
    )


@asynccontextmanager
async def site() -> AsyncIterator[Site]:
    made = Site()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()
        await server.wait_closed()
