"""Texts and words written as YAML that Mermaid reads back as the same."""

from __future__ import annotations

import re

from merrow_analysis.definitions.yaml.yaml_scalars import plain_value

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./()+-]*(?: [A-Za-z0-9_./()+-]+)*")
_MUST_ESCAPE = re.compile(r"[\\\"\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
_MERMAIDS = re.compile(r"#|%(?=%)|(?<=%)\{")
_NAMED = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quoted(text: str, *, in_statement: bool = False) -> str:
    """A text in double quotes, on one line, without a double quote inside.

    Inside a statement Mermaid reads ``#name;`` and ``%%`` before it reads the YAML, so they are written as escapes.
    """
    inner = _MUST_ESCAPE.sub(_escape, text)
    if in_statement:
        inner = _MERMAIDS.sub(_escape, inner)
    return f'"{inner}"'


def _escape(match: re.Match[str]) -> str:
    char = match[0]
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def word(value: object) -> str | None:
    """A text, number or truth value as it is inside ``@{ }``; None for any other value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and plain_value(value) == value else quoted(value, in_statement=True)
    if isinstance(value, (int, float)):
        text = repr(value)
        return text if plain_value(text) == value else None
    return None


def flow(value: object) -> str | None:
    """As `word`, and lists and mappings of such values in brackets."""
    if isinstance(value, list):
        items = [flow(item) for item in value]
        return None if None in items else f"[{', '.join(item or '' for item in items)}]"
    if isinstance(value, dict):
        entries = [(word(key), flow(item)) for key, item in value.items()]
        whole = all(None not in entry for entry in entries)
        return "{" + ", ".join(f"{key}: {item}" for key, item in entries) + "}" if whole else None
    return word(value)


def block_text(text: str, indent: str) -> str | None:
    """A text of several lines after ``key: ``, its lines indented by ``indent``; None where it can't be written so."""
    if "\n" not in text.strip("\n") and not text.endswith("\n"):
        return None
    if _UNFIT.search(text) or text[0] in " \t\n" or not text.strip():
        return None
    body = text.rstrip("\n")
    ending = len(text) - len(body)
    mark = "|-" if ending == 0 else "|" if ending == 1 else "|+"
    lines = [f"{indent}{line}" if line else "" for line in body.split("\n")]
    return "\n".join([mark, *lines, *[""] * (ending - 1)])


_UNFIT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]|(?m:^[ \t]+$)")
