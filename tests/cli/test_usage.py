"""Wrong use: one line on stderr, exit status 2, a suggestion where there is one."""

from __future__ import annotations

import sys

import pytest

from kvlint.cli.main import COMMANDS

from .conftest import Engine, Run


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        ([], "no command given: try `kvlint check PATH` or `kvlint --help`"),
        (["chek"], "unknown command 'chek' (did you mean check?)"),
        (
            ["zzz"],
            "unknown command 'zzz' (known: check, baseline, fix, cache, table, explain, rules, "
            "completion)",
        ),
        (
            ["completion"],
            "no shell given: kvlint completion bash, kvlint completion zsh, kvlint completion fish",
        ),
        (["--selct"], "unknown option '--selct' (see kvlint --help)"),
        (["check", "--selct", "KV1"], "unknown option '--selct' (did you mean --select?)"),
        (["check", "--zzz", "x"], "unknown option '--zzz' (see kvlint check --help)"),
        (["rules", "KV101"], "unexpected argument 'KV101' (see kvlint rules --help)"),
        (
            ["check", ".", "--select", "KV1O3"],
            "--select: unknown rule 'KV1O3' (did you mean KV103?)",
        ),
        (
            ["check", ".", "--ignore", "KV1,transient-after-fail"],
            "--ignore: unknown rule 'transient-after-fail' (did you mean transient-after-failed?)",
        ),
        (
            ["check", ".", "--per-file-ignores", "a.py:E501"],
            "--per-file-ignores: unknown rule 'E501' (kvlint rules lists them)",
        ),
        (
            ["check", ".", "--per-file-ignores", "a.py"],
            "argument --per-file-ignores: 'a.py' is not GLOB:RULES, as in tests/*:KV101,KV2 "
            "(see kvlint check --help)",
        ),
        (
            ["check", ".", "--fail-on", "warn"],
            "argument --fail-on: 'warn' is not one of error, warning, note "
            "(did you mean warning?) (see kvlint check --help)",
        ),
        (
            ["check", ".", "--output-format", "xml"],
            "argument --output-format: 'xml' is not one of full, concise, github, json, "
            "sarif, junit "
            "(see kvlint check --help)",
        ),
        (
            ["check", ".", "--color", "alway"],
            "argument --color: 'alway' is not one of auto, always, never "
            "(did you mean always?) (see kvlint check --help)",
        ),
        (
            ["check", ".", "--isolated", "--config", "x.toml"],
            "--isolated and --config exclude each other",
        ),
        (["check", ".", "--config", "x.toml"], "x.toml: cannot read: No such file or directory"),
        (["check", ""], "an empty path was given (an unset variable?)"),
        (["explain", "kv1o3"], "unknown rule 'kv1o3' (did you mean KV103?)"),
        (["explain", "what"], "unknown rule 'what' (kvlint rules lists them)"),
    ],
)
def test_wrong_use(run: Run, argv: list[str], line: str) -> None:
    assert run(*argv) == (2, "", f"kvlint: error: {line}\n")


def test_an_error_text_cannot_break_the_line(run: Run) -> None:
    assert run("check", "a\nb\x1b[31m").err == (
        "kvlint: error: no such file or folder: a b\\x1b[31m\n"
    )


def test_an_internal_error_is_one_line_with_a_hint(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def boom(*_: object) -> None:
        raise KeyError("room\nseven")

    monkeypatch.setattr(sys.modules["kvlint.analysis"], "analyse", boom)
    result = run("check", ".")
    assert result == (
        2,
        "",
        "kvlint: error: internal error: KeyError: 'room\\nseven' "
        "(run again with -v for the traceback)\n",
    )
    verbose = run("check", ".", "-v")
    assert verbose.code == 2
    assert verbose.err.startswith("Traceback (most recent call last):\n")
    assert verbose.err.endswith("kvlint: error: internal error: KeyError: 'room\\nseven'\n")


def test_an_interrupt_is_no_traceback(
    run: Run, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["kvlint.analysis"], "analyse", interrupt)
    assert run("check", ".") == (130, "", "kvlint: interrupted\n")


@pytest.mark.parametrize("argv", [["--version"], ["check", "--version"], ["rules", "--version"]])
def test_version(run: Run, argv: list[str]) -> None:
    from kvlint import __version__

    assert run(*argv) == (0, f"kvlint {__version__}\n", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_help(run: Run, command: str) -> None:
    result = run(command, "--help")
    assert result.code == 0
    assert result.out.startswith(f"usage: kvlint {command}")
    assert command in run("--help").out
