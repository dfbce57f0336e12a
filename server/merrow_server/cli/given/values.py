"""Values given on the command line, as they are or in files."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from merrow_server.errors import InputError
from merrow_server.files import decode, read_path

_LARGEST_INPUT = 50_000_000
"""Bytes."""
_STANDARD_INPUT = "@-"


def read_values(pairs: Iterable[str], option: str) -> dict[str, str]:
    """``NAME=VALUE`` and ``NAME=@file`` (``@-``: standard input) as names with texts; ``@@`` begins a value with one @.

    Raises `InputError` for a pair without ``=`` or a file that can't be read, and for a name, or standard input, given twice.
    """
    given: dict[str, str] = {}
    for pair in pairs:
        name, mark, value = pair.partition("=")
        name = name.strip()
        if not mark or not name:
            raise InputError(f"{option} {pair!r} lacks its value; write {option} NAME=VALUE or {option} NAME=@file.")
        if name in given:
            raise InputError(f"{option} {name} is given twice.")
        given[name] = value
    from_standard_input = [name for name, value in given.items() if value == _STANDARD_INPUT]
    if len(from_standard_input) > 1:
        first, second = from_standard_input[:2]
        raise InputError(
            f"{option} {first} and {option} {second} can't both come from standard input; write {option} {second}=@file."
        )
    return {name: read_value(value) for name, value in given.items()}


def read_value(value: str) -> str:
    """What is meant by ``@file``, ``@-`` (standard input) or ``@@...``; any other text means itself. Raises `InputError`."""
    if value.startswith("@@"):
        return value[1:]
    if value == _STANDARD_INPUT:
        return decode(sys.stdin.buffer.read(), "standard input").text
    if value.startswith("@"):
        return read_path(Path(value[1:]), value[1:], _LARGEST_INPUT).text
    return value
