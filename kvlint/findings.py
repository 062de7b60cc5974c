"""What an analysis reports: findings, transition tables and how much was searched.

These are the types behind the JSON contract; everything in them is plain data, so a reporter
needs nothing from the engine.
"""

from __future__ import annotations

from dataclasses import dataclass, field

SEVERITIES = ("error", "warning", "note")  # worst first
VERDICTS = ("confirmed", "narrow", "latent")  # strongest first
SEVERITY_OF = {"confirmed": "error", "narrow": "warning", "latent": "note"}


def worse(severity: str, than: str) -> bool:
    """Whether one severity is worse than another."""
    return SEVERITIES.index(severity) < SEVERITIES.index(than)


@dataclass(frozen=True, order=True)
class Span:
    """A place in a source file.

    `path` is relative to the working directory with POSIX slashes (absolute if it lies outside).
    Lines and columns count from 1, columns in characters; `end_column` is exclusive.
    """

    path: str
    line: int
    column: int = 1
    end_line: int = 0
    end_column: int = 0


@dataclass(frozen=True)
class Related:
    """Another site that a finding needs in order to be understood."""

    span: Span
    message: str


@dataclass(frozen=True)
class Step:
    """One step of a witness; `window` says whether a switch to another thread follows it.

    `decisive` marks what the bad end hangs on; `awakens` says that the thread waited for work, or
    had none, until this step.
    """

    step: int
    thread: str
    path: str
    line: int
    function: str
    action: str
    status: str
    window: str | None = None
    decisive: bool = False
    awakens: bool = False


@dataclass(frozen=True)
class Finding:
    """One site that breaks a rule.

    Findings of one root cause share `group`; `fingerprint` survives moved lines and renamed
    locals. `class_name` and `function` are empty for a finding about a whole file. `searched`
    names the search that found the witness: the class name of its `Searched`. For a latent
    finding `cleared` says why it is no more than that, and `cleared_in` for which searches.
    `silenced` is the reason that a comment in the source gives for silencing it.
    """

    rule: str
    name: str
    verdict: str
    severity: str
    span: Span
    class_name: str
    function: str
    message: str
    fingerprint: str
    group: str
    fixes: tuple[str, ...] = ()
    bad_end: str | None = None
    related: tuple[Related, ...] = ()
    witness: tuple[Step, ...] = ()
    searched: str = ""
    cleared: str = ""
    cleared_in: tuple[str, ...] = ()
    silenced: str = ""


@dataclass(frozen=True)
class TransitionTable:
    """What a status-update method does with every (current, written) pair.

    `transitions[current][written]` lists every possible resulting state in enum order; both the
    keys and the results use member names or `absent`.
    """

    class_name: str
    path: str
    line: int
    method: str
    defined_in: str
    enum: dict[str, int | str]
    failures: tuple[str, ...]
    successes: tuple[str, ...]
    transitions: dict[str, dict[str, tuple[str, ...]]]


@dataclass(frozen=True)
class Searched:
    """How far the search went for one class. `states` 0 means that no search was made.

    `messages` may arrive in every run, `runs` names the disturbances of which each run has one.
    `limits` is what stopped a search that is not complete: the options that raise it, or nothing
    where no option does.
    """

    class_name: str
    threads: tuple[str, ...]
    states: int
    preemptions: int
    complete: bool
    chunks: int = 0
    runs: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    messages: tuple[str, ...] = ()


@dataclass(frozen=True, order=True)
class Gap:
    """Something that could not be read, resolved or searched; silence would be dishonest."""

    path: str
    line: int
    message: str


@dataclass
class Report:
    """Everything one run found, in a stable order."""

    findings: list[Finding] = field(default_factory=list)
    tables: list[TransitionTable] = field(default_factory=list)
    searched: list[Searched] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
