"""Whether a site may be asked now: one rule for whatever a task fetches, page or sitemap.

In this order: allowed hours, robots.txt, the rate of the lane. In a lane with a rate a turn is one request: a
task that has spent its own on robots.txt queues again. A redirect is followed at once where nothing limits
who is asked next; anywhere else the task waits for a turn in the lane that it leads to.
"""

from typing import Final

import msgspec
from msgspec import Struct

from fyke.core import clock
from fyke.core.outcome import Effect
from fyke.core.page import Blocked, Failed, Page
from fyke.core.task import LaneSpec, Task
from fyke.core.urls import host_of
from fyke.fetch.options import FetchOptions
from fyke.jobs.answers import Stopped, disallowed, leads_to, stopped_by
from fyke.jobs.payload import Hop
from fyke.politeness.adapt import crawl_delay, slow_down
from fyke.politeness.policies import Policies
from fyke.politeness.policy import Policy
from fyke.politeness.robots import Robots

__all__ = ["Asking", "Leave", "Site"]

SITES: Final = 50_000


class Site(Struct, frozen=True):
    """What holds for a host, and how it is asked."""

    host: str
    policy: Policy
    obeys: bool
    timed: bool
    options: FetchOptions


class Leave(Struct, frozen=True, gc=False):
    """Whether a request may be made in this turn (`go`). If not, `stopped` says why it may not at all, or
    else the task queues again: after `delay` µs, or in the lane `to`. `learned` is to be written whatever."""

    go: bool
    learned: tuple[Effect, ...] = ()
    delay: int = 0
    to: LaneSpec | None = None
    stopped: Stopped | None = None


GO: Final = Leave(True)


class Asking:
    """How the sites of one kind of request are asked; `options` are what it wants of each."""

    def __init__(self, robots: Robots, policies: Policies, options: FetchOptions) -> None:
        self._robots = robots
        self._policies = policies
        self._options = msgspec.structs.replace(options, may_follow=self._may_follow)
        self._variants: dict[tuple[str | None, bool], FetchOptions] = {}
        self._sites: dict[str, Site] = {}

    def site(self, url: str) -> Site:
        """What holds for the host of a canonical URL."""
        return self._sites.get(url.split("/", 3)[2]) or self._new_site(url)

    async def leave(self, task: Task, url: str, site: Site, *, robots: bool = False) -> Leave:
        """Whether a task may ask for a canonical URL in its turn. With `robots` it needs to know what
        robots.txt says even where that is not obeyed."""
        if site.timed:
            wait = site.policy.opens_in(clock.now())
            if wait:
                return Leave(False, delay=wait)
        if not (site.obeys or robots):
            return GO
        answer = self._robots.peek(url)
        spent = answer is None and task.interval > 0  # also by waiting: its turn is over when it is known
        if answer is None:
            answer = await self._robots.allowed(url)
        learned: tuple[Effect, ...] = () if answer.fetched_now is None else (answer.fetched_now,)
        if answer.crawl_delay is not None:
            slow = crawl_delay(answer.crawl_delay, site.policy)
            if slow is not None and slow.interval > task.interval:  # the lane does not keep it yet
                learned = (*learned, slow)
                spent = True
        if site.obeys and not answer.allowed:
            return Leave(False, learned, stopped=disallowed(answer))
        if spent:
            return Leave(False, learned)
        return Leave(True, learned) if learned else GO

    async def onward(self, page: Page) -> tuple[Hop, Leave] | None:
        """The next request of a redirect that was not followed, and whether it may be made at once; None if
        the page leads nowhere."""
        target = leads_to(page)
        if target is None:
            return None
        hop = Hop(target, (*page.history, page.final_url), page.cookies, page.bytes_in)
        there = self.site(target)
        lane = self._policies.lane_for(target)
        if not self._is_free(page.final_url, target, there):
            return hop, Leave(False, to=lane)
        if not there.obeys:
            return hop, GO
        answer = await self._robots.allowed(target)
        learned = () if answer.fetched_now is None else (answer.fetched_now,)
        if not answer.allowed:
            return hop, Leave(False, learned, stopped=disallowed(answer, page))
        if answer.crawl_delay is not None:
            return hop, Leave(False, learned, to=lane)
        return hop, Leave(True, learned)

    def meaning(self, fetched: Page | Failed | Blocked, site: Site) -> tuple[Stopped, tuple[Effect, ...]]:
        """What an answer that is not what was asked for means: for the task, and for its lane."""
        slow = slow_down(fetched, site.policy)
        return stopped_by(fetched), () if slow is None else (slow,)

    def _new_site(self, url: str) -> Site:
        host = host_of(url)
        policy = self._policies.policy_for(host)
        once = policy.delay > 0  # what is sent again at once has no turn in such a lane
        options = self._variants.get((policy.user_agent, once))
        if options is None:
            options = msgspec.structs.replace(self._options, user_agent=policy.user_agent, once=once)
            self._variants[policy.user_agent, once] = options
        site = Site(host, policy, policy.robots == "obey", bool(policy.hours), options)
        if len(self._sites) >= SITES:
            self._sites.clear()
        self._sites[url.split("/", 3)[2]] = site
        return site

    def _may_follow(self, here: str, there: str) -> bool:
        """Whether a redirect may be followed at once: not to a lane that has limits, nor to what robots.txt
        disallows, nor to an origin whose robots.txt is still to be fetched."""
        site = self.site(there)
        if not self._is_free(here, there, site):
            return False
        if not site.obeys:
            return True
        answer = self._robots.peek(there)
        return answer is not None and answer.allowed and answer.crawl_delay is None

    def _is_free(self, here: str, there: str, site: Site) -> bool:
        """Whether a request may go there with no turn of its own; the place in its own lane it holds."""
        lane = self._policies.lane_for(there)
        held = lane.cap == 0 or lane == self._policies.lane_for(here)
        return lane.interval == 0 and held and not site.timed
