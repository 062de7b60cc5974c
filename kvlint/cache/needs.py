"""What a result turned out to depend on beside the files that the run was about.

A file that was looked for and not found counts as much as one that was read: it may be there the
next time. Paths are relative to the working directory, so that the files of a revision, which lie
in another folder each time, find their results again.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from kvlint.cache.key import content_digest
from kvlint.cache.shapes import by_name, many, record, text, texts
from kvlint.discover import source

if TYPE_CHECKING:
    from kvlint.cache.key import Location
    from kvlint.discover.loader import Loader
    from kvlint.discover.source import Contents
    from kvlint.discover.walk import Walk


class Needs(NamedTuple):
    """Files that were read, by their content; files that were there, and that were not.

    `outside` holds what lay on Python's search path for each name that was looked for there.
    """

    read: dict[str, str]
    there: tuple[str, ...]
    missing: tuple[str, ...]
    outside: dict[str, tuple[tuple[str, ...], ...]]

    def hold(self, location: Location, contents: Contents) -> bool:
        """Whether all this is still so; what is read for it goes into `contents`."""
        return (
            not any(os.path.isfile(location.full(path)) for path in self.missing)
            and all(os.path.isfile(location.full(path)) for path in self.there)
            and all(_reads(location.full(p), digest, contents) for p, digest in self.read.items())
            and (not self.outside or self._same_outside())
        )

    def _same_outside(self) -> bool:
        from kvlint.discover.installed import Shelf

        shelf = Shelf()
        return all(_tuples(shelf.state(name)) == state for name, state in self.outside.items())


READER = record(Needs, by_name(text), texts, texts, by_name(many(texts)))


def needs(loader: Loader, walk: Walk, contents: Contents, location: Location) -> Needs:
    """What the run that this loader served asked for."""
    given = set(walk.files)
    read = {path: content_digest(c) for path, c in contents.items() if path not in given}
    if loader.outside and "astroid" in sys.modules:
        version = os.path.join(os.path.dirname(sys.modules["astroid"].__file__ or ""), _VERSION)
        read[version] = content_digest(source.outcome(version))
    asked = loader.layout.asked()
    return Needs(
        {location.relative(path): digest for path, digest in read.items()},
        # The walk itself tells of its files.
        tuple(
            location.relative(path) for path, found in asked.items() if found and path not in given
        ),
        tuple(location.relative(path) for path, found in asked.items() if not found),
        {name: _tuples(state) for name, state in loader.outside.items()},
    )


_VERSION = "__pkginfo__.py"  # of astroid, which answers for names outside the tree


def _reads(path: str, digest: str, contents: Contents) -> bool:
    if path not in contents:
        contents[path] = source.outcome(path)
    return content_digest(contents[path]) == digest


def _tuples(state: list[list[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(map(tuple, state))
