"""The arithmetic of lanes: pure functions over a lane's row.

A lane's rate is kept as the time of its next free slot (`next_slot`). With a burst of b, the slots of
the last b - 1 spacings that nobody used may be used now. A lane is claimed from a little before its
slot, at most HORIZON ahead, so that a fast lane's tasks are handed out several at a time; each task
carries how long its worker must wait for its own slot.
"""

from msgspec import Struct

from fyke.core.clock import SECOND

__all__ = [
    "AGEING",
    "BANDS",
    "HORIZON",
    "LANE_COLUMNS",
    "OWN_BAND",
    "Lane",
    "look_at",
    "slots",
    "slow",
    "turn_at",
]

BANDS = 8  # 0 is served first
OWN_BAND = BANDS  # beside them: lanes of Fyke's own tasks, for workers that can reach the database
AGEING = 10 * SECOND  # a band further down is overtaken for this long, then it has its turn
HORIZON = SECOND // 5

LANE_COLUMNS = (
    "id, waiting, band, look_at, next_slot, spacing, base_spacing, burst, cap, queued, in_flight, slow_until"
)


class Lane(Struct):
    """A lane's row while it is locked; changed in place and written back."""

    id: int
    waiting: int
    band: int
    look_at: int
    next_slot: int
    spacing: int
    base_spacing: int
    burst: int
    cap: int
    queued: int
    in_flight: int
    slow_until: int

    def refresh(self, now: int) -> None:
        """Bring what depends on the rest up to date: a slowed rate that has had its time, whether
        there is anything to claim, and when to look."""
        if self.slow_until and now >= self.slow_until:
            self.spacing, self.slow_until = self.base_spacing, 0
        before, self.waiting = (
            self.waiting,
            int(self.queued > 0 and (self.cap == 0 or self.in_flight < self.cap)),
        )
        if self.waiting and not before:
            # Slots long past allow no more than those of now, and its age as it waits begins here.
            self.next_slot = max(self.next_slot, now)
        self.look_at = look_at(self)


def reach(lane: Lane) -> int:
    """How far before `next_slot` a claim may be: what was saved up, and what is handed out ahead."""
    saved = (lane.burst - 1) * lane.spacing
    return saved + (HORIZON if 0 < lane.spacing < HORIZON else 0)


def look_at(lane: Lane) -> int:
    return lane.next_slot - reach(lane)


def slots(lane: Lane, want: int, now: int) -> list[int]:
    """The start times of up to `want` tasks claimed from the lane now. Moves the lane's next slot."""
    free = lane.cap - lane.in_flight if lane.cap else want
    want = min(want, free)
    if lane.spacing == 0:
        # No rate, but perhaps a pause that the site asked for. Being served puts it behind the others.
        if want <= 0 or lane.next_slot > now:
            return []
        lane.next_slot = now
        return [now] * want
    saved = (lane.burst - 1) * lane.spacing
    starts: list[int] = []
    while len(starts) < want and lane.next_slot - reach(lane) <= now:
        starts.append(max(now, lane.next_slot - saved))
        lane.next_slot = max(lane.next_slot, now) + lane.spacing
    return starts


def slow(lane: Lane, now: int, pause: int, halve: bool, duration: int, interval: int) -> None:
    """The site asked for less."""
    if interval > lane.base_spacing:
        lane.base_spacing = interval
        if interval > lane.spacing:
            lane.next_slot += interval - lane.spacing  # the next one counts from the last, too
            lane.spacing = interval
    if halve and now >= lane.slow_until - duration // 2:
        # not again for every answer of the same burst: only once half of the time has passed
        lane.spacing = max(lane.spacing * 2, SECOND // 50)
        lane.slow_until = now + duration
    if pause:
        saved = (lane.burst - 1) * lane.spacing
        lane.next_slot = max(lane.next_slot, now + pause + saved)


def turn_at(served: int, band: int) -> int:
    """When a queue that was served at `served` is due again: the earliest has its turn."""
    return served + band * AGEING
