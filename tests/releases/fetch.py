"""SGLang releases from the package index, unpacked outside the repository.

    python -m tests.releases.fetch 0.5.14 0.5.16

prints the folders. They are read, never imported. The cache is `KVLINT_RELEASES`, else
`kvlint/releases` in the user's cache folder; its layout is `VERSION/sglang/...`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from filelock import FileLock

# Newer releases are built for one interpreter and platform. They are only read here, so that
# build serves every machine.
PINNED_BUILD = (
    *("--python-version", "3.11", "--implementation", "cp", "--abi", "cp311"),
    *("--platform", "manylinux_2_34_x86_64"),
)
PARALLEL_DOWNLOADS = 4


class FetchError(Exception):
    """A release could not be downloaded."""


def cache_folder() -> Path:
    """Where releases are kept."""
    named = os.environ.get("KVLINT_RELEASES")
    if named:
        return Path(named).resolve()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kvlint" / "releases"


def release(version: str) -> Path:
    """The folder that holds `sglang/` of a release, downloaded on first use."""
    target = cache_folder() / version
    if not (target / "sglang").is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        # One download serves all processes of a run.
        with FileLock(target.parent / f".{version}.lock"):
            if not (target / "sglang").is_dir():
                _install(version, target)
    return target


def releases(versions: Iterable[str]) -> dict[str, Path]:
    """Several releases, downloaded side by side."""
    wanted = list(dict.fromkeys(versions))
    with ThreadPoolExecutor(PARALLEL_DOWNLOADS) as pool:
        return dict(zip(wanted, pool.map(release, wanted), strict=True))


def required() -> bool:
    """Whether a missing release is a failure: in CI nothing is skipped for want of a network."""
    return os.environ.get("CI", "").lower() in ("1", "true")


def _install(version: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".partial-") as temporary:
        wheel = _download(version, Path(temporary) / "wheel")
        unpacked = Path(temporary) / "unpacked"
        _unpack(wheel, unpacked)
        unpacked.rename(target)


def _download(version: str, folder: Path) -> Path:
    errors = []
    for build in ((), PINNED_BUILD):
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
                *("--no-cache-dir", "--disable-pip-version-check", "--only-binary=:all:"),
                *("--dest", str(folder), *build, f"sglang=={version}"),
            ],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        wheels = sorted(folder.glob("*.whl"))
        if done.returncode == 0 and wheels:
            return wheels[0]
        errors.append(done.stderr.strip() or "pip gave no reason")
    raise FetchError(f"sglang {version} could not be downloaded: {errors[-1].splitlines()[-1]}")


def _unpack(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        sources = [
            name
            for name in archive.namelist()
            if name.startswith("sglang/") and name.endswith(".py")
        ]
        archive.extractall(folder, sources)


if __name__ == "__main__":
    for folder in releases(sys.argv[1:]).values():
        print(folder)
