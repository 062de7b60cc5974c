"""Ids and symbols: stable, documented, of one block. `python -m tests.pylint_plugin.test_messages`
renews the table in `docs/pylint.md`."""

from __future__ import annotations

import re
from pathlib import Path

from pylint.lint import PyLinter

from kvlint import catalog
from kvlint.findings import VERDICTS
from kvlint.pylint import register
from kvlint.pylint.messages import messages, symbol_of

from ..locations import ROOT

PAGE = ROOT / "docs" / "pylint.md"
START = "<!-- messages: written by `python -m tests.pylint_plugin.test_messages` -->\n"
END = "<!-- end of messages -->"


def test_ids_are_of_a_block_for_others_and_not_pylints_own() -> None:
    linter = PyLinter()
    linter.load_default_plugins()
    before = {message.msgid[1:3] for message in linter.msgs_store.messages}
    register(linter)
    register(linter)
    (checker,) = (c for c in linter.get_checkers() if c.name == "kvlint")
    (block,) = {msgid[1:3] for msgid in checker.msgs}
    assert 51 <= int(block) <= 99
    assert block not in before
    assert all(re.fullmatch(r"[EWRFI]\d{4}", msgid) for msgid in checker.msgs)


def test_every_rule_and_verdict_has_a_message_of_its_own() -> None:
    symbols = {entry[1]: msgid for msgid, entry in messages().items()}
    assert len(symbols) == len(messages())
    for rule in catalog.rules():
        about_files = rule.id.startswith(catalog.ABOUT_FILES)
        for verdict in VERDICTS[:1] if about_files else VERDICTS:
            assert symbols.pop(symbol_of(rule.id, rule.name, verdict)).endswith(_number(rule))
    assert sorted(symbols.values()) == ["E5802", "F5801", "I5804", "I5805", "W5803"]
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", symbol) for symbol in symbols)


def test_the_page_lists_them() -> None:
    assert _renewed(PAGE) == PAGE.read_text(encoding="utf-8"), f"run python -m {__name__}"
    for msgid, entry in messages().items():
        if msgid[3] == "0":
            assert f"| {msgid} | `{entry[1]}` |" in PAGE.read_text(encoding="utf-8")


def _number(rule: catalog.Rule) -> str:
    return f"{rule.id[2]}{rule.id[4]}"


def _renewed(page: Path) -> str:
    before, rest = page.read_text(encoding="utf-8").split(START)
    return before + START + _table() + END + rest.split(END)[1]


def _table() -> str:
    rows = ["| rule | confirmed | narrow | latent | symbol |\n", "|---|---|---|---|---|\n"]
    for rule in catalog.rules():
        ids = {entry[1]: msgid for msgid, entry in messages().items()}
        cells = [ids.get(symbol_of(rule.id, rule.name, verdict), "") for verdict in VERDICTS]
        symbol = symbol_of(rule.id, rule.name, "confirmed")
        rows.append(f"| {rule.id} | {' | '.join(cells)} | `{symbol}` |\n")
    return "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(_renewed(PAGE), encoding="utf-8")
