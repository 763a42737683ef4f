"""What Fyke can do without, and how to get it: into the environment that runs, whichever pip the user has."""

import shlex
import sys
from typing import Final

__all__ = ["PYARROW", "how_to_install"]

PYARROW: Final = "pyarrow>=26,<27"


def how_to_install(requirement: str) -> str:
    """The command to type."""
    return f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(requirement)}"
