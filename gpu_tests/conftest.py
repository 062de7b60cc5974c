"""What the tests run on; without NIXL they are skipped with the reason, in CI they fail."""

from __future__ import annotations

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
from .runner import Runner
from .transport import Transport
from .variants import Variant, make

__all__ = ["no_cache"]  # for all tests of this folder, too

MIB = 0.25

Runners = Callable[[Variant], Runner]


@pytest.fixture(scope="session")
def transport(pytestconfig: pytest.Config) -> Transport:
    """The transport of host memory; with NIXL installed this is never skipped."""
    absent = transports.missing()
    if absent is not None:
        if fetch.required():
            pytest.fail(absent)
        pytest.skip(absent)
    return transports.choose("DRAM")


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


def pytest_report_header() -> str:
    """What the transfers of this run go through."""
    absent = transports.missing()
    return f"transfers: {transports.choose('DRAM') if absent is None else absent}"
