"""Following links, for sites without a sitemap: within the host, to a limited depth.

A URL's place in the job is made from the URL alone, shallow paths first: it does not depend on which
page was read when, so a crawl that was interrupted ends in the same order as one that was not.
"""

from collections.abc import Iterable
from typing import Final

from fyke.core.errors import InvalidUrl
from fyke.core.ids import key63
from fyke.core.outcome import AddTasks
from fyke.core.task import Kind, NewTask
from fyke.core.urls import canonical
from fyke.jobs.payload import PagePayload
from fyke.politeness.policies import Policies

__all__ = ["FOLLOW_FROM_HERE", "MOST_DEPTH", "children"]

MOST_DEPTH: Final = 10
MOST_LINKS: Final = 1000  # of one page
DEEPEST_PATH: Final = 60
NOT_PAGES: Final = (
    *(".jpg", ".jpeg", ".png", ".gif", ".webp", ".avif", ".svg", ".ico", ".css", ".js", ".mjs", ".json"),
    *(".pdf", ".zip", ".gz", ".tgz", ".rar", ".7z", ".exe", ".dmg", ".iso", ".apk", ".doc", ".docx", ".xls"),
    *(".xlsx", ".ppt", ".pptx", ".csv", ".mp3", ".mp4", ".m4a", ".avi", ".mov", ".webm", ".woff", ".woff2"),
)


FOLLOW_FROM_HERE: Final = PagePayload(follow=0).encode()


def children(links: Iterable[str], page: str, depth: int, policies: Policies) -> tuple[AddTasks, ...]:
    """Tasks for the pages of the same host that a page links to."""
    if depth >= MOST_DEPTH:
        return ()
    host = page.split("/", 3)[2]
    payload = PagePayload(follow=depth + 1).encode()
    tasks: dict[str, NewTask] = {}
    for link in links:
        try:
            url = canonical(link)
        except InvalidUrl:
            continue
        parts = url.split("/", 3)
        if parts[2] != host or parts[3].partition("?")[0].lower().endswith(NOT_PAGES):
            continue
        tasks[url] = NewTask(Kind.PAGE, _place(url), policies.lane_for(url), url, payload)
        if len(tasks) >= MOST_LINKS:
            break
    return (AddTasks(tuple(tasks.values())),) if tasks else ()


def _place(url: str) -> int:
    steps = min(url.count("/") - 2, DEEPEST_PATH)
    return steps << 56 | key63(url) >> 7
