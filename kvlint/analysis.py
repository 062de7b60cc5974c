"""The pipeline: project in, report out."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType

from kvlint import catalog, progress
from kvlint.config import Settings
from kvlint.discover.project import Module, Project
from kvlint.findings import Finding, Gap, Report, Searched, Span
from kvlint.fingerprints import Fingerprints, file_key
from kvlint.placing import Placed, place
from kvlint.protocol.detect import find_protocols
from kvlint.protocol.model import Protocol
from kvlint.rulekit import View
from kvlint.search.building import build_system
from kvlint.search.environment import admit, delivered
from kvlint.search.evidence import Bounds, Evidence
from kvlint.search.memory import Memory
from kvlint.search.parallel import gather_all
from kvlint.search.system import System
from kvlint.suppressions import silence, suppressions
from kvlint.tables import add_tables

UNREADABLE = ("KV901", "unreadable-file")


def analyse(project: Project, settings: Settings) -> Report:
    """Everything that `kvlint check` reports, in a stable order.

    Findings in files that were only read for a linted one are kept: the linted class inherits
    them.
    """
    return analyse_protocols(project, find_protocols(project, settings.protocol), settings)


def analyse_protocols(
    project: Project,
    protocols: Sequence[Protocol],
    settings: Settings,
    memory: Memory | None = None,
) -> Report:
    """The same for protocols that were found already; what `memory` knows is not searched again."""
    report = Report()
    hits = _hits(_views(protocols, report, settings, memory))
    found = [*silence(place(hits), suppressions(_all(project))), *_unreadable(project)]
    report.findings = sorted(found, key=lambda f: (f.span, f.rule, f.fingerprint))
    report.gaps = sorted([*report.gaps, *project.gaps])
    return report


def _hits(views: Iterable[View]) -> list[Placed]:
    """What the rules find, rule by rule; a view is looked at while others are still searched."""
    rules = [(rule, *_identity(rule)) for rule in _rules()]
    by_rule: list[list[Placed]] = [[] for _ in rules]
    for view in views:
        for (rule, rule_id, name), hits in zip(rules, by_rule, strict=True):
            hits += [Placed(rule_id, name, view.protocol.title, h) for h in rule.find(view)]
    return [hit for hits in by_rule for hit in hits]


def _all(project: Project) -> list[Module]:
    return list(project.modules.values())


def _views(
    protocols: Sequence[Protocol], report: Report, settings: Settings, memory: Memory | None
) -> Iterator[View]:
    """What the rules look at: each protocol with what the search found out about it."""
    progress.tell("building the programs of the threads")
    bounds = Bounds.of(settings)
    siblings = [tuple(p for p in protocols if p.manager is q.manager) for q in protocols]
    systems = (
        _system(protocol, same, report, bounds)
        for protocol, same in zip(protocols, siblings, strict=True)
    )
    found = _search(systems, bounds, settings.jobs, memory)
    shared: dict[tuple[str, str], object] = {}
    for (system, evidence), same in zip(found, siblings, strict=True):
        if evidence.searched:
            report.searched.append(_searched(system, evidence, bounds))
        protocol = system.protocol
        updaters = frozenset(protocol.updaters)
        yield View(protocol, system, evidence, same, updaters, shared)


def _system(
    protocol: Protocol, siblings: tuple[Protocol, ...], report: Report, bounds: Bounds
) -> System:
    add_tables(report, protocol)
    system = build_system(protocol, delivered(protocol, siblings))
    admit(system, bounds.environment.messages)
    report.gaps += _gaps(system)
    return system


def _search(
    systems: Iterable[System], bounds: Bounds, jobs: int | None, memory: Memory | None
) -> Iterator[tuple[System, Evidence]]:
    """Each system with its evidence; of those that work alike, one is searched."""
    all_of_them: list[tuple[System, object]] = []
    known: dict[object, Evidence] = {}
    new: dict[object, System] = {}

    def unknown() -> Iterator[System]:
        for system in systems:
            signature = system.signature()
            all_of_them.append((system, signature))
            if signature in known or signature in new:
                continue
            recalled = None if memory is None else memory.recall(system)
            if recalled is None:
                new[signature] = system
                yield system
            else:
                known[signature] = recalled

    fresh = gather_all(unknown(), bounds, jobs)  # all systems are there when it returns
    found = zip(new.items(), fresh, strict=True)
    for system, signature in all_of_them:
        while signature not in known:
            (like, searched), evidence = next(found)
            known[like] = evidence
            if memory is not None:
                memory.keep(searched, evidence)
        yield system, known[signature]


def _searched(system: System, evidence: Evidence, bounds: Bounds) -> Searched:
    return Searched(
        class_name=system.protocol.title,
        threads=tuple(t.root.name for t in system.threads),
        states=evidence.states,
        preemptions=bounds.preemptions,
        complete=evidence.complete,
        chunks=bounds.environment.chunks,
        messages=evidence.messages,
        runs=tuple(evidence.runs),
        limits=tuple(sorted(evidence.limits)),
        seconds=evidence.seconds,
    )


def _gaps(system: System) -> list[Gap]:
    path = system.protocol.manager.module.display
    return [Gap(path, line, text) for line, text in system.gaps]


def _rules() -> Iterator[ModuleType]:
    """The rule modules, found by their file names."""
    for rule in catalog.rules():
        if rule.module is not None:
            yield importlib.import_module(rule.module)


def _identity(module: ModuleType) -> tuple[str, str]:
    stem = module.__name__.rpartition(".")[2]
    number, _, slug = stem.partition("_")
    return number.upper(), slug.replace("_", "-")


def _unreadable(project: Project) -> Iterator[Finding]:
    rule, name = UNREADABLE
    fingerprints = Fingerprints()
    for problem in project.problems:
        fingerprint = fingerprints.of(rule, file_key(problem.path))
        yield Finding(
            rule=rule,
            name=name,
            verdict="confirmed",
            severity="error",
            span=Span(problem.path, problem.line, 1, problem.line, 1),
            class_name="",
            function="",
            message=problem.message,
            fingerprint=fingerprint,
            group=fingerprint,
        )
