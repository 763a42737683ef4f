"""The pages that `fyke bench crawl` serves itself, as files for nginx."""

from pathlib import Path

from fyke.measure.pages import COUNT, page, url

__all__ = ["COUNT", "urls", "write"]


def write(directory: Path, base: str) -> int:
    """Write the shop into `directory`, to be served at `base`; returns the bytes of its pages."""
    pages = directory / "p"
    pages.mkdir(parents=True, exist_ok=True)
    total = 0
    for number in range(COUNT):
        total += (pages / f"{number:04d}.html").write_bytes(page(number).encode())
    entries = "".join(f"<url><loc>{url}</loc></url>\n" for url in urls(base, COUNT))
    (directory / "sitemap.xml").write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{entries}</urlset>\n'
    )
    (directory / "robots.txt").write_text(
        f"User-agent: *\nDisallow: /cart\nDisallow: /search\nAllow: /\n\nSitemap: {base}/sitemap.xml\n"
    )
    return total


def urls(base: str, number: int) -> list[str]:
    """The first `number` addresses."""
    return [url(base, place) for place in range(number)]
