"""Finds the file of an installed module, without importing anything of its package."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator


def may_be_installed(name: str, importer: str) -> bool:
    """Whether it makes sense to look for `name` outside the tree of the module `importer`."""
    top, dot, _ = name.partition(".")
    own = importer.partition(".")[0]
    return bool(dot) and top not in sys.stdlib_module_names and top not in ("", own)


def search_path() -> list[str]:
    """Where installed packages may lie: `sys.path` and the active virtual environment."""
    path = [entry for entry in sys.path if entry and os.path.isdir(entry)]
    active = os.environ.get("VIRTUAL_ENV")
    if active:
        for site in _site_folders(active):
            if site not in path:
                path.append(site)
                path.extend(entry for entry in _added(site) if entry not in path)
    return path


def _site_folders(environment: str) -> list[str]:
    lib = os.path.join(environment, "lib")
    windows = os.path.join(environment, "Lib", "site-packages")
    try:
        names = sorted(name for name in os.listdir(lib) if name.startswith("python"))
    except OSError:
        names = []
    sites = [os.path.join(lib, name, "site-packages") for name in names]
    return [site for site in (*sites, windows) if os.path.isdir(site)]


def _added(site: str) -> list[str]:
    """The folders that `.pth` files add (editable installs); their code lines are not run."""
    folders = []
    for name in sorted(os.listdir(site)):
        if not name.endswith(".pth"):
            continue
        try:
            with open(os.path.join(site, name), encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()
        except OSError:
            continue
        for line in lines:
            folder = os.path.join(site, line.strip())
            is_code = line.startswith(("import ", "import\t"))
            if line.strip() and not is_code and os.path.isdir(folder):
                folders.append(folder)
    return folders


def _editable(top: str) -> Iterator[str]:
    """Where setuptools' finders of editable installs that are no folders on the path have `top`."""
    for finder in sys.meta_path:
        if "Editable" in getattr(finder, "__name__", ""):
            known = getattr(sys.modules.get(finder.__module__), "MAPPING", {top: ""})
            yield from (known[name] for name in known if name.partition(".")[0] == top)


def _may_lie_in(path: list[str], top: str) -> bool:
    """Whether it is worth importing astroid (a tenth of a second) to look for a package."""
    if any(True for _ in _editable(top)):
        return True
    return any(
        os.path.isdir(os.path.join(entry, top)) or os.path.isfile(os.path.join(entry, f"{top}.py"))
        for entry in path
    )


class Shelf:
    """What lies where `locate` looks; each folder is listed once."""

    def __init__(self) -> None:
        self._path: list[str] | None = None
        self._names: dict[str, dict[str, list[str]]] = {}

    def state(self, name: str) -> list[list[str]]:
        """What there is for a dotted name: while this stays the same, so does `locate`'s answer."""
        if self._path is None:
            self._path = search_path()
        parts = name.split(".")
        state = [[place] for place in _editable(parts[0])]
        for entry in (*self._path, *(os.path.dirname(place) for [place] in state)):
            folder = entry
            for part in parts:
                here = [*self._called(folder, "__init__"), *self._called(folder, part)]
                if folder != entry or self._called(folder, part):
                    state.append([folder, *here])
                folder = os.path.join(folder, part)
                if not os.path.isdir(folder):
                    break
        return state

    def _called(self, folder: str, stem: str) -> list[str]:
        """The entries of a folder with this name, whatever they end in."""
        if folder not in self._names:
            known = self._names[folder] = {}
            try:
                names = sorted(os.listdir(folder))
            except OSError:
                names = []
            for name in names:
                known.setdefault(name.partition(".")[0], []).append(name)
        return self._names[folder].get(stem, [])


def locate(name: str, path: list[str] | None = None) -> tuple[str | None, str, str]:
    """The file of the longest module prefix of a dotted name, that prefix, and what is left."""
    where = search_path() if path is None else path
    parts = name.split(".")
    if not _may_lie_in(where, parts[0]):
        return None, "", name
    from astroid import modutils  # type: ignore[import-untyped,unused-ignore]

    for length in range(len(parts) - 1, 0, -1):
        try:
            spec = modutils.file_info_from_modpath(parts[:length], path=where)
        except ImportError:
            continue
        file = spec.location
        if file and os.path.isdir(file):
            file = os.path.join(file, "__init__.py")
        if file and file.endswith(".py") and os.path.isfile(file):
            return file, ".".join(parts[:length]), ".".join(parts[length:])
    return None, "", name
