"""Snapshots of what the user sees (`pytest --renew-snapshots` writes them anew), and no cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Snapshot = Callable[[str, str], None]


@pytest.fixture(autouse=True, scope="session")
def no_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing is taken from earlier runs, and nothing goes into the user's own cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KVLINT_NO_CACHE", "1")
        patch.setenv("KVLINT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--renew-snapshots", action="store_true", help="write the snapshots anew")


@pytest.fixture
def snapshot(request: pytest.FixtureRequest) -> Snapshot:
    """Compare a text with the file of that name in the `snapshots` folder beside the test."""
    folder = request.path.parent / "snapshots"

    def compare(name: str, text: str) -> None:
        file = Path(folder, name)
        if request.config.getoption("--renew-snapshots"):
            folder.mkdir(exist_ok=True)
            file.write_bytes(text.encode())
        assert file.exists(), f"no snapshot {name}: run pytest --renew-snapshots and read it"
        assert text == file.read_bytes().decode()

    return compare
