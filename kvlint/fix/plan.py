"""From findings to new contents: every codemod in turn, each on the text that the last one left."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from kvlint.findings import Finding, Related, Span
from kvlint.fix import lock, pop, skip, sticky
from kvlint.fix.kinds import Kind
from kvlint.fix.overlay import Sources
from kvlint.fix.text import FileText, Patch, Shift, check_apart
from kvlint.fix.unit import Refused, Scene, Unit, UnitId

Codemod = Callable[[Scene, Sequence[Finding]], Iterator[Unit | Refused]]
CODEMODS: dict[str, Codemod] = {"A": sticky.propose, "B": skip.propose, "C": pop.propose, "D": lock.propose}
OUTSIDE = "{path} is not among the paths to fix"


@dataclass
class Plan:
    """What a run would write, by full path, and what it would leave and why."""

    units: list[Unit] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    before: dict[str, FileText] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)  # displayed path to full path


def make_plan(
    sources: Sources, findings: Sequence[Finding], kinds: Iterable[Kind], skip: Collection[UnitId]
) -> Plan:
    """Apply each kind of fix to its findings, without the units named in `skip`."""
    plan = Plan()
    moved = {f: f for f in findings}
    back: dict[str, list[Shift]] = {}
    for kind in kinds:
        wanted = [f for f in findings if kind.letter in f.fixes]
        if kind.letter not in CODEMODS or not wanted:
            continue
        scene = replace(sources, changed=dict(plan.contents)).scene()
        original = {moved[f].fingerprint: f for f in wanted}
        made = CODEMODS[kind.letter](scene, [moved[f] for f in wanted])
        units = [u for u in _checked(made, scene, plan, original) if u.id not in skip]
        shifts = _apply(plan, scene, units)
        plan.units += [_restored(unit, original, back) for unit in units]
        for path, shift in shifts.items():
            back.setdefault(path, []).append(shift)
        moved = {f: _shifted(now, shifts) for f, now in moved.items()}
    return plan


def _checked(
    made: Iterable[Unit | Refused], scene: Scene, plan: Plan, original: dict[str, Finding]
) -> Iterator[Unit]:
    """The units that may be applied; what may not is noted."""
    for one in made:
        reason = one.reason if isinstance(one, Refused) else _outside(scene, one)
        if reason or isinstance(one, Refused):
            findings = tuple(original[f.fingerprint] for f in one.findings)
            plan.refused.append(Refused(one.letter, findings, reason))
        else:
            yield one


def _outside(scene: Scene, unit: Unit) -> str:
    """Why a unit may not be applied: it changes a file that the user did not name."""
    for path in sorted(unit.patches):
        file = scene.file(path)
        if file is None or not file.module.linted:
            return OUTSIDE.format(path=path)
    return ""


def _apply(plan: Plan, scene: Scene, units: Sequence[Unit]) -> dict[str, Shift]:
    patches: dict[str, list[Patch]] = {}
    for unit in units:
        for path, some in unit.patches.items():
            patches.setdefault(path, []).extend(some)
    shifts: dict[str, Shift] = {}
    for path, every in patches.items():
        file = scene.file(path)
        assert file is not None
        check_apart(every)
        full = file.text.path
        plan.before.setdefault(full, file.text)
        plan.contents[full] = file.text.patched(every)
        plan.shown[path] = full
        shifts[path] = Shift(file.text, every)
    return shifts


def _restored(unit: Unit, original: dict[str, Finding], back: dict[str, list[Shift]]) -> Unit:
    """The unit as the user's own text has it."""
    line = unit.line
    for shift in reversed(back.get(unit.path, [])):
        line = shift.before(line)
    return replace(
        unit, line=line, findings=tuple(original[f.fingerprint] for f in unit.findings)
    )


def _shifted(finding: Finding, shifts: dict[str, Shift]) -> Finding:
    related = tuple(Related(_moved(r.span, shifts), r.message) for r in finding.related)
    return replace(finding, span=_moved(finding.span, shifts), related=related)


def _moved(span: Span, shifts: dict[str, Shift]) -> Span:
    shift = shifts.get(span.path)
    if shift is None:
        return span
    return replace(span, line=shift.line(span.line), end_line=shift.line(span.end_line))
