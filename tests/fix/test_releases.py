"""On real releases: one command, two places, proven, and nothing where the code is sound."""

from __future__ import annotations

import ast
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ..releases.conftest import Release, release
from ..releases.matrix import slow
from ..releases.seed import VERSION, Seed, make_seed
from ..running import report
from .backends import Call, fix, git, repository
from .checks import check_comments_kept, check_formatters_agree

__all__ = ["release"]  # a fixture

pytestmark = pytest.mark.releases

INSIDE = Path("sglang") / "srt" / "disaggregation"
# From the first unsafe base of this form, over the first with an override, to the last one.
PROVEN = ("0.5.12.post1", *slow("0.5.16", "0.5.19"))
BETWEEN = slow("0.5.13.post1", "0.5.15.post1", "0.5.17", "0.5.18")  # and 0.5.14, as the variant
SAFE_BASE = ("0.5.23",)
GUARD = [
    "        if self.request_status.get(bootstrap_room) in (KVPoll.Failed, KVPoll.Success):",
    "            return",
]
WITNESSED = ("KV101", "KV102", "KV103", "KV104")


@pytest.fixture(scope="module")
def seed(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seed]:
    """The variant that started the project, in a git repository."""
    made = make_seed(release(VERSION), tmp_path_factory.mktemp("seed"))
    with repository(root_of(made.folder)):
        yield made


@pytest.fixture(scope="module")
def diff(seed: Seed) -> Call:
    """What `--diff` prints for it, before the proven change is written."""
    return fix_in(seed.folder, "--diff", "--no-verify")


@pytest.fixture(scope="module")
def fixed(seed: Seed, diff: Call) -> Call:
    """One command, after which the variant is fixed."""
    return fix_in(seed.folder)


@pytest.fixture(scope="module")
def after(seed: Seed, fixed: Call) -> dict[str, Any]:
    """What a check says of the fixed variant."""
    return report("check", str(seed.folder))


def root_of(folder: Path) -> Path:
    """The folder that a checkout of `sglang/srt/disaggregation` is in."""
    return folder.parents[2]


def fix_in(folder: Path, *argv: str) -> Call:
    """Run the command from the root, so that paths are those of the repository."""
    here = os.getcwd()
    os.chdir(root_of(folder))
    try:
        return fix(str(INSIDE), *argv)
    finally:
        os.chdir(here)


def added(root: Path) -> dict[str, list[str]]:
    """The lines that git sees as added, by file; a removed line is a failure."""
    found: dict[str, list[str]] = {}
    file = ""
    for line in git(root, "diff", "--unified=0").decode().splitlines():
        if line.startswith("+++ b/"):
            file = line[6:]
        elif line.startswith("+"):
            found.setdefault(file, []).append(line[1:])
        else:
            assert not line.startswith("-") or line.startswith("--- "), line
    return found


@pytest.mark.parametrize("version", [VERSION])  # lets the release load with the others
def test_the_seed_gets_both_fixes_in_two_places(version: str, seed: Seed, fixed: Call) -> None:
    assert fixed.code == 0, fixed.err
    changed = added(root_of(seed.folder))
    assert changed == {
        str(INSIDE / "common" / "conn.py"): GUARD,
        str(INSIDE / "nixl" / "conn.py"): [
            "                    # Nothing else ends a live room whose chunk is dropped here.",
            "                    if self.request_status.get(room, KVPoll.Failed) not in (",
            "                        KVPoll.Failed,",
            "                        KVPoll.Success,",
            "                    ):",
            '                        self.record_failure(room, "no entry in transfer_infos")',
            "                        self.update_status(room, KVPoll.Failed)",
        ],
    }


def test_git_applies_the_diff_and_gets_what_is_written(seed: Seed, diff: Call, fixed: Call) -> None:
    root = root_of(seed.folder)
    assert diff.code == 1
    written = git(root, "diff")
    git(root, "stash", "--quiet")
    git(root, "apply", given=diff.out.encode())
    assert git(root, "diff") == written
    git(root, "checkout", "--quiet", ".")
    git(root, "stash", "pop", "--quiet")


def test_the_summary_names_the_findings_and_the_search(
    seed: Seed, fixed: Call, after: dict[str, Any]
) -> None:
    lines = fixed.out.splitlines()
    assert lines[0] == "Keep terminal states, conclude the rooms of skipped chunks"
    nixl = INSIDE / "nixl" / "conn.py"
    text = " ".join(fixed.out.split())
    skips = {f"resolves KV102 (confirmed, pinned) {nixl}:{n}" for n in seed.skip}
    assert sum(skip in text for skip in skips) == 1
    late = re.findall(rf"resolves KV103 \([^)]*\) {re.escape(str(nixl))}:([\d, ]+)", text)
    assert str(seed.late_write) in " ".join(late).replace(",", "").split()
    searched = {one["class"]: one for one in after["searched"]}
    prefill = searched["NixlKVManager[PREFILL]"]
    assert prefill["complete"]
    assert (
        "- NixlKVManager[PREFILL]: 2 threads (transfer_worker, bootstrap_thread) and the "
        "scheduler, 1 room, 2 chunks, at most 2 narrow switches (those with 1 chunk): "
        f"{prefill['states']} states, complete"
    ) in text


def test_no_schedule_pins_or_revives_afterwards(after: dict[str, Any]) -> None:
    assert all(one["complete"] for one in after["searched"])
    sure = [f for f in after["findings"] if f["verdict"] == "confirmed"]
    assert [f for f in sure if f["rule"] in WITNESSED] == []
    ends = {f["bad_end"] for f in sure if f["witness"]}
    assert ends == {"zombie"}  # of KV106: a room that was cleared, which hangs nobody


def test_what_still_pins_a_room_is_another_defect(seed: Seed, after: dict[str, Any]) -> None:
    pins = {
        (f["rule"], f["class"])
        for f in after["findings"]
        if f["verdict"] == "confirmed" and f["bad_end"] == "pinned"
    }
    assert pins == {
        ("KV105", "NixlKVManager"),  # an abort before the room is registered is forgotten,
        ("KV301", "NixlKVSender"),  # and this sender has no deadline to make up for it
        ("KV108", "MooncakeKVManager"),  # an exception ends the worker
    }


def test_taking_a_out_again_brings_the_witness_back(seed: Seed, fixed: Call) -> None:
    base = seed.folder / "common" / "conn.py"
    text = base.read_text(encoding="utf-8")
    guard = "".join(f"{line}\n" for line in GUARD)
    assert text.count(guard) == 1
    base.write_text(text.replace(guard, ""), encoding="utf-8")
    try:
        found = report("check", str(seed.backend))["findings"]
    finally:
        base.write_text(text, encoding="utf-8")
    revived = [f for f in found if f["rule"] == "KV103" and f["verdict"] == "confirmed"]
    assert any(f["witness"] and f["bad_end"] == "resurrected" for f in revived)


def test_the_fixed_seed_is_in_good_shape(
    seed: Seed, release: Release, fixed: Call, tmp_path: Path
) -> None:
    old = make_seed(release(VERSION), tmp_path).folder
    for name in ("common", "nixl"):
        check_shape(old / name / "conn.py", seed.folder / name / "conn.py")


def check_shape(before: Path, after: Path) -> None:
    """It compiles, the comments are there, and no formatter has anything to do."""
    ast.parse(after.read_bytes())
    check_comments_kept(before.read_bytes(), after.read_bytes())
    assert check_formatters_agree(before, after) == 3


def test_a_second_run_changes_no_byte(seed: Seed, fixed: Call) -> None:
    before = git(root_of(seed.folder), "diff")
    again = fix_in(seed.folder)
    assert (again.code, again.out) == (0, "")
    assert git(root_of(seed.folder), "diff") == before


@pytest.mark.parametrize("version", PROVEN)
def test_a_release_with_the_unsafe_base_gets_the_guard(
    version: str, release: Release, tmp_path: Path
) -> None:
    folder = tmp_path / INSIDE
    shutil.copytree(release(version) / INSIDE, folder)
    with repository(tmp_path):
        assert fix_in(folder).code == 0
        assert added(tmp_path) == {str(INSIDE / "common" / "conn.py"): GUARD}
        again = fix_in(folder)
        assert (again.code, again.out) == (0, "")
        assert added(tmp_path) == {str(INSIDE / "common" / "conn.py"): GUARD}
    check_base(release(version) / INSIDE, folder)


@pytest.mark.parametrize("version", BETWEEN)
def test_the_releases_between_get_the_same(version: str, release: Release, tmp_path: Path) -> None:
    folder = tmp_path / INSIDE
    shutil.copytree(release(version) / INSIDE, folder)
    with repository(tmp_path):
        # Not proven here: their searches are like those of the releases before and after. Wide
        # windows are enough to find what is to be fixed.
        diff = fix_in(folder, "--diff", "--no-verify", "--preemptions", "0")
        assert diff.code == 1
        git(tmp_path, "apply", given=diff.out.encode())
        assert added(tmp_path) == {str(INSIDE / "common" / "conn.py"): GUARD}
    check_base(release(version) / INSIDE, folder)


def check_base(before: Path, after: Path) -> None:
    """The base class is in good shape, and its method does what it did but for the fix."""
    old, new = (folder / "common" / "conn.py" for folder in (before, after))
    check_shape(old, new)
    check_only_terminal_states_differ(method(old), method(new))


def method(file: Path) -> Callable[[Any, int, int], None]:
    """The release's own update method, taken out of its file."""
    tree = ast.parse(file.read_bytes())
    (cls,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "CommonKVManager")
    (update,) = (
        n for n in cls.body if isinstance(n, ast.FunctionDef) and n.name == "update_status"
    )
    names = ("Failed", "Bootstrapping", "WaitingForInput", "Transferring", "Success")
    poll = SimpleNamespace(**{name: value for value, name in enumerate(names)})
    space: dict[str, Any] = {"KVPoll": poll}
    exec(compile(ast.Module([update], []), str(file), "exec"), space)
    function: Callable[[Any, int, int], None] = space["update_status"]
    return function


def check_only_terminal_states_differ(
    old: Callable[[Any, int, int], None], new: Callable[[Any, int, int], None]
) -> None:
    """Run both over every current and every written status."""
    changed = set()
    for current in (None, *range(5)):
        for written in range(5):
            before, after = (result(f, current, written) for f in (old, new))
            if before != after:
                changed.add((current, written))
                assert (current, after) in ((0, 0), (4, 4))
    assert changed == {(0, 1), (0, 2), (0, 3), (0, 4), (4, 0)}


def result(
    update: Callable[[Any, int, int], None], current: int | None, written: int
) -> int | None:
    """The status after one call."""
    manager = SimpleNamespace(request_status={} if current is None else {7: current})
    update(manager, 7, written)
    status: int | None = manager.request_status.get(7)
    return status


@pytest.mark.parametrize("version", SAFE_BASE)
def test_a_release_with_the_safe_base_is_not_touched(
    version: str, release: Release, tmp_path: Path
) -> None:
    folder = tmp_path / INSIDE
    shutil.copytree(release(version) / INSIDE, folder)
    call = fix_in(folder)
    assert (call.code, call.out) == (0, "")
    for file in folder.rglob("*.py"):
        assert file.read_bytes() == (release(version) / file.relative_to(tmp_path)).read_bytes()


ZOMBIE_BASE = ("0.5.15.post1", *slow("0.5.19"))


@pytest.mark.parametrize("version", ZOMBIE_BASE)
def test_a_late_write_creates_no_room_after_fix_e(
    version: str, release: Release, tmp_path: Path
) -> None:
    folder = tmp_path / INSIDE
    shutil.copytree(release(version) / INSIDE, folder)
    call = fix_in(folder, "--select", "E", "--unsafe-fixes")
    assert call.code == 0, call.err
    found = report("check", str(folder / "nixl"))["findings"]
    assert [f for f in found if f["rule"] == "KV106"] == []
    base = Path("common", "conn.py")
    check_shape(release(version) / INSIDE / base, folder / base)
    old, new = method(release(version) / INSIDE / base), method(folder / base)
    for current in (None, *range(5)):
        for written in range(5):
            stays = current is None and written not in (1, 2)
            assert result(new, current, written) == (
                None if stays else result(old, current, written)
            )
