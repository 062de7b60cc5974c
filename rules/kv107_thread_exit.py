"""KV107: an exception can leave the loop of a long-lived thread."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.programs.ir import Instr, Op, Where
from kvlint.protocol.model import Frame
from kvlint.rulekit import LOOPS, Hit, View, verdict_of
from kvlint.search.evidence import Witness


def find(view: View) -> Iterator[Hit]:
    """Deaths that the search saw, fields that other code sets to None, and what else may raise."""
    seen: set[int] = set()
    for witness in view.evidence.of("dead-thread"):
        death = witness.death
        if death is None or death.note in ("KeyError", "RuntimeError", "raise in a handler"):
            continue  # a lost race for an entry is KV202 or KV203, a handler that raises KV108
        found = list(_death(view, witness, death))
        if found:
            seen.add(id(death.where.node))
        yield from found
    yield from _nullable(view)
    yield from _possible(view, seen)


def _death(view: View, witness: Witness, death: Instr) -> Iterator[Hit]:
    thread = witness.moments[-1].thread if witness.moments else "the thread"
    cause = ("death", id(death.where.node))
    frame = _frame(witness)
    if frame is not None and _reads_differently(view, thread):
        return  # a setting decides who reads the message first; `_possible` says what is left
    sent = f" when {frame} arrives" if frame is not None else ""
    yield Hit(
        death.where,
        verdict_of(witness),
        f"this ends `{thread}`{sent}; every later room waits for it for ever",
        (),
        "dead-thread",
        ((_sender(frame), "sent here"),) if frame is not None else (),
        witness,
        cause,
    )
    if frame is not None:
        yield Hit(
            _sender(frame),
            verdict_of(witness),
            f"`{view.protocol.manager.name}.{thread}` does not know {frame} and ends on it",
            (),
            "dead-thread",
            ((death.where, "the thread ends here"),),
            witness,
            cause,
        )


def _reads_differently(view: View, thread: str) -> bool:
    return any(t.root.name == thread and t.full.ambiguous for t in view.system.threads)


def _frame(witness: Witness) -> Frame | None:
    """The message that the dying thread had received last."""
    for moment in reversed(witness.moments):
        if moment.event.instr.op is Op.RECV:
            gone = moment.event.before.frames - moment.event.after.frames
            return next((f for f in gone if isinstance(f, Frame)), None)
    return None


def _sender(frame: Frame) -> Where:
    scope = frame.scope
    return Where(scope.cls.module, frame.call, scope.cls.name, scope.qualname)


def _nullable(view: View) -> Iterator[Hit]:
    """Attributes of something that other code sets to None, read outside any handler."""
    for thread in view.system.threads:
        if thread.kind not in LOOPS:
            continue
        for instr in thread.full.code:
            if instr.op is not Op.NULLABLE or thread.full.code[instr.alt].op is not Op.DEAD:
                continue
            if instr.note == "call":
                yield Hit(
                    instr.where,
                    "latent",
                    f"`{instr.name}` may raise, and nothing here keeps `{thread.root.name}` alive",
                    cause=("death", id(instr.where.node)),
                    cleared="what makes it raise is not known",
                )
                continue
            message = (
                f"`{instr.name}` is set to None by another thread; the AttributeError "
                f"ends `{thread.root.name}`"
            )
            cause = ("death", id(instr.where.node))
            yield Hit(instr.where, "narrow", message, (), "dead-thread", cause=cause)
            if instr.stack:
                yield Hit(
                    instr.stack[0],
                    "narrow",
                    f"nothing around this call keeps `{thread.root.name}` alive",
                    (),
                    "dead-thread",
                    ((instr.where, f"`{instr.name}` may be None here"),),
                    cause=cause,
                )


def _possible(view: View, seen: set[int]) -> Iterator[Hit]:
    for thread in view.system.threads:
        if thread.kind not in LOOPS:
            continue
        for instr in thread.full.code:
            if (
                instr.op is Op.DEAD
                and instr.note not in ("KeyError", "AttributeError")
                and id(instr.where.node) not in seen
                and instr.note != "Exception"
            ):
                seen.add(id(instr.where.node))
                yield Hit(
                    instr.where,
                    "latent",
                    f"an exception from here would end `{thread.root.name}`",
                    cause=("death", id(instr.where.node)),
                    cleared="no message of a known peer and no lost entry was seen to raise it",
                )
