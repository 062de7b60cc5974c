"""Watch the threads of one side, and hold a transfer in flight for as long as a test needs.

Nothing of the backend is changed: the queue, the socket and the NIXL agent that it uses are
wrapped. A held transfer is one whose state is still `PROC`: what a slower network would say.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

POLL_SECONDS = 0.001

Chunk = tuple[int, int]  # room, and how many chunks of that room were taken before


@dataclass(frozen=True)
class Snapshot:
    """What the threads of one side have done so far."""

    put: int  # chunks given to the queues
    done: int  # chunks whose worker is back at its queue
    lost: int  # chunks whose worker has died
    sent: int  # messages sent to the other side
    received: int  # messages taken from the socket
    handled: int  # messages whose thread is back at the socket
    listening: bool  # whether a thread has ever waited at the socket
    deaf: bool  # whether that thread has died
    dead: tuple[str, ...]  # threads that an exception ended, with the exception

    @property
    def idle(self) -> bool:
        """No chunk waits or is being worked on, and no message either."""
        return self.put == self.done + self.lost and self.received == self.handled

    def has_heard(self, other: Snapshot) -> bool:
        """Whether every message of the other side has been handled, or never will be."""
        return not self.listening or self.deaf or self.handled >= other.sent


@dataclass
class Gates:
    """The counters of one side, and the transfers that are held."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    workers: dict[int, str] = field(default_factory=dict)  # of a room: the thread that served it
    registered: Counter[str] = field(default_factory=Counter)  # regions, by the type of each
    _at: dict[int, Chunk] = field(default_factory=dict)  # thread -> chunk it works on
    _taken: dict[int, int] = field(default_factory=dict)  # of a room: chunks taken from a queue
    _held: set[Chunk] = field(default_factory=set)
    _reached: set[Chunk] = field(default_factory=set)
    _dead: list[str] = field(default_factory=list)
    _put: int = 0
    _done: int = 0
    _lost: int = 0
    _sent: int = 0
    _received: int = 0
    _handled: int = 0
    _at_socket: threading.Thread | None = None
    _deaf: bool = False

    def snapshot(self) -> Snapshot:
        """The counters, taken in one moment."""
        with self.changed:
            return Snapshot(
                put=self._put,
                done=self._done,
                lost=self._lost,
                sent=self._sent,
                received=self._received,
                handled=self._handled,
                listening=self._at_socket is not None,
                deaf=self._deaf,
                dead=tuple(self._dead),
            )

    # Holding a transfer

    def hold(self, chunk: Chunk) -> None:
        """Let the transfer of a chunk stay in flight until it is released."""
        with self.changed:
            self._held.add(chunk)

    def release(self, chunk: Chunk) -> None:
        """Let the transfer of a chunk end when it ends."""
        with self.changed:
            self._held.discard(chunk)
            self._reached.discard(chunk)

    def wait_reached(self, chunk: Chunk, seconds: float) -> bool:
        """Wait until a worker has started the transfer of a held chunk and polls it."""
        with self.changed:
            return self.changed.wait_for(lambda: chunk in self._reached, seconds)

    def in_flight(self) -> bool:
        """Whether the transfer that this thread polls is held; called for each poll of a state."""
        with self.changed:
            chunk = self._at.get(threading.get_ident())
            if chunk is None or chunk not in self._held:
                return False
            self._reached.add(chunk)
            self.changed.notify_all()
        time.sleep(POLL_SECONDS)
        return True

    # What the threads do

    def gave(self) -> None:
        """A chunk goes into a queue."""
        with self.changed:
            self._put += 1

    def took(self, chunk: Any) -> None:
        """A worker has a chunk."""
        with self.changed:
            thread = threading.current_thread()
            number = self._taken.get(chunk.room, 0)
            self._taken[chunk.room] = number + 1
            self._at[threading.get_ident()] = (chunk.room, number)
            self.workers[chunk.room] = thread.name

    def back(self) -> None:
        """A worker is at its queue again."""
        with self.changed:
            if self._at.pop(threading.get_ident(), None) is not None:
                self._done += 1

    def sends(self) -> None:
        """A message goes to the other side."""
        with self.changed:
            self._sent += 1

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """A thread waits at the socket; what it took before has been handled."""
        with self.changed:
            self._at_socket = threading.current_thread()
            self._handled = self._received
        yield
        with self.changed:
            self._received += 1

    def died(self, args: Any) -> None:
        """An exception has left a thread; takes the place of `threading.excepthook`."""
        with self.changed:
            name = args.thread.name if args.thread else "?"
            self._dead.append(f"{name}: {args.exc_type.__name__}: {args.exc_value}")
            if self._at.pop(args.thread.ident if args.thread else 0, None) is not None:
                self._lost += 1
            if args.thread is not None and args.thread is self._at_socket:
                self._handled = self._received
                self._deaf = True
        threading.__excepthook__(args)


def watch_queue(queue_class: type[Any], gates: Gates) -> None:
    """Let a queue class report what goes in and out."""
    put, get = queue_class.put, queue_class.get

    def watched_put(queue: Any, item: Any) -> None:
        gates.gave()
        put(queue, item)

    def watched_get(queue: Any) -> Any:
        gates.back()
        chunk = get(queue)
        gates.took(chunk)
        return chunk

    queue_class.put = watched_put
    queue_class.get = watched_get


class WatchedSocket:
    """A socket that reports what is received from it."""

    def __init__(self, socket: Any, gates: Gates) -> None:
        self._socket = socket
        self._gates = gates

    def recv_multipart(self, *args: Any, **options: Any) -> Any:
        """As the socket's own."""
        with self._gates.receiving():
            return self._socket.recv_multipart(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


def watch_sends(socket_class: type[Any], gates: Gates) -> None:
    """Let a socket class report what is sent."""
    send: Callable[..., Any] = socket_class.send_multipart

    def watched_send(socket: Any, *args: Any, **options: Any) -> Any:
        gates.sends()
        return send(socket, *args, **options)

    socket_class.send_multipart = watched_send


def watched_agent(agent_class: type[Any], gates: Gates, memory: str) -> type[Any]:
    """A NIXL agent whose transfers can be held.

    Releases up to 0.5.14 say VRAM for every buffer; a buffer in host memory is registered as
    what it is.
    """

    def really(kind: str | None) -> str | None:
        return memory if kind == "VRAM" else kind

    class WatchedAgent(agent_class):  # type: ignore[misc]
        def register_memory(self, regions: Any, mem_type: Any = None, *rest: Any) -> Any:
            gates.registered.update(type(region).__name__ for region in regions)
            return super().register_memory(regions, really(mem_type), *rest)

        def get_xfer_descs(self, descs: Any, mem_type: Any = None, *rest: Any) -> Any:
            return super().get_xfer_descs(descs, really(mem_type), *rest)

        def prep_xfer_dlist(self, name: Any, descs: Any, mem_type: Any = None, *rest: Any) -> Any:
            return super().prep_xfer_dlist(name, descs, really(mem_type), *rest)

        def check_xfer_state(self, handle: Any) -> Any:
            if gates.in_flight():
                return "PROC"
            return super().check_xfer_state(handle)

    return WatchedAgent
