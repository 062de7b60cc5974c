"""A thread's way from one place where it waits to the next, and where it may be interrupted.

In the narrow pass the accesses of one thread are put together to a stretch: everything that it
does until it waits, ends or cannot go on. Another thread is let in after an access only if what it
does next conflicts with that access; otherwise it could as well have come before it, so nothing is
lost (the argument of sleep sets: Godefroid, LNCS 1032, chapter 5). The bound counts the stretches
that are interrupted, not the interruptions, because coming earlier must never cost more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace

from kvlint.search.arrows import Arrow, Group, Pause, Stretch
from kvlint.search.footprint import Footprint
from kvlint.search.macro import MAX_FOLD
from kvlint.search.packing import code
from kvlint.search.transitions import Transitions
from kvlint.search.world import World

Node = tuple[int, World]  # (place, world as the thread sees it) on its way


class Stretches:
    """Works out stretches, each once."""

    def __init__(self, transitions: Transitions) -> None:
        self.transitions = transitions

    def of(self, thread: int, place: int, seen: World, opened: bool) -> Stretch:
        """The stretch of a thread from a place, in the world as it sees it."""
        spot = (place, seen, opened)
        known = self.transitions.stretches[thread]
        found = known.get(spot)
        if found is None:
            arrows = self.transitions.arrows(thread, place, seen, opened)
            if all(arrow.wide for arrow in arrows):
                found = Stretch(arrows, notable=[a for a in arrows if a.notable])
            else:
                found = _Walk(self.transitions, thread, opened).over(arrows)
            for arrow in found.ends:
                found.footprint = found.footprint.also(arrow.footprint)
            for group in found.pauses:
                for pause in group.pauses:
                    found.footprint = found.footprint.also(pause.arrow.footprint)
            known[spot] = found
        return found


class _Walk:
    """Breadth first over the accesses of one thread alone.

    `ways` has the way to every place inside the stretch, `last` the access just before it and
    `before` the places that it was reached from; `leaving` are those that a way out starts from.
    """

    def __init__(self, transitions: Transitions, thread: int, opened: bool) -> None:
        self.transitions = transitions
        self.thread, self.opened = thread, opened
        self.stretch = Stretch()
        self.ways: dict[Node, Arrow] = {}
        self.last: dict[Node, Footprint] = {}
        self.before: dict[Node, list[Node]] = {}
        self.leaving: set[Node] = set()
        self._ended: set[Node] = set()

    def over(self, arrows: list[Arrow]) -> Stretch:
        """The stretch that begins with one of these arrows."""
        todo = deque(self._step(None, arrows))
        held_up: list[Node] = []
        while todo and len(self.ways) < MAX_FOLD:
            node = todo.popleft()
            ahead = self.transitions.arrows(self.thread, *node, self.opened)
            todo.extend(self._step(node, ahead))
            if not ahead:
                held_up.append(node)
        self.stretch.cut = bool(todo)
        stops = {*held_up, *self._spins(held_up)}
        self.stretch.ends += [self._let_go(node) for node in self.ways if node in stops]
        self.stretch.pauses = self._grouped(node for node in self.ways if node not in stops)
        return self.stretch

    def _grouped(self, nodes: Iterable[Node]) -> list[Group]:
        """The pauses by what the others see of them: the world, and the scheduler's place."""
        groups: dict[object, Group] = {}
        is_driver = self.thread == self.transitions.driver_index
        for node in nodes:
            pause = Pause(self.ways[node], self.last[node])
            key = node if is_driver else node[1]
            group = groups.get(key)
            if group is None:
                groups[key] = Group(pause.arrow.code, pause.last, [pause])
            else:
                group.pauses.append(pause)
                group.last = group.last.also(pause.last)
        return list(groups.values())

    def _step(self, node: Node | None, arrows: list[Arrow]) -> list[Node]:
        """Every way on by one access; the places inside the stretch that are new."""
        way = self.ways[node] if node is not None else None
        found: list[Node] = []
        for arrow in arrows:
            to = (arrow.place, arrow.world)
            new = to not in (self._ended if arrow.wide else self.ways)
            if new or arrow.notable:
                whole = arrow.after(way)
                if arrow.notable:
                    self.stretch.notable.append(whole)
            if arrow.wide:
                if node is not None:
                    self.leaving.add(node)
                if new:
                    self._ended.add(to)
                    self.stretch.ends.append(whole)
                continue
            if node is not None:
                self.before.setdefault(to, []).append(node)
            if new:
                self.ways[to], self.last[to] = whole, arrow.footprint
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

    def _let_go(self, node: Node) -> Arrow:
        """The way to a place where the thread cannot go on, or not in earnest: it is left freely.

        What it waits for there is part of what it looks at: a lock that it does not get.
        """
        way = self.ways[node]
        place = self.transitions.places.values[node[0]]._replace(wide=True)
        number = self.transitions.places.of(place)
        waits = self.transitions.waits_for(self.thread, place)
        return Arrow(
            number,
            way.world,
            code(self.thread, number, way.world),
            way.footprint.also(waits),
            True,
            way.notable,
            replace(way.last, wide=True),
            way.way,
        )
