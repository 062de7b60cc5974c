"""The one exception that ends a run with a line for the user and exit status 2."""

from __future__ import annotations


class UsageError(Exception):
    """The command line, the configuration or an input path is wrong.

    Its text is shown as it is, so it says what is wrong and where.
    """
