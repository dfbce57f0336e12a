"""What in a file can be followed by a click: addresses of ``click`` lines, prompt files, libraries, files of checks and called
files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.settings import read_settings
from merrow_analysis.definitions.validators import paths_of_files
from merrow_analysis.places.call_places import calls_of
from merrow_analysis.places.front_names import scalar_span
from merrow_analysis.syntax.tree import Click
from merrow_analysis.text import Range

_ADDRESS = re.compile(r"(?:https?|mailto|file):", re.IGNORECASE)
_OTHER_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


@dataclass(frozen=True, slots=True)
class DocumentLink:
    """``target`` is an address, or, where ``is_file``, a path from the folder of the workflow file."""

    range: Range
    target: str
    tooltip: str
    is_file: bool


def links(analysis: Analysis) -> list[DocumentLink]:
    """The links of a file, in the order of the text. Anchors and scripts lead nowhere in an editor and are none."""
    return [*_files(analysis), *_called(analysis), *_clicks(analysis)]


def _called(analysis: Analysis) -> Iterator[DocumentLink]:
    if analysis.typed is not None:
        for _, path, place in calls_of(analysis.typed):
            yield DocumentLink(place, path, "Open the called workflow", is_file=True)


def _clicks(analysis: Analysis) -> Iterator[DocumentLink]:
    for block in analysis.diagram.blocks:
        for statement in block.statements:
            if not isinstance(statement, Click) or not statement.link:
                continue
            target = statement.link.strip()
            is_address = _ADDRESS.match(target) is not None
            if not target or target.startswith("#") or (not is_address and _OTHER_SCHEME.match(target)):
                continue
            start = block.text.find(statement.link, *statement.span)
            if start != -1:
                place = block.range((start, start + len(statement.link)))
                yield DocumentLink(place, target, statement.tooltip or f"Open {target}", not is_address)


def _files(analysis: Analysis) -> Iterator[DocumentLink]:
    if analysis.diagram.front_matter is None:
        return
    front, block = analysis.diagram.front_matter
    own = read_settings(front.body, front.indent)
    named: list[tuple[str, str, tuple[str | int, ...]]] = []
    if own.prompt_file is not None:
        named.append((own.prompt_file, "Open the prompts", ("prompts",)))
    for number, library in enumerate(own.libraries):
        named.append((library, "Open the library", ("libraries", number)))
    for path_of in paths_of_files(own.validators_said):
        check: Any = own.validators_said
        for key in path_of:
            check = check[key]
        named.append((check.strip(), "Open the check", ("validators", *path_of)))
    for path, tooltip, keys in named:
        places = own.document.places("workflow", *keys) or own.document.places("workflow", *keys[:1])
        if places is None:
            continue
        start, end = places[1]
        span = scalar_span(block.text, (front.body_span[0] + start, front.body_span[0] + end))
        yield DocumentLink(block.range(span), path, tooltip, is_file=True)
