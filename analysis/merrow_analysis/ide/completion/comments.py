"""Completion in comments: suppressions and the rules they name."""

from __future__ import annotations

import re

from merrow_analysis.ide.completion.items import CompletionItems
from merrow_analysis.ide.cursor.place import InComment
from merrow_analysis.rules.registry import all_rules

_OPEN_LIST = re.compile(r"%%\s*merrow\b[ \t]*:[ \t]*ignore(?:-file)?[ \t]*\[([^\]]*)$", re.IGNORECASE)
_AFTER_MARK = re.compile(r"%%\s*merrow\b[ \t]*:[ \t]*([\w-]*)$", re.IGNORECASE)
_BEGUN = re.compile(r"%%[ \t]*(\w*)$")


def comment_items(items: CompletionItems, place: InComment) -> None:
    """Items for a comment line."""
    in_list = _OPEN_LIST.search(place.before)
    if in_list is not None:
        _rules(items, in_list[1])
        return
    word = _AFTER_MARK.search(place.before) or _BEGUN.search(place.before)
    if word is None:
        return
    prefix = "" if word.re is _AFTER_MARK else "merrow: "
    for rank, (name, help_text) in enumerate(
        (("ignore", "Silences rules in the next statement"), ("ignore-file", "Silences rules in the whole file"))
    ):
        space = " " if not prefix and word.start(1) and place.before[word.start(1) - 1] == ":" else ""
        space = " " if prefix and place.before.endswith("%%") else space
        text = f"{space}{prefix}{name}"
        items.add(
            f"{prefix}{name}",
            "keyword",
            items.range(len(word[1])),
            rank=rank,
            text=f"{text}[]",
            snippet=f"{text}[$1]",
            detail=help_text,
        )


def _rules(items: CompletionItems, listed: str) -> None:
    """The rules; those that are broken in this file come first."""
    word = re.split(r"[\s,]", listed)[-1]
    named = {code.strip().upper() for code in listed.split(",")[:-1]}
    below = [
        diagnostic for diagnostic in items.analysis.diagnostics if diagnostic.range.start.line > items.position.line
    ]
    nearest = below[0].range.start.line if below else -1
    next_ones = {diagnostic.code for diagnostic in below if diagnostic.range.start.line == nearest}
    broken = {diagnostic.code for diagnostic in items.analysis.diagnostics}
    for rule in all_rules():
        if rule.code in named:
            continue
        rank = 0 if rule.code in next_ones else 1 if rule.code in broken else 2
        items.add(
            rule.code,
            "rule",
            items.range(len(word)),
            rank=rank,
            detail=rule.name,
            description=rule.severity.value,
            filter_text=f"{rule.code} {rule.name}",
            subject=("rule", rule.code),
        )
