"""What is run: a release as it is, the variant that started the project, or either rewritten."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.releases.fetch import release as fetched
from tests.releases.seed import make_seed

from .errors import HarnessError

INSIDE = Path("sglang") / "srt" / "disaggregation"
# The two folders that a NIXL manager is made of.
REWRITTEN = ("common", "nixl")
FIX_SECONDS = 300
SMALL = Path(__file__).resolve().parent / "small"


@dataclass(frozen=True)
class Variant:
    """A backend to run."""

    release: str = ""
    seed: bool = False
    small: bool = False  # the backend in the folder `small` beside this file
    fixes: str = ""  # as `kvlint fix --select` takes them
    verify: bool = True

    def __str__(self) -> str:
        parts = ["small" if self.small else self.release]
        if self.seed:
            parts.append("seed variant")
        if self.fixes:
            parts.append(f"fixes {self.fixes}")
        if not self.verify:
            parts.append("not verified")
        return ", ".join(parts)


@dataclass(frozen=True)
class Tree:
    """The folders of a variant, and what the rewriting printed."""

    release: Path
    overlay: Path
    rewriting: str = ""


def make(variant: Variant, folder: Path) -> Tree:
    """The sources of a variant, below `folder` where they differ from the release's."""
    release = SMALL if variant.small else fetched(variant.release)
    if not variant.seed and not variant.fixes:
        return Tree(release, release)
    overlay = Path(tempfile.mkdtemp(dir=folder))
    if variant.seed:
        make_seed(release, overlay)
    else:
        shutil.copytree(
            release / INSIDE, overlay / INSIDE, ignore=shutil.ignore_patterns("__pycache__")
        )
    return Tree(release, overlay, _rewrite(variant, overlay / INSIDE) if variant.fixes else "")


def _rewrite(variant: Variant, folder: Path) -> str:
    """Run `kvlint fix` as a user would; a fix that is refused is an error here.

    Isolated (-I), as the folder has modules named like others' and must not be on the path.
    """
    options = ["--select", variant.fixes, "--unsafe-fixes"]
    if not variant.verify:
        options.append("--no-verify")
    done = subprocess.run(
        [sys.executable, "-I", "-m", "kvlint", "fix", "--isolated", *options, *REWRITTEN],
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=FIX_SECONDS,
    )
    if done.returncode != 0:
        raise HarnessError(f"kvlint fix on {variant}: {done.stderr.strip()}")
    return done.stdout
