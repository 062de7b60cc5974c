"""What `check` and `table` read: the settings and the project, from the same options."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from kvlint.cli.options import Parser, count, flattened, seconds, words
from kvlint.config import Settings, load_settings
from kvlint.errors import UsageError

if TYPE_CHECKING:
    from kvlint.discover.project import Project
    from kvlint.discover.walk import Walk


def add_input_options(parser: Parser) -> None:
    """Paths, and where the settings come from."""
    parser.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="files and folders (default: the disaggregation folder of the checkout, else .)",
    )
    parser.add_argument(
        "--exclude",
        type=words,
        action="append",
        metavar="GLOB",
        help="leave out files and folders, comma-separated, repeatable",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="read [tool.kvlint] from FILE, not the nearest pyproject.toml",
    )
    parser.add_argument("--isolated", action="store_true", help="read no configuration file at all")


def add_selection_options(parser: Parser) -> None:
    """Which rules count where."""
    rules = "ids, prefixes (KV1) or names, comma-separated, repeatable"
    for option in ("--select", "--ignore"):
        text = (
            f"report only these rules: {rules}"
            if option == "--select"
            else (
                f"do not report these rules; the more specific of select and ignore wins: {rules}"
            )
        )
        parser.add_argument(option, type=words, action="append", metavar="RULES", help=text)
    parser.add_argument(
        "--per-file-ignores",
        type=_per_file,
        action="append",
        metavar="GLOB:RULES",
        help="do not report these rules in files that match the glob, repeatable",
    )


def add_baseline_option(parser: Parser, effect: str) -> None:
    """`--baseline`, whose `effect` each command names."""
    parser.add_argument("--baseline", metavar="FILE", help=effect)


def add_show_latent(parser: Parser, effect: str) -> None:
    """`--show-latent`, whose `effect` each command names."""
    parser.add_argument("--show-latent", action="store_true", help=effect)


def add_search_options(parser: Parser) -> None:
    """How far the interleaving search goes."""
    parser.add_argument(
        "--preemptions",
        type=count(0),
        metavar="N",
        help="search schedules with at most N switches between adjacent statements (default: 2)",
    )
    parser.add_argument(
        "--max-states",
        type=count(1),
        metavar="N",
        help=f"give up a run of the search after N states (default: {Settings().max_states})",
    )
    parser.add_argument(
        "--max-seconds",
        type=seconds,
        metavar="S",
        help="give up the whole search after S seconds (default: no limit); a run that finds "
        "nothing because it gave up exits with 2",
    )
    parser.add_argument(
        "--jobs",
        "-j",
        type=count(1),
        metavar="N",
        help="search N classes at a time, each in a process of its own (default: one for each CPU)",
    )


def paths_of(args: argparse.Namespace) -> list[str]:
    """The paths named, or the ones a checkout is known to have."""
    if "" in args.paths:
        raise UsageError("an empty path was given (an unset variable?)")
    if args.paths:
        return list(args.paths)
    from kvlint.discover.project import default_paths

    return default_paths()


def settings_of(args: argparse.Namespace, start: str) -> Settings:
    """The settings of this run; what the command line gives beats the file."""
    if args.isolated and args.config is not None:
        raise UsageError("--isolated and --config exclude each other")
    return load_settings(
        start,
        config_file=args.config,
        isolated=args.isolated,
        overrides=_overrides(args),
    )


def add_cache_option(parser: Parser) -> None:
    """`--no-cache`, for commands whose result may come from an earlier run."""
    parser.add_argument(
        "--no-cache",
        action="store_true",
        help="neither use the result of an earlier run nor store this one",
    )


def load(
    paths: list[str],
    settings: Settings,
    cwd: str | None = None,
    walk: Walk | None = None,
    needed: str = "kvlint.analysis",
) -> Project:
    """Read the project, as if `cwd` were the working directory; `walk` is one made already.

    `needed` is the module that works on it, imported while a second process reads.
    """
    from importlib import import_module

    from kvlint import progress
    from kvlint.discover.project import load_project

    progress.tell("reading files")
    # The words that tell a backend from its bytes are no longer the ones to look for.
    prefilter = not any(settings.protocol)
    return load_project(
        paths,
        exclude=settings.exclude,
        prefilter=prefilter,
        cwd=cwd,
        walk=walk,
        meanwhile=lambda: import_module(needed),
    )


def texts_of(project: Project) -> dict[str, str]:
    """The sources by displayed path, for excerpts."""
    return {module.display: module.source for module in project.modules.values()}


_PLAIN = (
    *("fail_on", "output_format", "baseline"),
    *("preemptions", "max_states", "max_seconds", "jobs"),
)


def _overrides(args: argparse.Namespace) -> dict[str, Any]:
    given: dict[str, Any] = {"exclude": flattened(args.exclude)}
    for option in ("select", "ignore"):
        selectors = flattened(getattr(args, option, None))
        _check(selectors or (), f"--{option}")
        given[option] = selectors
    for _, selectors in getattr(args, "per_file_ignores", None) or ():
        _check(selectors, "--per-file-ignores")
    for option in (*_PLAIN, "per_file_ignores"):
        value = getattr(args, option, None)
        given[option] = tuple(value) if isinstance(value, list) else value
    given["show_latent"] = getattr(args, "show_latent", False) or None
    given["cache"] = False if getattr(args, "no_cache", False) else None
    return {name: value for name, value in given.items() if value is not None}


def _check(selectors: tuple[str, ...], option: str) -> None:
    if selectors:
        from kvlint.catalog import check_selectors

        check_selectors(selectors, option)


def _per_file(text: str) -> tuple[str, tuple[str, ...]]:
    pattern, colon, selectors = text.rpartition(":")
    if not (pattern and colon and words(selectors)):
        raise argparse.ArgumentTypeError(f"'{text}' is not GLOB:RULES, as in tests/*:KV101,KV2")
    return pattern.replace(os.sep, "/"), words(selectors)
