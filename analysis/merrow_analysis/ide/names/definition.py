"""Where a name leads: a node to its declaration, a class to its classDef, a role to its prompt, an operator to its ports, a
field to its record, a Call to its file, a tool to its pin.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.callees import Callee
from merrow_analysis.definitions.provider import Provider, ResourceError
from merrow_analysis.definitions.yaml.yaml_text import YamlResult, read_bounded_yaml
from merrow_analysis.ide.cursor.lookup import occurrence_at
from merrow_analysis.places.front_names import scalar_span
from merrow_analysis.places.occurrences import declarations_of
from merrow_analysis.places.symbols import Symbol
from merrow_analysis.text import Position, Range, split_lines

_LARGEST_PINS = 1_000_000
"""Characters of a file of pins in which the place of a pin is looked for."""


@dataclass(frozen=True, slots=True)
class DefinitionTarget:
    """A place to go to: ``name`` is the name in ``whole``, its declaration; ``file`` is None for the text itself."""

    name: Range
    whole: Range
    file: str | None = None


@dataclass(frozen=True, slots=True)
class Definition:
    """The places where what is named in ``origin`` is declared or defined."""

    origin: Range
    targets: tuple[DefinitionTarget, ...]


def definition(analysis: Analysis, position: Position, provider: Provider | None = None) -> Definition | None:
    """The definition of what is named at a position; None where nothing is named or nothing defines it.

    ``provider`` opens the libraries in which operators and types may be declared.
    """
    here = occurrence_at(analysis, position)
    if here is None:
        return None
    targets = targets_of(analysis, here.symbol, provider)
    return Definition(here.range, tuple(targets)) if targets else None


def callee_of(analysis: Analysis, symbol: Symbol) -> Callee | None:
    """The called file that a thing is, or is a port of."""
    path = symbol.name.rpartition(":")[0] if symbol.kind == "port" else symbol.name
    if analysis.typed is None or symbol.kind not in ("file", "port"):
        return None
    callees = (resolution.callee for resolution in analysis.typed.resolutions)
    return next((callee for callee in callees if callee is not None and callee.path == path), None)


def _into_called_file(analysis: Analysis, symbol: Symbol) -> list[DefinitionTarget]:
    """The beginning of a called file, or the place in it of an input or output."""
    callee = callee_of(analysis, symbol)
    if callee is None:
        return []
    start = Range(Position(0, 0), Position(0, 0))
    target = start if symbol.kind == "file" else callee.places.get(symbol.name.rpartition(":")[2])
    return [] if target is None else [DefinitionTarget(target, target, callee.path)]


def targets_of(analysis: Analysis, symbol: Symbol, provider: Provider | None = None) -> list[DefinitionTarget]:
    """Where a thing is declared or defined: in the text, or in a file that it names."""
    targets = [DefinitionTarget(place.range, place.whole_range) for place in declarations_of(analysis, symbol)]
    if symbol.kind == "prompt" and not targets:
        prompt = analysis.prompts.prompts.get(symbol.name)
        if prompt is not None and prompt.file is not None and prompt.range is not None:
            targets.append(DefinitionTarget(unquoted(prompt.range, prompt.name), prompt.range, prompt.file))
    declared = any(place.role == "declaration" for place in declarations_of(analysis, symbol))
    if symbol.kind in ("operator", "type", "field") and not declared and provider is not None:
        targets = [*_in_libraries(analysis, symbol, provider), *targets]
    if symbol.kind == "tool" and provider is not None:
        targets += _in_pins(analysis, symbol.name, provider)
    return targets or _into_called_file(analysis, symbol)


def _in_pins(analysis: Analysis, name: str, provider: Provider) -> Iterator[DefinitionTarget]:
    """The pin of a tool, or the file of pins where that has none, or is too large to look through."""
    outside = None if analysis.typed is None else analysis.typed.core.language.outside
    path = None if outside is None else outside.tools.path
    if path is None:
        return
    try:
        text = provider.read(path)
    except ResourceError:
        return
    start = Range(Position(0, 0), Position(0, 0))
    server, _, tool = name.partition(".")
    places = read_bounded_yaml(text).places(("servers", server, "tools", tool)) if len(text) <= _LARGEST_PINS else None
    if places is None:
        yield DefinitionTarget(start, start, path)
        return
    key, value = places
    yield DefinitionTarget(range_of(text, *scalar_span(text, key)), range_of(text, key[0], value[1]), path)


def unquoted(place: Range, name: str) -> Range:
    """The place of a name without the quotes that may stand around it."""
    (line, start), (end_line, end) = place
    if line == end_line and end - start == len(name) + 2:
        return Range(Position(line, start + 1), Position(line, end - 1))
    return place


def _in_libraries(analysis: Analysis, symbol: Symbol, provider: Provider) -> list[DefinitionTarget]:
    """Where the library that counts, the last that declares it, declares an operator, a type or a field of one."""
    for path in reversed(analysis.settings.libraries):
        try:
            text = provider.read(path)
        except ResourceError:
            continue
        target = _in_library(text, path, symbol)
        if target is not None:
            return [target]
    return []


def _in_library(text: str, path: str, symbol: Symbol) -> DefinitionTarget | None:
    result = read_bounded_yaml(text)
    value = result.value
    if not isinstance(value, dict):
        return None
    section = "operators" if symbol.kind == "operator" else "types"
    entries = value.get(section)
    if entries is None and section == "operators" and "types" not in value:
        entries = value
    if symbol.kind == "field" and isinstance(entries, dict):
        record, _, field = symbol.name.rpartition(".")
        return _entry(text, path, result, entries[record], field) if isinstance(entries.get(record), dict) else None
    if not isinstance(entries, dict):
        return None
    for name in entries:
        if (str(name).casefold() if symbol.kind == "operator" else name) == symbol.name:
            return _entry(text, path, result, entries, name)
    return None


def _entry(text: str, path: str, result: YamlResult, entries: dict[str, object], name: str) -> DefinitionTarget | None:
    places = result.place(entries, name)
    if places is None:
        return None
    key, value = places
    return DefinitionTarget(
        range_of(text, *scalar_span(text, key)), range_of(text, key[0], max(key[1], value[1])), path
    )


def range_of(text: str, start: int, end: int) -> Range:
    """The range of the text between two offsets."""
    return Range(_position(text, start), _position(text, end))


def _position(text: str, offset: int) -> Position:
    lines = split_lines(text[:offset])
    if not lines:
        return Position(0, 0)
    if lines[-1].endswith(("\n", "\r")):
        return Position(len(lines), 0)
    return Position(len(lines) - 1, len(lines[-1]))
