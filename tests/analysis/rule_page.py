"""Rule pages read as tests: the examples of a page, the files beside them, and what is expected of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from markdown_it import MarkdownIt

from merrow_analysis.cases.cases_reader import read_cases
from merrow_analysis.cases.checking import beside_workflow, check_cases
from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Diagnostic

SETTINGS_FILE = "merrow.toml"
CASES_FILE = "flow.cases.yaml"
SECTIONS = ["What it does", "Why is this bad", "Wrong", "Right", "How to configure"]
_EXPECT = re.compile(r"^\s*(?:%%|#)\s*expect(?P<file>-file)?:\s*(?P<codes>MW\d{3}(?:\s*,\s*MW\d{3})*)\s*$")


@dataclass
class Example:
    """A mermaid block of a page, and the files that stand before it in its section.

    ``expected`` has (line, code) pairs, ``in_settings`` and ``in_cases`` those in merrow.toml and in the cases file, ``anywhere``
    codes that the diagram must have somewhere.
    """

    section: str
    number: int
    text: str
    files: dict[str, str]
    expected: set[tuple[int, str]] = field(default_factory=set)
    in_settings: set[tuple[int, str]] = field(default_factory=set)
    in_cases: set[tuple[int, str]] = field(default_factory=set)
    anywhere: set[str] = field(default_factory=set)


@dataclass
class Page:
    title: str
    summary: str
    sections: list[str]
    examples: list[Example]

    def of(self, section: str) -> list[Example]:
        return [example for example in self.examples if example.section == section]


def read_page(markdown: str) -> Page:
    tokens = MarkdownIt().parse(markdown)
    headings: list[tuple[str, str]] = []
    summary, section = "", ""
    examples: list[Example] = []
    files: dict[str, str] = {}
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "inline" and before is not None and before.type == "heading_open":
            headings.append((before.tag, token.content))
            if before.tag == "h2":
                section, files = token.content, {}
        elif token.type == "inline" and not summary and not section:
            summary = token.content
        elif token.type == "fence":
            language, _, name = token.info.strip().partition(" ")
            if language == "mermaid":
                examples.append(_example(section, len(examples) + 1, token.content, dict(files)))
            elif name:
                files[name.strip()] = token.content
    [title] = [text for tag, text in headings if tag == "h1"]
    return Page(title, summary, [text for tag, text in headings if tag == "h2"], examples)


def _example(section: str, number: int, content: str, files: dict[str, str]) -> Example:
    lines = content.split("\n")
    text = "\n".join("" if _EXPECT.match(line) else line for line in lines)
    example = Example(section, number, text, files)
    for above, code in _expectations(lines):
        if above is None:
            example.anywhere.add(code)
        else:
            example.expected.add((above, code))
    for name, found in ((SETTINGS_FILE, example.in_settings), (CASES_FILE, example.in_cases)):
        beside = files.get(name, "").split("\n")
        found.update((above, code) for above, code in _expectations(beside) if above is not None)
    return example


def _expectations(lines: list[str]) -> Iterator[tuple[int | None, str]]:
    """The codes that comments among ``lines`` expect, each with the line that it speaks of; None for anywhere."""
    for number, line in enumerate(lines):
        match = _EXPECT.match(line)
        if match is not None:
            above = next(each for each in range(number - 1, -1, -1) if not _EXPECT.match(lines[each]))
            for code in re.findall(r"MW\d{3}", match["codes"]):
                yield None if match["file"] else above, code


class GivenFiles:
    """A provider of the files that stand in a page."""

    def __init__(self, files: dict[str, str]) -> None:
        self._files = files

    def read(self, path: str) -> str:
        from merrow_analysis.definitions.provider import ResourceError

        try:
            return self._files[path.removeprefix("./")]
        except KeyError:
            raise ResourceError(f"There is no file {path}.") from None

    def exists(self, path: str) -> bool:
        return path.removeprefix("./") in self._files


def found_in_cases(workflow: str, files: dict[str, str]) -> list[Diagnostic]:
    """The findings about the cases file among ``files``, beside the text of its workflow; none where there is no such file."""
    text = files.get(CASES_FILE)
    if text is None:
        return []
    graph = analyse(workflow, as_workflow=True).typed
    return check_cases(read_cases(text), beside_workflow("flow.mmd", graph, GivenFiles(files)))
