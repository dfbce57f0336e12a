"""Inputs that a workflow lacks, asked for on a terminal."""

from __future__ import annotations

import os
import select
import sys
from typing import TYPE_CHECKING

from merrow_runtime.errors import UsageFailure
from merrow_server.cli.given.values import read_value
from merrow_server.rendering.snippet import visible
from merrow_server.rendering.terminal import echo, style

if TYPE_CHECKING:
    from merrow_runtime.program.inputs import MissingInput, MissingInputs

_QUOTES = '"""'
_PASTED = 0.05
"""Seconds in which the next line of a text that is pasted has come; nobody types one so fast."""


def can_ask() -> bool:
    """Whether a person can be asked: one who reads what is written, and whose answer can be read."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_for(request: MissingInputs) -> dict[str, str]:
    """What is typed for each input that has no value, as texts. Raises ``request`` itself where the typing ends before that."""
    how = f"Press Enter to end a value. {_QUOTES} begins and ends one of several lines; @FILE reads a file."
    echo(style(how, dim=True), err=True)
    return {missing.id: _ask(missing, request) for missing in request.missing}


def _ask(missing: MissingInput, request: MissingInputs) -> str:
    """Ask until there is a value that the input takes."""
    kind = "" if missing.type in ("Text", "Any") else f" ({visible(missing.type)})"
    while True:
        echo(f"{style(missing.id, bold=True)}{kind}: ", nl=False, err=True)
        text = typed()
        if text is None:
            echo(err=True)
            raise request
        if not text.strip():
            continue
        try:
            value = read_value(text)
            missing.read(value)
        except UsageFailure as problem:
            echo(str(problem), err=True)
        else:
            return value


def line() -> str | None:
    """A line that is typed; None at the end of input."""
    text = sys.stdin.readline()
    return text.removesuffix("\n") if text else None


def typed() -> str | None:
    """What is typed: a line, the lines between three quotes, or all lines of a text that is pasted; None at the end of input."""
    line = sys.stdin.readline()
    if not line:
        return None
    text = line.removesuffix("\n")
    if not text.lstrip().startswith(_QUOTES):
        while _has_more():
            text += "\n" + sys.stdin.readline().removesuffix("\n")
        return text
    text = text.lstrip().removeprefix(_QUOTES)
    while not text.rstrip().endswith(_QUOTES):
        line = sys.stdin.readline()
        if not line:
            return None
        text += "\n" + line.removesuffix("\n")
    return text.rstrip().removesuffix(_QUOTES).strip("\n")


def _has_more() -> bool:
    """Whether a further line is there already. Windows can't tell: there a line is a value."""
    return os.name == "posix" and bool(select.select([sys.stdin], [], [], _PASTED)[0])
