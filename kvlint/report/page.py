"""A rule's Markdown page as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from kvlint.report.style import Style

_MAX_WIDTH = 100  # longer lines of prose are hard to read


def render(markdown: str, style: Style) -> str:
    """Headings without their hashes, code indented, prose wrapped to the width."""
    text = "\n".join(line.rstrip() for line in _lines(markdown, style))
    return text.strip("\n") + "\n"


def _lines(markdown: str, style: Style) -> Iterator[str]:
    prose = Style(style.colour, style.unicode, min(style.width, _MAX_WIDTH))
    paragraph: list[str] = []
    in_code = False
    for line in [*markdown.splitlines(), ""]:
        fence = line.lstrip().startswith("```")
        if in_code and not fence:
            yield style.paint("    " + line, "cyan") if line.strip() else ""
            continue
        starts_anew = fence or not line.strip() or line.startswith(("#", "|")) or _is_item(line)
        if starts_anew and paragraph:
            yield from _paragraph(paragraph, prose)
            paragraph = []
        if fence:
            in_code = not in_code
        elif line.startswith("#"):
            yield style.paint(line.lstrip("#").strip(), "bold")
        elif line.startswith("|"):
            yield line
        elif line.strip():
            paragraph.append(line)
        else:
            yield ""


def _is_item(line: str) -> bool:
    head = line.lstrip()
    number, dot, _ = head.partition(". ")
    return head.startswith(("- ", "* ")) or bool(dot and number.isdigit())


def _paragraph(lines: list[str], prose: Style) -> Iterator[str]:
    """One paragraph or list item; a later line of an item hangs below its text."""
    first = lines[0]
    indent = first[: len(first) - len(first.lstrip())]
    text = " ".join(line.strip() for line in lines).replace("**", "")
    marker = text.partition(" ")[0] + " " if _is_item(first) else ""
    hanging = indent + " " * len(marker)
    for line in prose.wrap(text[len(marker) :], indent=hanging, first=indent + marker):
        yield _inline_code(line, prose)


def _inline_code(line: str, style: Style) -> str:
    """Colour what stands between backticks; a span broken by the wrapping stays plain."""
    parts = line.split("`")
    if not style.colour or len(parts) % 2 == 0:
        return line
    return "".join(
        style.paint(f"`{part}`", "cyan") if index % 2 else part for index, part in enumerate(parts)
    )
