"""Compare what kvlint says about the labelled releases with the labels.

    python -m tests.releases.score [--release V] [--no-extra]

prints the table per rule, every miss, every false alarm and every bug with another verdict than its
window stands for, with the label's reason, and every error or warning at a place without a label.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ..running import Found, check
from .fetch import release as fetch_release
from .labels import Label, disputed, disputed_windows, labels

TOLERANCE = 2  # lines between a label and a finding of the same defect


@dataclass(frozen=True)
class Verdict:
    """One label with the finding that stands for it, the most severe if there are several."""

    label: Label
    found: Found | None

    @property
    def missed(self) -> bool:
        """A bug that nothing reports."""
        return self.label.verdict == "bug" and self.found is None

    @property
    def false_alarm(self) -> bool:
        """A safe or latent site that a run without flags would show."""
        return self.label.verdict != "bug" and self.found is not None and self.found.serious

    @property
    def timed(self) -> bool:
        """Whether the window of a bug that is reported says which verdict is due."""
        return bool(self.label.due) and self.found is not None

    @property
    def mistimed(self) -> bool:
        """Another verdict than the window stands for."""
        return self.timed and self.window_says != self.label.due

    @property
    def says(self) -> str:
        """The finding in two words."""
        return f"{self.found.severity} ({self.found.verdict})" if self.found else "nothing"

    @property
    def window_says(self) -> str:
        """The finding's verdict."""
        return self.found.verdict if self.found else "nothing"


@dataclass
class Tally:
    """The row of one rule."""

    bugs: int = 0
    reported: int = 0
    serious: int = 0
    timed: int = 0
    agreed: int = 0
    harmless: dict[str, int] = field(default_factory=lambda: {"safe": 0, "latent": 0})
    alarms: dict[str, int] = field(default_factory=lambda: {"safe": 0, "latent": 0})

    def add(self, verdict: Verdict) -> None:
        """Count one label."""
        kind = verdict.label.verdict
        if kind == "bug":
            self.bugs += 1
            self.reported += not verdict.missed
            self.serious += verdict.found is not None and verdict.found.serious
            self.timed += verdict.timed
            self.agreed += verdict.timed and not verdict.mistimed
        else:
            self.harmless[kind] += 1
            self.alarms[kind] += verdict.false_alarm

    def merge(self, other: Tally) -> None:
        """Add another row to this one."""
        self.bugs += other.bugs
        self.reported += other.reported
        self.serious += other.serious
        self.timed += other.timed
        self.agreed += other.agreed
        for kind in self.harmless:
            self.harmless[kind] += other.harmless[kind]
            self.alarms[kind] += other.alarms[kind]


@cache
def findings(release: str) -> tuple[Found, ...]:
    """What kvlint finds in the disaggregation folder of a release."""
    return tuple(check(folder(release)))


def folder(release: str) -> Path:
    """The folder that label paths are relative to."""
    return (fetch_release(release) / "sglang" / "srt" / "disaggregation").resolve()


def judge(wanted: Iterable[Label]) -> list[Verdict]:
    """Every label with its finding."""
    return [Verdict(label, _match(label)) for label in wanted]


def extra(release: str) -> list[Found]:
    """Errors and warnings where no label of their rule is near."""
    mine = [label for label in labels() if label.release == release]
    base = folder(release)
    return [
        found
        for found in findings(release)
        if found.serious and not any(_distance(label, found, base) is not None for label in mine)
    ]


def tallies(verdicts: Iterable[Verdict]) -> dict[str, Tally]:
    """One row per rule, and the sum as `all`."""
    rows: dict[str, Tally] = {}
    for verdict in verdicts:
        rows.setdefault(verdict.label.rule, Tally()).add(verdict)
    total = Tally()
    for row in rows.values():
        total.merge(row)
    return {**dict(sorted(rows.items())), "all": total}


def table(rows: dict[str, Tally]) -> list[str]:
    """The rows as text; recall counts any verdict, precision only what is shown by default.

    The windows are those of the reported bugs whose verdict is the one that the label asks for.
    """
    head = f"{'rule':<12} {'bugs':>5} {'found':>6} {'shown':>6} {'recall':>7} {'precision':>10}"
    lines = [f"{head} {'safe shown':>11} {'latent shown':>13} {'windows':>8}"]
    for rule, row in rows.items():
        wrong = sum(row.alarms.values())
        harmless = [f"{row.alarms[kind]}/{row.harmless[kind]}" for kind in ("safe", "latent")]
        lines.append(
            f"{rule:<12} {row.bugs:>5} {row.reported:>6} {row.serious:>6}"
            f" {_share(row.reported, row.bugs):>7} {_share(row.serious, row.serious + wrong):>10}"
            f" {harmless[0]:>11} {harmless[1]:>13} {f'{row.agreed}/{row.timed}':>8}"
        )
    return lines


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.2f}" if whole else "-"


def _match(label: Label) -> Found | None:
    base = folder(label.release)
    near = []
    for found in findings(label.release):
        distance = _distance(label, found, base)
        if distance is None or _belongs_to_a_bug(label, found, distance, base):
            continue
        near.append((not found.serious, distance, found))
    return min(near)[2] if near else None


def _belongs_to_a_bug(label: Label, found: Found, distance: int, base: Path) -> bool:
    """Whether a harmless site's finding is about a labelled bug that is at least as close."""
    if label.verdict == "bug":
        return False
    for other in labels():
        if other.release == label.release and other.verdict == "bug":
            theirs = _distance(other, found, base)
            if theirs is not None and theirs <= distance:
                return True
    return False


def _distance(label: Label, found: Found, base: Path) -> int | None:
    if found.rule not in label.rules or found.path != base / label.file:
        return None
    distance = abs(found.line - label.line)
    return distance if distance <= TOLERANCE else None


def _describe(verdict: Verdict) -> str:
    label = verdict.label
    return (
        f"  {label.release} {label.file}:{label.line} {label.rule} {label.verdict}"
        f" [{label.function}] window={label.window or '-'} kvlint says {verdict.says}\n"
        f"      {label.why}"
    )


def _describe_extra(release: str, found: Found) -> str:
    place = found.path.relative_to(folder(release)).as_posix()
    return f"  {release} {place}:{found.line} {found.rule} {found.severity}: {found.message}"


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", action="append", help="only this release (repeatable)")
    parser.add_argument("--no-extra", action="store_true", help="leave out unlabelled findings")
    options = parser.parse_args()
    known = sorted({label.release for label in labels()})
    chosen = options.release or known
    verdicts = judge(label for label in labels() if label.release in chosen)
    known_misses = {entry.key for entry in disputed()}
    known_windows = {entry.key for entry in disputed_windows()}
    for title, group, excused in (
        ("missed bugs", [v for v in verdicts if v.missed], known_misses),
        ("false alarms", [v for v in verdicts if v.false_alarm], known_misses),
        ("other windows", [v for v in verdicts if v.mistimed], known_windows),
    ):
        print(f"{title}: {len(group)}")
        for verdict in group:
            print(_describe(verdict) + (" (disputed)" if verdict.label.key in excused else ""))
    if not options.no_extra:
        unlabelled = [_describe_extra(release, f) for release in chosen for f in extra(release)]
        print(f"shown without a label: {len(unlabelled)}", *unlabelled, sep="\n")
    print(*table(tallies(verdicts)), sep="\n")


if __name__ == "__main__":
    main()
