"""What `[tool.kvlint.protocol]` says about the code around a room is used as it stands."""

from __future__ import annotations

from kvlint.config import ProtocolOverrides
from kvlint.rulekit import View
from kvlint.search.building import build_system
from kvlint.search.evidence import Evidence
from kvlint.search.system import System

from ..programs.backends import manager, protocols

SOURCE = manager(
    """
    def work(self, room, env):
        while True:
            room = self.jobs.get()
            if room in self.infos:
                self.status[room] = Poll.Success

    def status_of(self, room):
        return self.status.get(room)

    def _lose(self, room):
        self.infos.pop(room, None)
    """
)


def system(overrides: ProtocolOverrides) -> System:
    (found,) = protocols(SOURCE, overrides)
    return build_system(found, ())


def operations(overrides: ProtocolOverrides) -> set[str]:
    return {operation.name for operation in system(overrides).operations}


def test_settings_name_the_entry_points() -> None:
    assert {"open", "close", "status_of"} <= operations(ProtocolOverrides())
    assert operations(ProtocolOverrides(entry_points=("open", "_lose"))) == {"open", "_lose"}


def test_settings_name_the_readers() -> None:
    for given, expected in (((), {"status_of"}), (("open",), {"open"})):
        made = system(ProtocolOverrides(readers=given))
        assert View(made.protocol, made, Evidence()).readers == expected
