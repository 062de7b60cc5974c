"""Settings of a run: `[tool.kvlint]` of the nearest pyproject.toml, beaten by the command line.

Every run pays for the imports of this module: named tuples, because `dataclasses` alone costs as
much as starting Python does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kvlint.errors import UsageError
from kvlint.hints import did_you_mean, one_line

FILE_NAME = "pyproject.toml"
TEXT_FORMATS = ("full", "concise", "github")  # without a finding they are the summary alone
OUTPUT_FORMATS = (*TEXT_FORMATS, "json", "sarif", "junit")
SEVERITIES = ("error", "warning", "note")  # those of kvlint.findings, without its imports


class ProtocolOverrides(NamedTuple):
    """Names that replace what the analysis would find by itself; empty means: find it."""

    status_enum: str | None = None
    status_table: str | None = None
    side_tables: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    updaters: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    failure: tuple[str, ...] = ()
    success: tuple[str, ...] = ()
    entry_points: tuple[str, ...] = ()


DISTURBANCES = ("message", "abort", "call", "clear", "watcher")


class Environment(NamedTuple):
    """What may happen to a room while the search looks at it.

    The scheduler sends `chunks` chunks in the wide pass (one in the narrow one) and, with
    `stops_sending`, may leave it at fewer once the room has failed. `messages` are tags that
    may arrive beside the messages found in the code. `disturbances` are the kinds of which each
    run has at most one.
    """

    chunks: int = 2
    stops_sending: bool = True
    messages: tuple[str, ...] = ()
    disturbances: tuple[str, ...] = DISTURBANCES


class Settings(NamedTuple):
    """Everything that decides what one run reports.

    `output_format` None leaves the choice to where the output goes. `baseline` is a file of
    findings that are known. The search makes at most
    `preemptions` switches where no thread waits, visits `max_states` in one run and takes
    `max_seconds` in all (None: no limit), in `jobs` processes (None: one for each CPU).
    `cache` lets a run use and store results (`kvlint.cache`).
    `source` is the file that the settings were read from, as shown to the user, and `root` its
    folder, to which its patterns are relative.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    fail_on: str = "warning"
    show_latent: bool = False
    output_format: str | None = None
    baseline: str | None = None
    preemptions: int = 2
    max_states: int = 100_000
    max_seconds: float | None = None
    jobs: int | None = None
    cache: bool = True
    environment: Environment = Environment()
    protocol: ProtocolOverrides = ProtocolOverrides()
    source: str | None = None
    root: str | None = None


def load_settings(
    start: str,
    *,
    config_file: str | None = None,
    isolated: bool = False,
    overrides: Mapping[str, Any] | None = None,
) -> Settings:
    """The settings for a run whose first path is `start`.

    `overrides` are fields of `Settings` that the command line gave; they beat the file.
    """
    settings = Settings()
    if config_file is not None:
        settings = _from_file(config_file, must_have_section=True) or settings
    elif not isolated:
        settings = _nearest(start) or settings
    settings = settings._replace(**(overrides or {}))
    # A run that fails on notes has to show them as well.
    return settings._replace(show_latent=settings.show_latent or settings.fail_on == "note")


def _nearest(start: str) -> Settings | None:
    """The first file with a `[tool.kvlint]`, from `start` upwards."""
    folder = os.path.abspath(start)
    while True:
        candidate = os.path.join(folder, FILE_NAME)
        if os.path.isfile(candidate):
            found = _from_file(candidate, must_have_section=False)
            if found is not None:
                return found
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def _from_file(path: str, *, must_have_section: bool) -> Settings | None:
    shown = _display(path)
    raw = _read(path, shown)
    # Most files on the way up do not name kvlint: they need no TOML parser.
    section = _section(raw, shown) if b"kvlint" in raw else None
    if section is not None:
        return _rooted(_settings(section, shown), os.path.dirname(os.path.abspath(path)))
    if must_have_section:
        raise UsageError(f"{shown}: no [tool.kvlint] section")
    return None


def _read(path: str, shown: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"{shown}: cannot read: {error.strerror or error}") from None


def _section(raw: bytes, shown: str) -> dict[str, Any] | None:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document = tomllib.loads(raw.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{shown}: not valid TOML: {error}") from None
    tool = document.get("tool")
    if not isinstance(tool, dict) or "kvlint" not in tool:
        return None
    return _table(tool["kvlint"], f"{shown}: tool.kvlint")


def _settings(section: dict[str, Any], shown: str) -> Settings:
    where = f"{shown}: tool.kvlint"
    values = _values(section, _KEYS, where)
    from kvlint.catalog import check_selectors

    for key in ("select", "ignore"):
        check_selectors(values.get(key, ()), f"{where}.{key}")
    for pattern, selectors in values.get("per_file_ignores", ()):
        check_selectors(selectors, f"{where}.per-file-ignores.{pattern}")
    return Settings(**values, source=shown)


def _rooted(settings: Settings, root: str) -> Settings:
    """Make the file's paths relative to the working directory, as discovery wants."""
    exclude = tuple(
        _display(os.path.join(root, pattern)) if "/" in pattern else pattern
        for pattern in settings.exclude
    )
    baseline = settings.baseline and _display(os.path.join(root, settings.baseline))
    return settings._replace(exclude=exclude, baseline=baseline, root=root)


def _values(section: dict[str, Any], readers: Mapping[str, Reader], where: str) -> dict[str, Any]:
    """The section's values by field name, each checked by its reader."""
    for key in section:
        if key not in readers:
            hint = did_you_mean(key, readers) or f" (known: {', '.join(sorted(readers))})"
            raise UsageError(f"{where}: unknown key '{one_line(key)}'{hint}")
    return {
        key.replace("-", "_"): readers[key](value, f"{where}.{key}")
        for key, value in section.items()
    }


Reader = Callable[[Any, str], Any]


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong_type(value, where, "a table")
    return value


def _string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise _wrong_type(value, where, "a string")
    return value


def _boolean(value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong_type(value, where, "true or false")
    return value


def _count(lowest: int) -> Reader:
    def read(value: Any, where: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _wrong_type(value, where, "an integer")
        if value < lowest:
            raise UsageError(f"{where}: {value} is less than {lowest}")
        return value

    return read


def _seconds(value: Any, where: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise _wrong_type(value, where, "a number")
    if not 0 < value < float("inf"):
        raise UsageError(f"{where}: {value} is not a number of seconds above 0")
    return float(value)


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _wrong_type(value, where, "a list of strings")
    return tuple(value)


def _choice(choices: tuple[str, ...]) -> Reader:
    def read(value: Any, where: str) -> str:
        if _string(value, where) not in choices:
            raise UsageError(f"{where}: {wrong_choice(value, choices)}")
        return str(value)

    return read


def _choices(choices: tuple[str, ...]) -> Reader:
    def read(value: Any, where: str) -> tuple[str, ...]:
        for item in _strings(value, where):
            if item not in choices:
                raise UsageError(f"{where}: {wrong_choice(item, choices)}")
        return tuple(choice for choice in choices if choice in value)

    return read


def _per_file(value: Any, where: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    table = _table(value, where)
    return tuple((key, _strings(item, f"{where}.{key}")) for key, item in table.items())


def _environment(value: Any, where: str) -> Environment:
    return Environment(**_values(_table(value, where), _ENVIRONMENT_KEYS, where))


def _protocol(value: Any, where: str) -> ProtocolOverrides:
    return ProtocolOverrides(**_values(_table(value, where), _PROTOCOL_KEYS, where))


def wrong_choice(value: str, choices: tuple[str, ...]) -> str:
    """What to say about a value that is none of `choices`."""
    return f"'{one_line(value)}' is not one of {', '.join(choices)}{did_you_mean(value, choices)}"


def _wrong_type(value: Any, where: str, wanted: str) -> UsageError:
    kinds = {
        str: "a string",
        bool: "a boolean",
        dict: "a table",
        list: "a list",
        int: "an integer",
        float: "a number",
    }
    found = kinds.get(type(value), f"a {type(value).__name__}")
    if isinstance(value, list):
        odd = next((item for item in value if not isinstance(item, str)), None)
        found += "" if odd is None else f" with {odd!r} in it"
    return UsageError(f"{where}: expected {wanted}, found {found}")


def _display(path: str) -> str:
    """`path` relative to the working directory where it lies below it."""
    absolute = os.path.abspath(path)
    here = os.path.join(os.getcwd(), "")
    return one_line(absolute.removeprefix(here).replace(os.sep, "/"))


_KEYS: dict[str, Reader] = {
    "select": _strings,
    "ignore": _strings,
    "per-file-ignores": _per_file,
    "exclude": _strings,
    "fail-on": _choice(SEVERITIES),
    "show-latent": _boolean,
    "output-format": _choice(OUTPUT_FORMATS),
    "baseline": _string,
    "preemptions": _count(0),
    "max-states": _count(1),
    "max-seconds": _seconds,
    "jobs": _count(1),
    "cache": _boolean,
    "environment": _environment,
    "protocol": _protocol,
}
_ENVIRONMENT_KEYS: dict[str, Reader] = {
    "chunks": _count(1),
    "stops-sending": _boolean,
    "messages": _strings,
    "disturbances": _choices(DISTURBANCES),
}
_PROTOCOL_KEYS: dict[str, Reader] = {
    name.replace("_", "-"): _string if default is None else _strings
    for name, default in ProtocolOverrides()._asdict().items()
}
