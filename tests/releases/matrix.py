"""Which releases the default tests take, and which wait for the step that runs the whole matrix."""

from __future__ import annotations

from typing import Any

import pytest


def slow(*versions: str) -> tuple[Any, ...]:
    """Releases for `parametrize` that are left to `pytest -m slow`."""
    return tuple(pytest.param(version, marks=pytest.mark.slow) for version in versions)


def ends(versions: list[str]) -> list[Any]:
    """The first and the last release as they are, those between as slow."""
    return [*versions[:1], *slow(*versions[1:-1]), *versions[1:][-1:]]
