"""How every page of the shop looks: head, header, footer, style."""

from html import escape
from typing import Final

from msgspec import Struct

from fyke.shop.words import CATEGORIES

__all__ = ["NAME", "Head", "page"]

NAME: Final = "Hearth & Hollow"

STYLE: Final = """
:root{--ink:#2a2723;--soft:#6f6a62;--line:#e5dfd5;--paper:#fbf9f5;--card:#fff;--accent:#8a4b2d}
@media (prefers-color-scheme:dark){:root{--ink:#ece7de;--soft:#a69f94;--line:#3a3631;--paper:#1d1b19;
--card:#262320;--accent:#e0a17f}}
*{box-sizing:border-box}body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.55 Georgia,'Times New Roman',serif}
a{color:inherit;text-decoration:none}a:hover,a:focus{color:var(--accent)}
header,main,footer{max-width:1080px;margin:0 auto;padding:0 20px}
main{padding-top:24px}.breadcrumb:first-child{margin-top:0}
header{display:flex;flex-wrap:wrap;align-items:baseline;gap:6px 28px;padding-top:26px;padding-bottom:14px;
border-bottom:1px solid var(--line)}
.brand{font-size:26px;letter-spacing:.02em}nav.top{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:15px}
.breadcrumb{font-size:14px;color:var(--soft);margin:20px 0}.breadcrumb ol{list-style:none;display:flex;
flex-wrap:wrap;gap:8px;padding:0;margin:0}.breadcrumb li+li:before{content:'\\203A';margin-right:8px}
h1{font-weight:400;font-size:32px;line-height:1.2;margin:0 0 8px}
h2{font-weight:400;font-size:21px;margin:34px 0 12px}
.product{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:44px}
@media (max-width:720px){.product{grid-template-columns:1fr}}
.product img,.card img,.tile img{width:100%;height:auto;border-radius:6px;display:block}
.thumbs{display:grid;grid-template-columns:repeat(3,1fr);gap:10px;margin-top:10px}
.price{font-size:26px;margin:14px 0 2px}.stock,.by,small{color:var(--soft)}
button{font:inherit;background:var(--ink);color:var(--paper);border:0;border-radius:4px;padding:12px 30px;
margin:18px 0;cursor:pointer}
table{border-collapse:collapse;width:100%;font-size:15px}th,td{text-align:left;font-weight:400;padding:7px 0;
border-bottom:1px solid var(--line)}th{color:var(--soft);width:38%}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(190px,1fr));gap:26px 20px;padding:0;
margin:20px 0;
list-style:none}.card b{display:block;font-weight:400;margin-top:8px}
.pages{display:flex;gap:10px;margin:26px 0}
.pages a,.pages b{padding:4px 12px;border:1px solid var(--line);border-radius:4px}
footer{border-top:1px solid var(--line);margin-top:60px;padding-top:20px;padding-bottom:40px;font-size:14px;
color:var(--soft);display:flex;flex-wrap:wrap;gap:4px 22px}
"""


class Head(Struct, frozen=True):
    """What a page says about itself. `canonical` and `image` are whole addresses."""

    title: str
    description: str
    canonical: str
    image: str | None = None
    kind: str = "website"
    robots: str | None = None
    charset: str = "utf-8"
    more: str = ""


def page(head: Head, body: str) -> str:
    """A whole page."""
    links = "".join([f'<a href="/c/{one.slug}">{escape(one.name)}</a>' for one in CATEGORIES])
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="{head.charset}">
{_tags(head)}
<style>{STYLE}</style>
</head>
<body>
<header><a class="brand" href="/">{escape(NAME)}</a><nav class="top">{links}</nav></header>
<main>
{body}
</main>
<footer><span>{escape(NAME)}, a shop that does not exist</span><a href="/journal">Journal</a>
<a href="/about">About us</a><a href="/delivery">Delivery</a><a href="/checkout">Basket</a></footer>
</body>
</html>
"""


def _tags(head: Head) -> str:
    title, description = escape(head.title), escape(head.description)
    tags = [
        f"<title>{title} | {escape(NAME)}</title>",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="/icon.svg" type="image/svg+xml">',
        f'<meta name="description" content="{description}">',
        f'<link rel="canonical" href="{head.canonical}">',
        f'<meta property="og:site_name" content="{escape(NAME)}">',
        f'<meta property="og:type" content="{head.kind}">',
        f'<meta property="og:title" content="{title}">',
        f'<meta property="og:description" content="{description}">',
        f'<meta property="og:url" content="{head.canonical}">',
        '<meta name="twitter:card" content="summary_large_image">',
        f'<meta name="twitter:title" content="{title}">',
        f'<meta name="twitter:description" content="{description}">',
    ]
    if head.image:
        tags.append(f'<meta property="og:image" content="{head.image}">')
    if head.robots:
        tags.append(f'<meta name="robots" content="{head.robots}">')
    if head.more:
        tags.append(head.more)
    return "\n".join(tags)
