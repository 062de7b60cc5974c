"""Which rules exist: found by looking into the rules folder, nothing is registered.

A rule is the files that share one stem: `rules/kv101_pop_without_terminal.py` is its engine side,
`rules/kv101_pop_without_terminal.md` its page. Listing reads file names only; a page is read when
its text is wanted and a rule module is never imported here.
"""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from typing import NamedTuple

from kvlint.errors import UsageError
from kvlint.hints import did_you_mean

ALL = "ALL"
UNREADABLE_FILE = "KV901"
ABOUT_FILES = "KV9"  # what is said about files and comments, not about rooms


class Rule(NamedTuple):
    """One rule, as its file names tell it."""

    id: str
    name: str
    page_path: str

    @property
    def module(self) -> str | None:
        """The importable name of the rule's engine side; None for a rule that needs none."""
        stem = os.path.splitext(self.page_path)[0]
        return f"kvlint.rules.{os.path.basename(stem)}" if os.path.exists(stem + ".py") else None

    @property
    def page_name(self) -> str:
        """The file name of the page."""
        return os.path.basename(self.page_path)

    def page(self) -> str:
        """The Markdown page, the one source of text for everything that describes the rule."""
        try:
            with open(self.page_path, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            raise UsageError(f"{self.id} {self.name} has no page") from None

    def summary(self) -> str:
        """The first paragraph after the title, as one line."""
        body = self.page().replace("\r\n", "\n").partition("\n")[2].strip()
        return " ".join(body.partition("\n\n")[0].split())


@cache
def folder() -> str:
    """The installed rules folder."""
    return os.path.abspath(import_module("kvlint.rules").__path__[0])


def rules() -> tuple[Rule, ...]:
    """All rules, in order of their ids."""
    return _rules_in(folder())


@cache
def _rules_in(path: str) -> tuple[Rule, ...]:
    stems = {os.path.splitext(entry)[0] for entry in os.listdir(path) if _is_rule_file(entry)}
    return tuple(sorted(_rule(path, stem) for stem in stems))


def _is_rule_file(entry: str) -> bool:
    return (
        entry.startswith("kv")
        and entry[2:5].isdigit()
        and entry[5:6] == "_"
        and entry.endswith((".py", ".md"))
    )


def _rule(path: str, stem: str) -> Rule:
    name = stem[6:].replace("_", "-")
    return Rule(stem[:5].upper(), name, os.path.join(path, stem + ".md"))


def matching(selector: str) -> tuple[Rule, ...]:
    """The rules that `selector` means: an id, the start of one (`KV1`), a name or `ALL`."""
    wanted = selector.upper()
    if wanted == ALL:
        return rules()
    return tuple(
        rule for rule in rules() if rule.name.upper() == wanted or _starts(rule.id, wanted)
    )


def _starts(rule_id: str, prefix: str) -> bool:
    return prefix.startswith("KV") and rule_id.startswith(prefix)


def check_selectors(selectors: tuple[str, ...], where: str) -> None:
    """Refuse a selector that means no rule; `where` names the option or key it stands in."""
    for selector in selectors:
        if not matching(selector):
            raise UsageError(f"{where}: {unknown(selector)}")


def find(id_or_name: str) -> Rule:
    """The one rule with that id or name, in any case."""
    wanted = id_or_name.upper()
    for rule in rules():
        if wanted in (rule.id, rule.name.upper()):
            return rule
    raise UsageError(unknown(id_or_name))


def unknown(word: str) -> str:
    """What to say about a word that means no rule."""
    choices = [text for rule in rules() for text in (rule.id, rule.name)]
    return f"unknown rule '{word}'{did_you_mean(word, choices) or ' (kvlint rules lists them)'}"
