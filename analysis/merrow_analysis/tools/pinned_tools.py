"""Finds the pins of the tools that a workflow uses, in the nearest `PINS_FILE` at or above its folder, and their types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import MappingProxyType

from merrow_analysis.definitions.operators import AFTER_PORT, TOOL, OperatorSpec, OutputPort
from merrow_analysis.definitions.provider import Provider, ResourceError
from merrow_analysis.definitions.types import ANY, JSON, TEXT, Type, TypeTable, innermost, item_of, list_of
from merrow_analysis.tools.constants import ConstantCheck
from merrow_analysis.tools.parameters import ToolSignature, signature_of
from merrow_analysis.tools.pins import NO_PINS, PINS_FILE, PinnedTool, Pins, PinsError, may_name, read_pins

_HIGHEST = 8
"""Folders above a workflow's in which its pins may be."""
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class KnownTool:
    """A tool that a workflow names. ``problem`` is a sentence about it: why it can't be used. Nothing else is known of it then.
    ``is_missing`` if that is since no pin has its name. ``constants`` says which constants fit.
    """

    name: str
    pin: PinnedTool | None = None
    signature: ToolSignature | None = None
    problem: str | None = None
    is_missing: bool = False
    constants: ConstantCheck | None = field(default=None, compare=False, repr=False)

    def spec(self, types: TypeTable) -> OperatorSpec:
        """The operator that it is where a workflow has these types: those of `with_types_of` for all tools that it declares.

        Of a tool that it doesn't declare, enumerations and records are what they are kinds of.
        """
        signature = self.signature
        if signature is None:
            return TOOL
        ports = (parameter.port for parameter in signature.parameters)
        inputs = tuple(replace(port, type=_wanted(port.type, self, signature, types)) for port in ports)
        outputs = tuple(OutputPort(port.name, _given(port.type, signature, types)) for port in signature.outputs)
        waits = () if signature.parameter(AFTER_PORT.name) is not None else (AFTER_PORT,)
        return replace(TOOL, inputs=(*inputs, *waits), outputs=outputs)


def with_types_of(tools: Iterable[KnownTool], types: TypeTable) -> TypeTable:
    """The types of a workflow with the enumerations and records of tools, where it declares none that are the same."""
    for signature in (tool.signature for tool in tools):
        if signature is None:
            continue
        for name, words in signature.words.items():
            if name not in types.parents and _meant(name, signature, types) is None:
                types = _with(types, words={name: words})
        for name, fields in signature.records.items():
            meant = {field: _meant(type_, signature, types) for field, type_ in fields.items()}
            known = {field: type_ for field, type_ in meant.items() if type_ is not None}
            if name not in types.parents and _meant(name, signature, types) is None and len(known) == len(meant):
                types = _with(types, records={name: known})
    return types


def _with(
    types: TypeTable,
    words: Mapping[Type, tuple[str, ...]] = MappingProxyType({}),
    records: Mapping[Type, Mapping[str, Type]] = MappingProxyType({}),
) -> TypeTable:
    parents = {**types.parents, **dict.fromkeys(words, TEXT), **dict.fromkeys(records, JSON)}
    return TypeTable(parents, {**types.words, **words}, {**types.records, **records}, types.unions, types.broken)


def _meant(type_: Type, signature: ToolSignature, types: TypeTable) -> Type | None:
    """The type of a workflow that is one of a tool's: of its name, or another that is the same. None where there is none."""
    item = item_of(type_)
    if item is not None:
        meant = _meant(item, signature, types)
        return None if meant is None else list_of(meant)
    words, record = signature.words.get(type_), signature.records.get(type_)
    if words is not None:
        same = [name for name, body in types.words.items() if set(body) == set(words)]
    elif record is not None:
        fields = {field: _meant(inner, signature, types) for field, inner in record.items()}
        same = [name for name, body in types.records.items() if body == fields]
    else:
        return type_
    return type_ if type_ in same else next(iter(same), None)


def _wanted(type_: Type, tool: KnownTool, signature: ToolSignature, types: TypeTable) -> Type:
    meant = _meant(type_, signature, types)
    if meant is not None:
        return meant
    # Where a workflow declares the name as something else, it has no value that fits.
    return f"{type_} of {tool.name}" if innermost(type_) in types.parents else ANY


def _given(type_: Type, signature: ToolSignature, types: TypeTable) -> Type:
    item = item_of(type_)
    if item is not None:
        return list_of(_given(item, signature, types))
    return _meant(type_, signature, types) or (TEXT if type_ in signature.words else JSON)


class PinnedTools:
    """The pins that workflows in one folder go by."""

    def __init__(self, files: Provider) -> None:
        """``files`` are asked when the first tool is looked for; paths are from the workflow's folder."""
        self._files = files
        self._known: dict[str, KnownTool] = {}

    @cached_property
    def path(self) -> str | None:
        """The path of the file of pins; None where there is none."""
        candidates = ("../" * height + PINS_FILE for height in range(_HIGHEST + 1))
        return next((path for path in candidates if self._files.exists(path)), None)

    @cached_property
    def _read(self) -> _ReadPins:
        if self.path is None:
            return _ReadPins(NO_PINS)
        try:
            return _pins_of(self._files.read(self.path))
        except ResourceError as problem:
            return _ReadPins(NO_PINS, str(problem))

    def says_the_same_as(self, other: PinnedTools) -> bool:
        """Whether all answers of one hold for the other."""
        return self.path == other.path and self._read == other._read

    @property
    def pins(self) -> Pins:
        """All pins; none where they can't be read."""
        return self._read.pins

    def find(self, name: str) -> KnownTool:
        """The tool that a workflow calls so. Never raises; the same value while no file changes."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._find(name)
        return known

    def _find(self, name: str) -> KnownTool:
        read = self._read
        if read.problem is not None:
            return KnownTool(name, problem=read.problem)
        if name in read.usable:
            return read.usable[name]
        pin = read.pins.find(name)
        shown = f"`{name[:_LONGEST_NAME]}`"
        if pin is None:
            server, dot, tool = name.partition(".")
            if not dot or not may_name(server, tool):
                return KnownTool(
                    name,
                    problem=f"{shown} does not name a tool; write its server and its name, as in `web.search`.",
                    is_missing=True,
                )
            where = f"is not in {PINS_FILE}" if self.path else f"is not pinned, since there is no {PINS_FILE}"
            problem = f"{shown} {where}; pin it with `merrow tools pull {server} {tool}`."
            return KnownTool(name, problem=problem, is_missing=True)
        if not pin.is_whole:
            return KnownTool(
                name, problem=f"{shown} in {PINS_FILE} is not as it was pinned: its hash differs. Pin it again."
            )
        signature = signature_of(pin)
        if signature.unusable is not None:
            return KnownTool(name, problem=f"{shown} can't be used in a workflow: {signature.unusable}.")
        known = read.usable[name] = KnownTool(name, pin, signature, constants=ConstantCheck(pin))
        return known


@dataclass(frozen=True, slots=True)
class _ReadPins:
    """The pins of a file, and the sentence why they can't be read. ``usable`` are the tools that were found in it by now: they
    are the same for all workflows that go by this text.
    """

    pins: Pins
    problem: str | None = None
    usable: dict[str, KnownTool] = field(default_factory=dict, compare=False)


@lru_cache(maxsize=8)
def _pins_of(text: str) -> _ReadPins:
    try:
        return _ReadPins(read_pins(text))
    except PinsError as problem:
        return _ReadPins(NO_PINS, str(problem))
