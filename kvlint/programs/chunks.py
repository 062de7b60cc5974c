"""What of a chunk says whether it is the last one: a field, or a place in a tuple."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvlint.protocol.facts import terminal_name
from kvlint.protocol.model import Protocol

LAST_WORDS = ("last", "final", "eof", "is_end", "done")
PUTS = frozenset({"put", "put_nowait"})
LIST_PUTS = frozenset({"append", "appendleft"})  # a queue only if the protocol says so


def says_last(name: str | None) -> bool:
    """Whether a field or local of this name tells the last chunk."""
    return name is not None and any(word in name.lower() for word in LAST_WORDS)


def last_expressions(item: ast.expr) -> tuple[ast.expr, ...]:
    """The parts of a chunk, as it is put on a queue, that say whether it is the last one."""
    if isinstance(item, ast.Call):
        return tuple(k.value for k in item.keywords if says_last(k.arg))
    if isinstance(item, ast.Tuple):
        return tuple(e for e in item.elts if says_last(terminal_name(e)))
    return ()


def last_places(protocol: Protocol) -> dict[str, frozenset[int]]:
    """For each queue, the places that say so in every tuple put on it, by the sender's names.

    Whoever takes the tuple apart may call them something else.
    """
    found: dict[str, frozenset[int]] = {}
    for queue, item in _put(protocol):
        places = _places(item)
        found[queue] = found.get(queue, places) & places
    return found


def _put(protocol: Protocol) -> Iterator[tuple[str, ast.Tuple]]:
    """(queue, tuple) of every tuple that is put on a queue."""
    for cls in protocol.classes:
        fact = protocol.facts.get(cls)
        for name, call, _ in fact.calls if fact is not None else ():
            if call.args and isinstance(call.func, ast.Attribute):
                queue, item = terminal_name(call.func.value), call.args[0]
                sure = name in PUTS or (queue in protocol.queues and name in LIST_PUTS)
                if sure and queue is not None and isinstance(item, ast.Tuple):
                    yield queue, item


def _places(item: ast.Tuple) -> frozenset[int]:
    return frozenset(i for i, e in enumerate(item.elts) if says_last(terminal_name(e)))
