"""The variant that started the project, made from release 0.5.14 in a temporary folder.

Two places of the NIXL backend change: its bootstrap thread gets an ABORT handler that writes
`Failed` only for a known room but pops the room's transfer infos always, and its worker skips a
chunk whose room is not in the table instead of asserting that it is. The places are found by
their syntax, so nothing of the release stands here; a release in which they are not found raises.
"""

from __future__ import annotations

import ast
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import TypeVar

VERSION = "0.5.14"
BACKEND = Path("nixl") / "conn.py"

ABORT_HANDLER = """\
if waiting_req_bytes[0] == b"ABORT":
    aborted = int(waiting_req_bytes[1].decode("ascii"))
    if (
        aborted in self.request_status
        and self.check_status(aborted) != KVPoll.Success
    ):
        self.update_status(aborted, KVPoll.Failed)
    self.transfer_infos.pop(aborted, None)
    continue
"""
SKIP_GUARD = """\
if (
    room not in self.transfer_infos
    or self.check_status(room) == KVPoll.Failed
):
    continue
"""

N = TypeVar("N", bound=ast.AST)


class AnchorMissing(Exception):
    """The release does not have the code that the variant changes."""


@dataclass(frozen=True)
class Seed:
    """The variant: its disaggregation folder, its NIXL backend and the lines of the defects."""

    folder: Path
    backend: Path
    pop: int
    skip: range  # from the guard's `if` to its `continue`
    late_write: int


def make_seed(release: Path, temporary: Path) -> Seed:
    """Copy the disaggregation package of a release and change the copy."""
    inside = Path("sglang") / "srt" / "disaggregation"
    folder = temporary / inside
    shutil.copytree(release / inside, folder, ignore=shutil.ignore_patterns("__pycache__"))
    backend = folder / BACKEND
    backend.write_text(_change(backend.read_text(encoding="utf-8")), encoding="utf-8")
    return _locate(folder, backend)


def _change(source: str) -> str:
    tree = ast.parse(source)
    guard = _first(_function(tree, "bootstrap_thread"), ast.Assert)
    worker = _function(tree, "transfer_worker")
    skip = _first(worker, ast.If, _only_continues)
    known = _first(worker, ast.Assert, lambda node: node.lineno > skip.lineno)
    lines = source.splitlines(keepends=True)
    # From the bottom up, so that the earlier line numbers stay right.
    for first, last, text, column in sorted(
        [
            (guard.lineno, guard.lineno - 1, ABORT_HANDLER, guard.col_offset),
            (skip.lineno, known.end_lineno, SKIP_GUARD, skip.col_offset),
        ],
        reverse=True,
    ):
        lines[first - 1 : last] = indent(text, " " * column).splitlines(keepends=True)
    return "".join(lines)


def _locate(folder: Path, backend: Path) -> Seed:
    tree = ast.parse(backend.read_text(encoding="utf-8"))
    worker = _function(tree, "transfer_worker")
    skip = _first(worker, ast.If, _only_continues)
    pop = _first(
        _function(tree, "bootstrap_thread"),
        ast.Call,
        lambda node: ast.unparse(node) == "self.transfer_infos.pop(aborted, None)",
    )
    writes = [
        node.lineno
        for node in _walk(worker, ast.Call)
        if ast.unparse(node) == "self.update_status(room, KVPoll.Transferring)"
    ]
    if len(writes) < 2:
        raise AnchorMissing("the worker's write after the transfer")
    return Seed(
        folder=folder,
        backend=backend,
        pop=pop.lineno,
        skip=range(skip.lineno, skip.body[0].lineno + 1),
        late_write=max(writes),
    )


def _function(tree: ast.Module, name: str) -> ast.FunctionDef:
    return _first(tree, ast.FunctionDef, lambda node: node.name == name)


def _only_continues(node: ast.If) -> bool:
    return isinstance(node.body[0], ast.Continue) and "Failed" in ast.unparse(node.test)


def _first(root: ast.AST, kind: type[N], accept: Callable[[N], bool] = lambda node: True) -> N:
    for node in _walk(root, kind):
        if accept(node):
            return node
    raise AnchorMissing(f"{kind.__name__} in line {getattr(root, 'lineno', 1)} and below")


def _walk(root: ast.AST, kind: type[N]) -> Iterator[N]:
    """The nodes of a kind in source order."""
    found = [node for node in ast.walk(root) if isinstance(node, kind)]
    yield from sorted(found, key=lambda node: (node.lineno, node.col_offset))  # type: ignore[attr-defined]
