"""The words that scenarios and storms share."""

from __future__ import annotations

from enum import Enum

FAILED = "Failed"
SUCCESS = "Success"
BOOTSTRAPPING = "Bootstrapping"
READY = "WaitingForInput"
NOT_STARTED = "not started"
GIVEN_UP = "given up"


class Abort(Enum):
    """Who gives the request up."""

    NOBODY = "nobody"
    SENDER = "the prefill scheduler calls sender.abort()"
    RECEIVER = "the decode scheduler calls receiver.abort()"
    FRAME = "an ABORT message arrives"


class Window(Enum):
    """When."""

    NEVER = "never"
    UNKNOWN = "before the sender is made and before the peer's metadata"
    UNREGISTERED = "before the sender is made, after the peer's metadata"
    FIRST = "while the first of two chunks is in flight"
    LAST = "while the last chunk is in flight"
    DONE = "after Success"
