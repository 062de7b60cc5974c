"""What the cache saves: `kvlint check` on an unchanged tree, beside its first run on it.

    python benchmarks/bench_cache.py RELEASE [--rounds N]

RELEASE is the folder of an unpacked SGLang release. Three runs over the whole package and over its
`disaggregation` folder take turns: without a cache, with an empty one, and with the one that this
run has left. The cache lies in a temporary folder.

Prints wall and user time as the best of N rounds, then the ratio of the warm run to the cold one
with the limit that it is meant to keep. The exit status is 1 if one of them is above it or if the
runs do not print the same.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from bench_check import Timing, disaggregation

LIMIT = 1 / 3


class Runs:
    """The three runs over one path."""

    def __init__(self, name: str, path: Path, cache: Path) -> None:
        check = ("-m", "kvlint", "check", "--isolated", str(path))
        self.name = name
        self.cache = cache
        self.without = Timing(f"{name}, no cache", *check, "--no-cache")
        self.cold = Timing(f"{name}, cold", *check)
        self.warm = Timing(f"{name}, warm", *check)
        self.same = True

    def run(self) -> None:
        """Run all three in turns."""
        shutil.rmtree(self.cache, ignore_errors=True)
        printed = {timing.run() for timing in (self.without, self.cold, self.warm)}
        self.same = self.same and len(printed) == 1

    @property
    def kept(self) -> bool:
        """Whether the warm run is quick enough, and all print the same."""
        return self.same and self.warm.wall <= LIMIT * self.cold.wall

    def __str__(self) -> str:
        wall, user = self.warm.wall / self.cold.wall, self.warm.user / self.cold.user
        verdict = "kept" if self.kept else "EXCEEDED" if self.same else "DIFFERENT OUTPUT"
        ratios = f"wall {wall:7.3f}     user {user:7.3f}"
        return f"{self.name + ', warm / cold':<28} {ratios}     limit {LIMIT:.2f} {verdict}"


def main() -> int:
    """Time the runs and print their ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("release", type=Path, help="folder of an unpacked SGLang release")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    folder = disaggregation(options.release)
    if folder is None:
        parser.error(f"no disaggregation folder in {options.release}")
    os.environ.pop("KVLINT_NO_CACHE", None)
    with tempfile.TemporaryDirectory() as temporary:
        cache = Path(temporary) / "cache"
        os.environ["KVLINT_CACHE_DIR"] = str(cache)
        paths = {"package": options.release, "disaggregation": folder}
        chosen = [Runs(name, path, cache) for name, path in paths.items()]
        for runs in chosen:
            for _ in range(options.rounds):
                runs.run()
    for runs in chosen:
        print(runs.without, runs.cold, runs.warm, sep="\n")
    print(*chosen, sep="\n")
    return 0 if all(runs.kept for runs in chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
