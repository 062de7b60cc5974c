"""What detection finds in small sources: the statuses, the tables, the threads, the holders."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from kvlint.config import ProtocolOverrides
from kvlint.programs.lower import lower_method
from kvlint.protocol.model import NUMBER, Protocol

from ..programs.backends import ends, machine, protocol, protocols, start

MEMBERS = ["Failed", "Waiting", "Moving", "Success"]


def backend(statuses: str, failed: str, waiting: str, success: str, row: str = "{}") -> str:
    """A manager that stores these expressions; `row` is what surrounds a stored status."""
    return dedent(statuses) + dedent(
        f"""
        import threading


        class Manager:
            def __init__(self):
                self.rooms = {{}}
                self.infos = {{}}
                threading.Thread(target=self.serve).start()

            def open(self, room):
                self.infos[room] = object()
                self.rooms[room] = {row.format(waiting)}

            def set(self, room, status):
                self.rooms[room] = {row.format("status")}

            def serve(self):
                while True:
                    room = self.sock.recv()
                    if room not in self.infos:
                        self.set(room, {failed})
                    else:
                        self.set(room, {success})
        """
    )


INT_CLASS = """
class Poll{base}:
    Failed = 0
    Waiting = 1
    Moving = 2
    Success = 3
"""


@pytest.mark.parametrize(
    "statuses",
    [
        INT_CLASS.format(base=""),
        "import enum\n" + INT_CLASS.format(base="(enum.IntEnum)"),
        "from enum import Enum\n" + INT_CLASS.format(base="(Enum)"),
        "class Poll:\n    Failed, Waiting, Moving, Success = range(4)\n",
        "class Poll:\n    Failed, Waiting, Moving, Success = 0, 1, 2, 3\n",
        "import enum\nclass Poll(enum.Enum):\n    Failed = enum.auto()\n    Waiting = enum.auto()\n"
        "    Moving = enum.auto()\n    Success = enum.auto()\n",
        "from enum import Enum\nclass Poll(str, Enum):\n    Failed = 'f'\n    Waiting = 'w'\n"
        "    Moving = 'm'\n    Success = 's'\n",
        "class Poll:\n    Failed: int = 0\n    Waiting: int = 1\n    Moving: int = 2\n"
        "    Success: int = 3\n",
    ],
    ids=["ints", "IntEnum", "Enum", "range", "tuple", "auto", "strings", "annotated"],
)
def test_a_class_of_statuses(statuses: str) -> None:
    found = protocol(backend(statuses, "Poll.Failed", "Poll.Waiting", "Poll.Success"))
    assert found.status_table == "rooms"
    assert found.domain.name == "Poll"
    assert [m.name for m in found.domain.members] == MEMBERS
    assert found.domain.failures == {"Failed"}
    assert found.domain.successes == {"Success"}
    assert found.side_tables == {"infos"}
    assert found.updaters == ("set",)


@pytest.mark.parametrize(
    ("statuses", "written"),
    [
        (
            "FAILED = 'failed'\nWAITING = 'waiting'\nDONE = 'done'\n",
            ("FAILED", "WAITING", "DONE"),
        ),
        (
            "FAILED, WAITING, DONE = 'failed', 'waiting', 'done'\n",
            ("FAILED", "WAITING", "DONE"),
        ),
        ("", ("'failed'", "'waiting'", "'done'")),
    ],
    ids=["constants", "unpacked", "bare"],
)
def test_statuses_without_a_class(statuses: str, written: tuple[str, str, str]) -> None:
    found = protocol(backend(statuses, *written))
    assert {m.value for m in found.domain.members} == {"failed", "waiting", "done"}
    by_value = {m.value: m for m in found.domain.members}
    assert found.domain.is_failure(by_value["failed"])
    assert found.domain.is_terminal(by_value["done"])
    assert not found.domain.is_terminal(by_value["waiting"])


def test_bare_numbers_say_nothing() -> None:
    assert protocols(backend("", "0", "1", "3")) == []


def test_a_row_with_a_status_in_it() -> None:
    poll = INT_CLASS.format(base="")
    found = protocol(
        backend(poll, "Poll.Failed", "Poll.Waiting", "Poll.Success", row="(0.0, {}, None)")
    )
    assert found.row_index == 1
    assert found.updaters == ("set",)


@pytest.mark.parametrize(
    ("bad", "good"),
    [("Aborted", "Done"), ("LOST", "ARRIVED"), ("Cancelled", "Finished"), ("Dead", "Delivered")],
)
def test_other_words(bad: str, good: str) -> None:
    statuses = f"class Leg:\n    {bad} = 0\n    Queued = 1\n    {good} = 2\n"
    found = protocol(backend(statuses, f"Leg.{bad}", "Leg.Queued", f"Leg.{good}"))
    assert (set(found.domain.failures), set(found.domain.successes)) == ({bad}, {good})


def test_settings_name_the_statuses() -> None:
    statuses = "class Leg:\n    Red = 0\n    Queued = 1\n    Green = 2\n"
    source = backend(statuses, "Leg.Red", "Leg.Queued", "Leg.Green")
    assert protocols(source) == []
    chosen = ProtocolOverrides(status_enum="Leg", failure=("Red",), success=("Green",))
    (found,) = protocols(source, chosen)
    assert (set(found.domain.failures), set(found.domain.successes)) == ({"Red"}, {"Green"})


# -- threads -----------------------------------------------------------------------------


def with_thread(start: str, extra: str = "", before: str = "", base: str = "") -> Protocol:
    """A manager that starts its thread like this."""
    source = (
        "import asyncio\nimport threading\nfrom concurrent.futures import ThreadPoolExecutor\n"
        + INT_CLASS.format(base="")
        + dedent(before)
        + dedent(
            f"""
            class Manager{base}:
                def __init__(self):
                    self.rooms = {{}}
                    self.pool = ThreadPoolExecutor()
                    self.begin()

                def open(self, room):
                    self.rooms[room] = Poll.Waiting

                def fail(self, room):
                    self.rooms[room] = Poll.Failed

                def done(self, room):
                    self.rooms[room] = Poll.Success

            """
        )
        + indent("def begin(self):\n" + indent(dedent(start).strip("\n"), "    "), "    ")
        + "\n\n"
        + indent(dedent(extra).strip("\n"), "    ")
        + "\n"
    )
    return protocol(source)


SERVE = """
def serve(self, lane=None, number=0):
    while True:
        self.fail(lane.get())
"""
NESTED = """
def loop():
    while True:
        self.fail(self.sock.recv())

{start}
"""


@pytest.mark.parametrize(
    ("start", "extra", "name"),
    [
        ("threading.Thread(target=self.serve, daemon=True).start()", SERVE, "serve"),
        ("t = threading.Thread(target=self.serve)\nself.t = t\nt.start()", SERVE, "serve"),
        ("threading.Thread(target=self.serve, args=(self.lane, 1)).start()", SERVE, "serve"),
        ("self.pool.submit(self.serve, None)", SERVE, "serve"),
        ("threading.Timer(1.0, self.serve).start()", SERVE, "serve"),
        ("threading.Thread(target=lambda: self.serve(None)).start()", SERVE, "lambda"),
        (NESTED.format(start="threading.Thread(target=loop).start()"), "", "loop"),
        (
            NESTED.format(
                start="def guarded():\n    try:\n        loop()\n    except Exception:\n"
                "        raise\n\nthreading.Thread(target=guarded).start()"
            ),
            "",
            "guarded",
        ),
        (
            "asyncio.ensure_future(self.serve())",
            "async def serve(self):\n    while True:\n        self.fail(await self.next())",
            "serve",
        ),
        (
            "asyncio.create_task(self.serve())",
            "async def serve(self):\n    while True:\n        self.fail(await self.next())",
            "serve",
        ),
        (
            "self.make().start()",
            SERVE + "\ndef make(self):\n    return threading.Thread(target=self.serve)",
            "serve",
        ),
    ],
    ids=[
        "method",
        "kept",
        "arguments",
        "submit",
        "timer",
        "lambda",
        "nested",
        "guarded",
        "ensure_future",
        "create_task",
        "returned",
    ],
)
def test_thread_roots(start: str, extra: str, name: str) -> None:
    assert [root.name for root in with_thread(start, extra).roots] == [name]


def test_a_subclass_of_thread() -> None:
    extra = "def run(self):\n    while True:\n        self.fail(self.sock.recv())"
    found = with_thread("pass", extra, base="(threading.Thread)")
    assert [root.name for root in found.roots] == ["run"]


def test_a_thread_that_an_override_does_not_start() -> None:
    source = (
        "import threading\n"
        + INT_CLASS.format(base="")
        + dedent(
            """
            class Base:
                def __init__(self):
                    self.rooms = {}
                    self.begin()

                def begin(self):
                    threading.Thread(target=self.old).start()

                def old(self):
                    self.rooms[self.sock.recv()] = Poll.Failed


            class Manager(Base):
                def begin(self):
                    threading.Thread(target=self.new).start()

                def new(self):
                    self.rooms[self.sock.recv()] = Poll.Success
            """
        )
    )
    roots = {p.manager.name: [r.name for r in p.roots] for p in protocols(source)}
    assert roots == {"Base": ["old"], "Manager": ["new"]}


# -- roles, holders, queues, messages ----------------------------------------------------

TWO_ROLES = (
    "import threading\nimport queue\n"
    + INT_CLASS.format(base="")
    + dedent(
        """
        ABORT = b"ABORT"
        READY = "READY"


        class Mode:
            PREFILL = 1
            DECODE = 2


        class Manager:
            def __init__(self, mode):
                self.mode = mode
                self.rooms = {}
                if self.mode == Mode.PREFILL:
                    self.infos = {}
                    self.lanes = [queue.Queue() for _ in range(4)]
                    threading.Thread(target=self.serve).start()
                elif self.mode == Mode.DECODE:
                    self.tracker = {}
                    threading.Thread(target=self.watch).start()

            def set(self, room, status):
                self.rooms[room] = status

            def serve(self):
                while True:
                    frame = self.sock.recv_multipart()
                    room = int(frame[1])
                    if room in self.infos:
                        self.set(room, Poll.Failed)

            def watch(self):
                while True:
                    room = int(self.sock.recv_multipart()[0])
                    self.tracker.pop(room, None)
                    self.set(room, Poll.Success)


        class Sender:
            def __init__(self, mgr: Manager, room):
                self.mgr = mgr
                self.room = room
                self.gone = False
                self.mgr.set(room, Poll.Waiting)
                self.mgr.infos[room] = object()

            def abort(self):
                self.gone = True
                self.mgr.set(self.room, Poll.Failed)


        class Receiver:
            def __init__(self, kv_mgr, room):
                self.kv_mgr = kv_mgr
                self.room = room
                self.kv_mgr.set(room, Poll.Waiting)
                self.kv_mgr.tracker[room] = 0

            def abort(self):
                self.sock.send_multipart([ABORT, str(self.room).encode(), b"x"])

            def ready(self):
                self.sock.send_multipart([READY.encode(), f"{self.room}".encode()])
        """
    )
)


def test_two_roles() -> None:
    found = {p.role.member: p for p in protocols(TWO_ROLES) if p.role is not None}
    assert set(found) == {"PREFILL", "DECODE"}
    prefill, decode = found["PREFILL"], found["DECODE"]
    assert [r.name for r in prefill.roots] == ["serve"]
    assert [r.name for r in decode.roots] == ["watch"]
    assert [h.name for h in prefill.holders] == ["Sender"]
    assert [h.name for h in decode.holders] == ["Receiver"]
    assert prefill.title == "Manager[PREFILL]"
    assert prefill.queues == {"lanes"}
    assert "gone" in prefill.fields


def test_messages_of_the_other_side() -> None:
    decode = next(p for p in protocols(TWO_ROLES) if p.role and p.role.member == "DECODE")
    parts = {frame.parts for frame in decode.frames}
    assert (b"ABORT", NUMBER, b"x") in parts
    assert b"READY" in {part[0] for part in parts}


def test_a_holder_that_is_annotated_with_something_else() -> None:
    source = TWO_ROLES.replace("mgr: Manager, room", "mgr: Engine, room")
    for found in protocols(source):
        assert "Sender" not in [h.name for h in found.holders]


@pytest.mark.parametrize("local", ["owner", "boss", "self.owner"])
def test_a_thread_that_keeps_the_manager_under_any_name(local: str) -> None:
    alias = "" if "." in local else f"{local} = self.owner"
    found = protocol(
        dedent(INT_CLASS.format(base=""))
        + dedent(
            f"""
            import queue
            import threading


            class Worker(threading.Thread):
                def __init__(self, owner):
                    super().__init__()
                    self.owner = owner

                def run(self):
                    {alias}
                    while True:
                        {local}.set({local}.jobs.get(), Poll.Success)


            class Manager:
                def __init__(self):
                    self.rooms = {{}}
                    self.jobs = queue.Queue()
                    self.worker = Worker(self)

                def set(self, room, status):
                    self.rooms[room] = status

                def drop(self, room):
                    self.set(room, Poll.Failed)
            """
        )
    )
    assert {name: cls.name for name, cls in found.objects.items()} == {
        "owner": "Manager",
        "worker": "Worker",
    }


@pytest.mark.parametrize(
    "use",
    [
        "self.extra.pop(room, None)",
        "self.extra.get(room)",
        "del self.extra[room]",
        "self.extra[(room, 1)] = 2",
        "self.extra.setdefault(room, [])",
        "if room in self.extra:\n    pass",
    ],
)
def test_side_tables_by_use(use: str) -> None:
    start = "self.extra = {}\nself.other = {}\nthreading.Thread(target=self.serve).start()"
    body = indent(use, "    ")
    extra = f"def serve(self, room):\n{body}\n    self.other['x'] = 1\n    self.fail(room)"
    found = with_thread(start, extra)
    assert found.side_tables == {"extra"}


def test_locks_and_queues() -> None:
    start = (
        "self.guard = threading.Condition()\nself.lanes = [queue.Queue() for _ in range(2)]\n"
        "threading.Thread(target=self.serve).start()"
    )
    found = with_thread(start, SERVE, before="import queue\n")
    assert found.locks == {"guard"}
    assert found.queues == {"lanes"}


def test_the_table_in_a_class_of_its_own() -> None:
    source = (
        "import threading\n"
        + INT_CLASS.format(base="")
        + dedent(
            """
            class Board:
                def __init__(self):
                    self.rooms = {}

                def set(self, room, status):
                    self.rooms[room] = status

                def close(self, room):
                    if self.rooms[room] == Poll.Failed:
                        self.rooms.pop(room)


            class Manager:
                def __init__(self):
                    self.board = Board()
                    threading.Thread(target=self.serve).start()

                def serve(self):
                    while True:
                        self.board.set(self.sock.recv(), Poll.Success)
            """
        )
    )
    found = protocol(source)
    assert found.manager.name == "Manager"
    assert [c.name for c in found.components] == ["Board"]
    assert found.updaters == ("set",)


def test_the_base_in_another_file() -> None:
    source = backend(
        INT_CLASS.format(base=""), "Poll.Failed", "Poll.Waiting", "Poll.Success"
    ).replace("class Manager", "class Base")
    files = {
        "pkg/__init__.py": "",
        "pkg/base.py": source,
        "pkg/conn.py": "from pkg.base import Base, Poll\n\n\nclass Manager(Base):\n"
        "    def open(self, room):\n        self.rooms[room] = Poll.Moving\n",
    }
    found = {p.manager.name: p for p in protocols(files)}
    assert set(found) == {"Base", "Manager"}
    assert found["Manager"].domain.name == "Poll"


def test_nothing_there() -> None:
    assert protocols("class Cache:\n    def __init__(self):\n        self.rows = {}\n") == []


def test_only_the_manager_is_taken_for_the_manager() -> None:
    """Other things that the constructor of a holder keeps are not it."""
    source = TWO_ROLES.replace("mgr: Manager, room", "mgr, room, quiet").replace(
        "self.gone = False", "self.quiet = quiet"
    )
    for found in protocols(source):
        assert set(found.objects) <= {"mgr", "kv_mgr"}


def test_a_flag_that_a_holder_keeps_decides_either_way() -> None:
    source = (
        TWO_ROLES.replace("mgr: Manager, room", "mgr, room, quiet")
        .replace("self.gone = True", "if self.quiet:\n            return")
        .replace("self.gone = False", "self.quiet = quiet")
    )
    found = next(p for p in protocols(source) if p.role and p.role.member == "PREFILL")
    (sender,) = found.holders
    program = lower_method(found, sender, "abort")
    assert program is not None
    after = {end.status for end in ends(machine(found, program), start(found, "Waiting"))}
    assert after == {"Waiting", "Failed"}


def test_each_of_two_backends_with_like_names_has_its_own_statuses() -> None:
    """The tables have one name; in every order of the files, each module's own enum is taken."""
    loud = INT_CLASS.format(base="").upper().replace("CLASS POLL", "class State")
    files = {
        "one": backend(INT_CLASS.format(base=""), "Poll.Failed", "Poll.Waiting", "Poll.Success"),
        "two": backend(loud, "State.FAILED", "State.WAITING", "State.SUCCESS"),
    }
    for order in (("one", "two"), ("two", "one")):
        found = protocols({f"{name}.py": files[name] for name in order})
        members = {p.manager.module.display: [m.name for m in p.domain.members] for p in found}
        assert {name[-6:-3]: of for name, of in members.items()} == {
            "one": MEMBERS,
            "two": [name.upper() for name in MEMBERS],
        }
