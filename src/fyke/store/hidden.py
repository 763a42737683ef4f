"""How far the deletion of a job is: the values of jobs.hidden. One more is `listings.LISTED`."""

from typing import Final

__all__ = ["HIDDEN", "NAMED"]

HIDDEN: Final = 1  # out of sight
NAMED: Final = 2  # its objects have been named
