"""What each moment of a witness is called, and which of them tell something."""

from __future__ import annotations

from kvlint.programs.answers import STRANGER
from kvlint.programs.ir import Op
from kvlint.protocol.model import Frame
from kvlint.search.activity import LOOKS, activities, chunks, drops, missing
from kvlint.search.evidence import Moment, Witness, outer_site
from kvlint.tables import state_name

PAUSES = frozenset({"wait", "sleep", "await", "join", "call"})


class Wording:
    """The words for one witness."""

    def __init__(self, witness: Witness) -> None:
        self.witness = witness
        self.moments = witness.moments
        self.domain = witness.system.protocol.domain
        self.drops = drops(witness)
        self.chunks = chunks(witness.moments)
        self.unfinished = {
            index for activity in activities(witness.moments) for index in activity[:-1]
        }

    def tells(self, at: int) -> bool:
        """Whether a reader needs the moment."""
        moment = self.moments[at]
        event = moment.event
        if moment is self.witness.bad or at in self.drops:
            return True
        if event.instr.op in (Op.WINDOW, Op.HANDLER):
            return True
        if event.instr.op in LOOKS or event.instr.op is Op.ITER:
            # What was seen is out of date as soon as another thread goes on.
            return moment.window == "narrow" and at in self.unfinished
        before, after = event.before, event.after
        return before.having(locks=()) != after.having(locks=())

    def decides(self, at: int) -> bool:
        """Whether the bad end hangs on the moment."""
        moment = self.moments[at]
        before, after = moment.event.before, moment.event.after
        if moment is self.witness.bad or before.sides - after.sides:
            return True
        if at in self.drops:
            return not self.domain.is_terminal(after.status)
        if before.status == after.status:
            return False
        failed = self.domain.is_failure(after.status)
        return failed or after.status is None or self.domain.is_terminal(before.status)

    def action(self, at: int) -> str:
        """What happens, in a few words."""
        moment = self.moments[at]
        event = moment.event
        instr, before, after = event.instr, event.before, event.after
        chunk = self.chunks.get(at, "chunk")
        if at in self.drops:
            return self._dropped(at)
        if instr.op is Op.TAKE:
            return f"take {chunk}"
        if instr.op is Op.PUT:
            return f"queue {chunk}"
        if instr.op is Op.RECV:
            return f"receive {_message(next(iter(before.frames - after.frames), None))}"
        if instr.op is Op.WINDOW:
            flies = moment.kind in ("consumer", "task") and instr.note not in PAUSES
            return f"transfer in flight: {instr.note}" if flies else f"wait in {instr.note}"
        if instr.op is Op.HANDLER:
            return f"exception caught ({instr.note})" if instr.note else "exception caught"
        if before.status != after.status:
            return self._stored(moment)
        if before.sides != after.sides:
            return f"{'pop' if before.sides - after.sides else 'add to'} {instr.name}"
        return self._seen(moment)

    def _dropped(self, at: int) -> str:
        moment, table = self.moments[at], self.drops[at].table
        if moment.kind != "consumer":
            return f"{table} has no entry: no status is stored"
        verb = {Op.SKIP: "skip", Op.HANDLER: "exception caught, drop"}
        verbed = f"{verb.get(moment.event.instr.op, 'drop')} {self.chunks.get(at, 'the chunk')}"
        return f"{table} has no entry: {verbed}" if table else verbed

    def _stored(self, moment: Moment) -> str:
        event = moment.event
        before, after = event.before.status, event.after.status
        if after is None:
            text = f"pop {event.instr.name}"
        else:
            text = f"store {state_name(after)}"
            text += f" over {state_name(before)}" if self.domain.is_terminal(before) else ""
        inner = frozenset(self.witness.system.protocol.updaters)
        site = outer_site(event.instr, inner)
        if site is not event.instr.where:
            # The update method is shared: only its caller tells one store from another.
            text += f", called by {site.function.rpartition('.')[2]}:{site.line}"
        return text

    def _seen(self, moment: Moment) -> str:
        event = moment.event
        name = event.instr.name
        if event.instr.op is Op.ITER:
            return f"walk {name}"
        if event.instr.op not in LOOKS:
            return f"{event.instr.op.value} {name}"
        if missing(event, self.witness):
            return f"look into {name}: no entry"
        if name == self.witness.system.protocol.status_table:
            return f"read {name}: {state_name(event.before.status)}"
        return f"look into {name}: there"


def _message(frame: object) -> str:
    """A message by its tag, or as much of it as is known."""
    if frame is None:
        return "a message"
    tag = frame.parts[0] if isinstance(frame, Frame) and frame.parts else frame
    if isinstance(tag, bytes):
        tag = tag.decode("utf-8", "replace")
    if frame == STRANGER or (isinstance(tag, str) and not tag.startswith("<")):
        return str(tag)
    return str(frame)
