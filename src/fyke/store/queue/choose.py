"""Which tasks a claim takes: one pure decision over rows that were read under lock.

Lanes come in the order in which they became due. Of a lane's queues, one for each job, the one whose
turn is earliest goes first; being served moves its turn behind the others of its band. So jobs of
equal rank alternate, a job of better rank goes before, and none waits for ever.

A lane from which nothing can be taken (its jobs are at their caps, stopped, or locked by somebody
else) is looked at again a little later, one after the other: so the next claims do not walk past all of
them again, and one is due whenever a job may run a task more. How many there can be, see `activity`.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from fyke.core.task import JobInfo
from fyke.store.queue.lanes import Lane, slots, turn_at

__all__ = ["JobRow", "QueueRow", "Take", "choose"]

PARK_STEP = 1_000  # µs from one lane found in vain to the next
PARK_MOST = 500_000


class QueueRow(Struct):
    """The tasks of one job that wait in one lane."""

    lane: int
    job: int
    queued: int
    low: int
    turn: int


class JobRow(Struct):
    """A job as a claim sees it, locked."""

    id: int
    state: str
    phase: str
    stop: str | None
    band: int
    cap: int
    in_flight: int
    options: str
    definition: bytes

    def room(self, want: int) -> int:
        """How many of `want` tasks more of it may run. What runs alone is looked for with the same rule in
        SQL, see `sql.RUNNABLE`."""
        if self.phase != "crawl" or self.stop is not None:
            return 0
        return min(want, self.cap - self.in_flight) if self.cap else want

    def info(self) -> JobInfo:
        return JobInfo(self.id, self.options.encode(), bytes(self.definition))


class Take(Struct):
    """Take up to `len(starts)` tasks from a queue, to start at these times."""

    queue: QueueRow
    lane: Lane
    starts: list[int]


def choose(
    lanes: Sequence[Lane], queues: Iterable[QueueRow], jobs: Mapping[int, JobRow], want: int, now: int
) -> list[Take]:
    """Decide, and move lanes, queues and jobs on as if every task were found."""
    by_lane: dict[int, list[QueueRow]] = {lane.id: [] for lane in lanes}
    for queue in queues:
        by_lane[queue.lane].append(queue)
    takes: list[Take] = []
    vain: list[Lane] = []
    for lane in lanes:
        if want <= 0:
            break
        taken = _from_lane(lane, by_lane[lane.id], jobs, want, now)
        want -= sum(len(take.starts) for take in taken)
        takes += taken
        _settle_band(lane, by_lane[lane.id], jobs)
        lane.refresh(now)
        if taken:
            continue
        if all(queue.job in jobs for queue in by_lane[lane.id]):
            vain.append(lane)
        else:  # somebody holds the job for a moment
            lane.look_at = max(lane.look_at, now + PARK_STEP)
    for number, lane in enumerate(vain, 1):
        lane.look_at = max(lane.look_at, now + min(PARK_MOST, PARK_STEP * number))
    return takes


def _from_lane(
    lane: Lane, queues: list[QueueRow], jobs: Mapping[int, JobRow], want: int, now: int
) -> list[Take]:
    takes: list[Take] = []
    for queue in sorted(queues, key=lambda q: q.turn):
        job = jobs.get(queue.job)
        if job is None:
            continue
        room = job.room(min(want, queue.queued))
        if room <= 0:
            continue
        starts = slots(lane, room, now)
        if not starts:
            break
        takes.append(Take(queue, lane, starts))
        taken = len(starts)
        want -= taken
        lane.in_flight += taken
        lane.queued -= taken
        queue.queued -= taken
        queue.turn = turn_at(now, job.band)
        job.in_flight += taken
        if want <= 0:
            break
    return takes


def _settle_band(lane: Lane, queues: list[QueueRow], jobs: Mapping[int, JobRow]) -> None:
    """A lane is served as its best waiting task is."""
    bands = [jobs[q.job].band for q in queues if q.queued > 0 and q.job in jobs]
    if bands:
        lane.band = min(bands)
