"""What is checked when no path is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlint.discover.project import default_paths
from tests.discover.trees import write


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("python/sglang/srt/disaggregation", ["python/sglang/srt/disaggregation"]),
        ("sglang/srt/disaggregation", ["sglang/srt/disaggregation"]),
        ("fork/engine/disaggregation", ["fork/engine/disaggregation"]),
        ("venv/sglang/srt/disaggregation", ["."]),
        ("docs", ["."]),
    ],
)
def test_the_backend_folder_is_found(tmp_path: Path, folder: str, expected: list[str]) -> None:
    write(tmp_path, {f"{folder}/nixl/conn.py": "", "docs/disaggregation/notes.md": ""})
    assert default_paths(str(tmp_path)) == expected


def test_from_inside_the_folder(tmp_path: Path) -> None:
    write(tmp_path, {"disaggregation/nixl/conn.py": ""})
    assert default_paths(str(tmp_path / "disaggregation")) == ["."]
