"""The plugin on a whole release: pylint says what `kvlint check` finds, at any number of jobs."""

from __future__ import annotations

import pytest

from ..pylint_plugin.running import JOBS, found, said
from .conftest import Release

FOLDER = "sglang/srt/disaggregation"

pytestmark = pytest.mark.releases


@pytest.mark.parametrize("version", ["0.5.15.post1"])
def test_pylint_says_what_check_finds(version: str, release: Release) -> None:
    folder = release(version)
    expected = found(folder, "--isolated", FOLDER)
    assert len(expected) > 40
    for jobs in JOBS:
        assert said(folder, jobs, "--recursive=y", FOLDER) == expected
