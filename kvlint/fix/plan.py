"""From findings to new contents: every codemod in turn, each on the text that the last one left."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kvlint.findings import Finding, Related, Span
from kvlint.fix import lock, opening, pop, skip, sticky
from kvlint.fix.kinds import Kind
from kvlint.fix.overlay import Sources
from kvlint.fix.text import FileText, Patch, Shift, Unfixable, check_apart
from kvlint.fix.unit import Refused, Scene, Unit, UnitId

Codemod = Callable[[Scene, Sequence[Finding]], Iterator[Unit | Refused]]
CODEMODS: dict[str, Codemod] = {
    "A": sticky.propose,
    "B": skip.propose,
    "C": pop.propose,
    "D": lock.propose,
    "E": opening.propose,
}
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
    sources: Sources,
    findings: Sequence[Finding],
    kinds: Sequence[Kind],
    skip: Collection[UnitId],
    scene: Scene | None = None,
    late: Sequence[Finding] = (),
) -> Plan:
    """Apply each kind of fix to its findings, without the units named in `skip`.

    `scene` may be the one of the sources as they are. `late` are findings that the same plan
    without them leaves open: they are for its last kind, and speak of the text it finds.
    """
    plan = Plan()
    inner = 4 if any(kind.letter == "D" for kind in kinds) else 0
    moved = {f: f for f in findings}
    back: dict[str, list[Shift]] = {}
    for kind in kinds:
        wanted = [f for f in findings if kind.letter in f.fixes]
        if kind is kinds[-1]:
            moved |= {f: f for f in late}
            wanted += [f for f in late if kind.letter in f.fixes]
        if kind.letter not in CODEMODS or not wanted:
            continue
        if scene is None or plan.contents:
            scene = replace(sources, changed=dict(plan.contents)).scene()
        scene.reserve = inner
        original = {moved[f].fingerprint: f for f in wanted}
        made = CODEMODS[kind.letter](scene, [moved[f] for f in wanted])
        units, refused, shifts = _applied(plan, scene, made, skip)
        plan.units += [_restored(unit, original, back) for unit in units]
        plan.refused += [replace(r, findings=_originals(r.findings, original)) for r in refused]
        for path, shift in shifts.items():
            back.setdefault(path, []).append(shift)
        moved = {f: _shifted(now, shifts) for f, now in moved.items()}
    return plan


def _applied(
    plan: Plan, scene: Scene, made: Iterable[Unit | Refused], skip: Collection[UnitId]
) -> tuple[list[Unit], list[Refused], dict[str, Shift]]:
    """Apply what may be applied of one kind of fix; where the lines went, by displayed path."""
    units: list[Unit] = []
    refused: list[Refused] = []
    patches: dict[str, list[Patch]] = {}
    for one in made:
        if isinstance(one, Refused):
            refused.append(one)
        elif one.id not in skip:
            try:
                patches.update(_with(one, scene, patches))
                units.append(one)
            except Unfixable as reason:
                refused.append(Refused(one.letter, one.findings, str(reason)))
    shifts: dict[str, Shift] = {}
    for path, every in patches.items():
        file = scene.file(path)
        assert file is not None
        full = file.text.path
        plan.before.setdefault(full, file.text)
        plan.contents[full] = file.text.patched(every)
        plan.shown[path] = full
        shifts[path] = Shift(file.text, every)
    return units, refused, shifts


def _with(unit: Unit, scene: Scene, patches: Mapping[str, list[Patch]]) -> dict[str, list[Patch]]:
    """The patches of each file that a unit changes, with those that are there already.

    Raises `Unfixable` for a file that the user did not name, for two changes of one place and for
    an encoding that cannot be written back.
    """
    result: dict[str, list[Patch]] = {}
    for path, some in unit.patches.items():
        file = scene.file(path)
        if file is None or not file.module.linted:
            raise Unfixable(OUTSIDE.format(path=path))
        result[path] = [*patches.get(path, []), *some]
        check_apart(result[path])
        file.text.patched(result[path])
    return result


def _restored(unit: Unit, original: dict[str, Finding], back: dict[str, list[Shift]]) -> Unit:
    """The unit as the user's own text has it."""
    line = unit.line
    for shift in reversed(back.get(unit.path, [])):
        line = shift.before(line)
    return replace(unit, line=line, findings=_originals(unit.findings, original))


def _originals(findings: Sequence[Finding], original: Mapping[str, Finding]) -> tuple[Finding, ...]:
    return tuple(original[f.fingerprint] for f in findings)


def _shifted(finding: Finding, shifts: dict[str, Shift]) -> Finding:
    related = tuple(Related(_moved(r.span, shifts), r.message) for r in finding.related)
    return replace(finding, span=_moved(finding.span, shifts), related=related)


def _moved(span: Span, shifts: dict[str, Shift]) -> Span:
    shift = shifts.get(span.path)
    if shift is None:
        return span
    return replace(span, line=shift.line(span.line), end_line=shift.line(span.end_line))
