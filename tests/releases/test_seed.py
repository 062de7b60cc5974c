"""The variant that started the project is found, each defect at its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..running import Found, check
from .conftest import Release
from .seed import VERSION, Seed, make_seed

pytestmark = pytest.mark.releases


@pytest.fixture(scope="module")
def seed(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Seed:
    """The variant in a temporary folder."""
    return make_seed(release(VERSION), tmp_path_factory.mktemp("seed"))


@pytest.fixture(scope="module")
def found(seed: Seed) -> list[Found]:
    """What a run without flags shows in its NIXL backend."""
    backend = seed.backend.resolve()
    return [
        finding for finding in check(seed.folder) if finding.serious and finding.path == backend
    ]


@pytest.mark.parametrize("version", [VERSION])  # lets the release load with the others
def test_each_defect_is_found_at_its_line(version: str, seed: Seed, found: list[Found]) -> None:
    assert seed.pop in _lines(found, "KV101")
    assert set(seed.skip) & _lines(found, "KV102")
    assert seed.late_write in _lines(found, "KV103")


def test_the_backend_alone_is_enough(seed: Seed, found: list[Found]) -> None:
    alone = [f for f in check(Path(seed.backend)) if f.serious]
    for rule in ("KV101", "KV102", "KV103"):
        assert _lines(found, rule) <= _lines(alone, rule)


def test_the_release_without_the_change_has_neither_pop_nor_skip(release: Release) -> None:
    backend = release(VERSION) / "sglang" / "srt" / "disaggregation" / "nixl" / "conn.py"
    shown = {f.rule for f in check(backend) if f.serious and f.path == backend.resolve()}
    assert not {"KV101", "KV102"} & shown


def _lines(findings: list[Found], rule: str) -> set[int]:
    return {finding.line for finding in findings if finding.rule == rule}
