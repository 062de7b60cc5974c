"""Writing: all files or none, old or new and never half, and everything about a file kept."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kvlint.errors import UsageError
from kvlint.fix.write import write_all

from .backends import backend, fix

OLD, NEW = b"old\n", b"new\n"


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two files with the old content."""
    paths = [tmp_path / "a.py", tmp_path / "b.py"]
    for path in paths:
        path.write_bytes(OLD)
    return paths


def write(files: list[Path]) -> None:
    """Give every file the new content."""
    write_all({str(f): NEW for f in files}, {str(f): OLD for f in files})


def test_both_are_written_and_nothing_is_left(files: list[Path]) -> None:
    write(files)
    assert [f.read_bytes() for f in files] == [NEW, NEW]
    assert sorted(os.listdir(files[0].parent)) == ["a.py", "b.py"]


def test_the_mode_stays(files: list[Path]) -> None:
    files[0].chmod(0o751)
    write(files)
    assert files[0].stat().st_mode & 0o7777 == 0o751


def test_a_link_stays_a_link(files: list[Path]) -> None:
    link = files[0].parent / "link.py"
    link.symlink_to("a.py")
    write([link])
    assert link.is_symlink()
    assert files[0].read_bytes() == NEW


def test_a_read_only_file_stops_all(files: list[Path]) -> None:
    files[1].chmod(0o444)
    check_refused(files, f"cannot write {files[1]}: the file is read-only; no file was changed")


def test_a_file_that_changed_meanwhile_is_not_overwritten(files: list[Path]) -> None:
    files[1].write_bytes(b"newer\n")
    with pytest.raises(UsageError, match="it was changed while it was analysed; no file was"):
        write(files)
    assert [f.read_bytes() for f in files] == [OLD, b"newer\n"]


def test_a_full_disk_stops_all(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    check_refused(files, f"cannot write {files[0]}: No space left on device; no file was changed")


def check_refused(files: list[Path], line: str) -> None:
    """The line, the old contents, and no temporary file."""
    with pytest.raises(UsageError) as refused:
        write(files)
    assert str(refused.value) == line
    assert [f.read_bytes() for f in files] == [OLD, OLD]
    assert sorted(os.listdir(files[0].parent)) == ["a.py", "b.py"]


def test_what_was_written_before_a_failure_is_named(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.replace

    def replace(old: str, new: str) -> None:
        if new.endswith("b.py"):
            raise OSError(5, "Input/output error")
        real(old, new)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(UsageError) as refused:
        write(files)
    assert str(refused.value) == (
        f"cannot write {files[1]}: Input/output error; changed before that: {files[0]}; "
        "the others are as they were"
    )
    assert [f.read_bytes() for f in files] == [NEW, OLD]
    assert sorted(os.listdir(files[0].parent)) == ["a.py", "b.py"]


@pytest.mark.parametrize("step", ["fsync", "replace", "fchmod"])
def test_an_interrupt_leaves_old_files(
    step: str, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(files)
    assert [f.read_bytes() for f in files] == [OLD, OLD]
    assert sorted(os.listdir(files[0].parent)) == ["a.py", "b.py"]


def test_killed_at_any_moment_a_file_is_old_or_new(tmp_path: Path) -> None:
    """A process that is killed while it writes the same two contents again and again."""
    file = tmp_path / "a.py"
    contents = [b"old\n" * 20_000, b"new\n" * 20_000]
    file.write_bytes(contents[0])
    program = (
        "import sys\nfrom kvlint.fix.write import write_all\n"
        "a, b = b'old\\n' * 20_000, b'new\\n' * 20_000\nprint(flush=True)\n"
        "while True:\n    write_all({sys.argv[1]: b}, {sys.argv[1]: a})\n    a, b = b, a\n"
    )
    for _ in range(5):
        content = file.read_bytes()
        assert content in contents
        file.write_bytes(contents[0])
        with subprocess.Popen(
            [sys.executable, "-c", program, str(file)], stdout=subprocess.PIPE
        ) as child:
            assert child.stdout is not None
            child.stdout.readline()
            for _ in range(200):
                assert file.read_bytes() in contents
            child.send_signal(signal.SIGKILL)
        assert file.read_bytes() in contents


def test_the_command_reports_a_read_only_file(tmp_path: Path) -> None:
    file = tmp_path / "conn.py"
    file.write_text(backend())
    file.chmod(0o444)
    call = fix(str(file))
    assert (call.code, call.out) == (2, "")
    assert call.err == (
        f"kvlint: error: cannot write {file}: the file is read-only; no file was changed\n"
    )
    assert file.read_text() == backend()


def test_the_command_reports_a_limit_on_file_sizes(tmp_path: Path) -> None:
    file = tmp_path / "conn.py"
    file.write_text(backend())

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = subprocess.run(
        [sys.executable, "-m", "kvlint", "fix", "--isolated", str(file)],
        cwd=tmp_path,  # in the checkout its own folder would hide the installed package
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"kvlint: error: cannot write {file.name}: File too large; no file was changed\n"
    )
    assert file.read_text() == backend()
    assert os.listdir(tmp_path) == ["conn.py"]
