"""Make the runs of one system and keep one shortest witness per kind of bad end and site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic, perf_counter

from kvlint.config import Environment, Settings
from kvlint.programs.ir import Instr, Op, Where
from kvlint.search.environment import ORDINARY, ordinary, runs
from kvlint.search.macro_steps import Decision, Event, MacroStep
from kvlint.search.product import Finish, Outcome, Search
from kvlint.search.system import System
from kvlint.search.transitions import Decisions, Run


@dataclass(frozen=True)
class Moment:
    """One event of a witness: who did it, and whether a switch to another thread follows."""

    thread: str
    kind: str  # consumer, control, ticker, task, scheduler, caller
    event: Event
    window: str | None = None


@dataclass
class Witness:
    """A path to a bad end; `wide` says that it needs a switch only where a thread waits."""

    system: System
    kind: str
    wide: bool
    run: str
    moments: list[Moment]
    bad: Moment | None = None
    death: Instr | None = None
    visible: bool = True

    def of(self, *ops: Op) -> Iterator[Moment]:
        """The moments with one of these operations."""
        return (m for m in self.moments if m.event.instr.op in ops)


@dataclass
class Evidence:
    """All witnesses of a system, how much was searched, and how many seconds it took."""

    witnesses: list[Witness] = field(default_factory=list)
    states: int = 0
    complete: bool = True
    searched: bool = False
    runs: list[str] = field(default_factory=list)
    messages: tuple[str, ...] = ()
    limits: set[str] = field(default_factory=set)
    seconds: float = 0.0

    def of(self, kind: str) -> list[Witness]:
        """The witnesses of one kind, wide ones first."""
        return sorted((w for w in self.witnesses if w.kind == kind), key=lambda w: not w.wide)


@dataclass(frozen=True)
class Bounds:
    """How far to search, and in what environment.

    `max_states` is for one run, `deadline` (of `monotonic()`) for all of them.
    """

    preemptions: int = Settings().preemptions
    max_states: int = Settings().max_states
    environment: Environment = ORDINARY
    deadline: float | None = None

    @classmethod
    def of(cls, settings: Settings) -> Bounds:
        """The bounds that the settings ask for; the time starts to run now."""
        seconds = settings.max_seconds
        deadline = None if seconds is None else monotonic() + seconds
        return cls(settings.preemptions, settings.max_states, settings.environment, deadline)


def gather(system: System, bounds: Bounds) -> Evidence:
    """Search every run, wide first; a site that the wide pass explains is not looked for again."""
    evidence = Evidence()
    start = perf_counter()
    opens = system.of_kind("open")
    if not system.threads or not opens:
        return evidence
    evidence.searched = True
    environment = bounds.environment
    plans = runs(system, environment.chunks, environment)
    evidence.runs = list(dict.fromkeys(run.name for run in plans))
    evidence.messages = ordinary(system)
    known: set[object] = set()
    # A disturbance may stay away, so the plain run is in each disturbed one.
    wide = plans[1:] or plans
    # What a narrow switch can break does not need a second chunk in flight.
    single = runs(system, 1, environment)[-len(wide) :]
    baseline = Baseline(system, plans[0], bounds)
    # Coroutines of one loop are only interrupted where they wait.
    for narrow in (False,) if system.cooperative else (False, True):
        for run in single if narrow else wide:
            search = Search(
                system, run, narrow, bounds.preemptions, bounds.max_states, deadline=bounds.deadline
            )
            outcome = search.explore()
            evidence.states += outcome.states
            if not outcome.complete:
                evidence.complete = False
                evidence.limits |= outcome.limits
            for witness in _witnesses(search, outcome, baseline, run is plans[0], known):
                evidence.witnesses.append(witness)
    if baseline.limits:
        evidence.complete = False
        evidence.limits |= baseline.limits
    evidence.seconds = perf_counter() - start
    return evidence


class Baseline:
    """Does a request end well if the same unknown choices are made without the disturbance?

    `limits` holds the bounds that kept an answer from being found: a pin that is left out for
    want of one is not known to be none.
    """

    def __init__(self, system: System, plain: Run, bounds: Bounds) -> None:
        self.system = system
        self.plain = plain
        self.bounds = bounds
        self.limits: set[str] = set()
        self._known: dict[frozenset[Decision], bool] = {}

    def concludes(self, path: Iterable[MacroStep]) -> bool:
        """Whether the undisturbed run reaches a terminal state under these choices."""
        made = frozenset(d for macro_step in path for d in macro_step.decisions)
        if made not in self._known:
            only: Decisions = {}
            for instr, to in made:
                only[instr] = only.get(instr, frozenset()) | {to}
            bounds = self.bounds
            search = Search(
                self.system, self.plain, False, 0, bounds.max_states, only, bounds.deadline
            )
            outcome = search.explore()
            if not outcome.concluded:
                self.limits |= outcome.limits
            self._known[made] = outcome.concluded
        return self._known[made]


def _witnesses(
    search: Search, outcome: Outcome, baseline: Baseline, plain: bool, known: set[object]
) -> Iterator[Witness]:
    for finish in outcome.ends:
        if finish.kind == "pinned" and plain:
            continue
        early = _early_key(search, finish)
        if early is not None and early in known:
            continue
        path = search.path(finish)
        macro_steps = [macro_step for _, _, macro_step in path]
        if finish.kind == "dead-thread" and _by_unknown_choice(macro_steps[-1]):
            continue
        witness = _witness(search, finish, path)
        key = early if early is not None else (finish.kind, _pin_sites(witness))
        if key in known:
            continue
        if finish.kind == "pinned" and not baseline.concludes(macro_steps):
            continue
        known.add(key)
        yield witness


def _early_key(search: Search, finish: Finish) -> object | None:
    """What makes two bad ends the same, where the path is not needed to tell."""
    if finish.event is not None:
        seen = _visible(search, finish)
        return (finish.kind, site_key(finish.event.instr), seen)
    if finish.kind in ("dead-thread", "dead-call"):
        death = _death(finish)
        return (finish.kind, site_key(death)) if death is not None else None
    return None


def _death(finish: Finish) -> Instr | None:
    """The instruction that raised out of a thread or a call."""
    return finish.last[2].death if finish.last is not None else None


def site_key(instr: Instr) -> tuple[int, ...]:
    """An instruction's place in the source with its call sites, by node."""
    return (id(instr.where.node), *(id(w.node) for w in instr.stack))


def _visible(search: Search, finish: Finish) -> bool:
    """Whether polling shows that Failed is gone."""
    domain = search.system.protocol.domain
    return any(not domain.is_failure(value) for value in finish.seen)


def _by_unknown_choice(macro_step: MacroStep) -> bool:
    """Whether data or a setting that was not tracked took part in the decision to raise.

    A lost race for an entry is judged by the removal that it needs, whatever else was chosen.
    """
    if macro_step.death is not None and macro_step.death.note in ("KeyError", "RuntimeError"):
        return False
    return bool(macro_step.decisions)


def _pin_sites(witness: Witness) -> object:
    sites = []
    for moment in witness.moments:
        instr = moment.event.instr
        before, after = moment.event.before, moment.event.after
        removed = instr.op is Op.POP and before.sides != after.sides
        revived = before.status is not None and before.status != after.status
        if removed or (revived and instr.op is Op.STORE) or instr.op is Op.SKIP:
            sites.append(site_key(instr))
    return frozenset(sites)


def _witness(
    search: Search, finish: Finish, path: Sequence[tuple[object, int, MacroStep]]
) -> Witness:
    moments: list[Moment] = []
    for i, (_, thread, macro_step) in enumerate(path):
        following = path[i + 1][1] if i + 1 < len(path) else thread
        kind = _kind(search, thread)
        name = search.name_of(thread)
        for j, event in enumerate(macro_step.events):
            last = j == len(macro_step.events) - 1
            window = (
                ("wide" if macro_step.wide else "narrow") if last and following != thread else None
            )
            moments.append(Moment(name, kind, event, window))
    bad = next((m for m in reversed(moments) if m.event is finish.event), None)
    death = _death(finish) if finish.kind in ("dead-thread", "dead-call") else None
    visible = finish.event is None or _visible(search, finish)
    return Witness(
        search.system, finish.kind, not search.narrow, search.run.name, moments, bad, death, visible
    )


def _kind(search: Search, thread: int) -> str:
    if thread < len(search.threads):
        return search.threads[thread].kind
    return "scheduler" if thread == search.driver_index else "caller"


def outer_site(instr: Instr, inner: frozenset[str]) -> Where:
    """Where an instruction is, seen from outside the functions named in `inner`."""
    site = instr.where
    for where in reversed(instr.stack):
        if site.function not in inner:
            break
        site = where
    return site
