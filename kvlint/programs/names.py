"""Names that mean the same in every backend: what waits, what is harmless."""

from __future__ import annotations

import ast

RECEIVERS = frozenset(
    {"recv", "recv_multipart", "recv_pyobj", "recv_string", "recv_json", "recv_bytes"}
)
BLOCKING = frozenset(
    {"sleep", "wait", "join", "result", "select", "accept", "acquire", "send_multipart", "flush"}
    | RECEIVERS
)
# Methods of strings, containers, loggers and clocks: they neither block nor matter.
HARMLESS = frozenset(
    """append extend insert add discard remove update items values keys get copy setdefault sort
    index count encode decode strip split rsplit join format startswith endswith lower upper
    debug info warning error exception critical log warning_once info_once time monotonic
    perf_counter is_set set clear tobytes tolist reshape astype cpu numel size get_nowait
    inc observe""".split()
)
QUIET_NAMES = frozenset(
    """len str repr isinstance issubclass hasattr id print type bool callable hash vars abs
    sum any all min max enumerate zip range reversed sorted next iter map filter round""".split()
)
SEQUENCE_MAKERS = frozenset({"list", "tuple", "sorted", "set", "frozenset", "dict"})


def is_foreign(node: ast.Call) -> bool:
    """A method of an object kept in an attribute: an engine, an agent, a socket."""
    func = node.func
    return isinstance(func, ast.Attribute) and isinstance(func.value, ast.Attribute)


def is_queue_call(node: ast.Call, name: str) -> bool:
    """`x.get()` and `x.get(timeout=...)` without a key can only be a queue's."""
    if name in ("get", "get_nowait"):
        return not node.args
    if name in ("put", "put_nowait"):
        return len(node.args) == 1
    return False
