"""`# kvlint: ignore[...]`: what it silences, and what is said about the comments themselves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvlint.suppressions import MARK
from tests.locations import ROOT

from .conftest import Run

SOURCE = (ROOT / "fixtures" / "kv902_good_comment_with_reason.py").read_text(encoding="utf-8")
DEF = "# kvlint: ignore[terminal-not-sticky] -- as below"
STORE = "# kvlint: ignore[KV10] -- a dropped room has no crates left"
SILENT = "no findings; 2 silenced in the source; 1 class analysed\n"
AT_DEF = (
    "error KV104 terminal-not-sticky `DROPPED` can become `LISTED`; return early if the room is "
    "over"
)
ONE = "1 silenced in the source; 1 class analysed\n"


def check(run: Run, text: str, *options: str) -> tuple[int, str, str]:
    Path("belt.py").write_text(text, encoding="utf-8")
    return run("check", "belt.py", *options)


def with_def(comment: str) -> str:
    assert DEF in SOURCE
    return SOURCE.replace(DEF, comment)


def test_silenced_findings_are_counted_and_do_not_fail(run: Run) -> None:
    assert check(run, SOURCE) == (0, SILENT, "")


@pytest.mark.parametrize(
    "comment",
    [
        "# kvlint: ignore[KV104] -- why",
        "#kvlint:ignore[kv104]--why",
        "# kvlint: ignore[KV1] -- why",
        "# kvlint: ignore[ KV104 , ] -- why",
        "# noqa  # kvlint: ignore[TERMINAL-not-sticky] -- why # pragma: no cover",
    ],
)
def test_forms_that_are_read(run: Run, comment: str) -> None:
    assert check(run, with_def(comment)) == (0, SILENT, "")


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("# kvlint: ignore[KV104]", "the comment gives no reason; write `{how}`"),
        ("# kvlint: ignore[KV104] --  ", "the comment gives no reason; write `{how}`"),
        ("# kvlint: ignore[KV104] because", "the comment gives no reason; write `{how}`"),
        ("# kvlint: ignore[] -- why", "the comment names no rule; write `{how}`"),
        ("# kvlint: ignore -- why", "the comment cannot be read; write `{how}`"),
        ("# kvlint: disable=KV104", "the comment cannot be read; write `{how}`"),
        ("# kvlint: ignore[KV1O4] -- why", "unknown rule 'KV1O4' (did you mean KV104?)"),
        ("# kvlint: ignore[KV104,E501] -- why", "unknown rule 'E501' (kvlint rules lists them)"),
        (
            "# kvlint: ignore[KV903] -- why",
            "`KV903` cannot be silenced by a comment; use per-file-ignores",
        ),
    ],
)
def test_a_comment_that_silences_nothing_is_reported(run: Run, comment: str, message: str) -> None:
    line = SOURCE[: SOURCE.index(DEF)].count("\n") + 1
    column = len(SOURCE[: SOURCE.index(DEF)].rpartition("\n")[2]) + 1
    said = message.format(how="# kvlint: ignore[KV103] -- why")
    assert check(run, with_def(comment)) == (
        1,
        f"belt.py:{line}:5: {AT_DEF}\n"
        f"belt.py:{line}:{column}: warning KV902 unusable-suppression {said}\n"
        f"1 error, 1 warning in 1 file; {ONE}",
        "",
    )


def test_each_rule_that_silences_nothing_is_reported(run: Run) -> None:
    result = check(run, with_def("# kvlint: ignore[KV104,KV2,unbounded-poll] -- why"))
    assert [line.partition("warning ")[2] for line in result[1].splitlines()[:-1]] == [
        "KV903 unused-suppression `KV2` silences nothing here; remove it",
        "KV903 unused-suppression `unbounded-poll` silences nothing here; remove it",
    ]


def test_a_rule_that_is_switched_off_is_not_judged(run: Run) -> None:
    text = with_def("# kvlint: ignore[KV104,KV201] -- why")
    assert "KV903" in check(run, text)[1]
    assert check(run, text, "--ignore", "KV201")[0] == 0
    assert check(run, text, "--per-file-ignores", "belt.py:KV2")[0] == 0
    assert check(run, text, "--select", "KV104")[0] == 0
    assert check(run, text, "--ignore", "KV903")[0] == 0


def test_after_a_search_that_gave_up_no_comment_is_unused(run: Run) -> None:
    text = with_def("# kvlint: ignore[KV104,KV201] -- why")
    code, out, err = check(run, text, "--max-states", "1")
    assert "KV903" not in out
    assert (code, "gave up" in err) == (2, True)


@pytest.mark.parametrize(
    ("lines", "silent"),
    [
        (["{c}", "    def enter(self, room, leg):"], True),
        (["{c}", "", "    # more", "    def enter(self, room, leg):"], True),
        (["{c}", "    @keep", "    @keep", "    def enter(self, room, leg):"], True),
        (["    @keep  {c}", "    def enter(self, room, leg):"], True),
        (["    def enter(  {c}", "        self, room, leg", "    ):"], True),
        (["    def enter(", "        self, room, leg", "    ):  {c}"], True),
        (["    def enter(self, room, leg):", "        {c}"], False),
        (["    x = '{c}'", "    def enter(self, room, leg):"], False),
        (["{c}", "    x = 1", "    def enter(self, room, leg):"], False),
    ],
)
def test_the_statement_that_a_comment_counts_for(run: Run, lines: list[str], silent: bool) -> None:
    comment = "# kvlint: ignore[KV104] -- why"
    head = f"    def enter(self, room, leg):  {DEF}"
    source = SOURCE.replace("class CrateBelt", "def keep(f):\n    return f\n\n\nclass CrateBelt")
    text = source.replace(head, "\n".join(lines).replace("{c}", comment))
    assert text != source != SOURCE
    code, out, _ = check(run, text)
    assert (code == 0, AT_DEF in out) == (silent, not silent)


def test_silenced_findings_are_not_in_the_json(run: Run) -> None:
    assert json.loads(check(run, SOURCE, "--output-format", "json")[1])["findings"] == []


def test_a_silenced_latent_note_counts_where_notes_are_shown(run: Run) -> None:
    plain = (ROOT / "fixtures" / "clean_pop_after_terminal.py").read_text(encoding="utf-8")
    assert check(run, plain)[1].startswith("no findings; 2 latent notes hidden (--show-latent); ")
    place = next(line for line in check(run, plain, "--show-latent")[1].splitlines())
    assert " note KV101 " in place
    lines = plain.splitlines()
    lines[int(place.split(":")[1]) - 1] += "  # kvlint: ignore[KV101] -- why"
    text = "\n".join(lines) + "\n"
    assert check(run, text)[1].startswith("no findings; 1 latent note hidden (--show-latent); 1 c")
    assert "; 1 silenced in the source; " in check(run, text, "--show-latent")[1]


@pytest.mark.parametrize("paths", [["other.py"], ["."]])
def test_a_comment_in_a_file_without_a_backend_is_unused(run: Run, paths: list[str]) -> None:
    Path("other.py").write_text("x = 1  # kvlint: ignore[KV1] -- it was one once\n")
    assert run("check", *paths).out == (
        "other.py:1:8: warning KV903 unused-suppression `KV1` silences nothing here; remove it\n"
        "1 warning in 1 file; 0 classes analysed\n"
        "no KV-transfer backend was found in the files that were read\n"
    )


def test_fix_leaves_a_silenced_finding_alone(run: Run) -> None:
    Path("belt.py").write_text(SOURCE, encoding="utf-8")
    result = run("fix", "belt.py", "--diff")
    assert (result.code, result.out) == (0, "")
    Path("belt.py").write_text(SOURCE.replace(DEF, "").replace(STORE, ""), encoding="utf-8")
    assert run("fix", "belt.py", "--diff").out


def test_the_mark_is_the_one_that_the_prefilter_looks_for() -> None:
    from kvlint.discover import prefilter

    assert prefilter.MARK.decode() == MARK
