"""Scrapy: a spider over a list of URLs, its items fed to a file of JSON lines. With --jobdir its queue
is on disk, and it can go on later.

Prints one JSON object. The time runs from reading the list until the feed is closed.
"""

import argparse
import json
import time
from collections.abc import AsyncIterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import Response, TextResponse

from bench.columns import columns_of


class ProductSpider(Spider):
    name = "products"

    def __init__(self, url_list: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.url_list = Path(url_list)

    async def start(self) -> AsyncIterator[Request]:
        for url in self.url_list.read_text().split():
            yield Request(url)

    def parse(self, response: Response) -> dict[str, Any]:
        request = response.request
        assert isinstance(response, TextResponse)
        assert request is not None
        return columns_of(response.selector, request.url, response.url, response.status)


def settings(out: Path, concurrency: int, jobdir: Path | None) -> dict[str, Any]:
    values: dict[str, Any] = {
        "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
        "CONCURRENT_REQUESTS": concurrency,
        "CONCURRENT_REQUESTS_PER_DOMAIN": concurrency,
        "DOWNLOAD_DELAY": 0,
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
        "FEEDS": {str(out): {"format": "jsonlines", "encoding": "utf8"}},
    }
    if jobdir is not None:
        values["JOBDIR"] = str(jobdir)
    return values


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--url-list", required=True)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--concurrency", type=int, default=64)
    options.add_argument("--jobdir", type=Path)
    chosen = options.parse_args()
    process = AsyncCrawlerProcess(settings(chosen.out, chosen.concurrency, chosen.jobdir))
    crawler = process.create_crawler(ProductSpider)
    started = time.perf_counter()
    process.crawl(crawler, url_list=chosen.url_list)
    process.start()
    seconds = time.perf_counter() - started
    assert crawler.stats is not None
    pages = crawler.stats.get_value("item_scraped_count", 0)
    print(json.dumps({"pages": pages, "seconds": seconds, "version": version("scrapy")}))


if __name__ == "__main__":
    main()
