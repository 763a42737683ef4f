"""What a plan asks of sites, in one turn: robots.txt, a sitemap, and what that redirects to.

Sites are asked for this as politely as for their pages (see `asking`): in a lane with limits each request
takes a turn. Between two of them the task waits, with the request that is due in its payload.
"""

from pathlib import Path
from typing import Final

from fyke.core.outcome import Effect
from fyke.core.page import Blocked, Failed, Page, Request
from fyke.core.task import Task
from fyke.fetch.blocked import judge
from fyke.fetch.client import HttpClient
from fyke.fetch.options import FetchOptions
from fyke.jobs.answers import Stopped
from fyke.jobs.asking import Asking, Leave
from fyke.jobs.payload import Hop
from fyke.jobs.sitemap import MAX_BYTES

__all__ = ["SITEMAPS", "NotNow", "SitemapFetch", "Unfetched"]

SITEMAPS: Final = FetchOptions(
    accept="application/xml,text/xml,text/plain,*/*;q=0.5",
    patience=5,
    max_bytes=MAX_BYTES + 1,  # whoever reads it sees by the last byte that there was more
    max_inflated=MAX_BYTES + 1,
    truncate=True,
)


class NotNow(Exception):
    """The next request has no leave in this turn; it is for `hop`, if for another than was due."""

    def __init__(self, leave: Leave, hop: Hop | None = None) -> None:
        self.leave = leave
        self.hop = hop


class Unfetched(Exception):
    """The sitemap could not be had, or not this time."""

    def __init__(self, stopped: Stopped) -> None:
        self.stopped = stopped


class SitemapFetch:
    """The requests of one turn. `learned` is to be written, whatever comes of them."""

    def __init__(self, client: HttpClient, asking: Asking, task: Task) -> None:
        self.learned: tuple[Effect, ...] = ()
        self.bytes_in = 0
        self._client = client
        self._asking = asking
        self._task = task

    async def robots(self, next: str) -> Leave:
        """See to it that robots.txt is known of where the URL `next` is, and say whether that may be asked
        for then. NotNow outside the hours of the site."""
        leave = await self._asking.leave(self._task, next, self._asking.site(next), robots=True)
        self.learned += leave.learned
        if leave.delay:
            raise NotNow(leave)
        return leave

    async def into(self, path: Path, due: Hop) -> None:
        """Ask for what is due, and for what it leads to, as far as this turn goes."""
        hop, leave = due, await self._asking.leave(self._task, due.url, self._asking.site(due.url))
        while True:
            self.learned += leave.learned
            if leave.stopped is not None:
                raise Unfetched(leave.stopped)
            if not leave.go:
                raise NotNow(leave, None if hop is due else hop)
            site = self._asking.site(hop.url)
            answer = await self._download(path, hop, site.options)
            if answer is None:
                return
            onward = await self._asking.onward(answer) if isinstance(answer, Page) else None
            if onward is None:
                stopped, asked = self._asking.meaning(answer, site)
                self.learned += asked
                raise Unfetched(stopped)
            hop, leave = onward

    async def _download(self, path: Path, hop: Hop, options: FetchOptions) -> Page | Blocked | Failed | None:
        """What came instead of the sitemap; None when it is at the path."""
        request = Request(hop.url, history=hop.history, cookies=hop.cookies)
        stream = await self._client.stream(request, options)
        if isinstance(stream, Failed):
            self.bytes_in += stream.bytes_in
            return stream
        async with stream:
            try:
                if not 200 <= stream.status < 300:
                    page = stream.page()
                    return judge(page) or page
                with path.open("wb") as file:
                    async for piece in stream:
                        file.write(piece)
                return stream.failed
            finally:
                self.bytes_in += stream.bytes_in
