"""Which fixes there are: letter, name, safety, and what each one costs."""

from __future__ import annotations

from typing import NamedTuple

from kvlint.errors import UsageError
from kvlint.hints import did_you_mean


class Kind(NamedTuple):
    """One kind of fix. `headline` is what a commit that holds it says first."""

    letter: str
    name: str
    safe: bool
    headline: str


KINDS = (
    Kind("A", "sticky-terminal", True, "keep terminal states"),
    Kind("B", "conclude-skip", True, "conclude the rooms of skipped chunks"),
    Kind("C", "keep-entry", False, "leave side entries to the terminal path"),
    Kind("D", "lock-update", False, "join the read and the write of the status"),
)
BY_LETTER = {kind.letter: kind for kind in KINDS}


def selected(letters: tuple[str, ...] | None, unsafe: bool) -> tuple[Kind, ...]:
    """The kinds that a run may apply; safe ones only unless `unsafe`.

    Raises `UsageError` for a word that names none.
    """
    wanted = tuple(BY_LETTER) if letters is None else tuple(map(_letter, letters))
    return tuple(k for k in KINDS if k.letter in wanted and (k.safe or unsafe))


def _letter(word: str) -> str:
    for kind in KINDS:
        if word.upper() == kind.letter or word.lower() == kind.name:
            return kind.letter
    known = ", ".join(BY_LETTER)
    hint = did_you_mean(word, [kind.name for kind in KINDS]) or f" (known: {known})"
    raise UsageError(f"--select: unknown fix '{word}'{hint}")
