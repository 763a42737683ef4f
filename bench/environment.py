"""The peers' own environment under bench/: a virtual environment, Node's modules, Debian's servers."""

import hashlib
import subprocess
import sys
from pathlib import Path

from bench.services import PACKAGES, Missing, program

__all__ = ["HERE", "NODE_MODULES", "PYTHON", "ROOT", "prepare"]

HERE = Path(__file__).parent.resolve()
ROOT = HERE.parent
ENVIRONMENT = HERE / ".env"
PYTHON = ENVIRONMENT / "bin" / "python"
NODE_MODULES = HERE / "node_modules"


def prepare() -> None:
    """Bring everything that is missing; quick when nothing is."""
    _packages()
    _python()
    _node()


def _packages() -> None:
    missing = [package for name, package in PACKAGES.items() if not _there(name)]
    if not missing:
        return
    if subprocess.run([str(ROOT / "scripts" / "debian"), *missing], check=False).returncode != 0:
        print("What needs them is left out of the table, by name.", file=sys.stderr)


def _there(name: str) -> bool:
    try:
        program(name)
    except Missing:
        return False
    return True


def _stale(stamp: Path, source: Path) -> str | None:
    """What the stamp is to say, or None when it says so already."""
    wanted = hashlib.sha256(source.read_bytes() + str(HERE).encode()).hexdigest()
    return None if stamp.exists() and stamp.read_text() == wanted else wanted


def _python() -> None:
    """pip is borrowed from the environment that runs this, so that none need come with Python."""
    stamp, source = ENVIRONMENT / "installed", HERE / "requirements.txt"
    wanted = _stale(stamp, source)
    if wanted is None:
        return
    print("Installing the Python peers ...", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", str(ENVIRONMENT)], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(PYTHON), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "-qq", "--requirement", str(source)], check=True)
    stamp.write_text(wanted)


def _node() -> None:
    if not (_there("node") and _there("npm")):
        return
    stamp, source = NODE_MODULES / ".installed", HERE / "package.json"
    wanted = _stale(stamp, source)
    if wanted is None:
        return
    print("Installing the Node peer ...", file=sys.stderr)
    install = [program("npm"), "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
    subprocess.run(install, cwd=HERE, check=True, stdout=subprocess.DEVNULL)
    stamp.write_text(wanted)
