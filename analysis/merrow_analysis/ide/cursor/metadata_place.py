"""What is being typed inside ``@{ }``: which key or value, and what stands before it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from merrow_analysis.ide.cursor.yaml_place import yaml_place

_ENTRY = re.compile(r"(?:^|[,\n{])[ \t]*[\"']?([A-Za-z_][\w-]*)[\"']?[ \t]*:[ \t]+(\"[^\"]*\"|[^,\n}]*)")


@dataclass(frozen=True, slots=True)
class MetadataPlace:
    """A place in a metadata block. ``path`` leads to the mapping or the value there, ``length`` is that of its word so far.

    ``values`` are the entries before the place as they are written, without quotes.
    """

    path: tuple[str, ...]
    is_key: bool
    length: int
    in_text: bool
    values: dict[str, str]


def metadata_place(body: str) -> MetadataPlace:
    """Say what is typed at the end of ``body``, the beginning of what stands between ``@{`` and ``}``."""
    text = body if "\n" in body else "{" + body
    here = yaml_place(text, len(text))
    word = text[here.start :]
    quoted = word.startswith('"')
    before = text[: here.start]
    values = {match[1]: match[2].strip().strip('"') for match in _ENTRY.finditer(before)}
    if not here.is_key and here.path:
        values.pop(here.path[-1], None)
    return MetadataPlace(here.path, here.is_key, len(word) - quoted, here.in_text or (quoted and " " in word), values)
