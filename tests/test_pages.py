"""Rule ids, rule pages and fixtures belong together: what one has, the others have too.

Nothing here runs the engine: `rules/test_examples.py` runs the examples, `test_fixtures.py` the
fixtures.
"""

from __future__ import annotations

import ast
import re
import runpy
import sys
from pathlib import Path

import pytest

from kvlint.findings import VERDICTS

ROOT = Path(__file__).resolve().parent.parent
NAMES = {
    "KV101": "pop-without-terminal",
    "KV102": "skip-without-terminal",
    "KV103": "transient-after-failed",
    "KV104": "terminal-not-sticky",
    "KV105": "dropped-abort",
    "KV106": "late-write-revives",
    "KV107": "thread-exit",
    "KV108": "except-without-terminal",
    "KV201": "unlocked-read-modify-write",
    "KV202": "check-then-act",
    "KV203": "iterate-while-mutated",
    "KV301": "unbounded-poll",
    "KV901": "unreadable-file",
    "KV902": "unusable-suppression",
    "KV903": "unused-suppression",
}
ABOUT_FILES = {"KV901", "KV902", "KV903"}
BETWEEN_TWO_STATEMENTS = {"KV201", "KV202", "KV203"}
TWO_PAIRS = {"KV101", "KV102", "KV103", "KV104", "KV105", "KV107", "KV108"}
SECTIONS = [
    "What it does",
    "Why is this bad",
    "Bad",
    "Good",
    "How to fix",
    "How to silence",
    "What it does not see",
]
FIXTURES = sorted((ROOT / "fixtures").glob("*.py"))
DOES_NOT_PARSE = "kv901_bad_missing_colon"
COMMENT = re.compile(r"# (expect|may|miss): ([^#]*)")


def page_path(rule: str) -> Path:
    return ROOT / "rules" / f"{rule.lower()}_{NAMES[rule].replace('-', '_')}.md"


def sections(rule: str) -> dict[str, str]:
    """The page's text by heading; what stands before the first heading is under ''."""
    parts = re.split(r"^## (.+)$", page_path(rule).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def example(rule: str, heading: str) -> str:
    text = sections(rule)[heading]
    match = re.fullmatch(r"\n\n```python\n(.*\n)```\n\n", text, re.DOTALL)
    assert match, f"{rule}: '## {heading}' must hold one python block and nothing else"
    return match[1]


def marks(path: Path, kind: str) -> list[tuple[int, str, str]]:
    """(line, rule, verdict) of each comment of that kind; a may comment has no verdict."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        for what, items in COMMENT.findall(line):
            if what != kind:
                continue
            for item in items.split(","):
                rule, _, verdict = item.strip().partition(" ")
                found.append((number, rule, verdict))
    return found


def named(path: Path) -> tuple[str, str]:
    """(rule, 'bad' or 'good') of a fixture's name; a clean fixture has no rule."""
    match = re.fullmatch(r"(kv\d{3})_(bad|good)_[a-z0-9_]+|(clean)_[a-z0-9_]+", path.stem)
    assert match, f"{path.name} is no fixture name"
    return (match[1].upper(), match[2]) if match[1] else ("", "clean")


def test_the_pages_are_those_of_the_rules() -> None:
    pages = {path.name for path in (ROOT / "rules").glob("*.md")}
    assert pages == {page_path(rule).name for rule in NAMES}


def test_every_rule_module_has_a_page() -> None:
    modules = {path.stem for path in (ROOT / "rules").glob("kv[0-9]*.py")}
    assert modules <= {page_path(rule).stem for rule in NAMES}


@pytest.mark.parametrize("rule", NAMES)
def test_layout(rule: str) -> None:
    text = page_path(rule).read_text(encoding="utf-8")
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    lines = text.splitlines()
    assert lines[0] == f"# {rule} {NAMES[rule]}"
    assert lines[1] == lines[3] == ""
    summary = lines[2]
    assert summary[0].isupper()
    assert summary.count(". ") == 0
    assert summary.endswith(".")
    assert len(summary) < 100
    parts = sections(rule)
    assert parts[""] == "\n".join([*lines[:3], "", ""])
    assert list(parts) == ["", *SECTIONS]
    for heading in SECTIONS:
        assert parts[heading].strip(), f"{rule}: '## {heading}' is empty"
    assert rule in parts["How to silence"]


@pytest.mark.parametrize("rule", NAMES)
def test_examples_compile(rule: str) -> None:
    bad, good = example(rule, "Bad"), example(rule, "Good")
    assert bad != good
    for code in (bad, good):
        assert 20 <= len(code.splitlines()) <= 45
        assert all(len(line) <= 100 for line in code.splitlines())
    ast.parse(good, feature_version=(3, 10))
    if rule == "KV901":
        with pytest.raises(SyntaxError):
            ast.parse(bad)
    else:
        ast.parse(bad, feature_version=(3, 10))


@pytest.mark.parametrize("rule", NAMES)
def test_every_rule_has_bad_and_good_fixtures(rule: str) -> None:
    need = 2 if rule in TWO_PAIRS else 1
    for twin in ("bad", "good"):
        have = [path.name for path in FIXTURES if named(path) == (rule, twin)]
        assert len(have) >= need, f"{rule} needs {need} {twin} fixtures, has {have}"


def test_clean_fixtures_are_there() -> None:
    assert sum(named(path)[1] == "clean" for path in FIXTURES) >= 4


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_marks_of_a_fixture(path: Path) -> None:
    rule, twin = named(path)
    expected, allowed = marks(path, "expect") + marks(path, "miss"), marks(path, "may")
    kinds = ("# expect", "# may", "# miss")
    comments = sum(any(k in line for k in kinds) for line in path.open(encoding="utf-8"))
    assert comments == len({line for line, _, _ in expected + allowed}), "a comment is malformed"
    for _, other, verdict in expected:
        assert other in NAMES
        assert verdict in VERDICTS
        assert not (other in BETWEEN_TWO_STATEMENTS and verdict == "confirmed")
    for _, other, verdict in allowed:
        assert other in NAMES
        assert not verdict
    if twin == "bad":
        assert rule in {other for _, other, _ in expected}
    else:
        assert not expected
        assert not allowed


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_a_fixture_runs_with_the_standard_library(path: Path) -> None:
    if path.stem == DOES_NOT_PARSE:
        ((line, _, _),) = marks(path, "expect")
        with pytest.raises(SyntaxError) as stopped:
            ast.parse(path.read_text(encoding="utf-8"))
        assert stopped.value.lineno == line
        return
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert all(name.name.split(".")[0] in sys.stdlib_module_names for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] in sys.stdlib_module_names
    runpy.run_path(str(path))


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_docstring_of_a_fixture(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = text[3 : text.index('"""', 3)].strip().splitlines()
    assert 1 <= len(lines) <= 7
    rule, twin = named(path)
    if twin == "bad":
        assert lines[0].startswith(rule)
    if twin == "bad" and rule not in ABOUT_FILES:
        steps = [line[:2] for line in lines if re.match(r"\d\. ", line)]
        assert steps == [f"{n}." for n in range(1, len(steps) + 1)]
        assert len(steps) >= 3
