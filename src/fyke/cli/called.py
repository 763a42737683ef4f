"""How this program is called: a command that somebody is told to give has to work where they are."""

import os
import shlex
import shutil
import sys
from pathlib import Path

__all__ = ["program", "typed"]

NAME = "fyke"


def program() -> str:
    """What to type for `fyke`: that, if the shell finds this very program by it, else what was typed now."""
    called = sys.argv[0]
    if Path(called).name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m {NAME}"
    if Path(called).name != NAME:  # somebody else's program, that calls the commands
        return NAME
    found = shutil.which(NAME)
    same = found is not None and os.path.realpath(found) == os.path.realpath(called)
    return NAME if same else shlex.quote(called)


def typed(message: str) -> str:
    """A message, whose commands stand in backquotes, for somebody who is to type them."""
    return message.replace(f"`{NAME} ", f"`{program()} ")
