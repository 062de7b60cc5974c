"""Writing to the two output streams, and what they can take."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from kvlint.errors import UsageError
from kvlint.report.style import DEFAULT_WIDTH, MIN_WIDTH, SAMPLE, Style


def out(text: str) -> None:
    """Write to stdout. A reader that went away (`| head`) does not change the exit status."""
    if sys.stdout is None:  # closed by the caller: `kvlint check >&-`
        return
    try:
        write(sys.stdout, text)
        sys.stdout.flush()
    except BrokenPipeError:
        _point_at_nothing()
    except OSError as error:
        _point_at_nothing()
        raise UsageError(f"cannot write the output: {error.strerror or error}") from None


_make_room: Callable[[], None] | None = None


@contextmanager
def above(make_room: Callable[[], None]) -> Iterator[None]:
    """Within, `make_room` is called before anything is written to stderr."""
    global _make_room
    before, _make_room = _make_room, make_room
    try:
        yield
    finally:
        _make_room = before


def warn(text: str) -> None:
    """Write to stderr, which may be closed."""
    if _make_room is not None and text:
        _make_room()
    with suppress(OSError, ValueError):
        write(sys.stderr, text)


def write(stream: TextIO | None, text: str) -> None:
    """Write `text`; what the stream's encoding lacks is escaped."""
    if stream is None:
        return
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def close_quietly() -> None:
    """Flush before the interpreter does, which would complain about a closed pipe."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            _point_at_nothing()


def style_for(color: str, *, ascii_only: bool = False) -> Style:
    """What stdout can show: `color` is auto, always or never."""
    stream = sys.stdout
    return Style(_colours(color, stream), not ascii_only and _takes_unicode(stream), stdout_width())


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person reads the stream directly."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def stdout_width() -> int:
    """The width of the output; see `width_of`."""
    return width_of(sys.stdout)


def width_of(stream: TextIO | None) -> int:
    """COLUMNS, else the terminal's width, else a fixed one so that files come out alike."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdigit() and int(wanted) > 0:
        return max(int(wanted), MIN_WIDTH)
    if stream is not None and is_terminal(stream):
        with suppress(OSError, ValueError, AttributeError):
            columns = os.get_terminal_size(stream.fileno()).columns
            return max(columns or DEFAULT_WIDTH, MIN_WIDTH)
    return DEFAULT_WIDTH


def _colours(color: str, stream: TextIO | None) -> bool:
    """The option beats the environment; NO_COLOR and FORCE_COLOR count when not empty."""
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def _takes_unicode(stream: TextIO | None) -> bool:
    try:
        SAMPLE.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _point_at_nothing() -> None:
    """Let what is still buffered go nowhere, so that the last flush cannot fail."""
    with suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
