"""`fyke crawl`: sources, options, exports, and how it ends."""

import gzip
import re
from pathlib import Path

import pytest

from fyke.core.extras import PYARROW
from tests.acceptance.command import Fyke
from tests.acceptance.exported import rows
from tests.integration.jobs.site import Reply, Site, sitemap_of

ALL_EXPORTS = [f"{kind}.{format}" for kind in ("diff", "full", "seo") for format in ("csv", "json", "xlsx")]


async def test_a_page_leaves_its_exports_and_says_where(fyke: Fyke, web: Site, tmp_path: Path) -> None:
    web.products(1)
    done = await fyke.crawl(web.url("/p/0"), tmp_path / "out")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("succeeded: 1 page, 0 failed, 0 skipped")
    assert f"Exports are in {tmp_path}/out: {', '.join(ALL_EXPORTS)}" in done.out
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ALL_EXPORTS
    (row,) = rows(tmp_path / "out" / "full.csv")
    assert (row["url"], row["title"], row["price"], row["currency"]) == (
        web.url("/p/0"), "Thing 0", "10", "EUR",
    )  # fmt: skip


async def test_a_site_is_found_by_its_robots_txt(fyke: Fyke, web: Site, tmp_path: Path) -> None:
    paths = web.products(12)
    robots = f"User-agent: *\nDisallow: /p/11\nSitemap: {web.url('/list.xml.gz')}\n"
    web.pages["/robots.txt"] = Reply(robots.encode(), "text/plain")
    listed = sitemap_of(web.urls(paths)).body
    web.pages["/list.xml.gz"] = Reply(gzip.compress(listed), "application/gzip")
    done = await fyke.crawl(f"{web.base}/", tmp_path / "out", "--json")
    found = done.json
    assert (done.code, found["state"], found["succeeded"], found["skipped"]) == (0, "succeeded", 11, 1)
    assert web.hits["/p/11"] == 0


async def test_a_sitemap_and_the_second_crawl_of_it(fyke: Fyke, web: Site, tmp_path: Path) -> None:
    paths = web.products(5)
    web.pages["/sitemap.xml"] = sitemap_of(web.urls(paths))
    assert (await fyke.crawl(web.url("/sitemap.xml"), tmp_path / "one")).code == 0
    web.pages["/sitemap.xml"] = sitemap_of(web.urls([*paths[1:], "/p/new"]))
    page = web.pages["/p/2"]
    assert isinstance(page, Reply)
    page.body = page.body.replace(b"12", b"9")
    web.pages["/p/new"] = Reply(b"<title>New</title><h1>New</h1>")
    done = await fyke.crawl(web.url("/sitemap.xml"), tmp_path / "two", "--json")
    assert done.code == 0
    changes = {row["url"]: row for row in rows(tmp_path / "two" / "diff.csv")}
    assert {web.url("/p/0"): "REMOVED", web.url("/p/2"): "MODIFIED", web.url("/p/new"): "ADDED"} == {
        url: row["change_type"] for url, row in changes.items() if row["change_type"] != "UNCHANGED"
    }
    assert (changes[web.url("/p/2")]["price_prev"], changes[web.url("/p/2")]["price_curr"]) == ("12", "9")
    assert len(changes) == 6
    shown = (await fyke.run("jobs", "diff", done.json["job"])).out.splitlines()
    assert [re.split("  +", line) for line in shown[1:]] == [
        ["MODIFIED", "price: 12 → 9; text", web.url("/p/2")],
        ["ADDED", "title: New", web.url("/p/new")],
        ["REMOVED", "price: 10; availability: in_stock; title: Thing 0", web.url("/p/0")],
    ]


async def test_a_file_of_urls_with_a_bad_line(fyke: Fyke, web: Site, tmp_path: Path) -> None:
    paths = web.products(3)
    good = web.urls(paths)
    lines = ["# things", good[0], "", "not a url", good[1], "http://10.1.2.3/", good[2], good[0]]
    listed = tmp_path / "urls.txt"
    listed.write_bytes("\n".join([*lines, f"{web.base}/café"]).encode("latin-1"))
    done = await fyke.crawl(listed, tmp_path / "out")
    assert done.code == 2
    assert "line 4: 'not a url'" in done.err.splitlines()[0]
    assert "2 more" in done.err.splitlines()[0]
    assert done.err.splitlines()[1:] == [
        "line 6: 10.1.2.3, which is a private network",
        "line 9: not UTF-8",
    ]
    assert web.hits.total() == 0
    assert list((tmp_path / "out").iterdir()) == []
    done = await fyke.crawl(listed, tmp_path / "out", "--skip-invalid", "--json")
    skipped = [
        "line 4 skipped: not a URL",
        "line 6 skipped: 10.1.2.3, which is a private network",
        "line 9 skipped: not UTF-8",
    ]
    assert (done.code, done.json["succeeded"], done.json["skipped_lines"]) == (0, 3, 3)
    assert done.err.splitlines() == skipped
    done = await fyke.crawl(listed, tmp_path / "out", "--skip-invalid")
    assert done.err.splitlines() == skipped


async def test_a_crawl_that_goes_on_tells_what_it_skips_as_well(
    fyke: Fyke, web: Site, tmp_path: Path
) -> None:
    listed = tmp_path / "urls.txt"
    listed.write_text("\n".join([*web.urls(web.products(6)), *["wrong"] * 25]))
    skipped = [f"line {number} skipped: not a URL" for number in range(7, 27)]
    for budget in (2, 0):
        done = await fyke.crawl(listed, tmp_path / "out", "--skip-invalid", "--max-urls", budget)
        said = [line for line in done.err.splitlines() if "skipped" in line]
        assert said == [*skipped, "5 more lines skipped"]
    assert "Going on with a crawl" in done.err


async def test_a_job_made_of_a_file_tells_of_its_lines(fyke: Fyke, web: Site, tmp_path: Path) -> None:
    lines = ["# things", web.url("/p/0"), "", "not a url", web.url("/p/1"), "ftp://x/"]
    listed = tmp_path / "urls.txt"
    listed.write_text("\n".join(lines))
    refused = await fyke.run("jobs", "create", listed)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.splitlines() == [
        f"fyke: {listed}, line 4: 'not a url': not a URL, and 1 more",
        "line 6: scheme 'ftp' is not http or https",
    ]
    listed.write_bytes(b"caf\xe9\n" + listed.read_bytes())
    refused = await fyke.run("jobs", "create", listed)
    assert (refused.code, refused.line) == (2, f"fyke: {listed}, line 1: not UTF-8")
    skipped = [
        "line 1 skipped: not UTF-8",
        "line 5 skipped: not a URL",
        "line 7 skipped: scheme 'ftp' is not http or https",
    ]
    made = await fyke.run("jobs", "create", listed, "--skip-invalid", "--json")
    assert (made.json["total"], made.json["left_out"]) == (2, 3)
    assert [line["line"] for line in made.json["left_out_lines"]] == [1, 5, 7]
    assert made.err.splitlines()[1:] == skipped  # first it says that nobody works here
    made = await fyke.run("jobs", "create", listed, "--skip-invalid")
    assert made.err.splitlines()[1:] == skipped  # first it says that nobody works here
    shown = [line.strip().partition("  ")[0] for line in made.out.splitlines()]
    assert {"id", "state", "megabytes", "left out"} <= set(shown)
    assert {"bytes", "residential bytes", "options", "left out lines"}.isdisjoint(shown)


async def test_the_summary_is_one_object(fyke: Fyke, web: Site, tmp_path: Path) -> None:
    paths = web.products(4)
    web.pages["/sitemap.xml"] = sitemap_of(web.urls([*paths, "/gone"]))
    options = (
        "--json",
        "--format",
        "jsonl",
        "--format",
        "warc,jsonl",
        "--target",
        "page",
        "--strategy",
        "http",
    )
    done = await fyke.crawl(web.url("/sitemap.xml"), tmp_path / "out", *options)
    found = done.json
    assert done.code == 4
    assert {name: found[name] for name in ("state", "total", "succeeded", "failed", "skipped")} == {
        "state": "partial", "total": 5, "succeeded": 4, "failed": 1, "skipped": 0,
    }  # fmt: skip
    assert found["bytes"] > 0
    assert found["pages_per_second"] > 0
    assert [Path(file).name for file in found["exports"]] == [
        "diff.jsonl",
        "full.jsonl",
        "full.warc.gz",
        "seo.jsonl",
    ]
    assert {str(file) for file in (tmp_path / "out").iterdir()} == set(found["exports"])
    assert '"error_class": "not_found"' in done.err


async def test_the_delay_is_kept(fyke: Fyke, web: Site, tmp_path: Path) -> None:
    listed = tmp_path / "urls.txt"
    listed.write_text("\n".join(web.urls(web.products(4))))
    done = await fyke.run("crawl", listed, "--out", tmp_path / "out", "--delay", "0.3", "--json")
    assert done.json["succeeded"] == 4
    assert done.json["seconds"] >= 3 * 0.3 * 0.95


async def test_a_budget_stops_it_and_a_higher_one_goes_on(fyke: Fyke, web: Site, tmp_path: Path) -> None:
    web.pages["/sitemap.xml"] = sitemap_of(web.urls(web.products(20)))
    done = await fyke.crawl(web.url("/sitemap.xml"), tmp_path / "out", "--max-urls", "7")
    assert done.code == 5
    assert "stopped: 7 pages" in done.out
    assert "It stopped at max_urls: run it again with a higher limit to go on." in done.out
    done = await fyke.crawl(web.url("/sitemap.xml"), tmp_path / "out", "--max-urls", "50", "--json")
    assert (done.code, done.json["succeeded"]) == (0, 20)
    assert {web.hits[f"/p/{number}"] for number in range(20)} == {1}


async def test_a_budget_that_is_not_raised_begins_anew(fyke: Fyke, web: Site, tmp_path: Path) -> None:
    web.pages["/sitemap.xml"] = sitemap_of(web.urls(web.products(20)))
    crawls = [("--max-urls", "5"), ("--max-urls", "3"), ("--max-urls", "3", "--format", "json")]
    for options in crawls:
        done = await fyke.crawl(web.url("/sitemap.xml"), tmp_path / "out", *options, "--json")
        assert (done.code, done.json["succeeded"]) == (5, int(options[1]))
    left = [Path(file).name for file in done.json["earlier_exports"]]
    assert left == ["diff.csv", "diff.xlsx", "full.csv", "full.xlsx", "seo.csv", "seo.xlsx"]
    assert [web.hits[f"/p/{number}"] for number in range(6)] == [3, 3, 3, 1, 1, 0]
    done = await fyke.crawl(web.url("/sitemap.xml"), tmp_path / "out", "--max-urls", "0", "--json")
    assert (done.code, done.json["succeeded"]) == (0, 20)
    assert [web.hits[f"/p/{number}"] for number in range(6)] == [3, 3, 3, 2, 2, 1]


async def test_nothing_that_can_be_read_is_a_failure_and_leaves_what_is_there(
    fyke: Fyke, web: Site, tmp_path: Path
) -> None:
    web.products(1)
    out = tmp_path / "out"
    await fyke.crawl(web.url("/p/0"), out, "--format", "csv,jsonl")
    before = {file.name: file.read_bytes() for file in out.iterdir()}
    assert len(before) == 6
    del web.pages["/p/0"]
    done = await fyke.crawl(web.url("/p/0"), out, "--format", "csv")
    assert done.code == 1
    assert "failed: 0 pages, 1 failed" in done.out
    assert f"No page was read, so what an earlier crawl left in {out} stays as it was: diff.csv, " in done.out
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before
    job = done.out.partition("exports list --job ")[2].split()[0]
    errors = (await fyke.run("jobs", "errors", job)).out.splitlines()
    assert [line.split() for line in errors] == [
        ["state", "class", "count", "host", "for", "instance", "url"],
        ["failed", "not_found", "1", "127.0.0.1", "status", "404", web.url("/p/0")],
    ]


@pytest.mark.parametrize("source", ["http://10.0.0.1/", "http://[::1]:9/page", "http://169.254.169.254/x"])
async def test_what_the_guard_refuses(fyke: Fyke, tmp_path: Path, source: str) -> None:
    done = await fyke.crawl(source, tmp_path / "out")
    assert done.code == 3
    assert source.split("/")[2].split("]")[0] in done.line
    assert "is refused: " in done.line
    assert "FYKE_EGRESS_ALLOW" in done.line
    assert "line 1" not in done.line


async def test_exports_that_cannot_be_copied_are_kept(fyke: Fyke, web: Site, tmp_path: Path) -> None:
    web.products(1)
    (tmp_path / "out" / "full.csv" / "mine").mkdir(parents=True)
    done = await fyke.crawl(web.url("/p/0"), tmp_path / "out", "--format", "csv")
    assert done.code == 1
    assert f"cannot be copied to {tmp_path}/out/full.csv" in done.line
    job = done.line.partition("--job ")[2].split(",")[0]
    listed = (await fyke.run("exports", "list", "--job", job, "--json")).json
    full = next(found["id"] for found in listed if found["type"] == "full")
    name = f"{job}-full.csv"
    assert (await fyke.run("exports", "get", full, "--out", "made/for it/")).out == f"made/for it/{name}"
    assert len(rows(tmp_path / "made" / "for it" / name)) == 1
    again = await fyke.run("exports", "get", full, "--out", "made/for it")
    assert (again.code, again.line) == (
        2, f"fyke: made/for it/{name} is there already: --force overwrites it, --out names another",
    )  # fmt: skip
    assert (await fyke.run("exports", "get", full, "--force")).out == name
    shown = await fyke.run("exports", "get", full, "-o", "-")
    assert shown.out.splitlines() == (tmp_path / name).read_text().splitlines()


async def test_parquet_that_cannot_be_written_is_refused_before_the_crawl(
    fyke: Fyke, web: Site, tmp_path: Path
) -> None:
    web.products(1)
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "sitecustomize.py").write_text("import sys; sys.modules['pyarrow'] = None\n")
    done = await fyke.crawl(
        web.url("/p/0"), tmp_path / "out", "--format", "csv,parquet", PYTHONPATH=tmp_path / "without"
    )
    assert done.code == 2
    assert f"/python -m pip install '{PYARROW}'" in done.line
    assert web.hits.total() == 0


async def test_a_job_that_nobody_works_on_is_not_waited_for(fyke: Fyke, web: Site) -> None:
    web.products(1)
    made = await fyke.run("jobs", "create", web.url("/p/0"), "--format", "jsonl", "--max-mb", "7", "--json")
    assert "no server or worker runs" in made.err
    assert (made.json["options"]["exports"], made.json["options"]["traffic_budget_mb"]) == (["jsonl"], 7)
    done = await fyke.run("jobs", "watch", made.json["id"])
    assert done.code == 1
    assert "the job is queued, and no server or worker runs" in done.line


async def test_a_crawl_whose_exports_cannot_be_written_has_failed(
    fyke: Fyke, web: Site, tmp_path: Path
) -> None:
    web.products(1)
    fyke.data.mkdir()
    (fyke.data / "tmp").write_text("a file where exports are put together")
    done = await fyke.crawl(web.url("/p/0"), tmp_path / "out")
    assert done.code == 1
    assert "exports could not be written" in done.out
    assert re.search(r"9 exports are missing: \S*fyke exports make [0-9a-f-]{36}", done.err)
