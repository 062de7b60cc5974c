"""Which files can take part in a status machine, told from their bytes before any parse.

Only substring searches: over a large tree they cost less than reading it. Every test is a
necessary condition with room to spare, because a file that fails is not looked at again. What a
file inherits is not asked of itself: `base_names` lets the run fetch the heirs of what passed,
and bases are followed through imports in any case.
"""

from __future__ import annotations

# How a comment for kvlint begins; what it says is looked at, even where nothing is to be found.
MARK = b"kvlint:"

# Something must run beside something else, or ask how far it is. An executor that a file is only
# handed still shows by `submit`, a loop or task group by `asyncio`.
_CONCURRENT = (b"threading", b"asyncio", b".submit(", b"poll")

# The words of the protocol (`kvlint.protocol.domain`) in lower case; a test holds the lists
# together. The first ones say by themselves that something is a status, the others are common.
FAILURE = (
    b"fail", b"lost", b"dead", b"gone", b"expired", b"timedout", b"timed_out", b"reject",
    b"dropped",
)  # fmt: skip
WEAK_FAILURE = (b"abort", b"cancel", b"error", b"broken", b"bad")
SUCCESS = (
    b"succe", b"done", b"ok", b"complete", b"good", b"sent", b"arriv", b"deliver", b"finish",
    b"conclud", b"passed", b"served", b"stored",
)  # fmt: skip
_USUAL_SUCCESS = (b"succe", b"done", b"complete", b"finish")
_WHOLE = frozenset({b"lost", b"dead", b"gone", b"bad", b"done", b"ok", b"good", b"sent"})

# Codes that machines send each other; nobody keeps a room's progress in them.
_NOT_A_STATUS = frozenset({b"HTTPStatus", b"StatusCode", b"logging", b"errno", b"LogLevel"})

# Not worth a look-up; none of them is defined in a linted file.
_COMMON_BASES = frozenset(
    b" object ABC Enum IntEnum StrEnum IntFlag Exception RuntimeError ValueError Protocol Generic"
    b" NamedTuple TypedDict BaseModel Module TestCase dict list str int tuple Thread".split(b" ")
)

_LETTERS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_PLAIN = _LETTERS | frozenset(b".\"'- ")
_MAX_ALONE = 1_000_000
_ONLY_AST = 0x400  # ast.PyCF_ONLY_AST, without the import
_LONGEST_ENDING = 5  # what may follow the beginning of a word: FAIL-URE, CANCEL-LED
_MOST_UNDERSCORES = 2  # more is a setting, not a status: CRASH_ON_BIND_FAILURE
_MEMBER, _CONSTANT, _STRING, _STORED = 1, 2, 4, 8


def may_take_part(data: bytes) -> bool:
    """Whether a file has anything to do with a status machine, by itself or by its bases."""
    return takes_part(data) or bool(base_names(data))


def takes_part(data: bytes) -> bool:
    """Whether a file must be parsed on its own account."""
    return runs_beside(data) and names_outcomes(data)


def is_unrelated(data: bytes) -> bool:
    """Whether nothing at all is to be said about a file: no status machine, and it parses.

    For a caller that has one file and no time for imports; a run over a tree uses the parts.
    """
    if may_take_part(data) or MARK in data or b"\0" in data or len(data) > _MAX_ALONE:
        return False
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, "<file>", "exec", _ONLY_AST, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def runs_beside(data: bytes) -> bool:
    """Whether a file has a class, and something that runs at the same time or polls."""
    if b"class " not in data:
        return False
    return any(word in data for word in _CONCURRENT)


def names_outcomes(data: bytes) -> bool:
    """Whether words for an end stand where a status value can stand.

    A member of an enum (`Poll.Failed`, `self.DONE`) is enough, and so is a failure stored by key
    (`d[k] = "failed"`). Constants (`FAILED`) and other strings need a success in the same form
    and a table that an object keeps. Comments, messages and names of functions do not count.
    """
    lower = data.lower()
    failures = 0
    for word in (*FAILURE, *WEAK_FAILURE):
        failures |= _forms(data, lower, word)
        if failures & _MEMBER or (failures & _STORED and word in FAILURE):
            return True
    wanted = failures & ~_STORED
    # A file that names no failure at all is a worker that only reports success; the rarer words
    # are looked for where a failure stands.
    for word in SUCCESS if wanted else _USUAL_SUCCESS:
        forms = _forms(data, lower, word)
        if forms & _MEMBER:
            return True
        if forms & wanted:
            return _keeps_a_table(data)
    return False


def _keeps_a_table(data: bytes) -> bool:
    """Whether a plain value is stored by key in an attribute: `self.rooms[room] = OPEN`."""
    at = data.find(b"] = ")
    while at >= 0:
        line = data[data.rfind(b"\n", 0, at) + 1 : at]
        end = data.find(b"\n", at)
        value = data[at + 4 : end if end >= 0 else len(data)].partition(b"#")[0].strip()
        if b"." in line.partition(b"[")[0] and _PLAIN.issuperset(value):
            return True
        at = data.find(b"] = ", at + 4)
    return b".setdefault(" in data


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
    if start < at and not _starts_a_word(data, at):
        return 0
    before = data[start - 1 : start]
    if before in (b'"', b"'"):
        return _string_form(data, start, end) if start == at else 0
    if before == b".":
        return _MEMBER if _is_member(data, start, at, end) else 0
    return _CONSTANT if _is_constant(data, name, end) else 0


def _starts_a_word(data: bytes, at: int) -> bool:
    """`_FAILED` and `PartialFailed`, but not `PRESENT`."""
    before = data[at - 1 : at]
    return before == b"_" or (before.islower() and data[at : at + 1].isupper())


def _is_constant(data: bytes, name: bytes, end: int) -> bool:
    if not name.isupper() or name.count(b"_") > _MOST_UNDERSCORES:
        return False
    # Its uses, not its definition: a file of settings is full of those.
    return data[end : end + 1] in (b",", b")", b":", b"\n", b"\r", b"") or (
        data[end : end + 4] == b" if "
    )


def _string_form(data: bytes, start: int, end: int) -> int:
    """Not a key (`{"failed": 1}`, `d["failed"]`, `d.get("failed")`) and not prose."""
    quote = data[start - 1 : start]
    if data[end : end + 1] != quote or data[end + 1 : end + 2] in (b":", b"}", quote):
        return 0
    left = data[start - 6 : start - 1]
    if left.endswith(b"] = "):
        return _STORED | _STRING
    return 0 if left.endswith((b".get(", b".pop(", b"[")) else _STRING


def _is_member(data: bytes, start: int, at: int, end: int) -> bool:
    """`Enum.NAME` and `self.NAME`, and not a method."""
    if data[end : end + 1] == b"(" or (start < at and data[start : start + 1].islower()):
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
    at = 0 if data.startswith(b"class ") else data.find(b"\nclass ")
    while at >= 0:
        end = data.find(b":", at)
        bracket = data.find(b"(", at, end)
        if bracket >= 0:
            for base in data[bracket + 1 : end].split(b","):
                name = base.partition(b"[")[0].strip(b" \t\r\n()")
                found.add(name.rpartition(b".")[2])
        at = data.find(b"\nclass ", at + 5)
    found.difference_update(_COMMON_BASES)
    return found
