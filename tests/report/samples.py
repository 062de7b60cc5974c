"""A small backend and the report an analysis could give of it."""

from __future__ import annotations

from kvlint.findings import (
    SEVERITY_OF,
    Finding,
    Gap,
    Related,
    Report,
    Searched,
    Span,
    TransitionTable,
)

COMMON = """\
class CommonKVManager:
    def update_status(self, room, status):
        if room not in self.request_status:
            self.request_status[room] = status
        elif status == KVPoll.Failed:
            self.request_status[room] = KVPoll.Failed
        else:
            self.request_status[room] = max(self.request_status[room], status)
"""

NIXL = """\
class NixlKVManager(CommonKVManager):
    def transfer_worker(self):
        while True:
            chunk = self.queue.get()
            if chunk.room not in self.transfer_infos:
                continue
            self.update_status(chunk.room, KVPoll.Transferring)

    def bootstrap_thread(self):
        while True:
            room = self.receive()
            if self.check_status(room) != KVPoll.Success:
                self.update_status(room, KVPoll.Failed)
            self.transfer_infos.pop(room, None)
"""

FILES = {"common/conn.py": COMMON, "nixl/conn.py": NIXL}

MEMBERS = ("Failed", "Bootstrapping", "WaitingForInput", "Transferring", "Success")


def finding(rule: str, verdict: str, span: Span, **more: object) -> Finding:
    """A finding with the fields that a test does not care about filled in."""
    values: dict[str, object] = {
        "rule": rule,
        "name": NAMES[rule],
        "verdict": verdict,
        "severity": SEVERITY_OF[verdict],
        "span": span,
        "class_name": "NixlKVManager",
        "function": "transfer_worker",
        "message": "something can go wrong here",
        "fingerprint": f"{rule}-{span.line}",
        "group": "",
    }
    return Finding(**{**values, **more})  # type: ignore[arg-type]


NAMES = {
    "KV101": "pop-without-terminal",
    "KV102": "skip-without-terminal",
    "KV103": "transient-after-failed",
    "KV104": "terminal-not-sticky",
    "KV301": "unbounded-poll",
    "KV901": "unreadable-file",
}


def findings() -> list[Finding]:
    """One group of three, one finding of its own, one latent; out of order on purpose."""
    return [
        finding(
            "KV102",
            "narrow",
            Span("nixl/conn.py", 5, 13, 6, 25),
            message="a chunk is dropped here and the status stays as it is",
            group="pin",
        ),
        finding(
            "KV101",
            "narrow",
            Span("nixl/conn.py", 14, 13, 14, 48),
            function="bootstrap_thread",
            message="the entry goes although `Failed` is written on one of two paths only",
            group="pin",
            bad_end="pinned",
            related=(
                Related(
                    Span("nixl/conn.py", 13, 17, 13, 56), "`Failed` is written under a condition"
                ),
            ),
        ),
        finding(
            "KV103",
            "narrow",
            Span("nixl/conn.py", 7, 13, 7, 65),
            message="a late `Transferring` can overwrite `Failed`",
            group="pin",
            fixes=("A",),
            related=(
                Related(Span("common/conn.py", 8, 13, 8, 78), "the store takes effect here"),
                Related(Span("nixl/conn.py", 13, 17, 13, 56), "`Failed` is written here"),
                Related(Span("gone/conn.py", 3, 1), "a file that is no longer there"),
            ),
        ),
        finding(
            "KV104",
            "confirmed",
            Span("common/conn.py", 8, 13, 8, 78),
            class_name="CommonKVManager",
            function="update_status",
            message="`Failed` can change back: max() is no protection while Failed is the smallest",
            fixes=("A", "D"),
            group="table",
        ),
        finding("KV301", "latent", Span("nixl/conn.py", 10, 9), function="bootstrap_thread"),
    ]


def unsafe_table() -> TransitionTable:
    """`max()` unless Failed; a failure on an absent room is lost."""

    def result(current: str, written: str) -> tuple[str, ...]:
        if current == "absent":
            return ("absent",) if written == "Failed" else (written,)
        if written == "Failed":
            return ("Failed",)
        return (max(current, written, key=MEMBERS.index),)

    return _table("NixlKVManager", result)


def sticky_table() -> TransitionTable:
    """Terminal states stay; one cell could not be decided."""

    def result(current: str, written: str) -> tuple[str, ...]:
        if current == "absent":
            return (written,)
        if current in ("Failed", "Success"):
            return (current,)
        if (current, written) == ("Transferring", "Bootstrapping"):
            return ("Bootstrapping", "Transferring")
        return (written,)

    return _table("MoriKVManager", result)


def _table(class_name: str, result: object) -> TransitionTable:
    assert callable(result)
    return TransitionTable(
        class_name=class_name,
        path="common/conn.py",
        line=2,
        method="update_status",
        defined_in="CommonKVManager",
        enum={name: number for number, name in enumerate(MEMBERS)},
        failures=("Failed",),
        successes=("Success",),
        transitions={
            current: {written: result(current, written) for written in MEMBERS}
            for current in ("absent", *MEMBERS)
        },
    )


def report() -> Report:
    """Everything above as the engine hands it over, with two gaps and no search."""
    return Report(
        findings=findings(),
        tables=[unsafe_table()],
        searched=[
            Searched("CommonKVManager", (), 0, 0, False),
            Searched("NixlKVManager", ("transfer_worker", "bootstrap_thread"), 0, 0, False),
        ],
        gaps=[
            Gap("nixl/conn.py", 11, "self.receive: no such method found"),
            Gap("common/conn.py", 1, "base class BaseKVManager: source not found"),
        ],
    )
