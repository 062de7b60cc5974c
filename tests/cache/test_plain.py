"""A report becomes plain data and the same report again; other data becomes none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlint.cache.plain import from_plain, to_plain
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
from tests.report import samples

# Lone surrogates stand for the bytes of a file name that is not UTF-8.
TEXT = st.text(st.characters(exclude_categories=()), max_size=6)
WHOLE = st.integers()
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
SPANS = st.builds(Span, TEXT, WHOLE, WHOLE, WHOLE, WHOLE)
STEPS = st.builds(
    Step,
    *(WHOLE, TEXT, TEXT, WHOLE, TEXT, TEXT, TEXT),
    *(st.none() | TEXT, st.booleans(), st.booleans()),
)
FINDINGS = st.builds(
    Finding,
    *(TEXT, TEXT, TEXT, TEXT, SPANS, TEXT, TEXT, TEXT, TEXT, TEXT),
    *(TEXTS, st.none() | TEXT),
    st.lists(st.builds(Related, SPANS, TEXT), max_size=2).map(tuple),
    st.lists(STEPS, max_size=3).map(tuple),
    *(TEXT, TEXT, TEXTS, TEXT),
)
ROWS = st.dictionaries(TEXT, TEXTS, max_size=3)
TABLES = st.builds(
    TransitionTable,
    *(TEXT, TEXT, WHOLE, TEXT, TEXT),
    st.dictionaries(TEXT, WHOLE | TEXT, max_size=3),
    *(TEXTS, TEXTS, st.dictionaries(TEXT, ROWS, max_size=3)),
)
SECONDS = st.floats(0, allow_nan=False, allow_infinity=False)
SEARCHES = st.builds(
    Searched,
    *(TEXT, TEXTS, WHOLE, WHOLE, st.booleans(), WHOLE, TEXTS, TEXTS, SECONDS, TEXTS),
)
REPORTS = st.builds(
    Report,
    *(st.lists(one, max_size=2) for one in (FINDINGS, TABLES, SEARCHES)),
    st.lists(st.builds(Gap, TEXT, WHOLE, TEXT), max_size=2),
)
JSON = st.recursive(
    st.none() | st.booleans() | WHOLE | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def there_and_back(report: Report) -> Report:
    return from_plain(json.loads(json.dumps(to_plain(report))))


@given(REPORTS)
def test_a_report_stays_the_same(report: Report) -> None:
    again = there_and_back(report)
    assert again == report
    # What equality leaves out: times, types, and the order of members and states.
    assert repr(again) == repr(report)


def test_a_usual_report_stays_the_same() -> None:
    assert repr(there_and_back(samples.report())) == repr(samples.report())


@given(JSON)
def test_anything_else_is_refused(plain: Any) -> None:
    if plain != [[], [], [], []]:
        with pytest.raises(ValueError, match=r"^not "):
            from_plain(plain)


def test_a_part_of_another_type_is_refused() -> None:
    whole = to_plain(samples.report())
    for place in places(whole):
        damaged = json.loads(json.dumps(whole))
        put(damaged, place, [0.5])
        with pytest.raises(ValueError, match=r"^not "):
            from_plain(damaged)


def places(plain: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value that holds no other one."""
    if not isinstance(plain, (list, dict)):
        return [above]
    inner = plain.items() if isinstance(plain, dict) else enumerate(plain)
    return [place for at, value in inner for place in places(value, (*above, at))]


def put(plain: Any, place: tuple[Any, ...], value: object) -> None:
    for at in place[:-1]:
        plain = plain[at]
    plain[place[-1]] = value
