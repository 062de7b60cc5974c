"""Where a step is, cut to the space there is."""

from __future__ import annotations

from kvlint.findings import Step
from kvlint.hints import one_line
from kvlint.report.style import Style

_MIN_NAME = 8  # cells


def place(step: Step, width: int, style: Style) -> str:
    """`path:line function`; a long path loses its middle, then the function its end."""
    return shorten(step.path, width - len(ending(step)), style) + ending(step)


def ending(step: Step) -> str:
    """What follows the path."""
    return f":{step.line} {step.function.rpartition('.')[2]}".rstrip()


def shorten(path: str, width: int, style: Style) -> str:
    """`path` without folders from its middle; where even its last name is too long, cut."""
    path = one_line(path)
    *folders, name = path.split("/")
    gap = style.glyph("cut")
    shorter = [path]
    for kept in range(len(folders) - 1, 0, -1):
        tail = "/".join([*folders[-kept:], name])
        shorter += [f"{folders[0]}/{gap}/{tail}", f"{gap}/{tail}"]
    shorter.append(f"{gap}/{name}")
    whole = next((text for text in shorter if len(text) <= width), name)
    return cut_middle(whole, max(width, _MIN_NAME), gap)


def cut_middle(text: str, width: int, gap: str) -> str:
    """`text` without its middle where it is longer than `width`."""
    if len(text) <= width:
        return text
    ahead = (width - len(gap)) // 2
    return text[:ahead] + gap + text[len(text) - (width - len(gap) - ahead) :]
