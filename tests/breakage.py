"""Seeded breakage of valid workflows: what slips of the hand and half-finished typing leave behind."""

from __future__ import annotations

import re
from random import Random

_TOKEN = re.compile(
    r"[ \t]+|\w+|<?[xo]?--+>?|<?==+>?|-\.+->?|~~~|:::|@\{|\(\[|\]\)|\[\[|\]\]|\(\(|\)\)|\{\{|\}\}|[^\w\s]|\r?\n"
)
_ARROW = re.compile(r"--+>?|==+>?|-\.+->?")
_ID = re.compile(r"\b[A-Z][A-Z0-9_]*\b")
_STRAYS = [
    *(
        "-->",
        "--",
        "==>",
        "-.->",
        "-->|",
        "|",
        '"',
        "[",
        "]",
        "(",
        ")",
        "{",
        "}",
        "&",
        ";",
        ":::",
        "@{",
        "%% note",
        ":",
    ),
    *(
        "end",
        "subgraph",
        "subgraph x",
        "classDef",
        "class",
        "style",
        "click",
        "linkStyle 99 stroke:red",
        "direction",
        "x",
    ),
    *("A", "PROBLEM", "RETURN", "CustomOp", "Interface", "---", "<br/>", "o", "🙂", "linkStyle", "graph", "default"),
]
_LINES = [
    *(
        "subgraph part [Part]",
        "end",
        "A -->",
        "classDef",
        "%% merrow: ignore[MW001]",
        "%% merrow: ignore",
        "A & ",
        "class A",
    ),
    *(
        "%% merrow: ignore-file[MW0, MW2]",
        "linkStyle 0 stroke:red",
        "x --- o",
        "A --xB",
        "style A fill:#fff",
        "D{",
        "---",
    ),
]


def broken(text: str, random: Random) -> str:
    """``text`` with one to three things about it broken."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 3))):
        text = random.choice(_BREAKS)(text, random)
    return text


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _delete_token(text: str, random: Random) -> str:
    tokens = _tokens(text)
    if tokens:
        del tokens[random.randrange(len(tokens))]
    return "".join(tokens)


def _double_token(text: str, random: Random) -> str:
    tokens = _tokens(text)
    if tokens:
        at = random.randrange(len(tokens))
        tokens.insert(at, tokens[at])
    return "".join(tokens)


def _swap_tokens(text: str, random: Random) -> str:
    tokens = _tokens(text)
    if len(tokens) > 1:
        at = random.randrange(len(tokens) - 1)
        other = min(at + random.choice((1, 2, 3)), len(tokens) - 1)
        tokens[at], tokens[other] = tokens[other], tokens[at]
    return "".join(tokens)


def _add_token(text: str, random: Random) -> str:
    tokens = _tokens(text)
    tokens.insert(random.randrange(len(tokens) + 1), random.choice(_STRAYS))
    return "".join(tokens)


def _delete_mark(text: str, random: Random) -> str:
    places = [match.span() for match in re.finditer(r'["\[\](){}|:;,]|-->|&|:::', text)]
    if not places:
        return text
    start, end = random.choice(places)
    return text[:start] + text[end:]


def _delete_line(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    if len(lines) > 1:
        del lines[random.randrange(1, len(lines))]
    return "".join(lines)


def _double_line(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    if lines:
        at = random.randrange(len(lines))
        lines.insert(random.randrange(at, len(lines)) + 1, lines[at])
    return "".join(lines)


def _swap_lines(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    if len(lines) > 1:
        one, other = random.randrange(len(lines)), random.randrange(len(lines))
        lines[one], lines[other] = lines[other], lines[one]
    return "".join(lines)


def _join_lines(text: str, random: Random) -> str:
    places = [match.start() for match in re.finditer("\n", text)]
    if not places:
        return text
    at = random.choice(places)
    return text[:at] + " " * random.randrange(2) + text[at + 1 :]


def _add_line(text: str, random: Random) -> str:
    lines = text.splitlines(keepends=True)
    lines.insert(random.randrange(len(lines) + 1), f"    {random.choice(_LINES)}\n")
    return "".join(lines)


def _other_id(text: str, random: Random) -> str:
    places = [match.span() for match in _ID.finditer(text)]
    if not places:
        return text
    (start, end), (other_start, other_end) = random.choice(places), random.choice(places)
    return text[:start] + text[other_start:other_end] + text[end:]


def _misspell(text: str, random: Random) -> str:
    places = [match.start() for match in re.finditer(r"\w", text)]
    if not places:
        return text
    at = random.choice(places)
    return text[:at] + random.choice(("", text[at] * 2, text[at].swapcase(), "x")) + text[at + 1 :]


def _cut_rest_of_line(text: str, random: Random) -> str:
    """As in the middle of typing a line."""
    at = random.randrange(len(text) + 1)
    end = text.find("\n", at)
    return text[:at] if end == -1 else text[:at] + text[end:]


def _cut_rest(text: str, random: Random) -> str:
    """As in the middle of writing the file."""
    return text[: random.randrange(len(text) // 2, len(text) + 1)]


def _drop_labels(text: str, random: Random) -> str:
    places = [match.span() for match in re.finditer(r"\|[^|\n]*\||\[\"[^\"\n]*\"\]|:::\w+", text)]
    if not places:
        return text
    start, end = random.choice(places)
    return text[:start] + text[end:]


def _other_arrow(text: str, random: Random) -> str:
    places = [match.span() for match in _ARROW.finditer(text)]
    if not places:
        return text
    start, end = random.choice(places)
    return (
        text[:start] + random.choice(("--", "-", "->", "--x", "<-->", "~~~", "-- a", "==", "-.", "-->|")) + text[end:]
    )


_BREAKS = (
    _delete_token,
    _double_token,
    _swap_tokens,
    _add_token,
    _delete_mark,
    _delete_mark,
    _delete_line,
    _double_line,
    _swap_lines,
    _join_lines,
    _add_line,
    _other_id,
    _misspell,
    _cut_rest_of_line,
    _cut_rest,
    _drop_labels,
    _other_arrow,
)
