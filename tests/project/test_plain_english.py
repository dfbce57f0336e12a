"""What people read is plain English: none of the worst idioms in rule pages, docs, help, settings, titles, messages."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from merrow_analysis.rules.configuration import SETTINGS
from merrow_analysis.rules.registry import all_rules
from merrow_server.cli import COMMANDS, program

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / "analysis/merrow_analysis/rules/pages").glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "vscode-extension/walkthrough").glob("*.md"),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "vscode-extension/README.md")),
]
SOURCES = [
    path
    for package in ("analysis", "runtime", "optimizer", "server")
    for path in (ROOT / package).rglob("*.py")
    # Texts for models: each word of them is part of recordings.
    if "operators" not in path.relative_to(ROOT).parts
]
IDIOMS = {
    "is not a ...": r"(?<!there )\b(?:is|are|was) no (?!longer|more|less|fewer|one\b|disagreement)(?:\w+)",
    "again": r"\banew\b",
    "forever": r"\bfor ever\b",
    "differently from": r"\botherwise than\b",
    "takes precedence over": r"\bgo(?:es)? before\b",
    "fixed": r"\bmended\b|\bput right\b",
    "this many, a limited amount": r"\bstop (?:at|after) so (?:much|many|long)\b|\bso (?:much money|many times)\b",
    "is in, is written in": r"(?<!\w|-)stands? (?:in|at|there|here|above|below|beside)\b",
    "suppressed": r"\bsilenced\b|\bmade little of\b",
    "reused": r"\b(?:is|are|was|were|be) taken over\b(?! by)",
    "reported": r"\bis remarked on\b|\bis told about\b",
    "a cycle": r"\bin a circle\b",
    "the user, a reader": r"\bwhoever\b",
    "stopped before it finished": r"\bended early\b",
    "continues": r"\bgo(?:es)? on with\b",
    "see it with": r"\blook at it with\b",
    "because": r"\bunknown, for the\b",
    "random seed": r"\bwhere (?:shuffles|the random choices) begin\b",
}
QUOTED = re.compile(r"^>.*$|^    .*$|```.*?```", re.MULTILINE | re.DOTALL)
"""Quotations and code: prompts as they are sent, output, files."""


def idioms(text: str) -> list[str]:
    """What should be said otherwise, each with its remedy."""
    return [
        f"{found[0]!r}: write {remedy!r}"
        for remedy, pattern in IDIOMS.items()
        for found in re.finditer(pattern, text, re.IGNORECASE)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages(page: Path) -> None:
    assert idioms(QUOTED.sub("", page.read_text("utf-8"))) == []


def test_rules_and_settings() -> None:
    texts = [rule.summary for rule in all_rules()] + [setting.help for setting in SETTINGS]
    assert [found for text in texts for found in idioms(text)] == []


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_help(name: str) -> None:
    context = click.Context(program)
    command = program.get_command(context, name)
    assert command is not None
    options = [option.help or "" for option in command.params if isinstance(option, click.Option)]
    assert idioms("\n".join([command.get_help(click.Context(command, parent=context)), *options])) == []
    assert idioms(COMMANDS[name]) == []


def test_titles_and_settings_of_the_extension() -> None:
    contributes = json.loads((ROOT / "vscode-extension/package.json").read_text("utf-8"))["contributes"]
    assert [found for text in strings(contributes) for found in idioms(text)] == []


@pytest.mark.parametrize("folder", sorted({source.parent.relative_to(ROOT).as_posix() for source in SOURCES}))
def test_messages(folder: str) -> None:
    sources = [source for source in SOURCES if source.parent == ROOT / folder]
    assert {source.name: found for source in sources if (found := idioms(all_messages(source)))} == {}


def all_messages(source: Path) -> str:
    return "\n\n".join(messages(ast.parse(source.read_text("utf-8"))))


def strings(value: object) -> Iterator[str]:
    """All texts in a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from strings(part)


def messages(tree: ast.AST) -> Iterator[str]:
    """The texts of several words in a module, without docstrings; an f-string is one text with a word for each value."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                skipped.add(id(statement.value))
        if isinstance(node, ast.JoinedStr):
            skipped |= {id(part) for part in node.values}
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "VALUE" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
            yield node.value


def test_the_idioms_are_found() -> None:
    assert idioms("This is no workflow.") == ["'is no workflow': write 'is not a ...'"]
    assert idioms("There is no workflow here, and nothing is no longer there.") == []
    assert len(idioms("It stands in the file, goes before it, and is made anew by whoever runs it.")) == 4
