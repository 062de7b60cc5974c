"""Everything that one run of `kvlint check` has to say, for all formats alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kvlint.findings import Finding, Report
from kvlint.report import summary
from kvlint.selection import Selected, fails

if TYPE_CHECKING:
    from kvlint.baseline import Entry
    from kvlint.config import Settings
    from kvlint.difference import Difference
    from kvlint.fix.offers import Offer


@dataclass
class Outcome:
    """The report and what of it is shown.

    `stale` are entries of the baseline that are gone; `root` is the checkout's folder if paths are
    to be shown from there; `difference` is there if the run is compared with a revision;
    `offers` are proven fixes, if they were asked for.
    """

    report: Report
    selected: Selected
    settings: Settings
    texts: Mapping[str, str] = field(default_factory=dict)
    root: str = ""
    difference: Difference | None = None
    stale: list[Entry] = field(default_factory=list)
    offers: list[Offer] = field(default_factory=list)

    @property
    def shown(self) -> Sequence[Finding]:
        """The findings to print."""
        return self.selected.shown

    @property
    def left_out(self) -> list[str]:
        """What is not shown, in words."""
        compared = [self.difference.counts()] if self.difference is not None else []
        return [*compared, *self.selected.counts()]

    @property
    def gave_up(self) -> str:
        """Which searches are incomplete, or nothing."""
        return summary.gave_up(self.report.searched, self.settings)

    @property
    def status(self) -> int:
        """The exit status: 1 for findings and stale entries, 2 for a search that gave up."""
        if self.stale or fails(self.selected.shown, self.settings.fail_on):
            return 1
        return 2 if self.gave_up else 0
