"""Emit instructions and leave regions early: locks are released, `finally` bodies run."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator

from kvlint.programs.context import (
    Context,
    Handler,
    InCall,
    InFinally,
    InHandler,
    InLock,
    InLoop,
    InTry,
    Label,
    Unwind,
)
from kvlint.programs.ir import ANY, Const, Instr, Op, Operand, Var
from kvlint.programs.refs import Value
from kvlint.protocol.model import Protocol

CATCH_ALL = frozenset({"Exception", "BaseException"})
UNKNOWN_ERROR = "?"
MAX_CODE = 6000


class TooLarge(Exception):
    """The program outgrew its bound; the caller reports it as a gap."""


class Builder:
    """The part of lowering that knows no Python syntax."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.known_tables = protocol.known_tables
        self.code: list[Instr] = []
        self.unwind: list[Unwind] = []
        self.patches: list[tuple[Instr, str, Label]] = []
        self.choice_patches: list[tuple[Instr, tuple[Label, ...]]] = []
        self.counter = 0
        self.cut: list[str] = []
        self.results: dict[str, Value] = {}
        self.plain_results: set[str] = set()
        self.tuples: set[str] = set()
        self.taken: dict[str, str] = {}  # locals with an item, by the queue that it was taken from
        self.checked: set[str] = set()
        self.awaiting = False
        self.ambiguous = False  # a setting decides which of several functions is called

    def lower_block(self, body: list[ast.stmt], ctx: Context) -> None:
        """Lower statements; the syntax half of the class provides it."""
        raise AssertionError("abstract")

    def fresh(self, hint: str) -> str:
        """A local name that nothing else uses."""
        self.counter += 1
        return f"{hint}.{self.counter}"

    def emit(self, op: Op, ctx: Context, node: ast.AST, **parts: object) -> Instr:
        """Append one instruction; it continues with the one that is appended next."""
        if len(self.code) >= MAX_CODE:
            raise TooLarge
        instr = Instr(op, ctx.where(node), ctx.stack, **parts)  # type: ignore[arg-type]
        instr.next = len(self.code) + 1
        held = [region.name for region in self.unwind if region.__class__ is InLock]
        if held:
            instr.held = frozenset(held)
        self.code.append(instr)
        return instr

    def place(self, label: Label) -> None:
        """The label stands for the instruction that is appended next."""
        label.pc = len(self.code)

    def patch(self, instr: Instr, slot: str, label: Label) -> None:
        """Let a successor of `instr` be the place of `label`."""
        self.patches.append((instr, slot, label))

    def jump(self, label: Label, ctx: Context, node: ast.AST) -> None:
        """Go to a label."""
        self.patch(self.emit(Op.JUMP, ctx, node), "next", label)

    def branch(
        self,
        cond: str,
        args: tuple[Operand, ...],
        yes: Label,
        no: Label,
        ctx: Context,
        node: ast.AST,
        note: str = "",
    ) -> Instr:
        """Go to `yes` or `no`; to either if the operands do not decide."""
        instr = self.emit(Op.BRANCH, ctx, node, args=args, cond=cond, note=note)
        self.patch(instr, "next", yes)
        self.patch(instr, "alt", no)
        return instr

    def finish(self) -> None:
        """Resolve all labels."""
        for instr, slot, label in self.patches:
            setattr(instr, slot, label.pc)
        for instr, labels in self.choice_patches:
            instr.targets = tuple(sorted({label.pc for label in labels}))

    # -- leaving regions -------------------------------------------------------------

    def leave(self, stop: Callable[[Unwind], bool], ctx: Context, node: ast.AST) -> Unwind | None:
        """Emit the clean-up of every region up to the first that satisfies `stop`."""
        saved = self.unwind
        try:
            for depth in range(len(saved) - 1, -1, -1):
                region = saved[depth]
                self.unwind = saved[:depth]
                if stop(region):
                    return region
                self._clean_up(region)
            return None
        finally:
            self.unwind = saved

    def _clean_up(self, region: Unwind) -> None:
        if isinstance(region, InLock):
            self.emit(Op.UNLOCK, region.context, region.node, name=region.name)
        elif isinstance(region, InFinally):
            self.lower_block(region.body, region.context)

    def leave_loop(self, again: bool, ctx: Context, node: ast.AST) -> None:
        """`continue` or `break`."""
        region = self.leave(lambda r: isinstance(r, (InLoop, InCall)), ctx, node)
        if isinstance(region, InLoop):
            self.jump(region.again if again else region.done, ctx, node)

    def leave_function(self, ctx: Context, node: ast.AST) -> None:
        """`return`, once the result is stored."""
        region = self.leave(lambda r: isinstance(r, InCall), ctx, node)
        if isinstance(region, InCall):
            self.jump(region.done, ctx, node)

    def result_name(self) -> str:
        """Where the function being lowered puts its result."""
        for region in reversed(self.unwind):
            if isinstance(region, InCall):
                return region.result
        return self.fresh("result")

    # -- exceptions ------------------------------------------------------------------

    def raise_error(self, error: str, ctx: Context, node: ast.AST, note: str = "") -> None:
        """Raise an exception of a known type: to its handler, or out of the thread."""
        saved = self.unwind
        try:
            for depth in range(len(saved) - 1, -1, -1):
                region = saved[depth]
                self.unwind = saved[:depth]
                if isinstance(region, InTry):
                    handler = self._match(region.handlers, error)
                    if handler is not None:
                        if note.startswith("raise") or note == "assert":
                            self.emit(Op.RAISE, ctx, node, note=error)
                        self.jump(handler.label, ctx, node)
                        return
                else:
                    self._clean_up(region)
            dead = self.emit(Op.DEAD, ctx, node, note=note or error)
            dead.next = -1
        finally:
            self.unwind = saved

    def _match(self, handlers: list[Handler], error: str) -> Handler | None:
        for handler in handlers:
            if any(catches(caught, error) for caught in handler.types):
                return handler
        return None

    def reraised(self) -> str:
        """What a bare `raise` raises here."""
        for region in reversed(self.unwind):
            if isinstance(region, InHandler):
                return region.types[0] if len(region.types) == 1 else "Exception"
        return "RuntimeError"

    def may_raise(self, ctx: Context, node: ast.AST) -> None:
        """An unknown call: any handler around it may get an exception from it."""
        labels = self._pads(len(self.unwind), ctx, node)
        if labels:
            instr = self.emit(Op.CHOICE, ctx, node)
            self.choice_patches.append((instr, tuple(labels)))

    def may_raise_error(self, error: str, ctx: Context, node: ast.AST, note: str = "") -> Label:
        """A label from which `error` is raised; the caller's instruction branches to it."""
        ahead, pad = Label(), Label()
        self.jump(ahead, ctx, node)
        self.place(pad)
        self.raise_error(error, ctx, node, note)
        self.place(ahead)
        return pad

    def _pads(self, depth: int, ctx: Context, node: ast.AST) -> list[Label]:
        """One label per handler that an unknown exception raised at this depth may reach."""
        if depth == 0:
            return []
        region = self.unwind[depth - 1]
        if UNKNOWN_ERROR not in region.pads:
            region.pads[UNKNOWN_ERROR] = list(self._make_pads(region, depth, ctx, node))
        return region.pads[UNKNOWN_ERROR]

    def _make_pads(
        self, region: Unwind, depth: int, ctx: Context, node: ast.AST
    ) -> Iterator[Label]:
        if isinstance(region, InTry):
            for handler in region.handlers:
                yield handler.label
                if CATCH_ALL & set(handler.types):
                    return
            yield from self._pads(depth - 1, ctx, node)
        elif isinstance(region, (InLock, InFinally)):
            for outer in self._pads(depth - 1, ctx, node):
                yield self._cleaning_pad(region, outer, depth, ctx, node)
        else:
            yield from self._pads(depth - 1, ctx, node)

    def _cleaning_pad(
        self, region: Unwind, outer: Label, depth: int, ctx: Context, node: ast.AST
    ) -> Label:
        pad, ahead = Label(), Label()
        self.jump(ahead, ctx, node)
        self.place(pad)
        saved, self.unwind = self.unwind, self.unwind[: depth - 1]
        self._clean_up(region)
        self.unwind = saved
        self.jump(outer, ctx, node)
        self.place(ahead)
        return pad


def catches(caught: str, error: str) -> bool:
    """Whether `except caught` takes an `error`, by the built-in hierarchy where both are in it."""
    if caught in CATCH_ALL or caught == error:
        return True
    above, below = getattr(builtins, caught, None), getattr(builtins, error, None)
    if isinstance(above, type) and isinstance(below, type):
        return issubclass(below, above)
    return False


def as_operand(value: object) -> Operand:
    """The run-time operand of a value; anything that is no operand is unknown."""
    return value if isinstance(value, (Const, Var)) else ANY
