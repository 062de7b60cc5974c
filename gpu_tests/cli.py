"""python -m gpu_tests: a release before and after `kvlint fix`, through real transfers."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from . import report, transport
from .errors import HarnessError
from .runner import Runner, Weather, storms_in_turn
from .scenarios import SCENARIOS, Outcome, Scenario
from .storm import Storm
from .variants import Variant, make
from .vocabulary import Abort

GOOD, BAD, BROKEN = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """0 if the last variant did well, 1 if it did not, 2 if nothing could be observed."""
    args = _parser().parse_args(argv)
    try:
        return _run(args)
    except HarnessError as error:
        print(f"gpu_tests: {error}", file=sys.stderr)
        return BROKEN


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gpu_tests",
        description="run a KV-transfer backend through real NIXL transfers between two processes",
    )
    parser.add_argument("--release", default="0.5.15.post1", help="SGLang release (%(default)s)")
    parser.add_argument(
        "--small", action="store_true", help="the small backend of this project, not a release"
    )
    parser.add_argument("--seed", action="store_true", help="the variant that began this project")
    parser.add_argument(
        "--fix",
        action="append",
        default=[],
        metavar="A,B",
        help="run it rewritten by these fixes as well; may be given more than once",
    )
    parser.add_argument(
        "--no-verify", action="store_true", help="rewrite without the proof (fix B alone needs it)"
    )
    parser.add_argument(
        "--scenario",
        default="",
        metavar="NAMES",
        help="only these, by the beginning of their names; 'none' for none (see --list)",
    )
    parser.add_argument("--list", action="store_true", help="list the scenarios and stop")
    parser.add_argument("--ungated", action="store_true", help="hold no transfer: natural timing")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="runs of each")
    parser.add_argument("--mib", type=float, default=1.0, help="MiB of a request (%(default)s)")
    parser.add_argument("--rooms", type=int, default=0, metavar="N", help="a storm of N requests")
    parser.add_argument("--aborted", type=float, default=0.3, help="of a storm (%(default)s)")
    parser.add_argument(
        "--aborts", default="sender,receiver,frame", help="by whom, in a storm (%(default)s)"
    )
    parser.add_argument(
        "--control", action="store_true", help="in a storm, run the first column twice: the noise"
    )
    parser.add_argument("--random", type=int, default=1, metavar="SEED", help="of a storm")
    parser.add_argument("--memory", choices=("DRAM", "VRAM"), help="of the pages (what there is)")
    parser.add_argument(
        "--buffers", choices=("tensors", "arrays"), help="of torch, or numpy (what there is)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was observed")
    return parser


def _run(args: argparse.Namespace) -> int:
    if args.list:
        print("\n".join(s.name for s in SCENARIOS))
        return GOOD
    scenarios = [replace(s, gated=not args.ungated) for s in select(args.scenario)]
    weather = Weather(args.rooms, args.aborted, kinds_of(args.aborts), args.random)
    absent = transport.missing()
    if absent:
        raise HarnessError(absent)
    chosen = transport.choose(args.memory, args.buffers)
    if chosen.memory == "DRAM" and transport.no_vram():
        print(f"VRAM: skipped, {transport.no_vram()}")
    if not args.buffers and transport.no_torch():
        print(f"tensors: skipped, {transport.no_torch()}")
    print(f"transport: {chosen}")
    variants = [Variant(args.release, args.seed, small=args.small)]
    for fixes in args.fix:
        variants.append(replace(variants[0], fixes=fixes, verify=not args.no_verify))
    with tempfile.TemporaryDirectory() as folder:
        runners = {str(v): Runner(make(v, Path(folder)), chosen, args.mib) for v in variants}
        outcomes = _scenarios(runners, scenarios, args.repeat)
        if args.control:
            runners = _with_control(runners)
        storms = _storms(runners, weather, args.repeat) if weather.rooms else {}
    if args.json:
        args.json.write_text(report.as_json(chosen, outcomes, storms), encoding="utf-8")
    last = str(variants[-1])
    good = all(o.good for o in outcomes.get(last, ())) and all(s.good for s in storms.get(last, ()))
    return GOOD if good else BAD


def _scenarios(
    runners: dict[str, Runner], chosen: Sequence[Scenario], repeat: int
) -> dict[str, list[Outcome]]:
    if not chosen:
        return {}
    found = {name: runner.outcomes(chosen, repeat) for name, runner in runners.items()}
    print(report.scenario_table(found))
    print(report.left_over(*list(found.items())[-1]), end="")
    return found


def select(names: str) -> list[Scenario]:
    """The scenarios whose names begin with one of these words."""
    if names == "none":
        return []
    words = tuple(word.strip() for word in names.split(",") if word.strip())
    found = [s for s in SCENARIOS if not words or s.name.startswith(words)]
    unknown = [word for word in words if not any(s.name.startswith(word) for s in SCENARIOS)]
    if unknown:
        raise HarnessError(f"no scenario begins with {', '.join(unknown)} (see --list)")
    return found


def kinds_of(words: str) -> tuple[Abort, ...]:
    """Who gives requests up in a storm."""
    known = {kind.name.lower(): kind for kind in Abort if kind is not Abort.NOBODY}
    named = [word.strip().lower() for word in words.split(",") if word.strip()]
    unknown = [word for word in named if word not in known]
    if unknown:
        raise HarnessError(f"--aborts: {', '.join(unknown)} is none of {', '.join(known)}")
    return tuple(known[word] for word in named)


def _with_control(runners: dict[str, Runner]) -> dict[str, Runner]:
    """The first one a second time, beside itself: how far two equal columns differ is noise."""
    first, *others = runners.items()
    return dict([first, (f"{first[0]}, again", first[1]), *others])


def _storms(runners: dict[str, Runner], weather: Weather, repeat: int) -> dict[str, list[Storm]]:
    # A storm with aborts may leave a world of no more use.
    found = storms_in_turn(runners, weather, repeat, reuse=not weather.aborted)
    print(report.storm_table(found))
    return found
