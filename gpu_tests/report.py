"""The results as a table for a reader and as JSON for a program."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from statistics import median

from .scenarios import UNKNOWN, End, Outcome
from .storm import Storm
from .transport import Transport
from .vocabulary import FAILED


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


def left_over(variant: str, outcomes: Sequence[Outcome]) -> str:
    """Which scenarios do not end well in the last column, and why; nothing if all do."""
    reasons = {o.scenario: why(o) for o in outcomes if not o.good}
    if not reasons:
        return ""
    lines = [f"  {name}: {reason}" for name, reason in reasons.items()]
    return "\n".join([f"not well with {variant}:", *lines, "", ""])


def why(outcome: Outcome) -> str:
    """What keeps a scenario from ending well, and whether there is a fix for it."""
    if outcome.dead:
        return "KV107, an exception ends the thread; no fix"
    if outcome.end is End.ZOMBIE:
        return "KV106, a late write brings the cleared room back; fix E"
    if outcome.end is End.PINNED and outcome.scenario == UNKNOWN:
        return "KV105, an abort that comes before everything else is remembered nowhere; no fix"
    if FAILED in outcome.seen and outcome.end is not End.UNDONE:
        return "KV103 or KV104, Failed was seen and did not stay; fix A"
    if outcome.end is End.UNDONE:
        return "KV104, Success was seen and did not stay; fix A"
    return "no Failed came of the abort that the prefill scheduler could see"


def storm_table(columns: Mapping[str, Sequence[Storm]]) -> str:
    """One column a variant; its last storm, and the times and rates of all of them.

    Rates are compared where nobody gives up: else the columns have moved other amounts of bytes.
    """
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
        ("seconds", [_each(s.seconds for s in storms) for storms in columns.values()]),
        ("MiB/s: each", [_each(map(_rate, storms)) for storms in columns.values()]),
        ("MiB/s: median", [f"{rate(storms):.1f}" for storms in columns.values()]),
    ):
        rows.append([title, *values])
    first = next(iter(columns.values()))
    if len(columns) > 1 and not any(s.aborts or not s.bytes for s in first):
        rows.append(["by the first, in one round", *(_ratios(s, first) for s in columns.values())])
    return table(rows)


def _each(values: Iterable[float]) -> str:
    """All of them, which shows how much of a difference is noise."""
    return ", ".join(f"{value:.1f}" for value in values)


def _rate(storm: Storm) -> float:
    return storm.megabytes_a_second


def _ratios(storms: Sequence[Storm], first: Sequence[Storm]) -> str:
    """The ratios of the rates of each round: their median, the least and the greatest."""
    if storms is first:
        return "1"
    ratios = [_rate(one) / _rate(other) for one, other in zip(storms, first, strict=True)]
    return f"median {median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}"


def rate(storms: Sequence[Storm]) -> float:
    """The median rate of some storms."""
    return median(map(_rate, storms))


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
                        {
                            **asdict(s),
                            "ends": dict(s.ends),  # asdict makes nonsense of a Counter
                            "good": s.good,
                            "mib_a_second": s.megabytes_a_second,
                        }
                        for s in results
                    ]
                    for name, results in storms.items()
                },
            },
            indent=2,
        )
        + "\n"
    )
