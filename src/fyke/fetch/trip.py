"""The hops of one request, from its URL to where it ended."""

from collections.abc import Callable

from fyke.core import clock
from fyke.core.errors import InvalidUrl
from fyke.core.http import retry_after
from fyke.core.page import Cookies, ErrorClass, Failed, Page, Request
from fyke.core.secrets import hide_login
from fyke.core.urls import host_of, join
from fyke.fetch.headers import Head
from fyke.fetch.options import FetchOptions
from fyke.fetch.problems import Problem
from fyke.fetch.transfer import Ask

__all__ = ["Trip", "as_browsers_read"]

SHOWN = 200  # characters of a server's text in a message
MOST_COOKIES = 20


class Trip:
    """Where a request stands: the URL of the next hop, those behind it, and what has come so far.

    Cookies live for one trip and go back only to the host that set them: enough for the sites that set
    one and redirect to themselves, nothing that another request could see.
    """

    __slots__ = ("ask", "begun", "bytes_in", "cookies", "history", "options", "request", "total", "url")

    def __init__(self, request: Request, options: FetchOptions, ask: Ask, total: float) -> None:
        self.request = request
        self.options = options
        self.ask = ask
        self.total = total
        self.url = request.url
        self.history = request.history
        self.cookies: Cookies = request.cookies or {}
        self.bytes_in = 0
        self.begun = clock.monotonic()

    def time_left(self) -> float:
        """Seconds left for the next hop. The first gets all: its handle need not be set anew."""
        return (
            self.total
            if self.history is self.request.history
            else self.begun + self.total - clock.monotonic()
        )

    def hop_ask(self, host: str) -> Ask:
        """What to ask this host for."""
        cookies = self.cookies.get(host) if self.cookies else None
        if not cookies:
            return self.ask
        line = "; ".join(f"{name}={value}" for name, value in cookies.items())
        ask = self.ask
        return Ask(
            headers=(*ask.headers, b"Cookie: " + line.encode("latin-1", "replace")),
            types=ask.types,
            body_bytes=ask.body_bytes,
            inflated_bytes=ask.inflated_bytes,
            truncate=ask.truncate,
            once=ask.once,
        )

    def redirect(self, head: Head, target: str, most: int, admits: Callable[[str], bool]) -> Problem | bool:
        """Move on to the redirect's target. False: it is not to be followed, and is the page itself. Nobody
        is asked about a target that the guard does not admit: the next hop will say so."""
        try:
            url = join(self.url, as_browsers_read(target))
        except InvalidUrl as error:
            return (
                ErrorClass.INVALID_URL,
                f"redirected to {_shown(target)!r}, which cannot be used: {error.message}",
            )
        new_cookies = self._keep_cookies(head)
        if (url == self.url or url in self.history) and not new_cookies:
            return ErrorClass.TOO_MANY_REDIRECTS, f"redirects go in a circle, by {_shown(url)}"
        if len(self.history) >= most:
            return ErrorClass.TOO_MANY_REDIRECTS, f"more than {most} redirects"
        may_follow = self.options.may_follow
        if may_follow is not None and admits(url) and not may_follow(self.url, url):
            return False
        self.history = (*self.history, self.url)
        self.url = url
        return True

    def _keep_cookies(self, head: Head) -> bool:
        """Remember the cookies of a redirect; whether any of them is new."""
        new = False
        for name, value in head.headers:
            if name != "set-cookie":
                continue
            key, equals, content = value.partition(";")[0].partition("=")
            jar = self.cookies.setdefault(host_of(self.url), {})
            key, content = key.strip(), content.strip()
            if equals and key and len(jar) < MOST_COOKIES and jar.get(key) != content:
                jar[key] = content
                new = True
        return new

    def page(self, head: Head, body: bytes, address: str | None) -> Page:
        return Page(
            url=self.request.url,
            final_url=self.url,
            status=head.status,
            headers=head.headers,
            body=body,
            bytes_in=self.bytes_in,
            fetched_at=clock.now(),
            elapsed=clock.monotonic() - self.begun,
            address=address,
            history=self.history,
            cookies=self.cookies or None,
        )

    def failed(self, problem: Problem, head: Head | None = None) -> Failed:
        now = clock.now()
        return Failed(
            url=self.request.url,
            error_class=problem[0],
            message=problem[1],
            fetched_at=now,
            final_url=self.url,
            status=head.status if head else None,
            bytes_in=self.bytes_in,
            retry_after=retry_after(head.get("retry-after"), now) if head else None,
            elapsed=clock.monotonic() - self.begun,
        )


def _shown(url: str) -> str:
    """A URL for a message: without user name, password and query, which may hold what is secret."""
    return hide_login(url).partition("?")[0][:SHOWN]


def as_browsers_read(location: str) -> str:
    """A Location as bytes is UTF-8 where it can be."""
    if location.isascii():
        return location
    try:
        return location.encode("latin-1").decode("utf-8")
    except UnicodeDecodeError:
        return location
