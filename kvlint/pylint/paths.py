"""The files and folders behind what pylint was given."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence

from astroid import modutils  # type: ignore[import-untyped,unused-ignore]


class Given:
    """What one run of pylint is about.

    A module or package is given by its path or its dotted name; `paths` has the paths of all. What
    is not found is not among them: pylint does not find it either and says so.
    """

    def __init__(self, files_or_modules: Sequence[str]) -> None:
        self.paths = tuple(_paths(files_or_modules))
        self._full = frozenset(map(os.path.abspath, self.paths))

    def covers(self, file: str) -> bool:
        """Whether a file, by its full path, is one of the paths or lies below one."""
        above = os.path.dirname(file)
        return file in self._full or (above != file and self.covers(above))


def _paths(files_or_modules: Sequence[str]) -> Iterator[str]:
    for one in files_or_modules:
        path = one if os.path.exists(one) else _file_of(one)
        if path is not None:
            yield os.path.normpath(path)


def _file_of(module: str) -> str | None:
    """The file or folder of a module, which is looked for and not imported."""
    try:
        found = modutils.file_info_from_modpath(module.split("."), path=[".", *sys.path])
    except (ImportError, ValueError):
        return None
    places = [found.location, *(found.submodule_search_locations or ())]
    return next((place for place in places if place and os.path.exists(place)), None)
