"""The statuses of a room, and what an engine tells the backend about its buffers."""


class KVPoll:
    Failed = 0
    Bootstrapping = 1
    WaitingForInput = 2
    Transferring = 3
    Success = 4


class KVArgs:
    """Attributes are set by the engine."""
