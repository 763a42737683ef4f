"""When it happens: at random, but by what has been done, so that it hits work on a slow machine too."""

import asyncio
import random

from tests.chaos.site import Site

__all__ = ["Moments"]

SLOWEST = 0.03  # seconds from the page to the blow


class Moments:
    """So many moments in the course of a crawl: each comes after a random number of pages that had not
    been asked for before, and then a little later, so that it may hit anything: a claim, a fetch, a
    settling, a renewal. The seed is printed."""

    def __init__(self, site: Site, count: int) -> None:
        seed = random.SystemRandom().randrange(1 << 32)
        print(f"\nchaos: seed {seed}")
        self.random = random.Random(seed)
        self.site = site
        pages = len(site.paths)
        self.after = sorted(self.random.sample(range(pages // 50, pages - pages // 20), count))

    def __len__(self) -> int:
        return len(self.after)

    async def next(self) -> None:
        after = self.after.pop(0)
        await self.site.until(lambda: self.site.distinct() > after, seconds=120)
        await asyncio.sleep(self.random.random() * SLOWEST)
