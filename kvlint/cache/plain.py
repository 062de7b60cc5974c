"""A report as plain data and back: each object becomes the list of its fields, in their order."""

from __future__ import annotations

from typing import Any

from kvlint.cache.shapes import (
    by_name,
    flag,
    kind,
    many,
    number,
    record,
    text,
    text_or_none,
    texts,
    whole,
)
from kvlint.findings import (
    Finding,
    Gap,
    Related,
    Report,
    Searched,
    Span,
    Step,
    TransitionTable,
)

_OBJECTS = (Finding, Gap, Related, Report, Searched, Span, Step, TransitionTable)


def to_plain(value: Any) -> Any:
    """Lists, dictionaries, strings, numbers, booleans and None, for a report or a part of it."""
    if isinstance(value, _OBJECTS):
        return [to_plain(getattr(value, name)) for name in value.__dataclass_fields__]
    if isinstance(value, (list, tuple)):
        return [to_plain(item) for item in value]
    return value


_SPAN = record(Span, text, whole, whole, whole, whole)
_RELATED = record(Related, _SPAN, text)
_STEP = record(
    Step,
    *(whole, text, text, whole, text, text, text),  # step to status
    *(text_or_none, flag, flag),  # window, decisive, awakens
)
_FINDING = record(
    Finding,
    *(text, text, text, text),  # rule, name, verdict, severity
    _SPAN,
    *(text, text, text, text, text),  # class_name to group
    *(texts, text_or_none, many(_RELATED), many(_STEP)),  # fixes, bad_end, related, witness
    *(text, text, texts, text),  # searched, cleared, cleared_in, silenced
)
_TABLE = record(
    TransitionTable,
    *(text, text, whole, text, text),  # class_name to defined_in
    by_name(kind(int, str, bool)),
    *(texts, texts, by_name(by_name(texts))),  # failures, successes, transitions
)
_SEARCHED = record(
    Searched,
    *(text, texts, whole, whole, flag, whole),  # class_name to chunks
    *(texts, texts, number, texts),  # runs, limits, seconds, messages
)
_GAP = record(Gap, text, whole, text)
_LISTS = record(
    lambda *lists: Report(*map(list, lists)),
    *map(many, (_FINDING, _TABLE, _SEARCHED, _GAP)),
)


def from_plain(plain: Any) -> Report:
    """The report; raises `ValueError` for anything that is no report's plain data."""
    return _LISTS(plain)
