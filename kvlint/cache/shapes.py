"""Readers of plain data, which raise `ValueError` for what does not have the shape they expect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
Reader = Callable[[Any], Any]


def kind(*kinds: type) -> Reader:
    """One value of exactly one of these types: True is no number."""

    def read(plain: Any) -> Any:
        if type(plain) not in kinds:
            raise ValueError(f"not {kinds[0].__name__}")
        return plain

    return read


def many(read_one: Reader) -> Reader:
    """A list, as a tuple."""

    def read(plain: Any) -> tuple[Any, ...]:
        if type(plain) is not list:
            raise ValueError("not a list")
        return tuple(read_one(item) for item in plain)

    return read


def by_name(read_one: Reader) -> Reader:
    """An object, as a dictionary in the same order."""

    def read(plain: Any) -> dict[str, Any]:
        if type(plain) is not dict:
            raise ValueError("not an object")
        return {name: read_one(value) for name, value in plain.items()}

    return read


def record(make: Callable[..., T], *readers: Reader) -> Callable[[Any], T]:
    """A list of as many values as there are readers, as the arguments of `make`."""

    def read(plain: Any) -> T:
        if type(plain) is not list or len(plain) != len(readers):
            raise ValueError(f"not a list of {len(readers)}")
        return make(*(read_one(value) for read_one, value in zip(readers, plain, strict=True)))

    return read


text, whole, flag, number = kind(str), kind(int), kind(bool), kind(float, int)
text_or_none = kind(str, type(None))
texts = many(text)
