"""The results as a table for a reader and as JSON for a program."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import median

from .scenarios import Outcome
from .storm import Storm
from .transport import Transport


def cell(outcomes: Sequence[Outcome]) -> str:
    """What became of a scenario in all its runs."""
    counted = Counter(map(_words, outcomes))
    if len(counted) == 1 and len(outcomes) == 1:
        return next(iter(counted))
    return "; ".join(f"{words} {count}/{len(outcomes)}" for words, count in counted.most_common())


def _words(outcome: Outcome) -> str:
    words = [outcome.end.value]
    if outcome.end.value == "pinned":
        words[0] = f"pinned in {outcome.sender}"
    words += [f"{name.split(':')[0].split('(')[-1].rstrip(')')} dead" for name in outcome.dead]
    if outcome.later != "Success":
        words.append(f"later room {outcome.later}")
    if outcome.wrong:
        words.append(f"{outcome.wrong} wrong pages")
    if outcome.reused:
        words.append(f"reused: {outcome.reused}")
    return ", ".join(words)


def scenario_table(columns: Mapping[str, Sequence[Outcome]]) -> str:
    """One row a scenario, one column a variant."""
    names = list(dict.fromkeys(o.scenario for outcomes in columns.values() for o in outcomes))
    rows = [["scenario", *columns]]
    for name in names:
        rows.append(
            [name, *(cell([o for o in all_ if o.scenario == name]) for all_ in columns.values())]
        )
    return table(rows)


def storm_table(columns: Mapping[str, Sequence[Storm]]) -> str:
    """One column a variant; its last storm, and the rates of all of them."""
    rows = [["storm", *columns]]
    last = [storms[-1] for storms in columns.values()]
    for title, values in (
        ("rooms, aborted", [f"{s.rooms}, {s.aborts}" for s in last]),
        ("ends", [", ".join(f"{k} {v}" for k, v in sorted(s.ends.items())) for s in last]),
        ("pinned rooms", [str(len(s.pinned)) for s in last]),
        ("not aborted, not whole", [str(len(s.unfinished)) for s in last]),
        ("wrong pages", [str(s.wrong) for s in last]),
        ("dead threads", [str(len(s.dead)) for s in last]),
        ("later rooms", [", ".join(s.later) for s in last]),
        ("MiB/s: median", [f"{rate(storms):.1f}" for storms in columns.values()]),
        ("MiB/s: each", [_rates(storms) for storms in columns.values()]),
    ):
        rows.append([title, *values])
    return table(rows)


def _rates(storms: Sequence[Storm]) -> str:
    """All rates, which show how much of a difference is noise."""
    return ", ".join(f"{s.megabytes_a_second:.1f}" for s in storms)


def rate(storms: Sequence[Storm]) -> float:
    """The median rate of some storms."""
    return median(s.megabytes_a_second for s in storms)


def table(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose source lines up."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "| " + " | ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines) + "\n"


def as_json(
    transport: Transport,
    scenarios: Mapping[str, Sequence[Outcome]],
    storms: Mapping[str, Sequence[Storm]],
) -> str:
    """Everything that was observed."""
    return (
        json.dumps(
            {
                "schema": 1,
                "transport": asdict(transport),
                "scenarios": {
                    name: [{**asdict(o), "end": o.end.value, "good": o.good} for o in outcomes]
                    for name, outcomes in scenarios.items()
                },
                "storms": {
                    name: [
                        {**asdict(s), "good": s.good, "mib_a_second": s.megabytes_a_second}
                        for s in results
                    ]
                    for name, results in storms.items()
                },
            },
            indent=2,
        )
        + "\n"
    )
