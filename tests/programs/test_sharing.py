"""Equal programs share their simplified code, and one that changes leaves the others alone."""

from __future__ import annotations

from unittest.mock import patch

from kvlint.programs.ir import Op, Program
from kvlint.protocol.model import Protocol
from tests.programs.backends import method, protocol, worker

BODY = """
if room in self.status:
    self.status[room] = Poll.Failed
"""


def _twice() -> tuple[Program, Program]:
    found: Protocol = protocol(worker(BODY))
    first = method(found)
    with patch.object(found, "programs", {}):
        return first, method(found)


def test_equal_programs_share_their_code() -> None:
    first, second = _twice()
    assert first is not second
    assert first.code is second.code
    assert first.slices is second.slices


def test_a_change_is_not_shared() -> None:
    first, second = _twice()
    before = [instr.op for instr in second.code]
    first.change({0: Op.RECV})
    assert first.code[0].op is Op.RECV
    assert [instr.op for instr in second.code] == before
    assert first.slices is not second.slices
