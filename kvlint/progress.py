"""What a long run is at, told to whoever listens.

The analysis tells it and knows of no terminal; unless the command line listens, nobody does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Listener = Callable[[str], None]
_Item = TypeVar("_Item")
_listener: Listener | None = None
_parts: tuple[str, ...] = ()


def tell(stage: str) -> None:
    """Say what the run does from here on, in a few ASCII words."""
    if _listener is not None:
        _listener(": ".join((*_parts, stage)))


def counted(items: Iterable[_Item], total: int, stage: str, noun: str) -> Iterator[_Item]:
    """The items; how many of `total` are done is told before the first and after each."""
    tell(f"{stage}, 0 of {total} {noun}")
    for done, item in enumerate(items, 1):
        yield item
        tell(f"{stage}, {done} of {total} {noun}")


@contextmanager
def part(name: str) -> Iterator[None]:
    """Within, `name` stands before every stage."""
    global _parts
    before, _parts = _parts, (*_parts, name)
    try:
        yield
    finally:
        _parts = before


@contextmanager
def told_to(listener: Listener) -> Iterator[None]:
    """Within, `listener` gets every stage."""
    global _listener
    before, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = before
