"""Repairs of YAML that can't be read, in metadata and front matter: each is tried before it is offered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

from merrow_analysis.definitions.front_matter import read_front_matter
from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.diagnostics import Fix
from merrow_analysis.edits.replacements import Replacement
from merrow_analysis.edits.yaml_write import quoted
from merrow_analysis.places.node_places import source_span
from merrow_analysis.rules.reporting import fix
from merrow_analysis.syntax.parser import parse_diagram
from merrow_analysis.syntax.tree import Block, Broken, FrontMatter, Metadata
from merrow_analysis.text import TextEdit

_CLOSERS = {"[": "]", "{": "}", '"': '"', "'": "'"}
_ENTRY = re.compile(r"(?:^|(?<=[\n,{]))[ \t]*(?:-[ \t]+)?([\w-]+)[ \t]*:(?=\s|$)", re.MULTILINE)
_LAST_WORD = re.compile(r"([ \t]+)[\w-]+[ \t]*\Z")
_MARGIN = re.compile(r"^[ \t]*\t[ \t]*", re.MULTILINE)
_NEXT_ENTRY = re.compile(r",[ \t]*[\w-]+[ \t]*:(?=\s|$)")
_TABS = ("  ", "    ", "        ")
"""What a tab may stand for."""


class YamlRepair(NamedTuple):
    """A repair: its title, and what it replaces."""

    title: str
    changes: tuple[Replacement, ...]
    safe: bool = False


def readable_front(front: FrontMatter, block: Block, at: int) -> Iterator[Fix]:
    """The repairs of a front matter whose reader stopped ``at`` an offset into its body."""

    def reads(body: str) -> bool:
        return read_front_matter(body, front.indent).error is None

    start, end = front.body_span
    yield from _fixes(block, start, yaml_repairs(block.text[start:end], at, reads, in_lines=True))


def readable_metadata(metadata: Metadata, block: Block, at: int) -> Iterator[Fix]:
    """The repairs of metadata whose reader stopped ``at`` an offset into their body."""
    start, end = metadata.body_span
    body = block.text[start:end]

    def reads(text: str) -> bool:
        plain = text.replace("\r\n", "\n")
        return parse_metadata(plain).error is None and _is_whole(block.text[:start] + text + block.text[end:])

    stopped = source_span(metadata, block, (at, at))[0] - start
    yield from _fixes(block, start, yaml_repairs(body, stopped, reads, in_lines="\n" in body.strip()))


def _is_whole(text: str) -> bool:
    """Whether the statements of a block can be read."""
    diagram = parse_diagram(f"flowchart TD\n{text}\n")
    return not any(isinstance(statement, Broken) for block in diagram.blocks for statement in block.statements)


def _fixes(block: Block, start: int, repairs: Iterator[YamlRepair]) -> Iterator[Fix]:
    for title, changes, safe in repairs:
        edits = [TextEdit(block.range((start + begin, start + end)), new) for begin, end, new in changes]
        yield fix(title, edits, safe=safe)


def yaml_repairs(text: str, at: int, reads: Callable[[str], bool], *, in_lines: bool) -> Iterator[YamlRepair]:
    """The repairs of a text after which it ``reads``; ``at`` is where its reader stopped.

    ``in_lines`` says that each line is an entry, as in a front matter.
    """
    seen = {text}
    for tries in _groups(text, min(at, len(text)), in_lines=in_lines):
        for repair in tries:
            after = text
            for start, end, new in sorted(repair.changes, reverse=True):
                after = after[:start] + new + after[end:]
            if after not in seen and reads(after):
                seen.add(after)
                yield repair
        if len(seen) > 1:
            return


def _groups(text: str, at: int, *, in_lines: bool) -> Iterator[Iterator[YamlRepair]]:
    """What is tried, the likeliest first; what comes later is only for a text that nothing before repairs."""
    for tab in _TABS:
        yield _with_spaces(text, tab)
    yield _repeated(text, at)
    yield chain(_parted(text, at) if not in_lines else (), _closed(text, at, in_lines=in_lines))
    yield chain(_in_quotes(text, at, in_lines=in_lines), _indented(text, at) if in_lines else ())


def _with_spaces(text: str, tab: str) -> Iterator[YamlRepair]:
    tabs = [Replacement(*match.span(), match[0].replace("\t", tab)) for match in _MARGIN.finditer(text)]
    if tabs:
        yield YamlRepair("Indent with spaces", tuple(tabs), safe=True)


def _parted(text: str, at: int) -> Iterator[YamlRepair]:
    word = _LAST_WORD.search(text[:at])
    if word is not None and not text[: word.start()].endswith(":"):
        yield YamlRepair("Add a comma", (Replacement(word.start(), word.end(1), ", "),))


def _line(text: str, at: int) -> tuple[int, int]:
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, len(text) if end == -1 else end


def _repeated(text: str, at: int) -> Iterator[YamlRepair]:
    """Take out one of two entries with the same key."""
    entries = list(_ENTRY.finditer(text))
    here = next((entry for entry in entries if entry.start(1) <= at <= entry.end()), None)
    if here is None:
        return
    same = [entry for entry in entries if entry[1] == here[1]]
    for which, entry in zip(("first", "second"), same, strict=False):
        if len(same) == 2:
            following = next((other for other in entries if other.start() >= entry.end()), None)
            yield YamlRepair(f"Remove the {which} {entry[1]}", (_cut(text, entry, following),))


def _cut(text: str, entry: re.Match[str], following: re.Match[str] | None) -> Replacement:
    start, end = _line(text, entry.start(1))
    if end == len(text) and start and not text[start : entry.start(1)].strip():
        return Replacement(start - 1, end, "")
    if not text[start : entry.start(1)].strip() and (following is None or following.start(1) > end):
        return Replacement(start, min(end + 1, len(text)), "")
    if following is not None:
        return Replacement(entry.start(1), following.start(1), "")
    comma = text.rfind(",", 0, entry.start(1))
    return Replacement(comma if comma != -1 else entry.start(1), len(text.rstrip()), "")


def _closed(text: str, at: int, *, in_lines: bool) -> Iterator[YamlRepair]:
    """Close a bracket or a quote at the end of its line, or of its entry."""
    start, end = _line(text, at)
    closer = _CLOSERS.get(text[at : at + 1])
    if closer is None:
        if not in_lines and "[" in text:
            yield YamlRepair("Add ]", (Replacement(len(text.rstrip()), len(text.rstrip()), "]"),))
        return
    following = None if in_lines else _NEXT_ENTRY.search(text, at, end)
    places = [] if following is None else [following.start()]
    places += [len(text[start:end].rstrip()) + start, len(text.rstrip())]
    for place in places:
        yield YamlRepair(f"Add {closer}", (Replacement(place, place, closer),))


def _in_quotes(text: str, at: int, *, in_lines: bool) -> Iterator[YamlRepair]:
    """Put the value of the entry in quotes that the reader stopped in."""
    start, end = _line(text, at)
    before = [entry for entry in _ENTRY.finditer(text) if entry.end() <= at]
    for entry in reversed(before[-2:]):
        begin = entry.end() + len(text[entry.end() :]) - len(text[entry.end() :].lstrip(" \t"))
        if begin < start:
            return
        following = None if in_lines else _NEXT_ENTRY.search(text, begin, end)
        stop = end if following is None else following.start()
        value = text[begin:stop].rstrip()
        bare = value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
        if bare:
            written = quoted(bare, in_statement=not in_lines)
            yield YamlRepair("Put the value in quotes", (Replacement(begin, begin + len(value), written),))


def _indented(text: str, at: int) -> Iterator[YamlRepair]:
    """Indent a line as one above it."""
    start, end = _line(text, at)
    margin = len(text[start:end]) - len(text[start:end].lstrip(" \t"))
    above = [line for line in text[:start].split("\n") if line.strip() and not line.lstrip().startswith("#")]
    margins = dict.fromkeys(line[: len(line) - len(line.lstrip(" \t"))] for line in reversed(above))
    near = sorted(margins, key=lambda indent: abs(len(indent) - margin))
    for indent in near[:2]:
        title = (
            "Indent the line as the one above"
            if above[-1].startswith(indent) and above[-1][len(indent)] not in " \t"
            else ""
        )
        yield YamlRepair(title or "Indent the line as its neighbours", (Replacement(start, start + margin, indent),))
