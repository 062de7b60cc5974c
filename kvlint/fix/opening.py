"""Fix E: only an opening status may create a room.

The update method returns before it stores if the room is not in the table and the status is none
that a request begins with. Elsewhere (a store outside an update method) the store alone is made
conditional on the room being there. What is written to a room in the table is treated as before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kvlint.findings import Finding
from kvlint.fix.places import FUNCTIONS, bound_names, is_simple
from kvlint.fix.spelling import WIDTH, Words, condition, deeper, width
from kvlint.fix.sticky import Guard, Store, may_return, sites, stores_of
from kvlint.fix.text import Patch, Unfixable
from kvlint.fix.unit import Place, Refused, Scene, Unit
from kvlint.protocol.domain import Member
from kvlint.protocol.facts import call_name, parameters, terminal_name
from kvlint.protocol.model import Protocol
from kvlint.tables import status_parameter, transitions_of

LETTER = "E"


def propose(scene: Scene, findings: Sequence[Finding]) -> Iterator[Unit | Refused]:
    """One unit per function whose store puts a cleared room back."""
    wanted: dict[tuple[str, ast.AST], tuple[Place, list[ast.stmt], list[Finding]]] = {}
    lost: list[Finding] = []
    for finding in findings:
        place, statement = next(iter(sites(scene, finding)), (None, None))
        if statement is None:
            place = _method_around(scene, finding)
        if place is None:
            lost.append(finding)
            continue
        key = (place.file.module.display, place.function)
        _, flagged, resolved = wanted.setdefault(key, (place, [], []))
        flagged += [statement] if statement is not None else []
        resolved.append(finding)
    if lost:
        yield Refused(LETTER, tuple(lost), "the store was not found")
    for place, flagged, resolved in wanted.values():
        try:
            yield _made(scene, place, flagged, resolved)
        except Unfixable as reason:
            yield Refused(LETTER, tuple(resolved), str(reason))


def _method_around(scene: Scene, finding: Finding) -> Place | None:
    """The update method that the store is in, where another fix has moved the store itself.

    A store behind a colon gets a line of its own once something is put before it.
    """
    for span in (finding.span, *(related.span for related in finding.related)):
        file = scene.file(span.path)
        if file is None:
            continue
        for node in ast.walk(file.module.tree):
            if isinstance(node, FUNCTIONS) and node.lineno <= span.line <= (node.end_lineno or 0):
                place = scene.place(file, node, finding.searched)
                if place is not None and node.name in place.protocol.updaters and stores_of(place):
                    return place
    return None


def _made(
    scene: Scene, place: Place, flagged: Sequence[ast.stmt], findings: Sequence[Finding]
) -> Unit:
    if place.protocol.row_index is not None:
        raise Unfixable("the status is one part of a row that is stored whole")
    stores = stores_of(place)
    door = _Door(place, stores, scene.reserve)
    members = _opening(place, set(_late(place.protocol, findings)))
    if may_return(place) and door.one_key():
        patches = door.for_update(members)
    elif place.function.name in place.protocol.updaters:
        patches = door.around(stores, members)
    else:
        patches = door.around([s for s in stores if s.statement in flagged], ())
    shown = place.file.module.display
    return Unit(
        LETTER,
        shown,
        place.function.lineno,
        place.name,
        "a late write does not bring a cleared room back",
        {shown: patches},
        tuple(findings),
        refuses=frozenset(m.name for m in place.protocol.domain.members if m not in members),
    )


def _late(protocol: Protocol, findings: Sequence[Finding]) -> Iterator[str]:
    """The statuses that witnesses show late, and the others that their threads write.

    Of each store one witness is kept, so another status of the same thread may hide behind it.
    """
    names = {member.name for member in protocol.domain.members}
    for finding in findings:
        if not finding.witness:
            continue
        last = finding.witness[-1]
        yield last.status
        method = next((m for cls in protocol.classes if (m := cls.find(last.thread))), None)
        for node in ast.walk(method[1]) if method else ():
            if isinstance(node, ast.Call) and call_name(node) in protocol.updaters:
                yield from names & {terminal_name(part) for part in ast.walk(node)}


def _opening(place: Place, late: set[str]) -> list[Member]:
    """The statuses that may create a room: those of a live room that are not written late.

    A failure that creates a room today goes on doing so: nobody waits for such a room, and it may
    be how an abort is remembered that came before its request.
    """
    protocol = place.protocol
    domain = protocol.domain
    tables = [
        table
        for name in protocol.updaters
        for cls in (protocol.manager, *protocol.components)
        if (table := transitions_of(protocol, cls, name)) is not None
    ]
    return [
        member
        for member in domain.members
        if member.name not in late
        and (
            any(member in table[None, member] for table in tables)
            if domain.is_failure(member)
            else not domain.is_terminal(member)
        )
    ]


class _Door(Guard):
    """The check, as the stores of one function need it."""

    def __init__(self, place: Place, stores: list[Store], reserve: int) -> None:
        super().__init__(place, stores, reserve)
        cls = place.file.parents.class_of(place.function)
        near = [n for n in (*reversed(place.functions), cls) if n is not None]
        self.names = Words(place.protocol, place.file.module, near)

    def for_update(self, members: Sequence[Member]) -> list[Patch]:
        """Return early, right before the first statement that may store."""
        status = self._status(members)
        anchor, before = self._anchor()
        slot = self.place.file.layout.slot(anchor)
        table, key = self.stores[0].access
        local = self._local(before)
        absent = f"{local} is None" if local else f"{key} not in {table}"
        words = [self.names.member(member) for member in members]
        head = self._head(absent, status, words, slot.indent + self.reserve)
        return [self.place.file.layout.before(anchor, head)]

    def around(self, stores: Sequence[Store], members: Sequence[Member]) -> list[Patch]:
        """Make each store conditional: the room is there, or the status is one of these."""
        patches: list[Patch] = []
        for store in stores:
            if len(getattr(store.statement, "targets", ())) > 1:
                raise Unfixable("the statement stores into something else as well")
            if not (is_simple(store.target.value) and is_simple(store.target.slice)):
                raise Unfixable("the key is computed at the store")
            table, key = store.access
            head = [f"if {key} in {table}:"]
            if members:
                words = [self.names.member(member) for member in members]
                indent = self.place.file.layout.slot(store.statement).indent + self.reserve
                known = f"{key} in {table} or {self._status(members)}"
                head = condition(known, "in", words, indent)
            patches += self.place.file.layout.wrapped([store.statement], head)
        return patches

    def _status(self, members: Sequence[Member]) -> str:
        """The parameter that carries the status."""
        function = self.place.function
        status = status_parameter(function)
        if status not in parameters(function) or status in bound_names(function):
            raise Unfixable("the status is not a parameter that keeps its value")
        if not members:
            raise Unfixable("no status is known with which a request begins")
        return status

    def _head(self, absent: str, status: str, words: Sequence[str], indent: str) -> list[str]:
        """The condition and its `return`; two conditions where one would be broken otherwise."""
        head = condition(f"{absent} and {status}", "not in", words, indent)
        if all(width(indent) + len(line) <= WIDTH for line in head):
            return [*head, *deeper(["return"], self.unit)]
        inner = condition(status, "not in", words, indent + self.unit)
        inner += deeper(["return"], self.unit)
        return [f"if {absent}:", *deeper(inner, self.unit)]
