"""The two roles of a manager."""

import enum


class DisaggregationMode(enum.Enum):
    PREFILL = "prefill"
    DECODE = "decode"
