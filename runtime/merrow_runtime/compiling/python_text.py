"""How a program writes names and values: always the same text for the same thing, and one that Python reads back exactly."""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

_ESCAPED = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"'}


class PythonCode(str):
    """Text that stands in a program as it is: a name, or a call."""

    __slots__ = ()


def in_quotes(text: str) -> str:
    """A text as a literal on one line."""
    return '"' + "".join(_ESCAPED.get(letter) or _shown(letter) for letter in text) + '"'


def in_lines(text: str) -> str:
    """A text as a literal, over several lines where it has some."""
    if "\n" not in text:
        return in_quotes(text)
    lines = "".join(
        letter if letter == "\n" else _ESCAPED[letter] if letter == "\\" else _shown(letter) for letter in text
    )
    # No three quotes in a row, and none before those that end the literal.
    lines = re.sub(r'"(?=""|"?\Z)', r"\"", lines)
    # A blank at the end of a line is seen, and no editor takes it away.
    lines = re.sub(r"[ ](?=\n)", "\\\\x20", lines)
    return f'"""\\\n{lines}"""'


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def value(given: object) -> str:
    """A value as a literal on one line."""
    if isinstance(given, PythonCode):
        return given
    if isinstance(given, str):
        return in_quotes(given)
    if isinstance(given, Mapping):
        return "{" + ", ".join(f"{value(key)}: {value(part)}" for key, part in given.items()) + "}"
    if isinstance(given, tuple):
        return "(" + ", ".join(map(value, given)) + ("," if len(given) == 1 else "") + ")"
    if isinstance(given, Sequence):
        return "[" + ", ".join(map(value, given)) + "]"
    return repr(given)


class PythonNames:
    """Names of Python for things, each once: in snake case, or in capitals for constants."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = {*taken, *keyword.kwlist, *keyword.softkwlist, *dir(builtins)}
        self.given: set[str] = set()

    def of(self, text: str, *, constant: bool = False) -> str:
        """A name for what is called ``text``, which no other has."""
        plain = unicodedata.normalize("NFKC", text)
        name = re.sub(r"\W+", "_", plain).strip("_")
        name = unicodedata.normalize("NFKC", name.upper() if constant else name.lower())
        if not name.isidentifier():
            name = re.sub(r"[^0-9A-Za-z_]", "_", name).strip("_")
            name = name if name.isidentifier() else f"{'N' if constant else 'n'}_{name}".rstrip("_")
        free, number = name, 1
        while free in self._taken or free in self.given:
            number += 1
            free = f"{name}_{number}"
        self.given.add(free)
        return free
