"""`kvlint check`: formats, exit statuses, and every option changes something."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import kvlint
from kvlint.cli.quick import all_unrelated
from kvlint.findings import Report, Searched, Span
from tests.conftest import Snapshot
from tests.report import samples

from .conftest import Engine, Run


def rules_in(concise: str) -> list[str]:
    return re.findall(r"(?:error|warning|note) (KV\d+)", concise)


@pytest.mark.parametrize("form", ["full", "concise", "json"])
def test_formats(run: Run, engine: Engine, snapshot: Snapshot, form: str) -> None:
    result = run("check", ".", "--output-format", form)
    assert result.code == 1
    snapshot(f"check.{form}.txt", result.out)


def test_output_is_the_same_for_any_order_of_findings(run: Run, engine: Engine) -> None:
    for form in ("full", "concise", "json"):
        first = run("check", ".", "--show-latent", "--output-format", form)
        engine.report.findings.reverse()
        assert run("check", ".", "--show-latent", "--output-format", form) == first


def test_default_format_is_concise_unless_a_terminal_reads(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    concise = run("check", ".", "--output-format", "concise").out
    assert run("check", ".").out == concise
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert (
        run("check", ".", "--color", "never").out
        == run("check", ".", "--output-format", "full", "--color", "never").out
    )


def test_json_has_the_keys_of_the_contract(run: Run, engine: Engine) -> None:
    report = json.loads(run("check", ".", "--output-format", "json").out)
    assert set(report) == {"schema", "version", "findings", "tables", "searched", "gaps"}
    assert set(report["findings"][0]) == {
        "rule", "name", "severity", "verdict", "path", "line", "column", "end_line", "end_column",
        "class", "function", "message", "fingerprint", "group", "fixes", "bad_end", "related",
        "witness",
    }  # fmt: skip
    assert set(report["tables"][0]) == {"class", "path", "line", "method", "enum", "transitions"}
    assert set(report["searched"][0]) == {
        "class", "threads", "states", "preemptions", "complete", "environment",
    }  # fmt: skip
    assert set(report["searched"][0]["environment"]) == {"chunks", "messages", "runs"}
    assert [f["bad_end"] for f in report["findings"]] == [None, None, None, "pinned"]


@pytest.mark.parametrize(
    ("verdicts", "fail_on", "code"),
    [
        ([], "note", 0),
        (["confirmed"], "error", 1),
        (["narrow"], "error", 0),
        (["narrow"], "warning", 1),
        (["latent"], "warning", 0),
        (["latent"], "note", 1),
    ],
)
def test_fail_on(run: Run, engine: Engine, verdicts: list[str], fail_on: str, code: int) -> None:
    engine.report.findings = [samples.finding("KV101", v, Span("a.py", 1)) for v in verdicts]
    assert run("check", ".", "--fail-on", fail_on).code == code


def test_fail_on_note_shows_what_it_fails_on(run: Run, engine: Engine) -> None:
    assert "KV301" in run("check", ".", "--fail-on", "note").out
    assert engine.settings.show_latent


def test_show_latent(run: Run, engine: Engine) -> None:
    hidden, shown = run("check", "."), run("check", ".", "--show-latent")
    assert "KV301" not in hidden.out
    assert "1 latent note hidden (--show-latent)" in hidden.out
    assert "KV301" in shown.out
    assert "hidden" not in shown.out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--select", "KV103"], ["KV103"]),
        (["--select", "kv103,KV101"], ["KV103", "KV101"]),
        (["--select", "KV103", "--select", "KV104"], ["KV104", "KV103"]),
        (["--select", "transient-after-failed"], ["KV103"]),
        (["--select", "KV2"], []),
        (["--select", "ALL", "--ignore", "KV1"], []),
        (["--ignore", "KV102,KV104"], ["KV103", "KV101"]),
        (["--select", "KV10", "--ignore", "KV101"], ["KV104", "KV102", "KV103"]),
        (["--select", "KV101", "--ignore", "KV1"], ["KV101"]),
        (["--select", "KV101", "--ignore", "KV101"], []),
        (["--per-file-ignores", "nixl/*:KV1"], ["KV104"]),
        (["--per-file-ignores", "conn.py:KV102,KV103"], ["KV104", "KV101"]),
        (["--per-file-ignores", "common:ALL", "--per-file-ignores", "nixl/:KV101"],
         ["KV102", "KV103"]),
        (["--per-file-ignores", "elsewhere/*:ALL"], ["KV104", "KV102", "KV103", "KV101"]),
    ],
)  # fmt: skip
def test_selection(run: Run, engine: Engine, options: list[str], expected: list[str]) -> None:
    assert rules_in(run("check", ".", *options).out) == expected


def test_an_unreadable_file_stays_unless_it_is_ignored(run: Run, engine: Engine) -> None:
    engine.report.findings = [samples.finding("KV901", "confirmed", Span("a.py", 1))]
    assert run("check", ".", "--select", "KV1").code == 1
    assert run("check", ".", "--select", "KV1", "--ignore", "KV9").code == 0
    assert run("check", ".", "--per-file-ignores", "a.py:KV901").code == 0


def test_exclude(run: Run, engine: Engine) -> None:
    run("check", "one", "two", "--exclude", "build,*_pb2.py", "--exclude", "tests/data")
    assert engine.paths == ("one", "two")
    assert engine.exclude == ("build", "*_pb2.py", "tests/data")


def test_options_may_stand_between_paths(run: Run, engine: Engine) -> None:
    run("check", "one", "--fail-on", "error", "two", "-v", "three")
    assert engine.paths == ("one", "two", "three")


def test_no_path_means_the_checkouts_own_folder(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kvlint.discover.project.default_paths", lambda: ["python/disagg"])
    run("check")
    assert engine.paths == ("python/disagg",)


def test_gaps_are_counted_and_listed_with_v(run: Run, engine: Engine) -> None:
    assert run("check", ".").err == (
        "kvlint: 2 places could not be read, resolved or searched (-v lists them)\n"
    )
    engine.report.findings = []
    assert run("check", ".", "-v").err == (
        "kvlint: gap: common/conn.py:1: base class BaseKVManager: source not found\n"
        "kvlint: gap: nixl/conn.py:11: self.receive: no such method found\n"
    )
    assert run("check", ".", "--verbose").err == run("check", ".", "-v").err
    assert len(json.loads(run("check", ".", "--output-format", "json").out)["gaps"]) == 2


def test_statistics(run: Run, engine: Engine, snapshot: Snapshot) -> None:
    engine.report.gaps = []
    assert run("check", ".").err == ""
    err = run("check", ".", "--statistics").err
    snapshot("check.statistics.txt", re.sub(r"\d+\.\d\d s", "0.00 s", err))


def test_statistics_keep_the_json_whole(run: Run, engine: Engine) -> None:
    json.loads(run("check", ".", "--statistics", "--output-format", "json").out)


def test_nothing_to_analyse_needs_no_engine(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvlint.discover.project import Project

    monkeypatch.setattr("kvlint.discover.project.load_project", lambda *a, **k: Project(files=1))
    monkeypatch.setitem(sys.modules, "kvlint.analysis", None)
    result = run("check", ".")
    assert result.code == 0
    assert result.out == (
        "no findings; 0 classes analysed\n"
        "no KV-transfer backend was found in the files that were read\n"
    )


def test_a_search_that_gave_up_says_so(run: Run, engine: Engine) -> None:
    engine.report = Report(
        searched=[
            Searched("A", ("w",), 1000, 2, True),
            Searched("B", ("w",), 5000, 2, False),
            Searched("C", ("w",), 0, 2, False),
        ]
    )
    assert run("check", ".") == (
        2,
        "no findings; 3 classes analysed\n"
        "B: the search gave up after 5000 states\n"
        "C: no interleaving search was made: the verdicts rest on path analysis alone\n",
        "kvlint: the search gave up in B: too many ways through one function\n",
    )


def test_width_comes_from_columns(
    run: Run, engine: Engine, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    out = run("check", ".", "--output-format", "full", "--ascii").out
    snapshot("check.full.60.ascii.txt", out)
    assert out.isascii()
    assert max(len(line) for line in out.splitlines() if " | " in line) <= 60


def test_ascii(run: Run, engine: Engine) -> None:
    assert not run("check", ".", "--output-format", "full").out.isascii()
    assert run("check", ".", "--output-format", "full", "--ascii").out.isascii()


def test_a_source_that_is_gone_needs_no_excerpt(run: Run, engine: Engine) -> None:
    lost = replace(samples.findings()[0], span=Span("gone.py", 3, 5))
    engine.report.findings = [lost]
    out = run("check", ".", "--output-format", "full").out
    assert out.startswith("gone.py:3:5: warning KV102 skip-without-terminal\n")


def test_engine_gets_the_settings(run: Run, engine: Engine) -> None:
    run("check", ".", "--show-latent", "--fail-on", "error")
    assert engine.settings.show_latent
    assert engine.settings.fail_on == "error"


def test_input_errors_of_discovery_are_one_line(run: Run) -> None:
    result = run("check", "no/such/path")
    assert result == (2, "", "kvlint: error: no such file or folder: no/such/path\n")


def test_unrelated_files_need_no_discovery(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    (tmp_path / "b.py").write_text("y = 2\n")
    slow = run("check", ".")
    monkeypatch.setattr("kvlint.discover.project.load_project", None)
    quick = run("check", "a.py", "b.py", "--statistics")
    assert (quick.code, quick.out) == (slow.code, slow.out)
    assert quick.err.startswith("read 2 files in ")


@pytest.mark.parametrize(
    "text", [f"import threading\n{samples.COMMON}".encode(), b"#" * (2 << 20), b"x = (\n", b"\0"]
)
def test_the_shortcut_leaves_doubt_to_discovery(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(text)
    assert not all_unrelated(["a.py"])
    assert not all_unrelated(["."])
    assert not all_unrelated(["missing.py"])
    assert not all_unrelated(["a\0.py"])


def test_an_unrelated_run_imports_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    script = (
        "import sys; from kvlint.cli import main; main(['check', 'a.py']);"
        "print(sorted({'dataclasses', 'inspect', 'ast', 'json', 'shutil', 'difflib', 'pathspec'}"
        " & set(sys.modules)))"
    )
    shown = subprocess.run(
        [sys.executable, "-S", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(kvlint.__file__).parent.parent)},
    )
    assert shown.stdout.splitlines()[-1] == "[]"
