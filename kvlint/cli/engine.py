"""Run the analysis, with as few imports as its result needs, or take its result from the cache."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kvlint.cache import place
from kvlint.cache.result import Result
from kvlint.cli.inputs import load, texts_of
from kvlint.cli.streams import warn
from kvlint.hints import one_line
from kvlint.report import summary

if TYPE_CHECKING:
    from kvlint.cache.results import Lookup
    from kvlint.config import Settings
    from kvlint.discover.project import Project
    from kvlint.discover.walk import Walk
    from kvlint.findings import Report


def examined(
    paths: list[str],
    settings: Settings,
    *,
    verbose: bool = False,
    cwd: str | None = None,
    top: str | None = None,
) -> Result:
    """What there is to say about the paths, as if `cwd` were the working directory.

    `top` is the folder of a revision's files if the run is about one.
    """
    cwd = os.path.abspath(cwd or os.getcwd())
    if not settings.cache or place.is_off():
        return _now(paths, settings, cwd)[1]
    from kvlint.discover.walk import walked

    walk = walked(paths, exclude=settings.exclude, cwd=cwd)
    lookup = _lookup(walk, settings, cwd, top, verbose)
    if lookup is None:
        return _now(paths, settings, cwd, walk)[1]
    known = _recalled(lookup)
    if known is not None:
        return known
    with lookup.reading():
        project, result = _now(paths, settings, cwd, walk)
    try:
        lookup.keep(result.report, project)
    except OSError as error:
        _tell(f"{lookup.folder}: {error.strerror or error}", verbose)
    return result


def _lookup(
    walk: Walk, settings: Settings, cwd: str, top: str | None, verbose: bool
) -> Lookup | None:
    """The way through the cache; none if there is no folder for it or too much to be read."""
    folder = place.folder()
    if folder is None:
        _tell(f"there is no folder for it ({place.FOLDER} names one)", verbose)
        return None
    from kvlint.cache.key import Location
    from kvlint.cache.results import Lookup, TooLarge
    from kvlint.cache.store import Store

    try:
        return Lookup(Store(folder), Location(cwd, top), walk, settings)
    except TooLarge as error:
        _tell(str(error), verbose)
        return None


def _recalled(lookup: Lookup) -> Result | None:
    from kvlint.cache.store import Damaged

    try:
        return lookup.recall()
    except Damaged as error:
        warn(f"kvlint: note: ignored a damaged entry of the cache: {one_line(str(error))}\n")
        return None


def _tell(why: str, verbose: bool) -> None:
    """Say that the cache has no part in the run, which is no error."""
    if verbose:
        warn(f"kvlint: note: no cache: {one_line(why)}\n")


def _now(
    paths: list[str], settings: Settings, cwd: str, walk: Walk | None = None
) -> tuple[Project, Result]:
    project = load(paths, settings, cwd, walk)
    return project, Result(_analysed(project, settings), texts_of(project), project.files)


def _analysed(project: Project, settings: Settings) -> Report:
    """What was found in the code, and what is to be said about its comments for kvlint."""
    if not (project.modules or project.problems or project.gaps or project.marked):
        from kvlint.findings import Report

        return Report()
    from kvlint.analysis import analyse
    from kvlint.suppressions import complaints

    report = analyse(project, settings)
    complete = not summary.gave_up(report.searched, settings)
    report.findings += complaints(report.findings, project, settings, complete=complete)
    return report
