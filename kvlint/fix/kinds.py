"""Which fixes there are: letter, name, safety, and what each one costs."""

from __future__ import annotations

import os
from typing import NamedTuple

from kvlint.errors import UsageError
from kvlint.hints import did_you_mean


class Kind(NamedTuple):
    """One kind of fix. `headline` is what a commit that holds it says first."""

    letter: str
    name: str
    safe: bool
    headline: str

    def page(self) -> str:
        """The Markdown page: what the fix does, whether it is safe, what it costs."""
        folder = os.path.join(os.path.dirname(__file__), "pages")
        with open(os.path.join(folder, f"{self.letter.lower()}.md"), encoding="utf-8") as file:
            return file.read()


# In the order in which they are made: the lock goes around what the others add.
KINDS = (
    Kind("A", "sticky-terminal", True, "keep terminal states"),
    Kind("B", "conclude-skip", True, "conclude the rooms of skipped chunks"),
    Kind("C", "keep-entry", False, "leave side entries to the terminal path"),
    Kind("E", "opening-creates", False, "let only an opening status create a room"),
    Kind("D", "lock-update", False, "join the read and the write of the status"),
)
BY_LETTER = {kind.letter: kind for kind in KINDS}


def selected(letters: tuple[str, ...] | None, unsafe: bool) -> tuple[Kind, ...]:
    """The kinds that a run may apply; safe ones only unless `unsafe`.

    Raises `UsageError` for a word that names none, and where no word is given.
    """
    if letters == ():
        raise UsageError("--select: no fix is named (an unset variable?)")
    wanted = tuple(BY_LETTER) if letters is None else tuple(map(_letter, letters))
    return tuple(k for k in KINDS if k.letter in wanted and (k.safe or unsafe))


def find(word: str) -> Kind | None:
    """The kind with that letter or name, in any case."""
    return next((k for k in KINDS if word.upper() in (k.letter, k.name.upper())), None)


def _letter(word: str) -> str:
    found = find(word)
    if found is not None:
        return found.letter
    known = ", ".join(sorted(BY_LETTER))
    hint = did_you_mean(word, [kind.name for kind in KINDS]) or f" (known: {known})"
    raise UsageError(f"--select: unknown fix '{word}'{hint}")
