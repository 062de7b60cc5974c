"""Patches and line numbers, with every kind of line end and encoding."""

from __future__ import annotations

import pytest

from kvlint.fix.text import FileText, Patch, Shift, Unfixable, check_apart


@pytest.mark.parametrize(
    "data",
    [
        b"a\nb\n",
        b"a\r\nb\rc\n\xc3\xa4",
        b"\xef\xbb\xbfa\n",
        b"# coding: latin-1\n# \xe4\n",
        b"\xef\xbb\xbf# coding: utf-8\n",
        b"a\x0cb\n",
        b"",
    ],
)
def test_no_patch_changes_no_byte(data: bytes) -> None:
    assert FileText("a.py", data).patched([]) == data


def test_an_encoding_that_does_not_come_back_is_refused() -> None:
    # An escape sequence that says what is so already is lost in the text.
    data = b"# coding: iso2022_jp\nx = '\x1b(Ba'\n"
    with pytest.raises(Unfixable, match="cannot be written back byte for byte"):
        FileText("a.py", data).patched([])


def test_a_character_that_the_encoding_lacks_is_refused() -> None:
    file = FileText("a.py", b"# coding: latin-1\n")
    with pytest.raises(Unfixable):
        file.patched([Patch(0, 0, "\u20ac")])


def test_lines_are_those_of_the_parser() -> None:
    file = FileText("a.py", "one\r\ntw\u00f6\rthree\x0c3\nfour".encode())
    assert [file.line(n) for n in (1, 2, 3, 4)] == ["one", "tw\u00f6", "three\x0c3", "four"]
    assert [file.newline(n) for n in (1, 2, 3, 4)] == ["\r\n", "\r", "\n", "\n"]
    assert FileText("a.py", b"only").newline(1) == "\n"
    assert file.column(2, len("tw\u00f6".encode())) == 3
    assert file.offset(3, 2) == 11


def test_patches_apply_from_the_end() -> None:
    file = FileText("a.py", b"abc\ndef\n")
    assert file.patched([Patch(0, 1, "xx"), Patch(4, 7, ""), Patch(3, 3, "!")]) == b"xxbc!\n\n"


@pytest.mark.parametrize("other", [Patch(1, 1, "y"), Patch(2, 5, "y"), Patch(1, 3, "y")])
def test_patches_of_one_place_are_refused(other: Patch) -> None:
    with pytest.raises(Unfixable, match="two fixes change the same place"):
        check_apart([other, Patch(1, 3, "x")])
    check_apart([Patch(1, 3, "x"), Patch(3, 4, "y")])


def test_where_lines_go_and_come_from() -> None:
    file = FileText("a.py", b"1\n2\n3\n4\n5\n")
    shift = Shift(file, [Patch(2, 2, "a\nb\n"), Patch(6, 8, ""), Patch(9, 9, "x")])
    assert [shift.line(n) for n in (1, 2, 3, 5)] == [1, 4, 5, 6]
    assert [shift.before(n) for n in (1, 4, 5, 6)] == [1, 2, 3, 5]
