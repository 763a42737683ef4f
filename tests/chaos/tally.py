"""What a run has cost and what it has broken: one line to be read, and the zeros that must be zeros."""

from msgspec import Struct

__all__ = ["Tally"]

TAKEOVER_SLACK = 5.0  # seconds beyond the lease


class Tally(Struct, frozen=True, kw_only=True):
    """`again` counts pages that the site was asked for more than once; `takeover` is the longest time
    from a death until nothing hung on the dead one's lease, None where nobody had to take over."""

    scenario: str
    database: str
    tasks: int
    kills: int
    again: int
    lost: int
    doubled: int
    stuck: int
    innocent: int
    takeover: float | None = None
    late_accepted: int = 0
    wrong: tuple[str, ...] = ()  # books of the queue that do not agree

    def __str__(self) -> str:
        takeover = "-" if self.takeover is None else f"{self.takeover:.1f} s"
        return (
            f"{self.scenario} | {self.database} | tasks {self.tasks} | kills {self.kills}"
            f" | fetched again {self.again} | lost {self.lost} | doubled {self.doubled}"
            f" | stuck {self.stuck} | quarantined innocent {self.innocent}"
            f" | worst takeover {takeover} | late writes accepted {self.late_accepted}"
        )

    def check(self, lease: float) -> None:
        """Say it, and insist."""
        print(f"\nchaos: {self}", flush=True)
        broken = (self.lost, self.doubled, self.stuck, self.innocent, self.late_accepted)
        assert broken == (0, 0, 0, 0, 0), str(self)
        assert not self.wrong, "\n".join(self.wrong)
        assert self.takeover is None or self.takeover <= lease + TAKEOVER_SLACK, str(self)
