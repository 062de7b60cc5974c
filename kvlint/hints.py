"""Did-you-mean suggestions for a misspelt word."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(word: str, choices: Iterable[str], *, prefix: str = "") -> str:
    """` (did you mean X?)` for the choice nearest to `word`, or nothing."""
    import difflib  # only a run that fails anyway pays for this import

    by_folded = {choice.lower(): choice for choice in choices}
    near = difflib.get_close_matches(word.lower(), by_folded, n=1, cutoff=0.6)
    return f" (did you mean {prefix}{by_folded[near[0]]}?)" if near else ""


def one_line(text: str) -> str:
    """`text` without line breaks or control characters, so that it cannot break an output line."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _visible(c) for c in text)


def _visible(char: str) -> str:
    return " " if char.isspace() else char.encode("unicode_escape").decode("ascii")
