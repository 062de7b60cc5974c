"""Which files can take part in a status machine, told from their bytes before any parse.

Only substring searches: over a large tree they cost less than reading it. Every test is a
necessary condition with room to spare, because a file that fails is not looked at again. What a
file inherits is not asked of itself: `base_names` lets the run fetch the heirs of what passed,
and bases are followed through imports in any case.
"""

from __future__ import annotations

# Something must run beside something else, or ask how far it is. An executor that a file is only
# handed still shows by `submit`, a loop or task group by `asyncio`.
_CONCURRENT = (b"threading", b"asyncio", b".submit(", b"poll")

# The words of the protocol (`kvlint.protocol.domain`) in lower case; a test holds the lists
# together. The first ones say by themselves that something is a status, the others are common.
FAILURE = (
    b"fail", b"lost", b"dead", b"gone", b"expired", b"timedout", b"timed_out", b"reject",
)  # fmt: skip
WEAK_FAILURE = (b"abort", b"cancel", b"error", b"broken", b"bad")
SUCCESS = (
    b"succe", b"done", b"ok", b"complete", b"good", b"sent", b"arriv", b"deliver", b"finish",
    b"conclud",
)  # fmt: skip
_WHOLE = frozenset({b"lost", b"dead", b"gone", b"bad", b"done", b"ok", b"good", b"sent"})

# Codes that machines send each other; nobody keeps a room's progress in them.
_NOT_A_STATUS = frozenset({b"HTTPStatus", b"StatusCode", b"logging", b"errno", b"LogLevel"})

# Not worth a look-up; none of them is defined in a linted file.
_COMMON_BASES = frozenset({b"", b"object", b"ABC", b"Enum", b"Exception", b"Protocol", b"Generic"})

_LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_LONGEST_ENDING = 5  # what may follow the beginning of a word: FAIL-URE, CANCEL-LED
_MEMBER, _CONSTANT, _STRING = 1, 2, 4


def may_take_part(data: bytes) -> bool:
    """Whether a file must be parsed on its own account."""
    return runs_beside(data) and names_outcomes(data)


def runs_beside(data: bytes) -> bool:
    """Whether a file has a class, and something that runs at the same time or polls."""
    if b"class " not in data:
        return False
    return any(word in data for word in _CONCURRENT)


def names_outcomes(data: bytes) -> bool:
    """Whether words for an end stand where a status value can stand.

    A member of an enum (`Poll.Failed`, `self.DONE`) is enough, and so is a failure as a whole
    string (`"failed"`). Constants (`FAILED`) and strings as common as "abort" and "error" need a
    success in the same form beside them. Words in comments, messages and names of functions do
    not count.
    """
    lower = data.lower()
    failures = 0
    for word in FAILURE:
        failures |= _forms(data, lower, word)
        if failures & (_MEMBER | _STRING):
            return True
    weak = failures
    for word in WEAK_FAILURE:
        weak |= _forms(data, lower, word)
        if weak & _MEMBER:
            return True
    for word in SUCCESS:
        if _forms(data, lower, word) & (weak | _MEMBER):
            return True
    return False


def _forms(data: bytes, lower: bytes, word: bytes) -> int:
    """The forms in which a word occurs; stops at the first enum member."""
    found = 0
    at = lower.find(word)
    while at >= 0:
        found |= _form(data, at, word)
        if found & _MEMBER:
            break
        at = lower.find(word, at + len(word))
    return found


def _form(data: bytes, at: int, word: bytes) -> int:
    """How the word at this place is used: as a member, constant or string, or else 0."""
    end = after = at + len(word)
    while end < len(data) and data[end] in _LETTERS:
        end += 1
    longest = 0 if word in _WHOLE else _LONGEST_ENDING
    if end - after > longest:
        return 0
    start = at
    while start and data[start - 1] in _LETTERS:
        start -= 1
    name = data[start:end]
    if start < at and not (data[at - 1 : at] == b"_" or name[at - start : at - start + 1].isupper()):
        return 0
    before = data[start - 1 : start]
    if before in (b'"', b"'"):
        return _STRING if start == at and _is_string_value(data, start, end) else 0
    if before == b".":
        return _MEMBER if _is_member(data, start, end) else 0
    is_constant = name.isupper() and (data[end : end + 1] in _ENDS or data[end : end + 2] == b" =")
    return _CONSTANT if is_constant else 0


_ENDS = frozenset((b",", b")", b"\n", b"\r"))


def _is_string_value(data: bytes, start: int, end: int) -> bool:
    """Not a key (`{"failed": 1}`, `d["failed"]`, `d.get("failed")`) and not prose."""
    quote = data[start - 1 : start]
    if data[end : end + 1] != quote or data[end + 1 : end + 2] in (b":", quote):
        return False
    left = data[start - 6 : start - 1]
    return not (left.endswith((b".get(", b".pop(")) or left[-1:] == b"[")


def _is_member(data: bytes, start: int, end: int) -> bool:
    """`Enum.NAME` and `self.NAME`, and not a method."""
    if data[end : end + 1] == b"(":
        return False
    owner_start = start - 1
    while owner_start and data[owner_start - 1] in _LETTERS:
        owner_start -= 1
    owner = data[owner_start : start - 1]
    if owner in (b"self", b"cls"):
        return data[start:end].isupper()
    return owner[:1].isupper() and owner not in _NOT_A_STATUS


def base_names(data: bytes) -> set[bytes]:
    """The last names of the bases of the module-level classes, as far as lines tell."""
    found: set[bytes] = set()
    at = data.find(b"\nclass ")
    while at >= 0:
        end = data.find(b":", at)
        bracket = data.find(b"(", at, end)
        if bracket >= 0:
            for base in data[bracket + 1 : end].split(b","):
                name = base.partition(b"[")[0].strip(b" \t\r\n()")
                found.add(name.rpartition(b".")[2])
        at = data.find(b"\nclass ", at + 7)
    found.difference_update(_COMMON_BASES)
    return found
