"""Releases for the tests of this folder, and the score at the end of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from . import fetch

Release = Callable[[str], Path]

SCORE = pytest.StashKey[list[str]]()


@pytest.fixture(scope="session")
def release(request: pytest.FixtureRequest) -> Release:
    """Give the folder of a release; without a network the test is skipped, in CI it fails."""
    # The selected tests name their releases: load them side by side. One that cannot be had
    # is reported by the test that asks for it.
    with suppress(fetch.FetchError):
        fetch.releases(_named(request.session.items))

    def get(version: str) -> Path:
        try:
            return fetch.release(version)
        except fetch.FetchError as error:
            if fetch.required():
                raise
            pytest.skip(str(error))

    return get


def _named(items: list[pytest.Item]) -> Iterator[str]:
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            version = item.callspec.params.get("version")
            if isinstance(version, str) and item.get_closest_marker("releases"):
                yield version


@pytest.fixture
def show_score(pytestconfig: pytest.Config) -> Callable[[list[str]], None]:
    """Print lines at the end of the run, where a CI log shows them."""

    def show(lines: list[str]) -> None:
        pytestconfig.stash[SCORE] = lines

    return show


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand the lines to the process that prints, where there are several."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["score"] = session.config.stash.get(SCORE, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take the lines of a process that is done."""
    lines = getattr(node, "workeroutput", {}).get("score")
    if lines:
        node.config.stash[SCORE] = lines


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the table per rule."""
    lines = config.stash.get(SCORE, [])
    if lines:
        terminalreporter.section("kvlint on the labelled releases")
        terminalreporter.write_line("\n".join(lines))
