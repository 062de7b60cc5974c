"""How long `kvlint check` takes, beside ruff on the same tree and beside starting Python.

    python benchmarks/bench_check.py RELEASE [--rounds N]

RELEASE is the folder of an unpacked SGLang release. Prints wall and user time as the best of N
rounds, taken in turns so that a busy machine hurts all alike, and the two ratios; the exit status
is 1 if one of them is above its limit.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

RUFF = ["-m", "ruff", "check", "--isolated", "--select", "E,F,B,ASYNC", "--no-cache", "--quiet"]
WHOLE_LIMIT = 0.5
ONE_FILE_LIMIT = 4.0
ALLOWED = (0, 1)  # clean or with findings; anything else means that nothing was measured

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

    def __init__(self, name: str, *arguments: str) -> None:
        self.name = name
        self.command = [sys.executable, *arguments]
        self.wall = self.user = float("inf")

    def run(self) -> None:
        """Run the command once."""
        before = os.times().children_user
        start = perf_counter()
        done = subprocess.run(self.command, capture_output=True, text=True, check=False)
        self.wall = min(self.wall, perf_counter() - start)
        self.user = min(self.user, os.times().children_user - before)
        if done.returncode not in ALLOWED or "No module named" in done.stderr:
            sys.exit(f"{self.name} failed:\n{done.stderr}")

    def __str__(self) -> str:
        return f"{self.name:<28} wall {self.wall:7.3f} s   user {self.user:7.3f} s"


def main() -> int:
    """Time the four commands and print the two ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("release", type=Path, help="folder of an unpacked SGLang release")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if not options.release.is_dir():
        parser.error(f"no such folder: {options.release}")
    with tempfile.TemporaryDirectory() as folder:
        one = Path(folder) / "unrelated.py"
        one.write_text(UNRELATED)
        check = ["-m", "kvlint", "check"]
        ruff = Timing("ruff, whole package", *RUFF, str(options.release))
        whole = Timing("kvlint, whole package", *check, str(options.release))
        nothing = Timing("python -c pass", "-c", "pass")
        single = Timing("kvlint, one unrelated file", *check, str(one))
        for _ in range(options.rounds):
            for timing in (ruff, whole, nothing, single):
                timing.run()
    for timing in (ruff, whole, nothing, single):
        print(timing)
    first = _ratio("whole package / ruff", whole, ruff, WHOLE_LIMIT)
    second = _ratio("one file / python -c pass", single, nothing, ONE_FILE_LIMIT)
    return 0 if first and second else 1


def _ratio(name: str, one: Timing, other: Timing, limit: float) -> bool:
    wall = one.wall / other.wall
    print(f"{name:<28} wall {wall:7.2f}     user {one.user / other.user:7.2f}     limit {limit}")
    return wall <= limit


if __name__ == "__main__":
    sys.exit(main())
