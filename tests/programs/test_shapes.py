"""Shapes of real backends: what the lowered code does to a room, one small source each."""

from __future__ import annotations

import re
from textwrap import dedent

import pytest

from kvlint.programs.ir import Op, listing
from kvlint.protocol.model import Protocol
from kvlint.tables import state_name

from .backends import (
    HEAD,
    End,
    ends,
    machine,
    manager,
    method,
    protocol,
    protocols,
    start,
    statuses,
    thread,
    walk,
    worker,
)

BOTH = ("infos", "marks")


def run(
    body: str, status: str | None = "Waiting", sides: tuple[str, ...] = BOTH
) -> set[str | None]:
    """The final statuses of a worker with this body."""
    return statuses(worker(body), status, sides)


def sides_after(body: str, sides: tuple[str, ...] = BOTH) -> set[frozenset[str]]:
    """The side tables that still have the room afterwards."""
    found = protocol(worker(body))
    return {e.sides for e in ends(machine(found, method(found)), start(found, "Waiting", sides))}


@pytest.mark.parametrize(
    ("body", "before", "after"),
    [
        ("self.status[room] = max(self.status[room], Poll.Moving)", "Failed", {"Moving"}),
        ("self.status[room] = max(self.status[room], Poll.Moving)", "Success", {"Success"}),
        ("self.status[room] = min(self.status[room], Poll.Moving)", "Success", {"Moving"}),
        ("self.put(room, Poll.Moving if env.flag() else Poll.Failed)", None, {"Moving", "Failed"}),
        ("self.put(room=room, status=Poll.Success)", "Waiting", {"Success"}),
        ("self.put(status=Poll.Success, room=room)", "Waiting", {"Success"}),
        ("self.status.setdefault(room, Poll.Moving)", "Failed", {"Failed"}),
        ("self.status.setdefault(room, Poll.Moving)", None, {"Moving"}),
        ("self.status.pop(room, None)", "Failed", {None}),
        ("del self.status[room]", "Failed", {None}),
    ],
)
def test_writes(body: str, before: str | None, after: set[str | None]) -> None:
    assert run(body, before) == after


@pytest.mark.parametrize(
    "guard",
    [
        "self.status.get(room) == Poll.Failed",
        "self.status.get(room) is Poll.Failed",
        "Poll.Failed == self.status.get(room)",
        "room in self.status and self.status[room] == Poll.Failed",
        "not self.status.get(room) != Poll.Failed",
        "self.status.get(room) in (Poll.Failed,)",
        "self.status.get(room) in {Poll.Failed}",
        "self.status.get(room) in [Poll.Failed]",
        "(now := self.status.get(room)) is not None and now == Poll.Failed",
        "self.status.get(room, Poll.Moving) < Poll.Waiting",
        "self.status.get(room, Poll.Failed) <= Poll.Failed",
        "True if self.status.get(room) == Poll.Failed else False",
        "self.failed(room)",
        "self.is_failed",
        "(lambda r: self.status.get(r) == Poll.Failed)(room)",
    ],
)
def test_a_guard_in_every_form(guard: str) -> None:
    source = manager(
        f"""
        def failed(self, room):
            return self.status.get(room) == Poll.Failed

        @property
        def is_failed(self):
            return self.status.get(0) == Poll.Failed

        def work(self, room, env):
            if {guard}:
                return
            self.put(room, Poll.Success)
        """
    )
    assert statuses(source, "Failed") == {"Failed"}
    assert statuses(source, "Moving") == {"Success"}


def test_a_stored_guard() -> None:
    body = """
        active = room in self.infos and self.status.get(room) != Poll.Success
        if active:
            self.put(room, Poll.Failed)
    """
    assert run(body, "Moving") == {"Failed"}
    assert run(body, "Moving", ()) == {"Moving"}
    assert run(body, "Success") == {"Success"}


def test_a_conditional_expression_guards_the_loop() -> None:
    body = """
        for peer in self.infos[room].values() if room in self.infos else []:
            self.put(room, Poll.Moving)
    """
    assert run(body, "Waiting", ()) == {"Waiting"}
    assert "Moving" in run(body, "Waiting")


def test_a_snapshot_survives_the_pop() -> None:
    body = """
        mine = self.infos.get(room)
        self.infos.pop(room, None)
        if mine is None:
            self.put(room, Poll.Failed)
        else:
            self.put(room, Poll.Success)
    """
    assert run(body) == {"Success"}
    assert run(body, sides=()) == {"Failed"}


def test_a_name_bound_in_one_branch_only() -> None:
    """What one branch binds to a table's entry says nothing about the other branch."""
    body = """
        mine = None
        if self.status.get(room) == Poll.Moving:
            mine = self.infos.get(room)
        if mine is None:
            self.put(room, Poll.Failed)
    """
    assert run(body, "Waiting") == {"Failed"}
    assert run(body, "Moving") == {"Moving"}


@pytest.mark.parametrize(
    "removal",
    [
        "self.marks.discard(room)",
        "self.marks.remove(room)",
        "self.marks = {m for m in self.marks if m != room}",
        "self.infos.pop(room, None)",
        "self.infos.pop(room)",
        "del self.infos[room]",
        "self.infos = {k: v for k, v in self.infos.items() if k != room}",
        "if room in self.infos:\n    del self.infos[room]",
        "if hasattr(self, 'infos'):\n    self.infos.pop(room, None)",
    ],
)
def test_removals(removal: str) -> None:
    table = "marks" if "marks" in removal else "infos"
    assert sides_after(removal) == {frozenset(BOTH) - {table}}


@pytest.mark.parametrize("removal", ["del self.infos[room]", "self.infos.pop(room)"])
def test_a_missing_key_is_an_error(removal: str) -> None:
    body = f"""
        try:
            {removal}
        except KeyError:
            self.put(room, Poll.Failed)
    """
    assert run(body, sides=()) == {"Failed"}
    assert run(body) == {"Waiting"}


@pytest.mark.parametrize("leave", ["continue", "break", "return", "raise ValueError", "pass"])
def test_finally_runs_on_every_way_out(leave: str) -> None:
    body = f"""
        for _ in [1, 2]:
            try:
                if env.flag():
                    {leave}
            finally:
                self.put(room, Poll.Failed)
    """
    assert run(body) == {"Failed"}


@pytest.mark.parametrize("leave", ["continue", "break", "return", "raise ValueError", "pass"])
def test_a_lock_is_released_on_every_way_out(leave: str) -> None:
    body = f"""
        for _ in [1, 2]:
            try:
                with self.lock:
                    {leave}
            except ValueError:
                pass
        with self.lock:
            self.put(room, Poll.Success)
    """
    assert run(body) <= {"Success", "Waiting"}  # `ends` refuses a lock that is still held
    assert ("Success" in run(body)) == (leave != "return")


def test_an_unknown_call_reaches_the_handler_and_the_finally() -> None:
    body = """
        try:
            self.put(room, Poll.Moving)
            self.engine.write(room)
            self.put(room, Poll.Success)
        except Exception:
            self.put(room, Poll.Failed)
        else:
            self.marks.discard(room)
        finally:
            self.infos.pop(room, None)
    """
    found = protocol(worker(body))
    assert ends(machine(found, method(found)), start(found, "Waiting", BOTH)) == {
        End(True, "Success", frozenset()),
        End(True, "Failed", frozenset({"marks"})),
    }


def test_the_nearest_handler_that_fits_gets_the_error() -> None:
    body = """
        try:
            try:
                raise KeyError(room)
            except ValueError:
                self.put(room, Poll.Success)
        except LookupError:
            self.put(room, Poll.Failed)
    """
    assert run(body) == {"Failed"}


def test_an_error_that_nothing_catches_ends_the_thread() -> None:
    found = protocol(worker("assert room in self.infos\nself.put(room, Poll.Success)"))
    runner = machine(found, method(found))
    assert ends(runner, start(found, "Waiting", ())) == {End(False, "Waiting", frozenset())}
    (dead,) = [i for i in runner.code if i.op is Op.DEAD]
    assert dead.note == "assert"


@pytest.mark.parametrize("bare", ["except:", "except Exception:"])
def test_a_bare_raise_passes_the_error_on(bare: str) -> None:
    """The outer handler names the error that was raised, not the one that was caught."""
    body = f"""
        try:
            try:
                del self.infos[room]
            {bare}
                raise
        except KeyError:
            self.put(room, Poll.Failed)
    """
    assert "Failed" in run(body, sides=())


def test_match_on_a_status() -> None:
    body = """
        match self.status.get(room):
            case Poll.Failed:
                pass
            case Poll.Moving:
                self.put(room, Poll.Success)
    """
    assert run(body, "Moving") == {"Success"}
    assert run(body, "Failed") == {"Failed"}
    assert run(body, "Waiting") == {"Waiting"}


def test_match_with_alternatives_and_none() -> None:
    body = """
        match self.status.get(room):
            case Poll.Failed | Poll.Success:
                pass
            case None:
                self.put(room, Poll.Failed)
            case _:
                self.put(room, Poll.Success)
    """
    assert run(body, "Failed") == {"Failed"}
    assert run(body, "Moving") == {"Success"}
    assert run(body, None) == {"Failed"}


def test_keyword_only_helper_with_a_default() -> None:
    source = manager(
        """
        def conclude(self, *, room, status=Poll.Failed, note=""):
            self.put(room, status)

        def work(self, room, env):
            if env.flag():
                self.conclude(room=room)
            else:
                self.conclude(room=room, status=Poll.Success, note="x")
        """
    )
    assert statuses(source) == {"Failed", "Success"}


def test_closures_and_nested_functions() -> None:
    source = manager(
        """
        def work(self, room, env):
            wanted = Poll.Success

            def conclude(status):
                self.put(room, status)

            def outer():
                conclude(wanted)
                return self.infos.pop(room, None)

            if outer() is None:
                conclude(Poll.Failed)
        """
    )
    assert statuses(source) == {"Success"}
    assert statuses(source, sides=()) == {"Failed"}


def test_an_early_return_gives_its_value() -> None:
    source = manager(
        """
        def pick(self, room):
            if room not in self.infos:
                return Poll.Failed
            for _ in self.infos[room]:
                if room in self.marks:
                    return Poll.Moving
            return Poll.Success

        def work(self, room, env):
            self.put(room, self.pick(room))
        """
    )
    assert statuses(source, sides=()) == {"Failed"}
    assert statuses(source) == {"Moving"}
    assert statuses(source, sides=("infos",)) == {"Success"}


def test_a_pair_is_returned_and_unpacked() -> None:
    source = manager(
        """
        def look(self, room):
            return self.status.get(room), room in self.infos

        def work(self, room, env):
            now, there = self.look(room)
            if now == Poll.Waiting and there:
                self.put(room, Poll.Success)
        """
    )
    assert statuses(source) == {"Success"}
    assert statuses(source, sides=()) == {"Waiting"}
    assert statuses(source, "Failed") == {"Failed"}


BASE = HEAD.replace("class Manager", "class Base") + dedent(
    """
            def work(self, room, env):
                self.change(room, Poll.Moving)

            def change(self, room, status):
                self.put(room, status)

        """
).replace("\n", "\n    ")


@pytest.mark.parametrize(
    "delegate",
    [
        "super().change(room, status)",
        "super(Manager, self).change(room, status)",
        "Base.change(self, room, status)",
        "super().change(room=room, status=status)",
    ],
)
def test_an_override_that_delegates(delegate: str) -> None:
    source = BASE + dedent(
        f"""

        class Manager(Base):
            def change(self, room, status):
                if self.status.get(room) == Poll.Failed:
                    return
                {delegate}
        """
    )
    found = protocols(source)[-1]
    runner = machine(found, method(found))
    assert {e.status for e in ends(runner, start(found, "Failed", BOTH))} == {"Failed"}
    assert {e.status for e in ends(runner, start(found, "Waiting", BOTH))} == {"Moving"}


def test_super_follows_the_order_of_the_object() -> None:
    """In a diamond, `super()` in the mixin means the class beside it."""
    source = BASE + dedent(
        """

        class Careful(Base):
            def change(self, room, status):
                if self.status.get(room) != Poll.Failed:
                    super().change(room, status)


        class Counting(Base):
            def change(self, room, status):
                super().change(room, status)


        class Manager(Counting, Careful):
            pass
        """
    )
    by_name = {p.manager.name: p for p in protocols(source)}
    for name, after in (("Manager", "Failed"), ("Counting", "Moving")):
        runner = machine(by_name[name], method(by_name[name]))
        assert {e.status for e in ends(runner, start(by_name[name], "Failed"))} == {after}


def test_a_deferred_chunk_goes_back_to_its_queue() -> None:
    source = manager(
        """
        def work(self, room, env):
            while True:
                chunk = self.jobs.get()
                if room not in self.infos:
                    self.jobs.put(chunk)
                    continue
                self.put(room, Poll.Success if chunk.is_last else Poll.Moving)
        """
    )
    found = protocol(source)
    runner = machine(found, thread(found, "work"))
    queued = start(found, "Waiting", ()).having(queue=(True,))
    seen = {(state_name(shared.status), shared.queue) for _, _, shared in walk(runner, queued)}
    assert seen == {("Waiting", (True,)), ("Waiting", ())}
    ready = start(found, "Waiting", ("infos",)).having(queue=(False, True))
    reached = {(state_name(s.status), len(s.queue)) for _, _, s in walk(runner, ready)}
    assert ("Moving", 1) in reached
    assert ("Success", 0) in reached
    assert ("Success", 1) not in reached


@pytest.mark.parametrize("flag", ["is_last", "more_to_come_not"])
def test_the_place_in_the_tuple_tells_the_last_chunk(flag: str) -> None:
    """Whatever the worker calls what it takes out of it."""
    source = manager(
        f"""
        def send(self, room, part, is_last):
            self.jobs.put((room, part, is_last))

        def work(self, room, env):
            while True:
                room, part, {flag} = self.jobs.get()
                self.put(room, Poll.Success if {flag} else Poll.Moving)
        """
    )
    found = protocol(source)
    runner = machine(found, thread(found, "work"))
    ready = start(found, "Waiting", ()).having(queue=(False, True))
    reached = {(state_name(s.status), len(s.queue)) for _, _, s in walk(runner, ready)}
    assert reached == {("Waiting", 2), ("Waiting", 1), ("Moving", 1), ("Moving", 0), ("Success", 0)}


def test_another_queue_has_its_own_meaning_at_that_place() -> None:
    source = manager(
        """
        def send(self, room, part, is_last):
            self.jobs.put((room, part, is_last))
            self.acks.put((room, part, part.ok))

        def start(self):
            self.acks = queue.Queue()

        def work(self, room, env):
            room, part, flag = self.acks.get()
            self.put(room, Poll.Success if flag else Poll.Moving)
        """
    )
    found = protocol(source)
    runner = machine(found, method(found))
    ready = start(found, "Waiting", ()).having(queue=(("acks", False), False))
    assert {state_name(s.status) for _, _, s in walk(runner, ready)} >= {"Moving", "Success"}


def test_the_larger_of_values_that_have_no_order_is_unknown() -> None:
    source = worker("self.status[room] = max(self.status[room], Poll.Moving)")
    mixed = source.replace("Failed = 0", 'Failed = "x"').replace("IntEnum", "Enum")
    assert statuses(mixed, "Waiting") == {"Moving"}
    assert statuses(mixed, "Failed") == {"Failed", "Waiting", "Moving", "Success"}


def test_recursion_is_cut() -> None:
    source = manager(
        """
        def again(self, room, env):
            if env.flag():
                self.again(room, env)
            self.put(room, Poll.Failed)

        def work(self, room, env):
            self.again(room, env)
        """
    )
    assert statuses(source) == {"Failed"}


def test_too_deep_is_reported() -> None:
    steps = "\n\n".join(
        f"def step{i}(self, room):\n    self.marks.discard(room)\n    self.step{i + 1}(room)"
        for i in range(20)
    )
    source = manager(
        f"{steps}\n\ndef step20(self, room):\n    self.put(room, Poll.Failed)\n\n"
        "def work(self, room, env):\n    self.step0(room)\n"
    )
    program = method(protocol(source))
    assert program.cut
    assert "inlined too deep" in program.cut[0]
    assert not method(protocol(worker("self.put(room, Poll.Failed)"))).cut


def test_a_nested_thread_behind_a_guard() -> None:
    """The wrapped loop, and a wrapper that logs and raises again."""
    source = HEAD.replace(
        "threading.Thread(target=self.work, args=(0, None)).start()", "self.begin()"
    ) + dedent(
        """
                def begin(self):
                    def loop():
                        while True:
                            frame = self.sock.recv_multipart()
                            room = int(frame[1])
                            if frame[0] == b"ABORT":
                                self.put(room, Poll.Failed)
                                self.infos.pop(room, None)

                    def guarded():
                        try:
                            loop()
                        except Exception:
                            self.engine.log("over")
                            raise

                    threading.Thread(target=guarded).start()
            """
    ).replace("\n", "\n    ")
    found = protocol(source)
    program = thread(found, "guarded")
    ops = [i.op for i in program.code]
    assert Op.RECV in ops
    assert Op.STORE in ops
    assert Op.POP in ops


def normal(found: Protocol) -> str:
    """The listing of `work` without its source lines and without the numbers of its locals."""
    lines = listing(method(found)).splitlines()
    text = "\n".join(" ".join(line.split("  # ")[0].split()) for line in lines)
    return re.sub(r"(\w)\.\d+", r"\1", text)


def test_listing_of_a_skip() -> None:
    body = """
        if self.infos.get(room) is None:
            return
        with self.lock:
            self.put(room, Poll.Success)
    """
    assert normal(protocol(worker(body))) == dedent(
        """\
        0 load infos (None) -> infos get
        1 branch equal (infos, None) else 3
        2 set (None) -> result next 6
        3 acquire lock ()
        4 store status (Success) holding ['lock']
        5 release lock ()
        6 end (result)"""
    )


def test_listing_of_a_cleaned_up_error() -> None:
    body = """
        try:
            del self.infos[room]
        finally:
            self.put(room, Poll.Failed)
    """
    assert normal(protocol(worker(body))) == dedent(
        """\
        0 pop infos () -> infos next 3; else 1 del
        1 store status (Failed)
        2 thread dies () KeyError
        3 store status (Failed)
        4 end (result)"""
    )
