"""Source lines for excerpts."""

from __future__ import annotations

from collections.abc import Mapping


class Sources:
    """Lines of source files by displayed path, from memory or else from disk.

    A file that cannot be read any more has no lines; the excerpt is left out then.
    """

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self._texts = texts or {}
        self._lines: dict[str, list[str]] = {}

    def line(self, path: str, number: int) -> str | None:
        """Line `number` (from 1) without its line break."""
        lines = self._of(path)
        return lines[number - 1] if 0 < number <= len(lines) else None

    def _of(self, path: str) -> list[str]:
        if path not in self._lines:
            text = self._texts[path] if path in self._texts else _read(path)
            # Not splitlines(): the parser's line numbers know no other line breaks than these.
            unified = text.replace("\r\n", "\n").replace("\r", "\n")
            self._lines[path] = unified.split("\n") if text else []
        return self._lines[path]


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
            return file.read()
    except (OSError, ValueError):
        return ""
