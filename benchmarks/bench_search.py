"""How fast the interleaving search goes through states, and how it grows with the chunks in flight.

    python benchmarks/bench_search.py PATH [--chunks N] [--max-states N]

PATH is a backend: a file, or a folder such as `sglang/srt/disaggregation` of an unpacked release.
Every class is searched with 1 to N chunks under the same bounds otherwise. Prints the states, the
time, states per second and the growth over one chunk fewer, then the peak memory of the whole
run. A search that met a bound is marked, as its growth says nothing.

The narrow pass has one chunk whatever N is, so the growth is that of the wide pass. The first
line of a class also pays for folding its programs, which the next ones find done.
"""

from __future__ import annotations

import argparse
import resource
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

from kvlint.config import Environment, Settings
from kvlint.discover.project import load_project
from kvlint.errors import UsageError
from kvlint.protocol.detect import find_protocols
from kvlint.search.building import build_system
from kvlint.search.environment import delivered
from kvlint.search.evidence import Bounds, gather
from kvlint.search.system import System

PEAK_UNIT = 1024 if sys.platform == "darwin" else 1  # getrusage: bytes there, KiB elsewhere


@dataclass(frozen=True)
class Effort:
    """What the search of one or several classes took; `seconds` of wall time."""

    states: int = 0
    seconds: float = 0.0
    complete: bool = True

    def __add__(self, other: Effort) -> Effort:
        return Effort(
            self.states + other.states,
            self.seconds + other.seconds,
            self.complete and other.complete,
        )


def systems(path: str) -> Iterator[tuple[str, System]]:
    """Each searchable class under `path`; one that works like an earlier one is left out."""
    protocols = find_protocols(load_project([path]), Settings().protocol)
    known: set[object] = set()
    for protocol in protocols:
        siblings = tuple(p for p in protocols if p.manager is protocol.manager)
        system = build_system(protocol, delivered(protocol, siblings))
        signature = system.signature()
        if signature not in known and system.threads and system.of_kind("open"):
            known.add(signature)
            yield protocol.title, system


def measure(system: System, bounds: Bounds) -> Effort:
    """Search one class once."""
    start = perf_counter()
    evidence = gather(system, bounds)
    return Effort(evidence.states, perf_counter() - start, evidence.complete)


def row(name: str, chunks: int, effort: Effort, before: Effort | None) -> str:
    """One line of the table."""
    growth = f"x{effort.states / before.states:.2f}" if before and before.states else "-"
    cut = "" if effort.complete else "   met a bound"
    rate = effort.states / effort.seconds if effort.seconds else 0.0
    numbers = f"{effort.states:>9,} {effort.seconds:>9.2f} {rate:>9,.0f} {growth:>8}"
    return f"{name:<44} {chunks:>6} {numbers}{cut}"


def main() -> int:
    """Search with more and more chunks and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", help="a backend: a file or a folder")
    parser.add_argument("--chunks", type=int, default=3, help="most chunks in flight (default: 3)")
    parser.add_argument("--max-states", type=int, default=Settings().max_states)
    options = parser.parse_args()
    if options.chunks < 1:
        parser.error("--chunks must be at least 1")
    try:
        found = list(systems(options.path))
    except UsageError as error:
        parser.error(str(error))
    if not found:
        parser.error(f"nothing to search in {options.path}")
    print(f"{'class':<44} {'chunks':>6} {'states':>9} {'seconds':>9} {'states/s':>9} {'growth':>8}")
    totals = [Effort() for _ in range(options.chunks)]
    for name, system in found:
        before: Effort | None = None
        for chunks in range(1, options.chunks + 1):
            bounds = Bounds(max_states=options.max_states, environment=Environment(chunks=chunks))
            effort = measure(system, bounds)
            print(row(name, chunks, effort, before), flush=True)
            totals[chunks - 1] += effort
            before = effort
    for chunks, total in enumerate(totals, start=1):
        print(row("all classes", chunks, total, totals[chunks - 2] if chunks > 1 else None))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / PEAK_UNIT / 1024
    print(f"peak memory {peak:.0f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
