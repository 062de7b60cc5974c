"""What a result is stored under: everything that is known before the analysis starts.

What it only turns out to need while it runs (base classes elsewhere, files that are looked for and
not there) is in the entry, see `kvlint.cache.needs`.
"""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache
from typing import NamedTuple

from kvlint import __version__, catalog
from kvlint.config import Settings
from kvlint.discover.source import Contents, SourceError
from kvlint.discover.walk import Walk

# What a report does not depend on: its form, what is taken out of it later, and how soon it is
# there. A search that ran out of time is not stored.
_LATER = frozenset({"fail_on", "show_latent", "output_format", "baseline", "source", "cache"})
_SPEED = frozenset({"jobs", "max_seconds"})


class Location(NamedTuple):
    """Where a run takes place.

    `top` is the folder of a revision's files if they are laid out in a temporary place, whose own
    name is another one each time and must not count.
    """

    cwd: str
    top: str | None = None

    def full(self, path: str) -> str:
        """The absolute path that `relative` was given."""
        return os.path.normpath(os.path.join(self.cwd, path))

    def relative(self, path: str) -> str:
        """An absolute path as it is from the working directory, upwards too."""
        try:
            return os.path.relpath(path, self.cwd)
        except ValueError:  # on another drive
            return path

    def told(self) -> tuple[str, ...]:
        """What a result depends on of the place: the names of all folders from the root on."""
        if self.top is None:
            return (self.cwd,)
        above, name = os.path.split(self.top)
        return (os.path.dirname(above), name, os.path.relpath(self.cwd, self.top))


def key(location: Location, walk: Walk, contents: Contents, settings: Settings) -> str:
    """64 hexadecimal digits; `contents` has every file of the walk."""
    about = [__version__, _own_source(), sys.version, sys.prefix, *location.told()]
    about += [f"{n}={v!r}" for n, v in settings._asdict().items() if n not in _LATER | _SPEED]
    about += map(repr, walk.problems)
    files = [
        (location.relative(path), path in walk.explicit, _extent(contents[path]))
        for path in walk.files
    ]
    digest = hashlib.sha256(repr((about, files)).encode("utf-8", "surrogatepass"))
    for path in walk.files:
        content = contents[path]
        if isinstance(content, bytes):
            digest.update(content)
    return digest.hexdigest()


def content_digest(content: bytes | SourceError) -> str:
    """The same for one file."""
    digest = hashlib.sha256(repr(_extent(content)).encode("utf-8", "surrogatepass"))
    digest.update(content if isinstance(content, bytes) else b"")
    return digest.hexdigest()


def _extent(content: bytes | SourceError) -> int | tuple[int, str]:
    """How long a file is, so that no two rows of files look the same; or why it is not read."""
    return len(content) if isinstance(content, bytes) else (content.line, content.message)


@cache
def _own_source() -> str:
    """Tells one state of kvlint's own code from another: a checkout changes without a version."""
    digest = hashlib.sha256()
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    for top in (package, catalog.folder()):
        for folder, below, names in os.walk(top):
            below[:] = sorted(name for name in below if name != "__pycache__")
            for name in sorted(names):
                if name.endswith((".py", ".md")):
                    with open(os.path.join(folder, name), "rb") as file:
                        data = file.read()
                    digest.update(repr((os.path.relpath(folder, top), name, len(data))).encode())
                    digest.update(data)
    return digest.hexdigest()
