"""The folder of entries: whole or not there, bounded, and no more of it than kvlint's own."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kvlint.cache.store import Damaged, Removed, Store

ONE, TWO, THREE, FOUR = (digit * 64 for digit in "1234")
HEAD = len("kvlint ") + 64 + 1  # bytes of an entry before its body


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store that is not there yet and has room for three entries of 100 bytes."""
    return Store(str(tmp_path / "deep" / "cache"), 3 * (HEAD + 100))


def names(store: Store) -> set[str]:
    return set(os.listdir(store.folder)) - {"CACHEDIR.TAG", ".gitignore"}


def used(store: Store, key: str, seconds_ago: float) -> None:
    when = time.time() - seconds_ago
    os.utime(store.path(key), (when, when))


def test_what_was_written_is_read(store: Store) -> None:
    assert store.read(ONE) is None
    store.write(ONE, b"one\n")
    store.write(TWO, b"")
    store.write(ONE, b"once more")
    assert (store.read(ONE), store.read(TWO), store.read(THREE)) == (b"once more", b"", None)
    assert names(store) == {f"{ONE}.json", f"{TWO}.json"}


def test_the_folder_says_what_it_is(store: Store) -> None:
    store.write(ONE, b"x")
    tag = Path(store.folder, "CACHEDIR.TAG").read_text()
    assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    assert Path(store.folder, ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:HEAD],
        lambda data: data[:10],
        lambda data: b"",
        lambda data: data + b"x",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: data.partition(b"\n")[2],
        lambda data: b"\0" * len(data),
    ],
    ids=["short", "no body", "half a head", "empty", "long", "a bit", "no head", "zeros"],
)
def test_a_damaged_entry_is_no_entry(store: Store, damage: object) -> None:
    assert callable(damage)
    store.write(ONE, b"result")
    path = Path(store.path(ONE))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(Damaged, match=ONE):
        store.read(ONE)
    store.write(ONE, b"result")
    assert store.read(ONE) == b"result"


def test_an_entry_under_another_name_is_damaged(store: Store) -> None:
    store.write(ONE, b"result")
    os.rename(store.path(ONE), store.path(TWO))
    with pytest.raises(Damaged, match=TWO):
        store.read(TWO)


def test_the_entry_that_was_not_used_for_longest_goes(store: Store) -> None:
    for ago, key in ((30, ONE), (20, TWO), (10, THREE)):
        store.write(key, b"x" * 100)
        used(store, key, ago)
    assert store.read(ONE) is not None  # used just now
    store.write(FOUR, b"x" * 100)
    assert names(store) == {f"{key}.json" for key in (ONE, THREE, FOUR)}


def test_the_size_stays_within_its_bound(store: Store) -> None:
    for number in range(40):
        store.write(f"{number:064x}", b"x" * (number * 7 % 100))
        size = sum(os.path.getsize(os.path.join(store.folder, n)) for n in names(store))
        assert size <= store.max_bytes
    assert len(names(store)) >= 3


def test_what_would_fill_the_folder_alone_is_not_stored(store: Store) -> None:
    store.write(ONE, b"x" * 100)
    store.write(TWO, b"x" * store.max_bytes)
    assert names(store) == {f"{ONE}.json"}


def test_what_a_killed_run_left_goes_after_a_while(store: Store) -> None:
    store.write(ONE, b"x")
    left, current = (Path(store.folder, f"{TWO}.{n}.partial") for n in ("00", "01"))
    left.write_bytes(b"half")
    current.write_bytes(b"half")
    os.utime(left, (0, 0))
    assert store.read(TWO) is None
    store.write(THREE, b"x")
    assert names(store) == {f"{ONE}.json", f"{THREE}.json", current.name}


def test_an_entry_that_another_run_removes_first(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in (ONE, TWO, THREE):
        store.write(key, b"x" * 100)
        used(store, key, 10)
    unlink = os.unlink

    def late(path: str) -> None:
        unlink(path)
        unlink(path)

    monkeypatch.setattr(os, "unlink", late)
    store.write(FOUR, b"x" * 100)
    assert len(names(store)) == 3
    assert store.read(FOUR) is not None


def test_a_write_that_fails_leaves_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.write(ONE, b"x")

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        store.write(TWO, b"x")
    assert names(store) == {f"{ONE}.json"}


def test_clear_removes_all_and_the_folder(store: Store) -> None:
    assert store.clear() == Removed(0, 0)
    store.write(ONE, b"x" * 10)
    store.write(TWO, b"x" * 20)
    Path(store.folder, f"{THREE}.ab.partial").write_bytes(b"x" * 5)
    assert store.clear() == Removed(2, 2 * HEAD + 35)
    assert not os.path.exists(store.folder)


def test_clear_removes_nothing_that_is_not_its_own(store: Store) -> None:
    store.write(ONE, b"x")
    others = {
        ".gitignore": "*\n!keep\n",
        "notes.json": "{}",
        f"{ONE}.json.bak": "x",
        f"{ONE[:-1]}.json": "x",
        f"{ONE}.partial": "x",
        "CACHEDIR.TAG": "Signature: another one\n",
    }
    for name, text in others.items():
        Path(store.folder, name).write_text(text)
    Path(store.folder, "deeper").mkdir()
    Path(store.folder, "deeper", f"{TWO}.json").write_text("x")
    assert store.clear().entries == 1
    assert set(os.listdir(store.folder)) == {*others, "deeper"}
    assert Path(store.folder, "deeper", f"{TWO}.json").exists()


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    store = Store(str(tmp_path / "file" / "cache"))
    assert store.read(ONE) is None
    with pytest.raises(OSError, match="cache"):
        store.write(ONE, b"x")
