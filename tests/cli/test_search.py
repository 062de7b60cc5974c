"""The options of the search, and a search that gave up: with the real engine on a small backend."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from kvlint import analysis
from kvlint.findings import Report, Searched, Span
from kvlint.search.evidence import Bounds, Evidence
from kvlint.search.system import System
from tests.conftest import Snapshot
from tests.fix.backends import git
from tests.report import samples

from .conftest import Engine, Run

REASONS = (
    "no schedule was found in which the room stays live after it",
    "no schedule was found in which polling shows that Failed is gone",
    "the scheduler polls a room only while it is there",
    "the error is caught, or ends only a call of the scheduler's own",
    "no message of a known peer and no lost entry was seen to raise it",
)
BAD = Path(samples.__file__).parent / "data" / "backend.py"


@pytest.fixture
def bad() -> str:
    shutil.copy(BAD, "bad.py")
    return "bad.py"


@pytest.fixture
def good() -> str:
    """The same backend with terminal states that stay, and entries that nobody takes away."""
    text = BAD.read_text()
    for old, new in (
        ("if current is None:", "if current in (None, KVPoll.Failed, KVPoll.Success):"),
        ("                self.transfer_infos.pop(room, None)\n", ""),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    Path("good.py").write_text(text)
    return "good.py"


def verdicts(run: Run, *argv: str) -> set[str]:
    report = json.loads(run("check", *argv, "--output-format", "json").out)
    return {finding["verdict"] for finding in report["findings"]}


def test_preemptions(run: Run, bad: str) -> None:
    assert verdicts(run, bad) == {"confirmed", "narrow"}
    assert verdicts(run, bad, "--preemptions", "0") == {"confirmed"}
    report = json.loads(run("check", bad, "--preemptions", "1", "--output-format", "json").out)
    assert [one["preemptions"] for one in report["searched"]] == [1]


def test_jobs(run: Run, bad: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They reach the search, and change nothing in what it finds."""
    asked = []
    honest = analysis.gather_all

    def gather_all(
        systems: Iterable[System], bounds: Bounds, jobs: int | None = None
    ) -> Iterator[Evidence]:
        asked.append(jobs)
        return honest(systems, bounds, jobs)

    monkeypatch.setattr(analysis, "gather_all", gather_all)
    found = [
        run("check", bad, *argv, "--output-format", "json").out
        for argv in ((), ("--jobs", "3"), ("-j", "1"))
    ]
    assert asked == [None, 3, 1]
    assert found[0] == found[1] == found[2]
    assert run("check", bad, "-j", "0").code == 2


def test_a_complete_search_is_clean(run: Run, good: str) -> None:
    assert run("check", good).code == 0


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        (("--max-states", "9"), "raise --max-states (9)"),
        (("--max-seconds", "1e-9"), "raise --max-seconds (1e-09)"),
    ],
)
def test_a_search_that_gave_up_is_not_clean(
    run: Run, good: str, options: tuple[str, str], advice: str
) -> None:
    result = run("check", good, *options)
    assert result.code == 2
    assert result.err == f"kvlint: the search gave up in Manager: {advice}\n"
    assert "Manager: the search gave up after " in result.out
    whole = run("check", good, *options, "--output-format", "json")
    assert (whole.code, whole.err) == (2, result.err)
    assert [one["complete"] for one in json.loads(whole.out)["searched"]] == [False]


def test_a_generous_limit_changes_nothing(run: Run, good: str) -> None:
    limits = ("--max-seconds", "600", "--max-states", "500000")
    assert run("check", good, *limits) == run("check", good)


def test_the_file_sets_what_the_options_set(run: Run, good: str) -> None:
    for key, value in (("max-states", "9"), ("max-seconds", "0.000000001")):
        Path("pyproject.toml").write_text(f"[tool.kvlint]\n{key} = {value}\n")
        assert run("check", good).code == 2
        assert run("check", good, f"--{key}", "100000").code == 0


def test_the_file_sets_the_environment(run: Run, bad: str) -> None:
    usual = run("check", bad, "-v").err.splitlines()[0]
    assert usual.endswith(" in every run; runs: no disturbance; message ABORT")
    assert usual.startswith("kvlint: searched Manager: 2 chunks")
    Path("pyproject.toml").write_text(
        '[tool.kvlint.environment]\nchunks = 3\ndisturbances = []\nmessages = ["HELLO"]\n'
    )
    calm = run("check", bad, "-v").err.splitlines()[0]
    assert calm.startswith("kvlint: searched Manager: 3 chunks")
    assert calm.endswith(" in every run; runs: no disturbance")
    (searched,) = json.loads(run("check", bad, "--output-format", "json").out)["searched"]
    assert searched["environment"]["chunks"] == 3
    assert searched["environment"]["runs"] == ["no disturbance"]


def test_findings_decide_before_a_search_that_gave_up(run: Run, engine: Engine) -> None:
    engine.report = Report(
        [samples.finding("KV101", "narrow", Span("a.py", 1))],
        searched=[
            Searched("A", ("w",), 5, 2, False, 2, (), ("max-states",)),
            Searched("B", ("w",), 9, 2, True),
            Searched("C", ("w",), 7, 2, False, 2, (), ("max-seconds", "max-states")),
        ],
    )
    line = "kvlint: the search gave up in A, C: raise --max-seconds (5) and --max-states (100000)\n"
    result = run("check", ".", "--max-seconds", "5")
    assert (result.code, result.err) == (1, line)
    result = run("check", ".", "--max-seconds", "5", "--fail-on", "error")
    assert (result.code, result.err) == (2, line)


def test_no_search_is_no_search_that_gave_up(run: Run, engine: Engine) -> None:
    engine.report = Report(searched=[Searched("A", (), 0, 0, False)])
    result = run("check", ".")
    assert (result.code, result.err) == (0, "")
    assert "no interleaving search was made" in result.out


def test_statistics_say_how_far_each_class_was_searched(run: Run, good: str) -> None:
    err = run("check", good, "--statistics").err
    states_and_time = (
        r"(?m)^Manager: \d{2,} states in \d+\.\d\d s, at most 2 narrow switches, complete; "
    )
    assert re.search(states_and_time, err)
    assert "at most 2 narrow switches, complete; threads: control_thread, transfer_worker" in err
    err = run("check", good, "--statistics", "--max-states", "9", "--preemptions", "1").err
    assert "at most 1 narrow switch, gave up; threads: control_thread, transfer_worker" in err


def test_the_whole_of_statistics(run: Run, bad: str, snapshot: Snapshot) -> None:
    snapshot("search.statistics.txt", numbered(run("check", bad, "--statistics").err))


def test_the_whole_of_verbose(run: Run, good: str, snapshot: Snapshot, tmp_path: Path) -> None:
    """With a gap, what was searched and cleared, and what is fixed since a revision."""
    (tmp_path / "heir.py").write_text(
        "from good import Manager\n\n\nclass Heir(Heir, Manager): ...\n"
    )
    fixed = (tmp_path / good).read_text()
    shutil.copy(BAD, good)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "x")
    (tmp_path / good).write_text(fixed)
    call = run("check", good, "heir.py", "-v", "--diff-base", "HEAD")
    assert call.code == 0
    snapshot("search.verbose.txt", call.out + numbered(call.err))


def numbered(text: str) -> str:
    """The text without what is no promise: times, and how many states a search has."""
    return re.sub(r"\d+( states)", r"N\1", re.sub(r"\d+\.\d\d s", "0.00 s", text))


def test_verbose_says_what_was_searched_and_cleared(run: Run, engine: Engine, bad: str) -> None:
    engine.report = Report(
        [
            samples.finding(
                *("KV301", "latent", Span("a.py", 7)),
                message="put back",
                cleared="it may come",
                cleared_in=("A", "B", "C", "D"),
            ),
            samples.finding("KV101", "latent", Span("a.py", 9), message="emptied"),
        ],
        searched=[
            Searched(
                *("A", ("w",), 5, 2, True, 3),
                runs=("no disturbance", "message ABORT"),
                messages=("[b'HELLO', ...]",),
            ),
            Searched("B", ("w",), 7, 2, False),
            Searched("C", (), 0, 2, False),
        ],
    )
    assert run("check", ".").err.startswith("kvlint: the search gave up in B")
    verbose = run("check", ".", "-v").err.splitlines()
    assert verbose[:3] == [
        "kvlint: searched A: 3 chunks, message [b'HELLO', ...] in every run; "
        "runs: no disturbance; message ABORT",
        "kvlint: no bad end found: a.py:7: KV301 unbounded-poll: put back: it may come; "
        "A was searched completely (5 states), B was searched until the search gave up (7 states), "
        "C was not searched",
        "kvlint: no bad end found: a.py:9: KV101 pop-without-terminal: emptied: no search was made",
    ]
    assert run("check", ".", "-v", "--show-latent").err.splitlines() == verbose
    assert run("check", ".", "-v", "--ignore", "KV301,KV1").err.splitlines() == [
        verbose[0],
        verbose[-1],
    ]


def test_every_latent_finding_of_a_backend_has_a_reason(run: Run, good: str) -> None:
    lines = [
        line
        for line in run("check", good, "-v").err.splitlines()
        if line.startswith("kvlint: no bad end found: ")
    ]
    assert lines
    for line in lines:
        told = re.fullmatch(r".*: ([^:;]+); ([^;]+)", line)
        assert told is not None
        reason, extent = told.groups()
        assert reason in REASONS
        assert re.fullmatch(r"Manager was searched completely \(\d+ states\)", extent)


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--preemptions", "-1", "'-1' is not a whole number from 0 on"),
        ("--preemptions", "two", "'two' is not a whole number from 0 on"),
        ("--max-states", "0", "'0' is not a whole number from 1 on"),
        ("--max-seconds", "0", "'0' is not a number of seconds above 0"),
        ("--max-seconds", "nan", "'nan' is not a number of seconds above 0"),
        ("--max-seconds", "soon", "'soon' is not a number of seconds above 0"),
    ],
)
def test_wrong_bounds(run: Run, option: str, value: str, reason: str) -> None:
    result = run("check", ".", f"{option}={value}")
    assert (result.code, result.out) == (2, "")
    assert result.err == (f"kvlint: error: argument {option}: {reason} (see kvlint check --help)\n")
