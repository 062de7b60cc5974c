"""The loop: a change is written if the analysis of the rewritten sources agrees, else it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kvlint.findings import Finding, Report, Searched, Span
from kvlint.fix import plan, sticky
from kvlint.fix.overlay import Cells, Tables
from kvlint.fix.proof import State, compare
from kvlint.fix.text import Patch
from kvlint.fix.unit import Refused, Scene, Unit

from ..running import report
from .backends import STICKY, Call, backend, fix, fixed

GUARD = """\
        if self.request_status.get(room) in (KVPoll.Failed, KVPoll.Success):
            return
"""
Change = Callable[[str], str]


@pytest.fixture
def lie(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str, str], Call]:
    """Let fix A put other lines into the file than it should, and run it."""

    def run(old: str, new: str) -> Call:
        def propose(scene: Scene, findings: Sequence[Finding]) -> Iterator[Unit | Refused]:
            for unit in sticky.propose(scene, findings):
                assert isinstance(unit, Unit)
                ((path, patches),) = unit.patches.items()
                assert any(old in patch.new for patch in patches)
                changed = [Patch(p.start, p.end, p.new.replace(old, new)) for p in patches]
                yield replace(unit, patches={path: changed})

        monkeypatch.setitem(plan.CODEMODS, "A", propose)
        (tmp_path / "conn.py").write_text(backend())
        call = fix(str(tmp_path), "--select", "A")
        assert (tmp_path / "conn.py").read_text() == backend()
        return call

    return run


def test_a_change_that_resolves_nothing_is_refused(lie: Callable[[str, str], Call]) -> None:
    call = lie("return", "pass")
    assert (call.code, call.out) == (1, "")
    assert "(fix A): KV104 at" in call.err
    assert "would still be there" in call.err
    assert call.err.endswith("kvlint: nothing was fixed\n")


def test_a_change_that_freezes_a_live_status_is_refused(lie: Callable[[str, str], Call]) -> None:
    call = lie("KVPoll.Success)", "KVPoll.Success, KVPoll.WaitingForInput)")
    assert (call.code, call.out) == (1, "")
    assert (
        "Manager.update_status would turn WaitingForInput into WaitingForInput when Failed is "
        "written" in call.err
    )


def test_a_change_for_absent_rooms_is_refused(lie: Callable[[str, str], Call]) -> None:
    call = lie("KVPoll.Success)", "KVPoll.Success, None)")
    assert (call.code, call.out) == (1, "")
    assert "Manager.update_status would turn absent into absent when Failed is written" in call.err


def test_a_change_that_ends_a_thread_is_refused(lie: Callable[[str, str], Call]) -> None:
    call = lie("            return\n", "            raise RuntimeError(room)\n")
    assert (call.code, call.out) == (1, "")
    assert "it would bring KV107 at" in call.err


def test_a_change_that_does_not_parse_is_refused(lie: Callable[[str, str], Call]) -> None:
    call = lie("            return\n", "            return return\n")
    assert (call.code, call.out) == (1, "")
    assert "it would bring KV901 at" in call.err


def test_taking_a_out_again_brings_the_witness_back(tmp_path: Path) -> None:
    result = fixed(backend(), tmp_path)
    file = tmp_path / "conn.py"
    assert GUARD in result.after
    assert ends(file) == set()
    file.write_text(result.after.replace(GUARD, ""))
    assert {("KV103", "resurrected")} <= ends(file)
    file.write_text(backend())
    assert {("KV103", "resurrected"), ("KV101", "pinned"), ("KV102", "pinned")} <= ends(file)


def test_taking_b_out_again_brings_the_witness_back(tmp_path: Path) -> None:
    forget = "self.transfer_infos.pop(room, None)\n"
    fails = "\ndef fail(self, room):\n    self.update_status(room, KVPoll.Failed)\n\n"
    result = fixed(backend(STICKY, rest=fails, abort=forget), tmp_path, "--select", "B")
    assert result.added
    # Nothing ends a room whose chunks stop coming: that is the removal's fault.
    assert ends(tmp_path / "conn.py") == {("KV101", "pinned")}
    (tmp_path / "conn.py").write_text(result.before)
    assert ends(tmp_path / "conn.py") == {("KV101", "pinned"), ("KV102", "pinned")}


def ends(file: Path) -> set[tuple[str, str]]:
    """Rule and bad end of the confirmed findings that a schedule shows."""
    return {
        (f["rule"], f["bad_end"])
        for f in report("check", str(file))["findings"]
        if f["verdict"] == "confirmed"
        and f["witness"]
        and f["bad_end"] in ("pinned", "resurrected")
    }


def test_a_search_that_gives_up_proves_nothing(tmp_path: Path) -> None:
    result = fixed(backend(), tmp_path, "--max-states", "60")
    assert (result.call.code, result.call.out, result.added) == (1, "", [])
    assert "the search of Manager would give up" in result.call.err


def test_a_part_that_is_proven_is_made_without_the_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def none(scene: Scene, findings: Sequence[Finding]) -> Iterator[Unit | Refused]:
        for unit in plan.skip.propose(scene, findings):
            assert isinstance(unit, Unit)
            ((path, (patch,)),) = unit.patches.items()
            broken = [Patch(patch.start, patch.end, patch.new.replace("Failed)", "Transferring)"))]
            yield replace(unit, patches={path: broken})

    monkeypatch.setitem(plan.CODEMODS, "B", none)
    forget = "self.transfer_infos.pop(room, None)\n"
    fails = "\ndef fail(self, room):\n    self.update_status(room, KVPoll.Failed)\n\n"
    result = fixed(backend(rest=fails, abort=forget), tmp_path)
    assert [line[1:] + "\n" for line in result.added] == GUARD.splitlines(keepends=True)
    assert result.call.code == 1
    assert "(fix B): KV102 at" in result.call.err
    assert result.call.err.endswith("kvlint: fixed 6 findings with 1 change in 1 file\n")


# -- the comparison by itself ----------------------------------------------------------


def finding(rule: str, verdict: str = "confirmed", line: int = 1) -> Finding:
    severity = {"confirmed": "error", "narrow": "warning", "latent": "note"}[verdict]
    span = Span("a.py", line)
    print_ = f"{rule}/{line}"
    return Finding(rule, "", verdict, severity, span, "M", "f", "", print_, print_, ("A",))


def state(
    *findings: Finding, searched: Searched | None = None, tables: Tables | None = None
) -> State:
    one = searched or Searched("M", ("worker",), 10, 2, True, 2)
    return State(Report(list(findings), searched=[one]), tables or {})


def unit(*findings: Finding, letter: str = "A", place: str = "M.f") -> Unit:
    return Unit(letter, "a.py", 1, place, "", {}, findings)


def test_the_finding_must_be_gone() -> None:
    bad = finding("KV103")
    assert compare(state(bad), state(), [unit(bad)]).accepted
    for verdict in ("confirmed", "narrow", "latent"):
        still = compare(state(bad), state(finding("KV103", verdict, 9)), [unit(bad)])
        assert still.objections == ["KV103 at a.py:9 would still be there"]
    latent = finding("KV103", "latent", 9)
    assert compare(state(bad, latent), state(latent), [unit(bad)]).accepted


def test_a_finding_beside_it_may_stay_but_not_get_worse() -> None:
    bad, other = finding("KV103"), finding("KV106", "narrow", 2)
    assert compare(state(bad, other), state(replace(other)), [unit(bad)]).accepted
    worse = compare(state(bad, other), state(finding("KV106", line=2)), [unit(bad)])
    assert worse.objections == ["KV106 at a.py:2 would become confirmed"]


def test_no_new_finding_may_come() -> None:
    bad = finding("KV103")
    new = compare(state(bad), state(finding("KV202", "narrow", 3)), [unit(bad)])
    assert new.objections == ["it would bring KV202 at a.py:3"]
    assert compare(state(bad), state(finding("KV202", "latent", 3)), [unit(bad)]).accepted


def test_a_narrow_window_of_the_method_made_sticky_is_left_open_and_said() -> None:
    bad, window = finding("KV104"), finding("KV201", "narrow", 3)
    verdict = compare(state(bad), state(window), [unit(bad)])
    assert (verdict.accepted, verdict.left_open) == (True, [window])
    for others in ([unit(bad, place="M.g")], [unit(bad, letter="B")]):
        assert compare(state(bad), state(window), others).objections == [
            "it would bring KV201 at a.py:3"
        ]


@pytest.mark.parametrize(
    ("change", "objection"),
    [
        ({"complete": False}, "the search of M would give up"),
        ({"threads": ()}, "M would no longer be searched with worker"),
        ({"runs": ("plain",)}, "M would no longer be searched with: abort"),
        ({"messages": ()}, "M would no longer be searched with: META"),
        ({"preemptions": 1}, "M would be searched less deeply"),
        ({"chunks": 1}, "M would be searched less deeply"),
        ({"class_name": "N"}, "M would no longer be searched"),
    ],
)
def test_the_search_must_be_as_deep(change: dict[str, object], objection: str) -> None:
    bad = finding("KV103")
    before = Searched("M", ("worker",), 10, 2, True, 2, ("plain", "abort"), messages=("META",))
    after = replace(before, **change)  # type: ignore[arg-type]
    verdict = compare(state(bad, searched=before), state(searched=after), [unit(bad)])
    assert verdict.objections == [objection]


@pytest.mark.parametrize(
    ("letter", "current", "now", "accepted"),
    [
        ("A", "Failed", {"Failed"}, True),
        ("A", "Failed", {"Moving"}, True),  # as before
        ("A", "Failed", {"absent"}, False),
        ("A", "Moving", {"Moving"}, True),
        ("A", "Moving", {"Failed"}, False),
        ("B", "Failed", {"Failed"}, False),
        ("D", "Failed", {"Failed"}, False),
    ],
)
def test_only_terminal_cells_may_change_and_only_for_fix_a(
    letter: str, current: str, now: set[str], accepted: bool
) -> None:
    key = ("M", "M", "a.py", "f")

    def tables(result: set[str]) -> Tables:
        return {key: Cells(frozenset({"Failed"}), False, {(current, "Moving"): frozenset(result)})}

    bad = finding("KV103")
    before, after = state(bad, tables=tables({"Moving"})), state(tables=tables(now))
    assert compare(before, after, [unit(bad, letter=letter)]).accepted is accepted
    assert not compare(before, state(), [unit(bad)]).accepted


@pytest.mark.parametrize(
    ("refuses", "current", "now", "accepted"),
    [
        ({"Moving"}, "absent", {"absent"}, True),
        ({"Moving"}, "absent", {"Moving"}, True),  # as before
        ({"Moving"}, "absent", {"Failed"}, False),
        ({"Moving"}, "Failed", {"absent"}, False),
        ({"Done"}, "absent", {"absent"}, False),
        (set(), "absent", {"absent"}, False),
    ],
)
def test_only_absent_cells_of_refused_statuses_may_change_for_fix_e(
    refuses: set[str], current: str, now: set[str], accepted: bool
) -> None:
    key = ("M", "M", "a.py", "f")

    def tables(result: set[str]) -> Tables:
        return {key: Cells(frozenset({"Failed"}), False, {(current, "Moving"): frozenset(result)})}

    bad = finding("KV106")
    made = replace(unit(bad, letter="E"), refuses=frozenset(refuses))
    before, after = state(bad, tables=tables({"Moving"})), state(tables=tables(now))
    assert compare(before, after, [made]).accepted is accepted
