"""What one analysis gave, whether it was made now or earlier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kvlint.findings import Report


class Result(NamedTuple):
    """A report, the sources by displayed path for its excerpts, how many files were looked at."""

    report: Report
    texts: Mapping[str, str]
    files: int
    from_cache: bool = False
