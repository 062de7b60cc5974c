"""Objects in another process: one process a side, started, called and always reaped."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from .errors import HarnessError

CALL_SECONDS = 120.0
LOG_LINES = 30
ROOT = Path(__file__).resolve().parent.parent


class Remote:
    """A side in another process; its methods are called by their names."""

    def __init__(self, kind: str, setup: object, environment: Mapping[str, str]) -> None:
        here, there = socket.socketpair()
        self._kind = kind
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gpu_tests.remote", kind, str(there.fileno())],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            pass_fds=[there.fileno()],
        )
        there.close()
        self._connection = Connection(here.detach())
        self.begin("start", setup)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*args: Any) -> Any:
            self.begin(name, *args)
            return self.result()

        return call

    def begin(self, name: str, *args: Any) -> None:
        """Start a call; `result` waits for its answer."""
        try:
            self._connection.send((name, args))
        except OSError as error:
            raise HarnessError(f"the {self._kind} process has ended\n{self.log()}") from error

    def result(self, seconds: float = CALL_SECONDS) -> Any:
        """The answer to the call that was started."""
        try:
            if not self._connection.poll(seconds):
                raise HarnessError(f"the {self._kind} process gives no answer\n{self.log()}")
            good, value = self._connection.recv()
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise HarnessError(f"the {self._kind} process has ended\n{self.log()}") from error
        if not good:
            raise HarnessError(f"in the {self._kind} process:\n{value}\n{self.log()}")
        return value

    def log(self) -> str:
        """The last lines that the process printed."""
        self._log.seek(0)
        text = self._log.read().decode(errors="replace")
        return "\n".join(text.splitlines()[-LOG_LINES:])

    def close(self) -> None:
        """End the process, whatever it does."""
        self._connection.close()
        self._process.kill()
        self._process.wait()
        self._log.close()


def _serve(kind: str, connection: Connection) -> None:
    """Answer calls until the parent is gone."""
    from .sides import DecodeSide, PrefillSide

    side: Any = None
    while True:
        try:
            name, args = connection.recv()
        except EOFError:
            return
        try:
            if name == "start":
                side = {"prefill": PrefillSide, "decode": DecodeSide}[kind](*args)
                value = None
            else:
                value = getattr(side, name)(*args)
            connection.send((True, value))
        except Exception:
            connection.send((False, traceback.format_exc()))


if __name__ == "__main__":
    try:
        _serve(sys.argv[1], Connection(int(sys.argv[2])))
    finally:
        # The backend's threads are no daemons and never end.
        os._exit(0)
