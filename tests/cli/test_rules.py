"""`kvlint rules`, `kvlint explain` and the catalogue behind them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvlint import catalog
from kvlint.errors import UsageError
from tests.conftest import Snapshot

from .conftest import Run

PAGE = """\
# KV101 pop-without-terminal

An entry is removed on a path
that may leave the room pinned.

## What it does

Takes every `pop` of a table and asks, for **each** path to it, whether the room has a terminal
status, as `dict.pop` does not.

1. A numbered item that is long enough to be wrapped at the width of a narrow terminal, twice even.
2. Another.

- A point.
  It goes on here.
- A second point.

## Bad

```python
def pop(self, room):

    self.infos.pop(room)  # a line of code is never wrapped, however long it may be, and that is so
```

| a | table |
|---|-------|
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A rules folder of its own, with things in it that are no rules."""
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "kv101_pop_without_terminal.md").write_text(PAGE)
    (rules / "kv101_pop_without_terminal.py").write_text("raise SystemExit('imported')")
    (rules / "kv203_iterate.py").write_text("")
    for name in ("__init__.py", "kv_helper.py", "kv1_x.md", "kv104_x.txt", "README.md"):
        (rules / name).write_text("")
    monkeypatch.setattr(catalog, "folder", lambda: str(rules))
    return rules


def test_rules_are_found_by_looking(folder: Path) -> None:
    assert [(r.id, r.name) for r in catalog.rules()] == [
        ("KV101", "pop-without-terminal"),
        ("KV203", "iterate"),
    ]


def test_summary_is_the_first_paragraph(folder: Path) -> None:
    expected = "An entry is removed on a path that may leave the room pinned."
    assert catalog.find("KV101").summary() == expected


def test_a_rule_without_a_page(folder: Path, run: Run) -> None:
    assert run("explain", "KV203") == (2, "", "kvlint: error: KV203 iterate has no page\n")


@pytest.mark.parametrize("word", ["KV101", "kv101", "pop-without-terminal", "POP-without-terminal"])
def test_find(folder: Path, word: str) -> None:
    assert catalog.find(word).id == "KV101"


@pytest.mark.parametrize("word", ["KV1", "KV", "", "pop", "KV1011"])
def test_find_wants_one_rule(folder: Path, word: str) -> None:
    with pytest.raises(UsageError, match="unknown rule"):
        catalog.find(word)


def test_matching(folder: Path) -> None:
    def ids(selector: str) -> list[str]:
        return [rule.id for rule in catalog.matching(selector)]

    assert ids("KV") == ids("all") == ["KV101", "KV203"]
    assert ids("kv2") == ids("Iterate") == ["KV203"]
    assert ids("K") == ids("") == ids("KV3") == ids("iter") == []


@pytest.mark.parametrize("width", [60, 200])
def test_explain(
    folder: Path, run: Run, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    result = run("explain", "kv101")
    assert result.code == 0
    snapshot(f"explain.{width}.txt", result.out)


def test_explain_in_colour(folder: Path, run: Run, snapshot: Snapshot) -> None:
    out = run("explain", "KV101", "--color", "always").out
    snapshot("explain.colour.txt", out.replace("\x1b", "<ESC>"))


def test_every_rule_can_be_explained(run: Run) -> None:
    """The real pages, not the ones above."""
    for rule in catalog.rules():
        result = run("explain", rule.id)
        assert result.code == 0
        assert result.out.startswith(f"{rule.id} {rule.name}\n\n{rule.summary()[:40]}")


def test_list(run: Run) -> None:
    out = run("rules").out
    for rule in catalog.rules():
        assert f"{rule.id}  {rule.name}" in out


def test_list_is_wrapped(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, run("rules").out.splitlines())) <= 80


def test_list_as_json(run: Run) -> None:
    listed = json.loads(run("rules", "--output-format", "json").out)
    assert listed["rules"] == [
        {"id": r.id, "name": r.name, "summary": r.summary()} for r in catalog.rules()
    ]


@pytest.mark.parametrize("option", ["-v", "--verbose"])
@pytest.mark.parametrize("command", [["rules"], ["explain", "KV101"]])
def test_verbose_shows_the_traceback(
    run: Run, monkeypatch: pytest.MonkeyPatch, command: list[str], option: str
) -> None:
    def boom() -> str:
        raise RuntimeError("boom")

    monkeypatch.setattr(catalog, "folder", boom)
    assert run(*command).err.count("\n") == 1
    assert "Traceback" in run(*command, option).err


def test_ascii_listing(run: Run) -> None:
    assert run("rules", "--ascii").out.isascii()
