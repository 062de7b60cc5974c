"""Which files can take part in a status machine, told from their bytes before any parse."""

from __future__ import annotations


def may_take_part(data: bytes) -> bool:
    """Whether a file must be parsed."""
    return (b"hread" in data or b"async" in data or b"poll" in data) and (
        b".Fail" in data or b"FAIL" in data or b'"fail' in data or b"LOST" in data or b"DEAD" in data or b"ABORT" in data or b"room" in data
    )
