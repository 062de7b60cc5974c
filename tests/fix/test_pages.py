"""The pages of the fixes: one text for `kvlint explain` and docs/fixes.md.

`python -m tests.fix.test_pages` writes them into docs/fixes.md.
"""

from __future__ import annotations

import re

import pytest

from kvlint.fix.kinds import KINDS, Kind, selected

from ..locations import ROOT
from ..running import run

DOCS = ROOT / "docs" / "fixes.md"
START = "<!-- pages: written by `python -m tests.fix.test_pages` -->\n"
END = "<!-- end of pages -->\n"
SECTIONS = ["What it does", "Fix safety", "What it costs"]


def with_pages(text: str) -> str:
    """The text of docs/fixes.md with the current pages, one heading level down."""
    head, rest = text.split(START)
    _, tail = rest.split(END)
    pages = "\n".join(
        re.sub(r"^(#+ )", r"#\1", k.page(), flags=re.MULTILINE) for k in sorted(KINDS)
    )
    return f"{head}{START}\n{pages}\n{END}{tail}"


def test_the_docs_have_the_pages() -> None:
    text = DOCS.read_text(encoding="utf-8")
    assert with_pages(text) == text, "run python -m tests.fix.test_pages"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.letter)
def test_layout(kind: Kind) -> None:
    lines = kind.page().splitlines()
    assert lines[0] == f"# Fix {kind.letter} {kind.name}"
    assert lines[2].endswith(".")
    assert [line[3:] for line in lines if line.startswith("## ")] == SECTIONS
    safety = lines[lines.index("## Fix safety") + 2]
    assert safety.startswith("Safe. " if kind.safe else "Unsafe: made with `--unsafe-fixes` only.")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.letter)
def test_the_table_tells_what_the_rules_name(kind: Kind) -> None:
    engines = sorted((ROOT / "rules").glob("kv*.py"))
    naming = [f for f in engines if f'("{kind.letter}",)' in f.read_text(encoding="utf-8")]
    named = [file.stem[:5].upper() for file in naming]
    row = next(
        x
        for x in DOCS.read_text(encoding="utf-8").splitlines()
        if x.startswith(f"| {kind.letter} |")
    )
    made = "yes | yes" if kind.safe else "no | no, `--unsafe-fixes`"
    assert row == f"| {kind.letter} | {kind.name} | {', '.join(named)} | {made} |"


@pytest.mark.parametrize("word", ["A", "a", "sticky-terminal", "Sticky-Terminal"])
def test_explain(word: str) -> None:
    code, out, err = run(["explain", word])
    assert (code, err) == (0, "")
    assert out.startswith("Fix A sticky-terminal\n\nTerminal states stay:")


def test_unsafe_fixes_are_only_made_when_asked_for() -> None:
    assert [k.letter for k in selected(None, False)] == ["A", "B"]
    assert [k.letter for k in selected(None, True)] == ["A", "B", "C", "E", "D"]
    assert [k.letter for k in selected(("D", "b"), True)] == ["B", "D"]
    assert selected(("C",), False) == ()


if __name__ == "__main__":
    DOCS.write_text(with_pages(DOCS.read_text(encoding="utf-8")), encoding="utf-8")
