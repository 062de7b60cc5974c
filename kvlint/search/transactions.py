"""A thread's way from one place where it waits to the next, and where it may be interrupted.

In the narrow pass the accesses of one thread are put together to a transaction: everything that it
does until it waits, ends or cannot go on. Another thread is let in after an access only if what it
does next conflicts with that access; otherwise it could as well have come before it, so nothing is
lost (the argument of sleep sets: Godefroid, LNCS 1032, chapter 5). The bound counts the
transactions that are interrupted, not the interruptions, because coming earlier must never cost
more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from kvlint.search.footprint import Footprint
from kvlint.search.macro_steps import MAX_LOCAL_STEPS
from kvlint.search.packing import code
from kvlint.search.relation import Group, Pause, Transaction, Transition
from kvlint.search.shared_states import SharedId
from kvlint.search.transitions import Transitions

Node = tuple[int, SharedId]  # (place, shared state as the thread sees it) on its way


class Transactions:
    """Works out transactions, each once."""

    def __init__(self, transitions: Transitions) -> None:
        self.transitions = transitions

    def of(self, thread: int, place: int, seen: SharedId, opened: bool) -> Transaction:
        """The transaction of a thread from a place, in the shared state as it sees it."""
        key = (place, seen, opened)
        known = self.transitions.transactions[thread]
        found = known.get(key)
        if found is None:
            transitions = self.transitions.of(thread, place, seen, opened)
            if all(transition.wide for transition in transitions):
                found = Transaction(transitions, notable=[a for a in transitions if a.notable])
            else:
                found = _Walk(self.transitions, thread, opened).over(transitions)
            for transition in found.ends:
                found.footprint = found.footprint.also(transition.footprint)
            for group in found.pauses:
                for pause in group.pauses:
                    found.footprint = found.footprint.also(pause.transition.footprint)
            known[key] = found
        return found


class _Walk:
    """Breadth first over the accesses of one thread alone.

    `ways` has the way to every place inside the transaction, `last` the access just before it and
    `before` the places that it was reached from; `leaving` are those that a way out starts from.
    """

    def __init__(self, transitions: Transitions, thread: int, opened: bool) -> None:
        self.transitions = transitions
        self.thread, self.opened = thread, opened
        self.transaction = Transaction()
        self.ways: dict[Node, Transition] = {}
        self.last: dict[Node, Footprint] = {}
        self.before: dict[Node, list[Node]] = {}
        self.leaving: set[Node] = set()
        self._ended: set[Node] = set()

    def over(self, transitions: list[Transition]) -> Transaction:
        """The transaction that begins with one of these transitions."""
        todo = deque(self._step(None, transitions))
        held_up: list[Node] = []
        while todo and len(self.ways) < MAX_LOCAL_STEPS:
            node = todo.popleft()
            ahead = self.transitions.of(self.thread, *node, self.opened)
            todo.extend(self._step(node, ahead))
            if not ahead:
                held_up.append(node)
        self.transaction.cut = bool(todo)
        stops = {*held_up, *self._spins(held_up)}
        self.transaction.ends += [self._let_go(node) for node in self.ways if node in stops]
        self.transaction.pauses = self._grouped(node for node in self.ways if node not in stops)
        return self.transaction

    def _grouped(self, nodes: Iterable[Node]) -> list[Group]:
        """The pauses by what the others see: the shared state, and the scheduler's place."""
        groups: dict[object, Group] = {}
        is_driver = self.thread == self.transitions.driver_index
        for node in nodes:
            pause = Pause(self.ways[node], self.last[node])
            key = node if is_driver else node[1]
            group = groups.get(key)
            if group is None:
                groups[key] = Group(pause.transition.code, pause.last, [pause])
            else:
                group.pauses.append(pause)
                group.last = group.last.also(pause.last)
        return list(groups.values())

    def _step(self, node: Node | None, transitions: list[Transition]) -> list[Node]:
        """Every way on by one access; the places inside the transaction that are new."""
        way = self.ways[node] if node is not None else None
        found: list[Node] = []
        for transition in transitions:
            to = (transition.place, transition.shared_id)
            new = to not in (self._ended if transition.wide else self.ways)
            if new or transition.notable:
                whole = transition.after(way)
                if transition.notable:
                    self.transaction.notable.append(whole)
            if transition.wide:
                if node is not None:
                    self.leaving.add(node)
                if new:
                    self._ended.add(to)
                    self.transaction.ends.append(whole)
                continue
            if node is not None:
                self.before.setdefault(to, []).append(node)
            if new:
                self.ways[to], self.last[to] = whole, transition.footprint
                found.append(to)
        return found

    def _spins(self, held_up: list[Node]) -> set[Node]:
        """Places where the thread goes round for ever unless somebody else does something.

        No scheduler of threads lets it go on like that, so a switch there is free.
        """
        good = {*self.leaving, *held_up}
        todo = list(good)
        while todo:
            for node in self.before.get(todo.pop(), ()):
                if node not in good:
                    good.add(node)
                    todo.append(node)
        return {n for n in self.ways if n not in good and self._comes_back(n)}

    def _comes_back(self, node: Node) -> bool:
        seen: set[Node] = set()
        todo = [node]
        while todo:
            for nxt in self.before.get(todo.pop(), ()):
                if nxt == node:
                    return True
                if nxt not in seen:
                    seen.add(nxt)
                    todo.append(nxt)
        return False

    def _let_go(self, node: Node) -> Transition:
        """The way to a place where the thread cannot go on, or not in earnest: it is left freely.

        What it waits for there is part of what it looks at: a lock that it does not get.
        """
        way = self.ways[node]
        place = self.transitions.places.values[node[0]]._replace(wide=True)
        number = self.transitions.places.of(place)
        waits = self.transitions.waits_for(self.thread, place)
        return Transition(
            number,
            way.shared_id,
            code(self.thread, number, way.shared_id),
            way.footprint.also(waits),
            True,
            way.notable,
            replace(way.last, wide=True),
            way.way,
        )
