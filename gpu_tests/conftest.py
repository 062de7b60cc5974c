"""What the tests run on; without NIXL they are skipped with the reason.

With `KVLINT_REQUIRE_TRANSFERS` set they fail then: CI sets it in the step that installs NIXL.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

# At the end: the checkout never comes before the installed package.
sys.path.append(str(Path(__file__).resolve().parent.parent))

from tests.conftest import no_cache
from tests.releases import fetch

from . import transport as transports
from .errors import HarnessError
from .runner import Runner
from .transport import Transport
from .variants import Variant, make

__all__ = ["no_cache"]  # for all tests of this folder, too

HERE = Path(__file__).resolve().parent
MIB = 0.25

Runners = Callable[[Variant], Runner]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where the pages lie, for all tests at once."""
    parser.addoption("--memory", choices=("DRAM", "VRAM"), default="DRAM", help="of the pages")
    parser.addoption(
        "--buffers", choices=("tensors", "arrays"), help="of torch, or numpy (arrays, in DRAM)"
    )


def pytest_configure(config: pytest.Config) -> None:
    """End the run if it asks for what is not to be had: all skipped would look like success."""
    if transports.missing() is None:
        try:
            _chosen(config)
        except HarnessError as error:
            raise pytest.UsageError(str(error)) from error


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder, so that one step can run them all."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.transfers)


def pytest_report_header(config: pytest.Config) -> str:
    """What the transfers of this run go through."""
    absent = transports.missing()
    return f"transfers: {_chosen(config) if absent is None else absent}"


def _chosen(config: pytest.Config) -> Transport:
    # Without a default, `pytest .` would fail: it reads this file after the command line.
    memory = config.getoption("memory", "DRAM")
    default = "tensors" if memory == "VRAM" else "arrays"
    return transports.choose(memory, config.getoption("buffers", None) or default)


@pytest.fixture(scope="session")
def transport(pytestconfig: pytest.Config) -> Transport:
    """The transport of this run; with NIXL installed host memory is never skipped."""
    absent = transports.missing()
    if absent is not None:
        if os.environ.get("KVLINT_REQUIRE_TRANSFERS"):
            pytest.fail(absent)
        pytest.skip(absent)
    return _chosen(pytestconfig)


@pytest.fixture(scope="session")
def runner(transport: Transport, tmp_path_factory: pytest.TempPathFactory) -> Runners:
    """A runner for each variant, made once."""
    folder = tmp_path_factory.mktemp("variants")

    @cache
    def get(variant: Variant) -> Runner:
        try:
            return Runner(make(variant, folder), transport, MIB)
        except fetch.FetchError as error:
            if fetch.required():
                raise
            pytest.skip(str(error))

    return get
