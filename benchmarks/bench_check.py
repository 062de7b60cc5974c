"""How long `kvlint check` takes, beside ruff, pylint and starting Python in the same run.

    pip install '.[bench]'
    python benchmarks/bench_check.py RELEASE [--rounds N] [--pylint-rounds N]

RELEASE is the folder of an unpacked SGLang release. Four pairs are timed:

- the whole package, against ruff with rules that look at every statement;
- the same without the search, which is what `kvlint table` does;
- its `disaggregation` folder, against the two pylint checks that need the least;
- one file that is no backend, against `python -c pass`.

The two commands of a pair take turns, so that a busy machine hurts both alike. Prints wall and user
time as the best of N rounds, then each ratio of the wall times with the limit that it is meant to
keep; the exit status is 1 if one of them is above it. pylint needs half a minute for a round, so
its pair has fewer.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

RUFF = ["-m", "ruff", "check", "--isolated", "--select", "E,F,B,ASYNC", "--no-cache", "--quiet"]
PYLINT = ["-m", "pylint", f"--rcfile={os.devnull}", "--disable=all", "--enable=W0101,E0602"]
WHOLE_LIMIT = 1.0
READING_LIMIT = 0.5
FOLDER_LIMIT = 0.1
ONE_FILE_LIMIT = 4.0
# Clean or with findings; anything else means that nothing was measured.
FINDINGS = (0, 1)
PYLINT_FINDINGS = (0, 2, 4, 6)  # errors 2, warnings 4; 1 and 32 are its own failures

UNRELATED = '''"""A file that is no backend."""

from __future__ import annotations

import os


def newest(folder: str) -> str | None:
    """The newest file in a folder."""
    names = [os.path.join(folder, name) for name in os.listdir(folder)]
    return max(names, key=os.path.getmtime, default=None)
'''


class Timing:
    """The best wall and user time of one command so far."""

    def __init__(self, name: str, *arguments: str, allowed: tuple[int, ...] = FINDINGS) -> None:
        self.name = name
        self.command = [sys.executable, *arguments]
        self.allowed = allowed
        self.wall = self.user = float("inf")

    def run(self) -> str:
        """Run the command once; gives what it printed."""
        before = os.times().children_user
        start = perf_counter()
        done = subprocess.run(self.command, capture_output=True, text=True, check=False)
        self.wall = min(self.wall, perf_counter() - start)
        self.user = min(self.user, os.times().children_user - before)
        if done.returncode not in self.allowed or "No module named" in done.stderr:
            sys.exit(f"{self.name} failed with {done.returncode}:\n{done.stderr}")
        return done.stdout

    def __str__(self) -> str:
        return f"{self.name:<28} wall {self.wall:7.3f} s   user {self.user:7.3f} s"


@dataclass(frozen=True, eq=False)
class Pair:
    """kvlint and what it is measured against; the ratio of their wall times has a limit."""

    name: str
    kvlint: Timing
    other: Timing
    limit: float

    def run(self, rounds: int) -> None:
        """Run both in turns."""
        for _ in range(rounds):
            self.other.run()
            self.kvlint.run()

    @property
    def kept(self) -> bool:
        """Whether the ratio is within its limit."""
        return self.kvlint.wall <= self.limit * self.other.wall

    def __str__(self) -> str:
        wall, user = self.kvlint.wall / self.other.wall, self.kvlint.user / self.other.user
        verdict = "kept" if self.kept else "EXCEEDED"
        ratios = f"wall {wall:7.3f}     user {user:7.3f}"
        return f"{self.name:<28} {ratios}     limit {self.limit} {verdict}"


def pairs(release: Path, folder: Path, unrelated: Path) -> tuple[Pair, Pair, Pair, Pair]:
    """Whole package, whole package without the search, backends, one file."""
    check = ["-m", "kvlint", "check", "--isolated", "--no-cache"]
    table = ["-m", "kvlint", "table", "--isolated"]
    return (
        Pair(
            "whole package / ruff",
            Timing("kvlint, whole package", *check, str(release)),
            Timing("ruff, whole package", *RUFF, str(release)),
            WHOLE_LIMIT,
        ),
        Pair(
            "no search / ruff",
            Timing("kvlint table, whole package", *table, str(release)),
            Timing("ruff, whole package", *RUFF, str(release)),
            READING_LIMIT,
        ),
        Pair(
            "disaggregation / pylint",
            Timing("kvlint, disaggregation", *check, str(folder)),
            Timing("pylint, disaggregation", *PYLINT, str(folder), allowed=PYLINT_FINDINGS),
            FOLDER_LIMIT,
        ),
        Pair(
            "one file / python -c pass",
            Timing("kvlint, one unrelated file", *check, str(unrelated)),
            Timing("python -c pass", "-c", "pass"),
            ONE_FILE_LIMIT,
        ),
    )


def disaggregation(release: Path) -> Path | None:
    """The folder with the backends: the shallowest one of that name."""
    found = (path for path in release.rglob("disaggregation") if path.is_dir())
    return min(found, key=lambda path: (len(path.parts), path), default=None)


def main() -> int:
    """Time the pairs and print their ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("release", type=Path, help="folder of an unpacked SGLang release")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pylint-rounds", type=int, default=2, help="0 leaves pylint out")
    options = parser.parse_args()
    if not options.release.is_dir():
        parser.error(f"no such folder: {options.release}")
    folder = disaggregation(options.release)
    if folder is None:
        parser.error(f"no disaggregation folder in {options.release}")
    with tempfile.TemporaryDirectory() as temporary:
        one = Path(temporary) / "unrelated.py"
        one.write_text(UNRELATED)
        whole, reading, backends, single = pairs(options.release, folder, one)
        rounds = {backends: options.pylint_rounds}
        chosen = [pair for pair in (whole, reading, backends, single) if rounds.get(pair, 1)]
        for pair in chosen:
            pair.run(rounds.get(pair, options.rounds))
    for pair in chosen:
        print(pair.other, pair.kvlint, sep="\n")
    print(*chosen, sep="\n")
    return 0 if all(pair.kept for pair in chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
