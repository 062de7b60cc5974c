"""What a long run is at, told to whoever listens.

The analysis tells it and knows of no terminal; unless the command line listens, nobody does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Listener = Callable[[str], None]
_listener: Listener | None = None
_parts: tuple[str, ...] = ()


def tell(stage: str) -> None:
    """Say what the run does from here on, in a few ASCII words."""
    if _listener is not None:
        _listener(": ".join((*_parts, stage)))


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
