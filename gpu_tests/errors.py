"""What can go wrong with a run, as opposed to with the backend under test."""

from __future__ import annotations


class HarnessError(Exception):
    """The run itself failed; nothing is said about the backend."""


class NotQuiet(HarnessError):
    """The two sides did not come to rest within the bound, so no end can be read off."""


class NotLoadable(HarnessError):
    """The backend uses a part of its package that is not loaded here."""
