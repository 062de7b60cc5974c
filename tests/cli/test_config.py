"""`[tool.kvlint]`: found, read, checked, and beaten by the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kvlint.config import Environment, ProtocolOverrides, load_settings
from kvlint.errors import UsageError

from .conftest import Engine, Run

WHOLE = """\
[tool.kvlint]
select = ["KV1", "unbounded-poll"]
ignore = ["KV102"]
per-file-ignores = { "nixl/*" = ["KV103"] }
exclude = ["build", "gen/*"]
fail-on = "error"
show-latent = true
output-format = "concise"
baseline = "known.json"
preemptions = 3
max-states = 500
max-seconds = 7
jobs = 5

[tool.kvlint.environment]
chunks = 3
stops-sending = false
messages = ["HELLO"]
disturbances = ["call", "message"]

[tool.kvlint.protocol]
status-enum = "KVPoll"
status-table = "request_status"
side-tables = ["transfer_infos"]
queues = ["transfer_queues"]
updaters = ["update_status"]
readers = ["check_status"]
failure = ["Failed"]
success = ["Success"]
entry-points = ["abort"]
"""


@pytest.fixture(autouse=True)
def known() -> None:
    """The baseline that the configuration names, without an entry."""
    Path("known.json").write_text('{"schema": 1, "findings": []}')


def write(text: str, name: str = "pyproject.toml") -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


def test_every_key_is_read() -> None:
    write(WHOLE)
    settings = load_settings(".")
    assert settings.select == ("KV1", "unbounded-poll")
    assert settings.ignore == ("KV102",)
    assert settings.per_file_ignores == (("nixl/*", ("KV103",)),)
    assert settings.exclude == ("build", "gen/*")
    assert settings.fail_on == "error"
    assert settings.show_latent
    assert settings.output_format == "concise"
    assert settings.baseline == "known.json"
    assert (settings.preemptions, settings.max_states, settings.max_seconds) == (3, 500, 7.0)
    assert settings.jobs == 5
    assert settings.source == "pyproject.toml"
    assert settings.environment == Environment(3, False, ("HELLO",), ("message", "call"))
    assert settings.protocol == ProtocolOverrides(
        status_enum="KVPoll",
        status_table="request_status",
        side_tables=("transfer_infos",),
        queues=("transfer_queues",),
        updaters=("update_status",),
        readers=("check_status",),
        failure=("Failed",),
        success=("Success",),
        entry_points=("abort",),
    )


def test_show_settings_prints_them_as_they_can_be_pasted(run: Run, engine: Engine) -> None:
    write(WHOLE)
    shown = run("check", ".", "--show-settings")
    assert shown.code == 0
    assert engine.paths == ()
    write(shown.out, "again/pyproject.toml")
    again = run("check", ".", "--show-settings", "--config", "again/pyproject.toml")
    strip = str.partition
    assert strip(again.out, "\n")[2].replace("again/", "") == strip(shown.out, "\n")[2]


def test_show_settings_of_defaults_names_what_is_found(run: Run, engine: Engine) -> None:
    out = run("check", ".", "--show-settings", "--select", "KV1").out
    assert '[tool.kvlint]\nselect = ["KV1"]\nignore = []\n' in out
    assert "# status-enum: found in the code\n" in out
    assert "# output-format: full on a terminal, else concise\n" in out
    assert "preemptions = 2\n" in out
    assert "# baseline: none\n" in out
    assert "# max-seconds: no limit\n# jobs: one for each CPU\n" in out
    assert (
        "[tool.kvlint.environment]\nchunks = 2\nstops-sending = true\nmessages = []\n"
        'disturbances = ["message", "abort", "call", "clear", "watcher"]\n'
    ) in out


def test_nearest_section_wins_and_files_without_one_are_passed_by() -> None:
    write('[tool.kvlint]\nfail-on = "error"\n')
    write('[tool.kvlint]\nfail-on = "note"\n', "a/pyproject.toml")
    write('[tool.other]\nname = "kvlint"\n', "a/b/pyproject.toml")
    assert load_settings(".").fail_on == "error"
    assert load_settings("a").fail_on == "note"
    assert load_settings("a/b").fail_on == "note"
    assert load_settings("a/b/file.py").fail_on == "note"
    assert load_settings("a/b").source == "a/pyproject.toml"


@pytest.mark.parametrize("spelling", ["[tool.kvlint]\n", "[tool]\nkvlint.", "[ tool . kvlint ]\n"])
def test_any_spelling_of_the_section_counts(spelling: str) -> None:
    write(f'{spelling}fail-on = "error"\n')
    assert load_settings(".").fail_on == "error"


def test_no_toml_parser_without_a_section(monkeypatch: pytest.MonkeyPatch) -> None:
    write("this is not TOML")
    monkeypatch.setitem(sys.modules, "tomllib", None)
    monkeypatch.setitem(sys.modules, "tomli", None)
    assert load_settings(".").source is None


def test_command_line_beats_the_file(run: Run, engine: Engine) -> None:
    write(WHOLE)
    run(
        "check", ".", "--fail-on", "warning", "--select", "KV2", "--exclude", "x", "--ignore", "KV3"
    )
    assert engine.settings.fail_on == "warning"
    assert engine.settings.select == ("KV2",)
    assert engine.settings.ignore == ("KV3",)
    assert engine.settings.exclude == ("x",)
    assert engine.settings.show_latent  # not given, so the file's
    assert engine.settings.protocol.status_enum == "KVPoll"


def test_isolated_and_config(run: Run, engine: Engine) -> None:
    write('[tool.kvlint]\nfail-on = "error"\n')
    write('[tool.kvlint]\nfail-on = "note"\n', "other.toml")
    run("check", ".")
    assert engine.settings.fail_on == "error"
    run("check", ".", "--isolated")
    assert engine.settings.fail_on == "warning"
    run("check", ".", "--config", "other.toml")
    assert engine.settings.fail_on == "note"


def test_patterns_are_relative_to_the_file(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(
        '[tool.kvlint]\nexclude = ["pkg/gen", "build"]\nper-file-ignores = {"nixl/*" = ["KV1"]}\n'
    )
    assert "nixl" not in run("check", ".").out
    Path("pkg").mkdir()
    monkeypatch.chdir("nixl")
    engine.report.findings = [f for f in engine.report.findings if f.span.path == "nixl/conn.py"]
    for index, found in enumerate(engine.report.findings):
        from dataclasses import replace

        span = replace(found.span, path="conn.py")
        engine.report.findings[index] = replace(found, span=span)
    assert "conn.py" not in run("check", ".").out
    write('[tool.kvlint]\nbaseline = "known.json"\n', "../pkg/pyproject.toml")
    monkeypatch.chdir("../pkg")
    Path("deep").mkdir()
    assert load_settings("deep").baseline == "known.json"
    assert load_settings("..").baseline is None
    Path("pyproject.toml").unlink()
    run("check", ".")
    assert engine.exclude == ("gen", "build")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('selct = ["KV1"]', "tool.kvlint: unknown key 'selct' (did you mean select?)"),
        ('fail_on = "error"', "tool.kvlint: unknown key 'fail_on' (did you mean fail-on?)"),
        (
            "zzz = 1",
            "tool.kvlint: unknown key 'zzz' (known: baseline, cache, environment, exclude, "
            "fail-on, ignore, jobs, max-seconds, max-states, output-format, per-file-ignores, "
            "preemptions, protocol, select, show-latent)",
        ),
        ('select = "KV1"', "tool.kvlint.select: expected a list of strings, found a string"),
        ('select = ["KV1", 2]', "tool.kvlint.select: expected a list of strings, found a list "
         "with 2 in it"),
        ('select = ["KV1O3"]', "tool.kvlint.select: unknown rule 'KV1O3' (did you mean KV103?)"),
        ('ignore = ["popping"]', "tool.kvlint.ignore: unknown rule 'popping' "
         "(kvlint rules lists them)"),
        ('fail-on = "warn"', "tool.kvlint.fail-on: 'warn' is not one of error, warning, note "
         "(did you mean warning?)"),
        ("preemptions = -1", "tool.kvlint.preemptions: -1 is less than 0"),
        ("preemptions = true", "tool.kvlint.preemptions: expected an integer, found a boolean"),
        ("max-states = 0", "tool.kvlint.max-states: 0 is less than 1"),
        ("max-states = 1.5", "tool.kvlint.max-states: expected an integer, found a number"),
        ('max-seconds = "1"', "tool.kvlint.max-seconds: expected a number, found a string"),
        ("max-seconds = 0", "tool.kvlint.max-seconds: 0 is not a number of seconds above 0"),
        ("fail-on = 1", "tool.kvlint.fail-on: expected a string, found an integer"),
        ("baseline = 1", "tool.kvlint.baseline: expected a string, found an integer"),
        ('output-format = "xml"', "tool.kvlint.output-format: 'xml' is not one of full, concise, "
         "github, json, sarif, junit"),
        ('show-latent = "yes"', "tool.kvlint.show-latent: expected true or false, found a string"),
        ('per-file-ignores = ["a"]', "tool.kvlint.per-file-ignores: expected a table, found "
         "a list"),
        ('per-file-ignores = {"a.py" = "KV1"}', "tool.kvlint.per-file-ignores.a.py: expected a "
         "list of strings, found a string"),
        ('per-file-ignores = {"a.py" = ["X"]}', "tool.kvlint.per-file-ignores.a.py: unknown rule "
         "'X' (kvlint rules lists them)"),
        ("environment = 2", "tool.kvlint.environment: expected a table, found an integer"),
        ("environment = {chunk = 1}", "tool.kvlint.environment: unknown key 'chunk' "
         "(did you mean chunks?)"),
        ("environment = {chunks = 0}", "tool.kvlint.environment.chunks: 0 is less than 1"),
        ("environment = {stops-sending = 1}", "tool.kvlint.environment.stops-sending: expected "
         "true or false, found an integer"),
        ('environment = {messages = "A"}', "tool.kvlint.environment.messages: expected a list of "
         "strings, found a string"),
        ('environment = {disturbances = ["aborts"]}', "tool.kvlint.environment.disturbances: "
         "'aborts' is not one of message, abort, call, clear, watcher (did you mean abort?)"),
        ("protocol = true", "tool.kvlint.protocol: expected a table, found a boolean"),
        ('protocol = {status-enm = "E"}', "tool.kvlint.protocol: unknown key 'status-enm' "
         "(did you mean status-enum?)"),
        ('protocol = {status-enum = ["E"]}', "tool.kvlint.protocol.status-enum: expected a string, "
         "found a list"),
        ('protocol = {queues = "q"}', "tool.kvlint.protocol.queues: expected a list of strings, "
         "found a string"),
    ],
)  # fmt: skip
def test_wrong_configuration(run: Run, engine: Engine, text: str, line: str) -> None:
    write(f"[tool.kvlint]\n{text}\n")
    assert run("check", ".") == (2, "", f"kvlint: error: pyproject.toml: {line}\n")


def test_broken_toml_names_the_file(run: Run, engine: Engine) -> None:
    write("[tool.kvlint\n")
    result = run("check", ".")
    assert result.code == 2
    assert result.err.startswith("kvlint: error: pyproject.toml: not valid TOML: ")
    assert "line 1" in result.err
    Path("pyproject.toml").write_bytes(b"[tool.kvlint]\nx = '\xff'\n")
    assert "pyproject.toml: not valid TOML: " in run("check", ".").err


def test_a_named_file_needs_the_section(run: Run, engine: Engine) -> None:
    write("[tool.black]\n", "x.toml")
    assert run("check", ".", "--config", "x.toml").err == (
        "kvlint: error: x.toml: no [tool.kvlint] section\n"
    )


def test_selectors_are_checked_before_anything_is_read() -> None:
    write('[tool.kvlint.per-file-ignores]\n"a.py" = ["KV7"]\n')
    with pytest.raises(UsageError, match="KV7"):
        load_settings(".")


def test_severities_are_those_of_the_findings() -> None:
    from kvlint import config, findings

    assert config.SEVERITIES == findings.SEVERITIES
