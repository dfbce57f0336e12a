"""Renaming a prompt in the file that defines it, for all workflows that share the file."""

from __future__ import annotations

import ast

from merrow_analysis.bounded.python_source import parse_python
from merrow_analysis.definitions.prompts import read_prompt_yaml
from merrow_analysis.ide.names.definition import unquoted
from merrow_analysis.places.symbols import Symbol, respelled
from merrow_analysis.text import Position, Range, TextEdit, split_lines


def prompt_file_edits(text: str, path: str, symbol: Symbol, old: str, new: str) -> list[TextEdit]:
    """The edits that rename a prompt in the file that defines it: a Python module of constants, or YAML."""
    return module_edits(text, symbol, old, new) if path.endswith(".py") else yaml_edits(text, path, symbol, old, new)


def module_edits(text: str, symbol: Symbol, old: str, new: str) -> list[TextEdit]:
    """Rename a constant in a Python module: every mention of the name as it is spelled there."""
    try:
        module = parse_python(text.removeprefix("\ufeff"))
    except SyntaxError:
        return []
    lines = split_lines(text.removeprefix("\ufeff"))
    edits = []
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and node.id.casefold() == symbol.name:
            line = node.lineno - 1
            # The syntax tree counts columns in bytes.
            column = len(lines[line].encode("utf-8", "replace")[: node.col_offset].decode("utf-8", "replace"))
            place = Range(Position(line, column), Position(line, column + len(node.id)))
            edits.append(TextEdit(place, respelled(node.id, old, new)))
    return sorted(edits)


def yaml_edits(text: str, path: str, symbol: Symbol, old: str, new: str) -> list[TextEdit]:
    """Rename an entry of a YAML file of prompts."""
    prompt = read_prompt_yaml(text, path).prompts.get(symbol.name)
    if prompt is None or prompt.range is None:
        return []
    return [TextEdit(unquoted(prompt.range, prompt.name), respelled(prompt.name, old, new))]
