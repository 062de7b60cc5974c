"""The shared cases: the defect is shown in the bad twin and nothing in the good one."""

from __future__ import annotations

import pytest

from ..locations import missing
from .score import MANIFEST, Case, cases, false_alarms, missed

pytestmark = pytest.mark.skipif(missing(MANIFEST) is not None, reason=str(missing(MANIFEST)))

DEFECTIVE = [case for case in cases() if case.defective and case.in_scope]
CLEAN = [case for case in cases() if not case.defective]


def test_the_manifest_is_read() -> None:
    assert DEFECTIVE
    assert CLEAN


@pytest.mark.parametrize("case", DEFECTIVE, ids=lambda case: case.file)
def test_defect_is_shown(case: Case) -> None:
    assert missed(case) is None


@pytest.mark.parametrize("case", CLEAN, ids=lambda case: case.file)
def test_clean_file_stays_silent(case: Case) -> None:
    assert false_alarms(case) == []
