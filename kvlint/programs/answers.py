"""What a condition on abstract values is worth: yes, no, or not to be told (None)."""

from __future__ import annotations

from kvlint.programs.ir import EMPTY, PRESENT, UNKNOWN
from kvlint.protocol.domain import Member
from kvlint.protocol.model import NUMBER, Frame

STRANGER = "a frame that nobody in this tree sends"

_FILLED: dict[object, bool] = {PRESENT: True, EMPTY: False, None: False}


def answer(kind: str, values: list[object]) -> bool | None:
    """The answer of a branch of this kind to these operands."""
    if kind == "true":
        return truth(values[0])
    if kind == "equal":
        return same(values[0], values[1])
    if kind == "in":
        answers = [same(values[0], v) for v in values[1:]]
        return True if True in answers else None if None in answers else False
    if kind == "nonempty":
        return _FILLED.get(_key(values[0]))
    if kind == "frame":
        return frame_matches(values[0], values[1], values[2])
    if kind == "number":
        return not is_word(values[0], values[1])
    if kind == "length":
        return length_matches(values)
    if kind in ("<", "<=", ">", ">="):
        return _ordered(kind, values[0], values[1])
    return None


def _key(value: object) -> object:
    return value if value in (PRESENT, EMPTY, None) else UNKNOWN


def truth(value: object) -> bool | None:
    """Whether a value counts as true; None if that is not known."""
    if value is UNKNOWN:
        return None
    if value is PRESENT:
        return True
    if value is EMPTY or value is None:
        return False
    if isinstance(value, Member):
        return bool(value.value)
    return bool(value)


def same(a: object, b: object) -> bool | None:
    """Whether two values are equal; None if that is not known."""
    if UNKNOWN in (a, b):
        return None
    if a is None or b is None:
        return a is b
    if isinstance(a, Member) and isinstance(b, Member):
        return a == b
    for left, right in ((a, b), (b, a)):
        if isinstance(left, Member):
            if isinstance(right, (int, str)) and not isinstance(right, bool):
                return left.value == right
            return None if right in (PRESENT, EMPTY) else False
    if PRESENT in (a, b) or EMPTY in (a, b):
        return None
    return a == b


def _ordered(kind: str, a: object, b: object) -> bool | None:
    if not isinstance(a, Member) or not isinstance(b, Member):
        return None
    if not isinstance(a.value, int) or not isinstance(b.value, int):
        return None
    x, y = a.value, b.value
    return {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y}[kind]


def frame_matches(frame: object, index: object, literal: object) -> bool | None:
    """Whether part `index` of a message equals a literal; text and bytes compare alike."""
    if not isinstance(index, int):
        return None
    if frame == STRANGER:
        return False if index == 0 else None
    if isinstance(frame, str):  # a tag of a loop whose peer is not in the tree
        return _bytes(frame) == _bytes(literal) if index == 0 else None
    if not isinstance(frame, Frame) or index >= len(frame.parts):
        return None
    part = frame.parts[index]
    if part == NUMBER:
        return False
    return None if part is None else _bytes(part) == _bytes(literal)


def is_word(frame: object, index: object) -> bool:
    """Whether a part of a message from this tree is text that is no number."""
    if not isinstance(frame, Frame) or not isinstance(index, int) or index >= len(frame.parts):
        return False
    part = frame.parts[index]
    if part is None or part == NUMBER:
        return False
    text = part.decode("latin-1") if isinstance(part, bytes) else str(part)
    return not text.strip().lstrip("+-").isdigit()


def length_matches(values: list[object]) -> bool | None:
    """Whether a message from this tree is as long as a test asks."""
    frame, offset, symbol, bound = values
    if not isinstance(frame, Frame) or frame.open:
        return None
    if not isinstance(offset, int) or not isinstance(bound, int):
        return None
    size = len(frame.parts) - offset
    return {"<": size < bound, "<=": size <= bound, ">": size > bound, ">=": size >= bound}.get(
        str(symbol)
    )


def _bytes(value: object) -> object:
    return value.encode() if isinstance(value, str) else value
