"""The demo shop: a real web shop on loopback, with what is wrong with real ones."""

import asyncio
from collections import Counter
from typing import Final

from fyke.shop import site
from fyke.shop.answers import Answer
from fyke.shop.catalogue import Changes, Item, change, make
from fyke.shop.server import Connection

__all__ = ["Shop"]

PRODUCTS: Final = 300
HOST: Final = "127.0.0.1"


class Shop:
    """About 300 products; the same seed gives the same shop, and the same changes to it.

    `hits` counts requests by path and query, as far as the shop knows them.
    """

    def __init__(self, seed: int = 1, products: int = PRODUCTS) -> None:
        self.seed = seed
        self.items: tuple[Item, ...] = make(seed, products)
        self.hits: Counter[str] = Counter()
        self.base_url = ""
        self._revision = 0
        self._answers: dict[str, Answer] = {}
        self._not_found = site.not_found("")
        self._server: asyncio.Server | None = None
        self._connections: set[Connection] = set()

    @property
    def sitemap_url(self) -> str:
        return f"{self.base_url}/sitemap.xml"

    @property
    def troubles(self) -> site.Troubles:
        """Where something is not as usual."""
        return site.troubles(self.items)

    def change_prices(self, share: float = 0.1) -> Changes:
        """Change `share` of the products: most in price, some in stock or name; two go, three are new."""
        self._revision += 1
        self.items, changes = change(self.items, self.seed, self._revision, share)
        if self._server is not None:
            self._build()
        return changes

    async def start(self, port: int = 0) -> str:
        """Open the shop on loopback; its address."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self._find, self.hits, self._connections), HOST, port, backlog=1024
        )
        self.base_url = f"http://{HOST}:{self._server.sockets[0].getsockname()[1]}"
        self._build()
        return self.base_url

    async def stop(self) -> None:
        """Close it; stopping twice is safe."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        for connection in [*self._connections]:
            connection.abort()
        await server.wait_closed()

    def _build(self) -> None:
        self._answers = site.build(self.items, self._revision, self.base_url)
        self._not_found = site.not_found(self.base_url)

    def _find(self, target: str) -> Answer:
        """What is at a target; a query that the shop does not know is as good as none."""
        answers = self._answers
        return answers.get(target) or answers.get(target.partition("?")[0]) or self._not_found
