"""Find, explain and fix the races that leave a KV-transfer request without a terminal status."""

__version__ = "0.1.0"
