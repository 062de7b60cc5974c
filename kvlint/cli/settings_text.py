"""The settings of a run as TOML that can be pasted into a pyproject.toml."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kvlint.cache import place
from kvlint.config import Settings

_NAMES = (
    *("select", "ignore", "exclude", "fail_on", "show_latent", "output_format", "baseline"),
    *("preemptions", "max_states", "max_seconds", "jobs", "cache"),
)
_UNSET = {
    "output_format": "full on a terminal, else concise",
    "baseline": "none",
    "max_seconds": "no limit",
    "jobs": "one for each CPU",
}


def settings_text(settings: Settings) -> str:
    """All settings, with where they come from."""
    return "".join(line + "\n" for line in _lines(settings))


def _lines(settings: Settings) -> Iterator[str]:
    yield f"# from {settings.source or 'the defaults'} and the command line"
    yield "[tool.kvlint]"
    for name in _NAMES:
        value = getattr(settings, name)
        if value is None:
            yield f"# {_key(name)}: {_UNSET[name]}"
        else:
            yield f"{_key(name)} = {_value(value)}"
            if name == "cache" and value and place.is_off():
                yield f"# {place.OFF} turns it off"
    yield ""
    yield "[tool.kvlint.per-file-ignores]"
    for pattern, selectors in settings.per_file_ignores:
        yield f"{_value(pattern)} = {_value(selectors)}"
    yield ""
    yield "[tool.kvlint.environment]"
    for name, value in settings.environment._asdict().items():
        yield f"{_key(name)} = {_value(value)}"
    yield ""
    yield "[tool.kvlint.protocol]"
    for name, value in settings.protocol._asdict().items():
        if value:
            yield f"{_key(name)} = {_value(value)}"
        else:
            yield f"# {_key(name)}: found in the code"


def _key(name: str) -> str:
    return name.replace("_", "-")


def _value(value: Any) -> str:
    """A TOML value; JSON's strings, lists and booleans are TOML's."""
    return json.dumps(list(value) if isinstance(value, tuple) else value)
