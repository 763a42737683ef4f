"""How a command ends, in numbers."""

from enum import IntEnum

from fyke.core.errors import FykeError, Invalid, Refused

__all__ = ["Exit", "exit_code", "exit_of_state"]


class Exit(IntEnum):
    DONE = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    PARTIAL = 4
    STOPPED = 5
    INTERRUPTED = 130


def exit_code(error: FykeError) -> Exit:
    """The code that an error ends a command with."""
    if isinstance(error, Refused):
        return Exit.REFUSED
    if isinstance(error, Invalid):
        return Exit.USAGE
    return Exit.FAILED


def exit_of_state(state: str) -> Exit:
    """The code that a job's last state ends a command with."""
    return {"succeeded": Exit.DONE, "partial": Exit.PARTIAL, "stopped": Exit.STOPPED}.get(state, Exit.FAILED)
