"""The demo shop is a real shop, the same for the same seed, with the troubles it promises."""

import asyncio
import gzip
import json
import re
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from xml.etree import ElementTree as etree

import pytest
from msgspec import Struct
from protego import Protego

from fyke.shop import Shop
from fyke.shop.pages import markup_of
from fyke.shop.words import CATEGORIES, SCRIPTS

LD = re.compile(r'<script type="application/ld\+json">(.*?)</script>', re.S)


class Reply(Struct):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


async def read_reply(reader: asyncio.StreamReader, *, bodyless: bool = False) -> Reply:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    length = 0 if bodyless else int(headers.get("content-length", 0))
    return Reply(int(head[0].split()[1]), headers, await reader.readexactly(length))


async def ask(shop: Shop, path: str, *headers: str, method: str = "GET") -> Reply:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(shop.base_url.rpartition(":")[2]))
    try:
        lines = [f"{method} {path} HTTP/1.1", "Host: shop", "Connection: close", *headers, "", ""]
        writer.write("\r\n".join(lines).encode())
        reply = await read_reply(reader, bodyless=method == "HEAD")
        assert await reader.read() == b""
        return reply
    finally:
        writer.close()
        await writer.wait_closed()


async def listed(shop: Shop) -> list[str]:
    """The paths that the sitemaps name."""
    paths: list[str] = []
    index = etree.fromstring((await ask(shop, "/sitemap.xml")).body)
    for address in index.iterfind(".//{*}sitemap/{*}loc"):
        body = (await ask(shop, str(address.text).removeprefix(shop.base_url))).body
        if body.startswith(b"\x1f\x8b"):
            body = gzip.decompress(body)
        found = etree.fromstring(body).iterfind("{*}url/{*}loc")
        paths += [str(loc.text).removeprefix(shop.base_url) for loc in found]
    return paths


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    shop = Shop(seed=7)
    await shop.start()
    yield shop
    await shop.stop()


async def test_the_same_seed_gives_the_same_shop(shop: Shop) -> None:
    port = int(shop.base_url.rpartition(":")[2])
    paths = [path for path in await listed(shop) if path not in shop.troubles.slow]
    first = [(await ask(shop, path)).body for path in paths]
    before = shop.change_prices()
    changed = [(await ask(shop, path)).body for path in paths]
    await shop.stop()
    again = Shop(seed=7)
    await again.start(port)
    try:
        assert [(await ask(again, path)).body for path in paths] == first
        assert again.change_prices() == before
        assert [(await ask(again, path)).body for path in paths] == changed
    finally:
        await again.stop()
    assert [item.name for item in Shop(seed=8).items] != [item.name for item in again.items[:300]]


async def test_sitemaps_name_every_product_and_every_trouble_once(shop: Shop) -> None:
    paths = await listed(shop)
    assert len(paths) == len(set(paths))
    troubles = shop.troubles
    expected = {item.path for item in shop.items} | {*troubles.duplicates, *troubles.redirects}
    assert len(shop.items) == 300
    assert expected | {*troubles.gone, *troubles.disallowed} < set(paths)
    pages = (await ask(shop, "/sitemaps/pages.xml")).body
    products = gzip.decompress((await ask(shop, "/sitemaps/products.xml.gz")).body)
    assert etree.fromstring(pages).find(".//{*}news/{*}title") is not None
    assert etree.fromstring(products).find(".//{*}image/{*}loc") is not None


async def test_every_listed_page_answers_as_promised(shop: Shop) -> None:
    troubles = shop.troubles
    promised = {**dict.fromkeys(troubles.failing_first, 500), **troubles.gone}
    promised |= {path: 302 if path.startswith("/shop/") else 301 for path in troubles.redirects}
    promised |= dict.fromkeys(troubles.loops, 302)
    for path in await listed(shop):
        assert (await ask(shop, path)).status == promised.get(path, 200), path


async def test_what_fails_at_first_is_fine_after(shop: Shop) -> None:
    path = shop.troubles.failing_first[0]
    assert [(await ask(shop, path)).status for _ in range(3)] == [500, 200, 200]
    assert shop.hits[path] == 3


async def test_prices_stand_in_every_kind_of_markup(shop: Shop) -> None:
    seen = set()
    for item in shop.items:
        if item.path in (*shop.troubles.failing_first, *shop.troubles.slow):
            continue
        text = (await ask(shop, item.path)).body.decode("ascii", "replace")
        said = [json.loads(script) for script in LD.findall(text)]
        said += [thing for one in said for thing in one.get("@graph", [])]
        products = [one for one in said if one.get("@type") == "Product"]
        markup = markup_of(item)
        seen.add(markup)
        if markup == "microdata":
            assert f'itemprop="price" content="{item.price}"' in text
        elif markup == "opengraph":
            assert f'property="product:price:amount" content="{item.price}"' in text
        else:
            assert [one["offers"]["price"] for one in products] == [str(item.price)]
    assert seen == {"jsonld", "graph", "microdata", "opengraph"}


async def test_pages_come_in_the_character_sets_they_name(shop: Shop) -> None:
    sentences = dict(SCRIPTS)
    assert {*shop.troubles.charsets.values()} == {*sentences}
    in_header = 0
    for path, charset in shop.troubles.charsets.items():
        await ask(shop, path)  # it may be one that fails at first
        reply = await ask(shop, path)
        assert sentences[charset] in reply.body.decode(charset)
        assert f'<meta charset="{charset}">'.encode() in reply.body
        in_header += charset in reply.headers["content-type"]
    assert 0 < in_header < len(shop.troubles.charsets)


async def test_duplicates_name_the_same_canonical(shop: Shop) -> None:
    for path, kept in shop.troubles.duplicates.items():
        body = (await ask(shop, path)).body
        assert f'<link rel="canonical" href="{shop.base_url}{kept}">'.encode() in body


async def test_redirects_lead_to_products_also_by_two_steps(shop: Shop) -> None:
    steps = {}
    for path in shop.troubles.redirects:
        target, count = path, 0
        while (reply := await ask(shop, target)).status in (301, 302):
            target, count = reply.headers["location"], count + 1
        assert target in {item.path for item in shop.items}
        steps[path] = count
    assert {*steps.values()} == {1, 2}


async def test_some_pages_are_not_to_be_indexed(shop: Shop) -> None:
    replies = [await ask(shop, path) for path in shop.troubles.noindex]
    by_header = [reply.headers.get("x-robots-tag") == "noindex" for reply in replies]
    by_markup = [b'<meta name="robots" content="noindex' in reply.body for reply in replies]
    assert [a != b for a, b in zip(by_header, by_markup, strict=True)] == [True] * len(replies)
    assert any(by_header)
    assert any(by_markup)


async def test_robots_txt_names_the_sitemap_and_closes_the_checkout(shop: Shop) -> None:
    robots = Protego.parse((await ask(shop, "/robots.txt")).text)
    assert [*robots.sitemaps] == [shop.sitemap_url]
    assert not any(robots.can_fetch(shop.base_url + path, "fyke") for path in shop.troubles.disallowed)
    assert all(robots.can_fetch(shop.base_url + item.path, "fyke") for item in shop.items)


async def test_each_product_is_on_one_page_of_its_category(shop: Shop) -> None:
    for category in CATEGORIES:
        found: list[str] = []
        number = 1
        while True:
            query = f"?page={number}" if number > 1 else ""
            text = (await ask(shop, f"/c/{category.slug}{query}")).text
            found += re.findall(r'<li class="card"><a href="([^"]+)"', text)
            if f'href="/c/{category.slug}?page={number + 1}"' not in text:
                break
            number += 1
        assert number > 1
        assert found == [item.path for item in shop.items if item.category is category]


async def test_a_change_shows_on_the_products_it_names_and_nowhere_else(shop: Shop) -> None:
    products = {item.path: item for item in shop.items}
    skipped = {*shop.troubles.failing_first, *shop.troubles.slow}
    before = {path: await ask(shop, path) for path in products if path not in skipped}
    changes = shop.change_prices(0.1)
    touched = {*changes.prices, *changes.availability, *changes.titles}
    assert len(touched) == 30
    assert min(len(changes.prices), len(changes.availability), len(changes.titles)) > 0
    for path, reply in before.items():
        now = await ask(shop, path, f"If-None-Match: {reply.headers['etag']}")
        expected = 404 if path in changes.removed else 200 if path in touched else 304
        assert now.status == expected, path
    paths = await listed(shop)
    assert [path in paths for path in changes.removed] == [False, True]
    assert len(changes.added) == 3
    assert {*changes.added} <= {*paths}
    assert [(await ask(shop, path)).status for path in changes.added] == [200] * 3


async def test_compression_changes_the_way_not_the_page(shop: Shop) -> None:
    plain = await ask(shop, "/")
    squeezed = await ask(shop, "/", "Accept-Encoding: gzip, deflate")
    assert squeezed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(squeezed.body) == plain.body
    assert len(squeezed.body) < len(plain.body) / 2


async def test_other_methods(shop: Shop) -> None:
    head = await ask(shop, "/", method="HEAD")
    assert int(head.headers["content-length"]) == len((await ask(shop, "/")).body)
    assert (await ask(shop, "/", method="DELETE")).status == 405


async def test_a_query_that_means_nothing_changes_nothing(shop: Shop) -> None:
    path = shop.items[0].path
    assert (await ask(shop, f"{path}?utm_source=letter")).body == (await ask(shop, path)).body
    assert (await ask(shop, "/no/such/page")).status == 404


async def test_requests_sent_at_once_are_answered_in_order_also_behind_a_slow_one(shop: Shop) -> None:
    slow, quick = shop.troubles.slow[0], shop.items[1].path
    reader, writer = await asyncio.open_connection("127.0.0.1", int(shop.base_url.rpartition(":")[2]))
    started = asyncio.get_running_loop().time()
    for path in (slow, quick, slow, "/robots.txt"):
        writer.write(f"GET {path} HTTP/1.1\r\nHost: shop\r\n\r\n".encode())
    replies = [await read_reply(reader) for _ in range(4)]
    assert asyncio.get_running_loop().time() - started > 0.99
    writer.close()
    await writer.wait_closed()
    canonical = [re.findall(rb'rel="canonical" href="[^"]*?(/p/[^"]*)"', reply.body) for reply in replies]
    assert canonical == [[slow.encode()], [quick.encode()], [slow.encode()], []]


@pytest.mark.parametrize("data", [b"\x16\x03\x01 not http\r\n\r\n", b"GET / HTTP/1.1\r\nA: " + b"x" * 70_000])
async def test_what_is_not_http_is_hung_up_on(shop: Shop, data: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(shop.base_url.rpartition(":")[2]))
    writer.write(data)
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await reader.readexactly(1)
    writer.close()
    assert (await ask(shop, "/robots.txt")).status == 200


async def test_stopping_hangs_up_and_can_be_done_twice(shop: Shop) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(shop.base_url.rpartition(":")[2]))
    writer.write(f"GET {shop.troubles.slow[0]} HTTP/1.1\r\nHost: shop\r\n\r\n".encode())
    await ask(shop, "/robots.txt")  # when this is answered, the slow one has been asked for
    assert shop.hits[shop.troubles.slow[0]] == 1
    await shop.stop()
    await shop.stop()
    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await reader.readexactly(1)
    writer.close()
    with pytest.raises(ConnectionError):
        await asyncio.open_connection("127.0.0.1", int(shop.base_url.rpartition(":")[2]))


async def test_a_browser_shows_it(shop: Shop, chromium: str, tmp_path: Path) -> None:
    item = shop.items[0]
    command = [
        chromium,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-background-networking",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        f"--user-data-dir={tmp_path}",
        "--dump-dom",
        shop.base_url + item.path,
    ]
    done = await asyncio.to_thread(
        subprocess.run, command, capture_output=True, text=True, timeout=60, check=True
    )
    assert f"<h1>{item.title}</h1>" in done.stdout
    pictures = {f"/img/{item.slug}-{view}.svg" for view in (1, 2, 3)}
    assert pictures | {item.path} <= {*shop.hits}
    text = (await ask(shop, f"/img/{item.slug}-1.svg")).body
    assert etree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
