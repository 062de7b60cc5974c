"""The messages of the plugin: for each rule one for each verdict, and those about a whole run.

An id is the letter for the severity, the block, and the first and last digit of the rule's number:
E5813 is KV103, confirmed. The ids 5801 to 5809 are about kvlint itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pylint.constants import WarningScope

from kvlint import catalog
from kvlint.findings import SEVERITY_OF, VERDICTS

if TYPE_CHECKING:
    from pylint.typing import ExtraMessageOptions, MessageDefinitionTuple

BLOCK = "58"
LETTERS = {"error": "E", "warning": "W", "note": "R"}
_MEANING = {
    "confirmed": "",
    "narrow": " The bad end needs a thread switch between two adjacent statements.",
    "latent": " The pattern is there and no bad end was found; show-latent shows it.",
}
_WARNINGS = ("KV902", "KV903")  # about comments; a confirmed one is no error

FAILED = "kvlint-failed"
GAVE_UP = "kvlint-search-gave-up"
STALE = "kvlint-stale-baseline"
ELSEWHERE = "kvlint-finding-elsewhere"
GAP = "kvlint-gap"


def symbol_of(rule: str, name: str, verdict: str) -> str:
    """The symbol of a finding's message: that of the rule, with the verdict if not confirmed."""
    end = "" if verdict == "confirmed" else f"-{verdict}"
    return f"{rule.lower()}-{name}{end}"


def messages() -> dict[str, MessageDefinitionTuple]:
    """All messages as a checker declares them, by id."""
    found = _about_runs()
    for rule in catalog.rules():
        about_files = rule.id.startswith(catalog.ABOUT_FILES)
        for verdict in VERDICTS[:1] if about_files else VERDICTS:
            severity = "warning" if rule.id in _WARNINGS else SEVERITY_OF[verdict]
            found[_id(LETTERS[severity], rule)] = (
                f"%s (kvlint explain {rule.id})",
                symbol_of(rule.id, rule.name, verdict),
                f"{rule.summary()}{_MEANING[verdict]}",
                _shared_name(rule),
            )
    return found


def _id(letter: str, rule: catalog.Rule) -> str:
    return f"{letter}{BLOCK}{rule.id[2]}{rule.id[4]}"


def _shared_name(rule: catalog.Rule) -> ExtraMessageOptions:
    """`kv103` for every verdict: pylint gives an old name to each message that it was split into.

    The letter C is free: no message of kvlint is a convention.
    """
    return {"old_names": [(_id("C", rule), rule.id.lower())]}


def _about_runs() -> dict[str, MessageDefinitionTuple]:
    run: ExtraMessageOptions = {"scope": WarningScope.LINE}
    off: ExtraMessageOptions = {"default_enabled": False}
    return {
        f"F{BLOCK}01": (
            "%s",
            FAILED,
            "The configuration of kvlint is wrong, or something kept it from its work.",
            run,
        ),
        f"E{BLOCK}02": (
            "%s",
            GAVE_UP,
            "A search reached one of its limits, so no message about a class is no all-clear.",
            run,
        ),
        f"W{BLOCK}03": (
            "%s",
            STALE,
            "An entry of kvlint's baseline is gone from the code; the baseline has to shrink.",
            run,
        ),
        f"I{BLOCK}04": (
            "%s",
            ELSEWHERE,
            "Findings are in a file that pylint did not visit.",
            {**run, **off},
        ),
        f"I{BLOCK}05": (
            "%s",
            GAP,
            "Something could not be read, resolved or searched, as `kvlint check -v` lists it.",
            off,
        ),
    }
