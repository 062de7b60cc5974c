"""Addresses in a SARIF log: of files, and of the pages of the rules."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote

from kvlint.report.root import from_root

_LABEL = "Rules"


def uri(path: str, root: str) -> str:
    """A displayed path as a URI: relative where the file lies below the root of the run."""
    path = from_root(path, root)
    if os.path.isabs(path):
        return Path(path).as_uri()
    return quote(path.encode("utf-8", "surrogateescape"))


def pages_address() -> str:
    """Where the rules' pages can be read, as the package's metadata has it (`Rules` in its URLs).

    Empty if it names no such place.
    """
    from importlib import metadata

    try:
        urls = metadata.metadata("kvlint").get_all("Project-URL") or []
    except metadata.PackageNotFoundError:
        return ""
    for entry in urls:
        label, _, address = entry.partition(", ")
        if label == _LABEL:
            return address if address.endswith("/") else f"{address}/"
    return ""
