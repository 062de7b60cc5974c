"""Excerpts: the caret stands under what is meant, whatever the line holds."""

from __future__ import annotations

import pytest

from kvlint.findings import Span
from kvlint.report.excerpt import Mark, excerpt
from kvlint.report.source import Sources
from kvlint.report.style import Style


def draw(text: str, *marks: Mark, width: int = 80, unicode: bool = False) -> str:
    style = Style(width=width, unicode=unicode)
    return "\n".join(excerpt(marks, Sources({"a.py": text}), style, ""))


def at(line: int, column: int, end: int, label: str = "", primary: bool = True) -> Mark:
    return Mark(Span("a.py", line, column, line, end), label, primary)


def test_caret_under_the_span() -> None:
    assert draw("x = call(room)\n", at(1, 5, 15)) == (
        "  |\n"
        "1 | x = call(room)\n"
        "  |     ^^^^^^^^^^"
    )  # fmt: skip


def test_lines_in_order_with_a_gap_and_two_marks_on_one_line() -> None:
    text = "".join(f"line{n}\n" for n in range(1, 12))
    drawn = draw(
        text,
        at(11, 1, 7, "here"),
        at(2, 1, 3, "first", primary=False),
        at(3, 1, 6, "second", primary=False),
        at(11, 3, 5, "there", primary=False),
    )
    assert drawn == (
        "   |\n"
        " 2 | line2\n"
        "   | -- first\n"
        " 3 | line3\n"
        "   | ----- second\n"
        "...\n"
        "11 | line11\n"
        "   | ^^^^^^ here\n"
        "   |   -- there"
    )


def test_tabs_and_wide_characters_and_controls() -> None:
    assert draw("\tx = '漢字' + y\n", at(1, 13, 14)).endswith(
        "1 |     x = '漢字' + y\n  |                  ^"
    )
    assert "\x1b" not in draw("x = '\x1b[31m'\n", at(1, 1, 2))
    assert draw("e\u0301 = 1\n", at(1, 4, 5)).endswith("\n  |   ^")


@pytest.mark.parametrize("column", [1, 40, 170, 199])
@pytest.mark.parametrize("unicode", [True, False])
def test_long_lines_are_cut_around_the_mark(column: int, unicode: bool) -> None:
    text = "".join(chr(ord("a") + n % 26) for n in range(200))
    _, line, carets = draw(text, at(1, column, column + 2), width=40, unicode=unicode).splitlines()
    assert len(line) <= 40
    assert line[carets.index("^")] == text[column - 1]


def test_a_long_wide_line_is_cut_to_cells() -> None:
    _, line, carets = draw("漢" * 100, at(1, 60, 61), width=40).splitlines()
    assert carets.count("^") == 2
    assert len(line) < 40
    assert line[4:].startswith("...")


def test_a_long_label_goes_below() -> None:
    drawn = draw("x = call(room)\n", at(1, 1, 15, "a label that does not fit"), width=30)
    assert drawn.splitlines()[2:] == ["  | ^^^^^^^^^^^^^^", "  | a label that does not fit"]


@pytest.mark.parametrize(
    "span",
    [
        Span("a.py", 1),
        Span("a.py", 1, 99, 1, 120),
        Span("a.py", 1, 0, 1, 0),
        Span("a.py", 1, 3, 2, 5),
        Span("a.py", 1, 5, 1, 2),
    ],
)
def test_odd_spans_still_have_a_caret(span: Span) -> None:
    assert "^" in draw("first\nsecond\n", Mark(span, primary=True))


@pytest.mark.parametrize("line", [0, -1, 3, 99])
def test_a_line_that_does_not_exist_is_left_out(line: int) -> None:
    assert draw("only\n", Mark(Span("a.py", line), primary=True)) == ""


def test_lines_are_the_parsers_lines() -> None:
    sources = Sources({"a.py": "one\x0c\r\ntwo\u2028still two\rthree\n"})
    assert sources.line("a.py", 2) == "two\u2028still two"
    assert sources.line("a.py", 3) == "three"
    assert sources.line("nowhere.py", 1) is None
