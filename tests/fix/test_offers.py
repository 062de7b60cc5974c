"""The fixes in the SARIF: what an editor makes of one is what `kvlint fix` writes for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kvlint.cli import engine
from kvlint.findings import Finding
from kvlint.fix import plan, sticky
from kvlint.fix.text import Patch
from kvlint.fix.unit import Refused, Scene, Unit

from ..cli.test_formats import problems
from ..running import run
from .backends import FORGET, STICKY, backend, fix

FAILS = """
def fail(self, room):
    self.update_status(room, KVPoll.Failed)

"""
CHECK = ("check", "conn.py", "--isolated", "--output-format", "sarif")
FORMS = {
    "plain": lambda text: text.encode(),
    "crlf": lambda text: text.replace("\n", "\r\n").encode(),
    "mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "wide": lambda text: text.replace("continue\n", "continue  # \u00e9\U0001f600\n").encode(),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("conn.py").write_text(backend())


def sarif(*options: str) -> str:
    code, out, err = run([*CHECK, *options])
    assert (code, err) == (1, "")
    return out


def offered(text: str) -> dict[str, list[dict[str, Any]]]:
    """The fixes of each rule's findings, by rule."""
    found: dict[str, list[dict[str, Any]]] = {}
    for result in json.loads(text)["runs"][0]["results"]:
        found.setdefault(result["ruleId"], []).extend(result.get("fixes", ()))
    return found


def applied(fix: dict[str, Any], data: bytes) -> bytes:
    """The file as an editor leaves it that knows SARIF and nothing of kvlint."""
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "conn.py"
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    lines = re.split(r"(?<=\n)", data.removeprefix(mark).decode())
    starts = [sum(map(len, lines[:n])) for n in range(len(lines))]
    text = "".join(lines)
    for one in reversed(change["replacements"]):
        region = one["deletedRegion"]
        start = starts[region["startLine"] - 1] + region["startColumn"] - 1
        end = starts[region["endLine"] - 1] + region["endColumn"] - 1
        text = text[:start] + one["insertedContent"]["text"] + text[end:]
    return mark + text.encode()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("source", "rule", "letter"),
    [
        (backend(), "KV103", "A"),
        (backend(), "KV104", "A"),
        (backend(STICKY, abort=FORGET, rest=FAILS), "KV102", "B"),
    ],
)
def test_an_editor_makes_what_the_command_makes(
    form: str, source: str, rule: str, letter: str
) -> None:
    before = FORMS[form](source)
    Path("conn.py").write_bytes(before)
    fixes = offered(sarif("--sarif-fixes"))[rule]
    made = {applied(one, before) for one in fixes}
    assert {one["description"]["text"][:5] for one in fixes} == {f"fix {letter}"}
    assert Path("conn.py").read_bytes() == before
    assert fix("conn.py", "--select", letter).code == 0
    assert made == {Path("conn.py").read_bytes()}
    assert made != {before}


def test_a_file_that_is_saved_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Findings and fixes are about one state of it."""
    before = offered(sarif("--sarif-fixes"))
    examined = engine.examined

    def then_saved(*given: Any, **named: Any) -> object:
        result = examined(*given, **named)
        Path("conn.py").write_text(f"# one\n# two\n{backend()}")
        return result

    monkeypatch.setattr(engine, "examined", then_saved)
    assert offered(sarif("--sarif-fixes")) == before
    assert Path("conn.py").read_text().startswith("# one\n")


def test_a_fix_that_holds_only_with_another_is_not_offered() -> None:
    """Without fix A the dropped chunk still ends badly, so fix B alone is no fix."""
    found = offered(sarif("--sarif-fixes"))
    assert found["KV102"] == []
    assert found["KV104"] != []
    assert fix("conn.py", "--select", "B").code == 1
    assert fix("conn.py").code == 0


def test_what_is_offered_is_valid_and_nothing_else_changes() -> None:
    plain, rich = sarif(), sarif("--sarif-fixes")
    assert problems(rich) == []
    assert sarif("--sarif-fixes") == rich
    assert not any(offered(plain).values())
    log = json.loads(rich)
    for result in log["runs"][0]["results"]:
        result.pop("fixes", None)
    assert log == json.loads(plain)


def test_unsafe_fixes_are_not_offered() -> None:
    found = offered(sarif("--sarif-fixes", "--select", "KV101,KV201"))
    assert {rule: fixes for rule, fixes in found.items() if fixes} == {}
    assert found


def test_a_fix_that_is_not_proven_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    def propose(scene: Scene, findings: Sequence[Finding]) -> Iterator[Unit | Refused]:
        for unit in sticky.propose(scene, findings):
            assert isinstance(unit, Unit)
            ((path, patches),) = unit.patches.items()
            changed = [Patch(p.start, p.end, p.new.replace("return", "pass")) for p in patches]
            yield replace(unit, patches={path: changed})

    monkeypatch.setitem(plan.CODEMODS, "A", propose)
    found = offered(sarif("--sarif-fixes"))
    assert found["KV104"] == []


def test_beside_another_format() -> None:
    both = ["--output-format", "concise", "--sarif-output", "out.sarif", "--sarif-fixes"]
    assert run(["check", "conn.py", "--isolated", *both])[0] == 1
    assert Path("out.sarif").read_text() == sarif("--sarif-fixes")


def test_without_sarif_it_is_wrong_use() -> None:
    assert run(["check", "conn.py", "--isolated", "--sarif-fixes"]) == (
        2,
        "",
        "kvlint: error: --sarif-fixes needs --output-format sarif or --sarif-output\n",
    )


def test_nothing_to_offer_needs_no_rewriter(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "kvlint.fix.offers", None)
    text = sarif("--sarif-fixes", "--select", "KV107,KV301", "--show-latent", "--fail-on", "note")
    assert not any(offered(text).values())
