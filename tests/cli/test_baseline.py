"""`kvlint baseline` and `--baseline`: known findings stay quiet, and the file only shrinks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kvlint.discover.project import Project
from kvlint.findings import Finding, Report, Searched, Span
from tests.conftest import Snapshot
from tests.report import samples

from .conftest import Engine, Run

FILE = "kvlint-baseline.json"
SEARCHED = [Searched("A", ("w",), 10, 2, True)]


@pytest.fixture
def report(engine: Engine) -> Report:
    """Two findings that are shown, a latent one, and a search that is complete."""
    engine.report = Report(
        findings=[
            samples.finding("KV101", "confirmed", Span("nixl/conn.py", 4)),
            samples.finding("KV104", "narrow", Span("common/conn.py", 8), function=""),
            samples.finding("KV301", "latent", Span("nixl/conn.py", 10)),
        ],
        searched=[*SEARCHED],
    )
    return engine.report


def entries(path: str = FILE) -> list[str]:
    return [entry["rule"] for entry in json.loads(Path(path).read_text())["findings"]]


def check(run: Run, *options: str) -> tuple[int, str, str]:
    return run("check", ".", "--baseline", FILE, *options)


def test_write(run: Run, report: Report, snapshot: Snapshot) -> None:
    assert run("baseline", "write", ".") == (0, f"wrote 2 findings to {FILE}\n", "")
    snapshot("baseline.json", Path(FILE).read_text())
    assert sorted(path.name for path in Path().iterdir()) == ["common", FILE, "nixl"]
    assert check(run) == (
        0,
        "no findings; 1 latent note hidden (--show-latent); 2 in the baseline; 1 class analysed\n",
        "",
    )


def test_only_what_is_new_is_reported(run: Run, report: Report) -> None:
    run("baseline", "write", ".")
    report.findings.append(samples.finding("KV102", "narrow", Span("nixl/conn.py", 5)))
    code, out, err = check(run)
    assert (code, err) == (1, "")
    assert out == (
        "nixl/conn.py:5:1: warning KV102 skip-without-terminal something can go wrong here\n"
        "1 warning in 1 file; 1 latent note hidden (--show-latent); 2 in the baseline; "
        "1 class analysed\n"
    )
    found = json.loads(check(run, "--output-format", "json")[1])
    assert [f["rule"] for f in found["findings"]] == ["KV102"]
    assert "stale" not in found


def test_an_entry_is_keyed_by_fingerprint(run: Run, report: Report) -> None:
    run("baseline", "write", ".")
    moved = replace(report.findings[0], span=Span("nixl/conn.py", 99), message="other words")
    report.findings[0] = moved
    assert check(run)[0] == 0
    report.findings[0] = replace(moved, fingerprint="another")
    assert check(run)[0] == 1


def test_a_finding_that_gets_worse_is_reported(run: Run, report: Report) -> None:
    run("baseline", "write", ".")
    report.findings[1] = replace(report.findings[1], severity="error", verdict="confirmed")
    code, out, err = check(run)
    assert (code, err) == (1, "")
    assert out.startswith("common/conn.py:8:1: error KV104")
    report.findings[0] = replace(report.findings[0], severity="warning", verdict="narrow")
    assert check(run)[1].splitlines()[0].startswith("common/conn.py:8:1: error KV104")


def test_a_stale_entry_fails(run: Run, report: Report) -> None:
    run("baseline", "write", ".")
    del report.findings[0]
    said = (
        f"kvlint: {FILE}: KV101 pop-without-terminal in nixl/conn.py is gone: "
        "something can go wrong here\n"
        "kvlint: 1 stale entry: shrink the baseline "
        f"(kvlint baseline update --baseline {FILE})\n"
    )
    code, out, err = check(run)
    assert (code, err) == (1, said)
    assert out.startswith("no findings; ")
    found = json.loads(check(run, "--output-format", "json")[1])
    assert [entry["rule"] for entry in found["stale"]] == ["KV101"]
    report.findings.clear()
    assert "kvlint: 2 stale entries: shrink the baseline" in check(run)[2]


def test_update_takes_out_what_is_stale_and_adds_nothing(run: Run, report: Report) -> None:
    run("baseline", "write", ".")
    del report.findings[0]
    report.findings.append(samples.finding("KV102", "narrow", Span("nixl/conn.py", 5)))
    assert run("baseline", "update", ".") == (
        0,
        f"{FILE}: 1 taken out, 1 kept; 1 finding not in it: kvlint check lists them\n",
        "",
    )
    assert entries() == ["KV104"]
    del report.findings[-1]
    before = Path(FILE).stat().st_mtime_ns
    assert run("baseline", "update", ".").out == (
        f"{FILE}: 0 taken out, 1 kept; nothing else was found\n"
    )
    assert Path(FILE).stat().st_mtime_ns == before
    assert check(run)[0] == 0


@pytest.mark.parametrize(
    ("options", "stale"),
    [
        (["."], True),
        (["nixl"], True),
        (["nixl/conn.py"], True),
        (["common"], False),
        ([".", "--select", "KV104"], False),
        ([".", "--ignore", "KV101"], False),
        ([".", "--ignore", "KV104"], True),
        ([".", "--per-file-ignores", "nixl/*:KV1"], False),
        ([".", "--exclude", "nixl"], False),
        ([".", "--exclude", "common"], True),
    ],
)
def test_an_entry_is_stale_where_the_run_had_to_find_it(
    run: Run, report: Report, options: list[str], stale: bool
) -> None:
    run("baseline", "write", ".")
    del report.findings[0]
    err = run("check", *options, "--baseline", FILE).err
    assert ("KV101" in err) is stale
    run("baseline", "update", *options)
    assert ("KV101" in entries()) is not stale


def test_a_note_is_stale_where_notes_are_shown(run: Run, report: Report) -> None:
    run("baseline", "write", ".", "--show-latent")
    assert entries() == ["KV104", "KV101", "KV301"]
    assert check(run, "--show-latent") == (
        0,
        "no findings; 3 in the baseline; 1 class analysed\n",
        "",
    )
    del report.findings[2]
    assert check(run)[0] == 0
    assert check(run, "--show-latent")[0] == 1


def test_after_a_search_that_gave_up_nothing_is_stale_and_nothing_is_written(
    run: Run, report: Report
) -> None:
    run("baseline", "write", ".")
    report.findings.clear()
    report.searched[:] = [replace(SEARCHED[0], complete=False, limits=("max-seconds",))]
    gave_up = "kvlint: the search gave up in A: raise --max-seconds (1)\n"
    assert check(run, "--max-seconds", "1")[::2] == (2, gave_up)
    left = f"kvlint: error: {FILE} is left as it is: not everything was searched\n"
    for action in (["update"], ["write", "--force"]):
        assert run("baseline", *action, ".", "--max-seconds", "1") == (2, "", gave_up + left)
    assert entries() == ["KV104", "KV101"]


def test_write_replaces_nothing_without_force(run: Run, report: Report) -> None:
    run("baseline", "write", ".")
    del report.findings[0]
    assert run("baseline", "write", ".") == (
        2,
        "",
        f"kvlint: error: {FILE} exists: `update` shrinks it, `write --force` replaces it\n",
    )
    assert run("baseline", "write", ".", "--force").code == 0
    assert entries() == ["KV104"]


def test_paths_are_relative_to_the_file(
    run: Run, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("deep").mkdir()
    run("baseline", "write", ".", "--baseline", "deep/known.json")
    paths = {entry["path"] for entry in json.loads(Path("deep/known.json").read_text())["findings"]}
    assert paths == {"../nixl/conn.py", "../common/conn.py"}
    monkeypatch.chdir("deep")
    report.findings = [_from_deep(f) for f in report.findings]
    assert run("check", "..", "--baseline", "known.json").code == 0
    del report.findings[0]
    assert run("check", "..", "--baseline", "known.json").code == 1


def _from_deep(finding: Finding) -> Finding:
    return replace(finding, span=replace(finding.span, path=f"../{finding.span.path}"))


def test_the_configuration_names_the_file(run: Run, report: Report) -> None:
    Path("pyproject.toml").write_text('[tool.kvlint]\nbaseline = "known.json"\n')
    assert run("baseline", "write", ".").out == "wrote 2 findings to known.json\n"
    assert run("check", ".").code == 0
    assert run("check", ".", "--isolated").code == 1


def test_selected_rules_are_written(run: Run, report: Report) -> None:
    run("baseline", "write", ".", "--select", "KV104")
    assert entries() == ["KV104"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not a baseline: Expecting property name"),
        ("\x00", "not a baseline: "),
        ("[]", "not a baseline: no list of findings in it"),
        ('{"schema": 1}', "not a baseline: no list of findings in it"),
        (
            '{"schema": 2, "findings": []}',
            "this version of kvlint reads baselines of schema 1 only",
        ),
        ('{"schema": 1, "findings": [1]}', "not a baseline: an entry in it is damaged"),
        ('{"schema": 1, "findings": [{}]}', "not a baseline: an entry in it is damaged"),
    ],
)
def test_a_damaged_file_is_an_error(run: Run, report: Report, text: str, said: str) -> None:
    Path(FILE).write_text(text)
    for result in (check(run), run("baseline", "update", ".")):
        assert result[:2] == (2, "")
        assert result[2].startswith(f"kvlint: error: {FILE}: {said}")


def test_a_damaged_severity_is_an_error(run: Run, report: Report) -> None:
    run("baseline", "write", ".")
    Path(FILE).write_text(Path(FILE).read_text().replace('"error"', '"fatal"'))
    assert check(run)[2] == f"kvlint: error: {FILE}: not a baseline: an entry in it is damaged\n"


def test_a_missing_file_is_an_error(run: Run, report: Report) -> None:
    assert check(run)[::2] == (
        2,
        f"kvlint: error: {FILE}: there is no such baseline "
        f"(kvlint baseline write --baseline {FILE} writes one)\n",
    )
    assert run("check", ".", "--baseline", "nixl").err.startswith(
        "kvlint: error: nixl: cannot read"
    )


def test_a_file_that_cannot_be_written_is_an_error(run: Run, report: Report) -> None:
    result = run("baseline", "write", ".", "--baseline", "no/such/folder.json")
    assert result.err.startswith("kvlint: error: no/such/folder.json: cannot write: ")
    assert result.code == 2


def test_the_search_is_bounded_and_the_rules_selected_as_in_check(
    run: Run, engine: Engine, report: Report
) -> None:
    options = ["--preemptions", "1", "--max-states", "7", "--max-seconds", "9", "--jobs", "3"]
    chosen = ["--exclude", "gen", "--ignore", "KV101", "--per-file-ignores", "common:KV104"]
    assert run("baseline", "write", "one", *options, *chosen).out.startswith("wrote 0 findings")
    settings = engine.settings
    assert (settings.preemptions, settings.max_states) == (1, 7)
    assert (settings.max_seconds, settings.jobs) == (9.0, 3)
    assert (engine.paths, engine.exclude) == (("one",), ("gen",))


def test_no_action(run: Run) -> None:
    assert run("baseline").err == (
        "kvlint: error: no action given: kvlint baseline write, or kvlint baseline update\n"
    )


def test_wrong_action(run: Run) -> None:
    assert run("baseline", "writ").err == (
        "kvlint: error: argument ACTION: 'writ' is not one of write, update "
        "(did you mean write?) (see kvlint baseline --help)\n"
    )


def test_an_unrelated_file_may_make_an_entry_stale(
    run: Run, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("baseline", "write", ".")
    monkeypatch.setattr("kvlint.discover.project.load_project", lambda *a, **k: Project(files=1))
    Path("nixl/conn.py").write_text("x = 1\n")
    assert "KV101" in run("check", "nixl/conn.py", "--baseline", FILE).err
