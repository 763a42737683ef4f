"""crawlee-python: its HTTP crawler with parsel over a list of URLs, results pushed to its dataset.

Prints one JSON object. The time runs from reading the list until the crawler has finished; writing
the dataset out for the comparison comes after.
"""

import argparse
import json
import logging
import time
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

import uvloop
from crawlee import ConcurrencySettings, service_locator
from crawlee.configuration import Configuration
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext
from crawlee.http_clients import CurlImpersonateHttpClient, HttpClient, HttpxHttpClient, ImpitHttpClient
from crawlee.storage_clients import FileSystemStorageClient, SqlStorageClient, StorageClient
from crawlee.storages import Dataset

from bench.columns import columns_of

CLIENTS: dict[str, type[HttpClient]] = {
    "impit": ImpitHttpClient,
    "httpx": HttpxHttpClient,
    "curl": CurlImpersonateHttpClient,
}


@asynccontextmanager
async def storage(kind: str) -> AsyncIterator[StorageClient]:
    if kind == "file":
        yield FileSystemStorageClient()
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it says that it is experimental
        client = SqlStorageClient()
    async with client:
        yield client


async def handle(context: ParselCrawlingContext) -> None:
    request = context.request
    row = columns_of(
        context.selector, request.url, request.loaded_url or request.url, context.http_response.status_code
    )
    await context.push_data(row)


async def crawl(urls: list[str], client: StorageClient, http: str, concurrency: int) -> tuple[int, float]:
    crawler = ParselCrawler(
        storage_client=client,
        http_client=CLIENTS[http](),
        request_handler=handle,
        use_session_pool=False,
        concurrency_settings=ConcurrencySettings(
            min_concurrency=concurrency, max_concurrency=concurrency, desired_concurrency=concurrency
        ),
        configure_logging=False,
        request_handler_timeout=timedelta(minutes=5),
    )
    started = time.perf_counter()
    finished = await crawler.run(urls)
    seconds = time.perf_counter() - started
    return finished.requests_finished, seconds


async def run(urls: list[str], options: argparse.Namespace) -> None:
    logging.getLogger("crawlee").setLevel(logging.WARNING)
    service_locator.set_configuration(
        Configuration(storage_dir=str(options.storage_dir), log_level="WARNING")
    )
    async with storage(options.storage) as client:
        service_locator.set_storage_client(client)
        pages, seconds = await crawl(urls, client, options.http, options.concurrency)
        if options.out is not None:
            await export(options.out)
    print(json.dumps({"pages": pages, "seconds": seconds, "version": version("crawlee")}))


async def export(out: Path) -> None:
    dataset = await Dataset.open()
    with out.open("w", encoding="utf-8") as lines:
        async for row in dataset.iterate_items():
            lines.write(json.dumps(row) + "\n")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--url-list", type=Path, required=True)
    options.add_argument("--out", type=Path)
    options.add_argument("--storage", choices=("file", "sql"), required=True)
    options.add_argument("--storage-dir", type=Path, required=True)
    options.add_argument("--http", choices=tuple(CLIENTS), default="impit")
    options.add_argument("--concurrency", type=int, default=64)
    chosen = options.parse_args()
    uvloop.run(run(chosen.url_list.read_text().split(), chosen))


if __name__ == "__main__":
    main()
