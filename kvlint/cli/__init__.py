"""The command line: a thin layer that turns arguments into a run and a run into text."""

from kvlint.cli.main import entry, main

__all__ = ["entry", "main"]
