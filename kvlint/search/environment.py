"""What may happen to one room, as data: messages, aborts, watchers, and which runs to make.

Every run has the ordinary course of a request and at most one disturbance. The literals that the
other side of the same tree sends say which messages can arrive. `[tool.kvlint.environment]` adds to
them, and says which kinds of disturbance there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kvlint.config import Environment
from kvlint.discover.project import ClassInfo, FunctionNode
from kvlint.programs.answers import STRANGER
from kvlint.programs.ir import Op
from kvlint.programs.machine import Shared
from kvlint.protocol.facts import terminal_name
from kvlint.protocol.model import Frame, Protocol
from kvlint.search.kinds import only_adds
from kvlint.search.system import System
from kvlint.search.transitions import Run

ORDINARY = Environment()


def delivered(protocol: Protocol, siblings: Iterable[Protocol]) -> tuple[Frame, ...]:
    """Messages that the threads of this role may get: sent by the other roles, each kind once."""
    siblings = list(siblings)
    others = [p for p in siblings if p is not protocol]
    frames: dict[tuple[object, ...], Frame] = {}
    if not others:
        for frame in _sent_by_strangers(protocol):
            frames.setdefault(frame.parts[:2], frame)
        return tuple(frames.values())
    own, own_names = _functions(protocol)
    for other in others:
        theirs, their_names = _functions(other)
        for frame in other.frames:
            builder, cls = frame.scope.chain[0], frame.scope.cls
            by_them = builder in theirs or cls.name in their_names
            by_us = builder in own or cls.name in own_names
            if by_them and (not by_us or cls in other.holders):
                frames.setdefault(frame.parts[:2], frame)
    return tuple(frames.values())


def _sent_by_strangers(protocol: Protocol) -> Iterator[Frame]:
    """With one role only: what classes beside the manager's own family send."""
    for frame in protocol.frames:
        if frame.scope.cls not in protocol.family:
            yield frame


def _functions(protocol: Protocol) -> tuple[set[FunctionNode], set[str]]:
    """Functions that this role's threads and holders may run, and every name they call."""
    by_name: dict[str, list[FunctionNode]] = {}
    for cls in protocol.classes:
        for scope in protocol.facts[cls].scopes if cls in protocol.facts else ():
            by_name.setdefault(scope.function.name, []).append(scope.function)
    todo: list[FunctionNode] = []
    for root in protocol.roots:
        todo.extend(by_name.get(terminal_name(root.target) or "", ()))
    for holder in protocol.holders:
        todo.extend(_own_methods(holder))
    seen: set[FunctionNode] = set()
    names: set[str] = set()
    called: dict[FunctionNode, set[str]] = {}
    for cls in protocol.classes:
        for name, _, scope in protocol.facts[cls].calls if cls in protocol.facts else ():
            called.setdefault(scope.function, set()).add(name)
    while todo:
        function = todo.pop()
        if function in seen:
            continue
        seen.add(function)
        names |= called.get(function, set())
        for name in called.get(function, ()):
            found = protocol.method_owner(name)
            if found is not None:
                todo.append(found[1])
    return seen, names


def _own_methods(holder: ClassInfo) -> Iterator[FunctionNode]:
    names = {name for cls in holder.mro for name in cls.methods}
    for name in names:
        found = holder.find(name)
        if found is not None:
            yield found[1]


def runs(system: System, chunks: int, environment: Environment = ORDINARY) -> list[Run]:
    """The undisturbed run first, then one run per disturbance."""
    helpful, harmful = sort_frames(system)
    tickers = [t for t in system.threads if t.kind == "ticker"]
    plain = Run(
        "no disturbance",
        frozenset(helpful),
        callers=tuple(system.of_kind("finish")),
        tickers=tuple(t for t in tickers if only_adds(system, t.program)),
        chunks=chunks,
        stops_sending=environment.stops_sending,
    )
    found = {
        "message": [
            replace(plain, name=f"message {frame}", frames=plain.frames | {frame})
            for frame in harmful
        ],
        "abort": [replace(plain, name=f"{o.name}()", aborts=(o,)) for o in system.of_kind("abort")],
        "call": [
            replace(plain, name=f"{o.name}()", callers=(*plain.callers, o))
            for o in system.of_kind("other")
        ],
        "clear": [
            replace(plain, name=f"{o.name}() before the end", callers=(*plain.callers, o))
            for o in system.of_kind("close")
            if not system.protocol.holders
        ],
        "watcher": [
            replace(plain, name=t.root.name, tickers=(*plain.tickers, t))
            for t in tickers
            if t not in plain.tickers
        ],
    }
    return [plain, *(run for kind in environment.disturbances for run in found[kind])]


def admit(system: System, tags: Iterable[str]) -> None:
    """Let messages with these tags arrive as well, where a thread receives any."""
    known = {_tag(frame) for frame in system.frames}
    if any(i.op is Op.RECV and not i.name for t in system.threads for i in t.program.code):
        system.frames += tuple(tag for tag in dict.fromkeys(tags) if tag not in known)


def _tag(frame: object) -> object:
    """The first part of a message, as text."""
    tag = frame.parts[0] if isinstance(frame, Frame) and frame.parts else frame
    return tag.decode("utf-8", "replace") if isinstance(tag, bytes) else tag


def ordinary(system: System) -> tuple[str, ...]:
    """The messages that every run has, as a reader sees them."""
    return tuple(str(frame) for frame in sort_frames(system)[0])


def sort_frames(system: System) -> tuple[list[object], list[object]]:
    """(messages that belong to an ordinary request, messages that disturb one)."""
    helpful: list[object] = []
    harmful: list[object] = []
    for frame in system.frames:
        kind = _frame_kind(system, frame)
        if kind == "harmful" or (kind == "" and frame == STRANGER and len(system.frames) == 1):
            harmful.append(frame)
        elif kind:
            helpful.append(frame)
    return helpful, harmful


def _frame_kind(system: System, frame: object) -> str:
    """What handling the message may do: harm a live room, help it along, or nothing."""
    domain = system.protocol.domain
    sides = system.tracked - {system.protocol.status_table}
    moves = harms = adds = False
    for thread in system.threads:
        stepper = system.stepper(thread.program, 1, False)
        code = stepper.machine.code
        for pc, instr in enumerate(code):
            if instr.op is not Op.RECV:
                continue
            for status in (None, *(m for m in domain.members if not domain.is_terminal(m))):
                for present in (frozenset[str](), sides):
                    start = Shared(status, present, frames=frozenset({frame}))
                    for macro_step in stepper.macro_steps(pc, stepper.machine.initial(), start):
                        after = macro_step.shared
                        harms = harms or (macro_step.death is not None and not macro_step.decisions)
                        adds = adds or bool(after.sides - present)
                        if after.status is not status:
                            ended = after.status is None or domain.is_failure(after.status)
                            harms, moves = harms or ended, moves or not ended
                        elif status is not None:
                            harms = harms or bool(present - after.sides)
    if moves:
        return "helpful"
    return "harmful" if harms else "helpful" if adds else ""
