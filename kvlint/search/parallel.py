"""Search several systems at once, each in a process that is forked off this one.

A system is parts of syntax trees, bound together: it is never copied. A child has all of them
already, and what it found names them by number.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from kvlint import progress
from kvlint.errors import UsageError
from kvlint.search.evidence import Bounds, Evidence, gather
from kvlint.search.system import System

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

_Item = TypeVar("_Item")

# A fork pays off from here on; the sizes are instructions of all programs of a system.
WORTH_A_FORK = 400


def gather_all(
    systems: Sequence[System], bounds: Bounds, jobs: int | None = None
) -> list[Evidence]:
    """What the search finds out about each system, in order; `jobs` None: one for each CPU.

    Raises `UsageError` if a process is killed, as a machine without memory does.
    """
    large = sum(_size(system) >= WORTH_A_FORK for system in systems)
    jobs = min(large, _cpus() if jobs is None else jobs)
    if jobs < 2 or not hasattr(os, "fork") or sys.platform == "darwin":  # its libraries mind forks
        return [gather(system, bounds) for system in _counted(systems, len(systems))]
    # Slow to import, and most runs need none of it.
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    parts = Parts(systems)
    order = sorted(range(len(systems)), key=lambda i: -_size(systems[i]))
    global _task
    _task = (systems, bounds, parts)
    try:
        with ProcessPoolExecutor(jobs, mp_context=get_context("fork")) as pool:
            found = dict(_found(pool, order))
    except BrokenProcessPool:
        raise UsageError(
            "a process of the search was killed (out of memory?); --jobs 1 needs none"
        ) from None
    finally:
        _task = None
    return [parts.load(found[i]) for i in range(len(systems))]


_task: tuple[Sequence[System], Bounds, Parts] | None = None  # read by the children


def _found(pool: ProcessPoolExecutor, order: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """What the children found, as it comes in; after an error none begins another system."""
    from concurrent.futures import as_completed

    futures = {pool.submit(_search, index): index for index in order}
    try:
        for future in _counted(as_completed(futures), len(futures)):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()


def _counted(items: Iterable[_Item], total: int) -> Iterator[_Item]:
    return progress.counted(items, total, "searching", "classes")


def _search(index: int) -> bytes:
    assert _task is not None
    systems, bounds, parts = _task
    return parts.dump(gather(systems[index], bounds))


def _size(system: System) -> int:
    programs = [thread.program for thread in system.threads]
    programs += [operation.program for operation in system.operations]
    return sum(len(program.code) for program in programs)


def _cpus() -> int:
    """The CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Parts:
    """Numbers for everything that the evidence of some systems refers to."""

    def __init__(self, systems: Sequence[System]) -> None:
        self.objects = list(dict.fromkeys(_Same(part) for s in systems for part in _parts(s)))
        self.numbers = {id(same.part): n for n, same in enumerate(self.objects)}

    def dump(self, evidence: Evidence) -> bytes:
        """The evidence as bytes."""
        buffer = io.BytesIO()
        _Pickler(buffer, self).dump(evidence)
        return buffer.getvalue()

    def load(self, data: bytes) -> Evidence:
        """The evidence that a child dumped, about the very objects of this process."""
        found = _Unpickler(io.BytesIO(data), self).load()
        assert isinstance(found, Evidence)
        return found


def _parts(system: System) -> Iterator[object]:
    """The system, what it consists of, and the values that a shared state may hold."""
    yield system
    yield from system.protocol.domain.members
    yield from system.frames
    for thread in system.threads:
        yield from (thread, *thread.full.code, *thread.program.code)
    for operation in system.operations:
        yield from (operation, *operation.full.code, *operation.program.code)


class _Same:
    """An object that only equals itself, to keep each one once."""

    __slots__ = ("part",)

    def __init__(self, part: object) -> None:
        self.part = part

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.part is other.part

    def __hash__(self) -> int:
        return id(self.part)


class _Pickler(pickle.Pickler):
    def __init__(self, buffer: io.BytesIO, parts: Parts) -> None:
        super().__init__(buffer, pickle.HIGHEST_PROTOCOL)
        self.parts = parts

    def persistent_id(self, obj: Any) -> int | None:
        return self.parts.numbers.get(id(obj))


class _Unpickler(pickle.Unpickler):
    def __init__(self, buffer: io.BytesIO, parts: Parts) -> None:
        super().__init__(buffer)
        self.parts = parts

    def persistent_load(self, pid: Any) -> Any:
        return self.parts.objects[pid].part
