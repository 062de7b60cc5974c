"""Search several systems at once, in processes that are forked off this one and in this one.

A system is parts of syntax trees, bound together: it is never copied. A child has all of them
already, and what it found names them by number.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kvlint import progress
from kvlint.errors import UsageError
from kvlint.search.evidence import Bounds, Evidence, gather
from kvlint.search.system import System

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

# A fork pays off from here on; the sizes are instructions of all programs of a system.
WORTH_A_FORK = 400


def gather_all(
    systems: Iterable[System], bounds: Bounds, jobs: int | None = None
) -> Iterator[Evidence]:
    """What the search finds out about each system, in order; `jobs` None: one for each CPU.

    The first ones are searched while the caller still makes the others, the last ones while it
    works on what it got. Raises `UsageError` if a process is killed, as a machine without memory
    does.
    """
    crew = _Crew(bounds, jobs)
    try:
        for system in systems:
            crew.take(system)
    except BaseException:
        crew.stop()
        raise
    return crew.results()


class _Crew:
    """Searches systems in child processes, in this one what is not worth a fork."""

    def __init__(self, bounds: Bounds, jobs: int | None) -> None:
        self.bounds = bounds
        self.jobs = jobs or _cpus()
        self.forks = hasattr(os, "fork") and sys.platform != "darwin"  # its libraries mind forks
        self.systems: list[System] = []
        self.found: dict[int, Evidence] = {}
        self.waiting: list[int] = []
        self.children: dict[int, _Child] = {}

    def take(self, system: System) -> None:
        """Begin with a system at once if there is a CPU beside the one that the caller needs."""
        index = len(self.systems)
        self.systems.append(system)
        self.waiting.append(index)
        self._fork_up_to(self.jobs - 1)

    def results(self) -> Iterator[Evidence]:
        """What was found about all, in the order in which they came."""
        self._tell()
        try:
            for index in range(len(self.systems)):
                while index not in self.found:
                    self._go_on(index)
                yield self.found[index]
        finally:
            self.stop()

    def _go_on(self, index: int) -> None:
        """Do something that brings what is found about this system nearer.

        This process searches as well: what is asked for, or else what takes longest.
        """
        if len(self.waiting) > 1:
            self._fork_up_to(self.jobs - 1)
        if index in self.found:
            return
        if self.waiting:
            own = index if index in self.waiting else max(self.waiting, key=self._size)
            self.waiting.remove(own)
            self.found[own] = gather(self.systems[own], self.bounds)
            self._tell()
        else:
            self._wait()

    def stop(self) -> None:
        """End the children that are left after an error."""
        for child in self.children.values():
            child.process.kill()
        for child in self.children.values():
            child.process.join()

    def _size(self, index: int) -> int:
        """How much there is to search, roughly."""
        return _size(self.systems[index])

    def _fork_up_to(self, most: int) -> None:
        """Let so many children run, the largest systems first."""
        for index in sorted(self.waiting, key=self._size, reverse=True):
            if not self.forks or self._size(index) < WORTH_A_FORK or not self._has_room(most):
                break
            self._fork(index)

    def _fork(self, index: int) -> None:
        others = [child.reading for child in self.children.values()]
        try:
            self.children[index] = _Child(self.systems[index], self.bounds, others)
        except OSError:  # too many processes, or too little memory for one more
            self.forks = False
            return
        self.waiting.remove(index)

    def _has_room(self, most: int) -> bool:
        """Whether fewer than so many children run; what others have found is taken."""
        for index, child in list(self.children.items()):
            if child.is_done():
                self._collect(index)
        return len(self.children) < most

    def _wait(self) -> None:
        """Until some child is done."""
        from multiprocessing.connection import wait

        wait([child.reading for child in self.children.values()])
        self._has_room(self.jobs)

    def _collect(self, index: int) -> None:
        self.found[index] = self.children.pop(index).result()
        self._tell()

    def _tell(self) -> None:
        progress.tell(f"searching, {len(self.found)} of {len(self.systems)} classes")


class _Child:
    """A process that searches one system; `others` are the pipes from those that run already."""

    def __init__(self, system: System, bounds: Bounds, others: Sequence[Connection]) -> None:
        # Slow to import, and most runs need none of it.
        from multiprocessing import get_context

        context = get_context("fork")
        self.parts = Parts([system])
        self.reading, writing = context.Pipe(duplex=False)
        foreign = [*others, self.reading]
        self.process = context.Process(
            target=_search, args=(system, bounds, self.parts, writing, foreign), daemon=True
        )
        try:
            self.process.start()
        finally:
            writing.close()

    def is_done(self) -> bool:
        """Whether it has sent something, or died."""
        return self.reading.poll()

    def result(self) -> Evidence:
        """What it found; raises what it raised."""
        try:
            error, trace, data = self.reading.recv()
        except (EOFError, OSError):  # before it sent anything, or in the middle
            raise UsageError(
                "a process of the search was killed (out of memory?); --jobs 1 needs none"
            ) from None
        finally:
            self.process.join()
        if error:
            raise pickle.loads(error) from _InChild(trace)
        return self.parts.load(data)


class _InChild(Exception):
    """Stands for the traceback of an error in a child; its text is that traceback."""


def _search(
    system: System,
    bounds: Bounds,
    parts: Parts,
    writing: Connection,
    foreign: Sequence[Connection],
) -> None:
    """What a child does."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # it goes without a word; the parent speaks
    # Only the parent may hold these: a child that writes to a parent that is gone has to notice.
    for reading in foreign:
        reading.close()
    try:
        outcome = b"", "", parts.dump(gather(system, bounds))
    except Exception as error:
        outcome = _pickled(error), "".join(traceback.format_exception(error)), b""
    writing.send(outcome)


def _pickled(error: Exception) -> bytes:
    """The error as it can be sent: as itself, if it can be made again from what it holds."""
    try:
        data = pickle.dumps(error)
        pickle.loads(data)
    except Exception:
        return pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
    return data


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
