"""Names of two workflows in one text: what of the donor must be called otherwise, and what the child must define."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.prompts import words_of_role
from merrow_analysis.definitions.settings import NO_SETTINGS, read_settings
from merrow_analysis.definitions.types import innermost
from merrow_analysis.definitions.validators import names_in
from merrow_analysis.graph.instructions import agent_of, prompt_of, role_of
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.places.symbols import Symbol, symbol
from merrow_optimizer.joining.types import same_type

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class NamesError(ValueError):
    """The names of two workflows can't be told apart in one text."""


@dataclass(slots=True)
class Merged:
    """What a child needs: new ``names`` of the donor's things, and what its front matter gains and loses."""

    names: dict[Symbol, str] = field(default_factory=dict)
    prompts: dict[str, str] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    types: dict[str, Any] = field(default_factory=dict)
    operators: dict[str, Any] = field(default_factory=dict)
    agents: dict[str, Any] = field(default_factory=dict)
    validators: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Share:
    """What one parent gives: its analysis, and the ids of its nodes that are in the child."""

    analysis: Analysis
    graph: TypedGraph
    nodes: frozenset[str]

    @property
    def kept(self) -> list[TypedNode]:
        return [node for node in self.graph.nodes if node.id in self.nodes]


def merge(host: Share, donor: Share, inputs: Mapping[str, str]) -> Merged:
    """Tell the names apart. ``inputs`` has the host's name of each input and output of the donor that the host has too.

    Raises `NamesError` where an operator of one parent would be seen in a label of the other.
    """
    merged = Merged()
    for name, other in inputs.items():
        if name != other:
            merged.names[symbol("node", name)] = other
    _ids(host, donor, inputs, merged)
    _classes(host, donor, merged)
    _refuse_misread(host, donor)
    _refuse_misread(donor, host)
    _own_libraries(host, merged)
    _types(host, donor, merged)
    _operators(host, donor, merged)
    _prompts(host, donor, merged)
    _agents(host, donor, merged)
    _validators(host, donor, merged)
    return merged


def _fresh(wanted: str, taken: Iterable[str]) -> str:
    busy = {name.casefold() for name in taken}
    name, number = wanted, 1
    while name.casefold() in busy:
        number += 1
        name = f"{wanted}_{number}"
    return name


def _ids(host: Share, donor: Share, inputs: Mapping[str, str], merged: Merged) -> None:
    mine, other = host.analysis.flow, donor.analysis.flow
    gone = mine.nodes.keys() - host.nodes
    busy = [name for name in (*mine.nodes, *mine.subgraphs, *mine.edge_ids, *mine.class_defs) if name not in gone]
    theirs: list[Symbol] = [symbol("node", name) for name in other.nodes if name in donor.nodes and name not in inputs]
    theirs += [symbol("subgraph", name) for name in other.subgraphs if name not in other.nodes]
    theirs += [symbol("edge", name) for name in other.edge_ids if name not in other.nodes]
    reserved = [*other.nodes, *other.subgraphs, *other.edge_ids]
    for known in theirs:
        if known.name.casefold() in {name.casefold() for name in busy}:
            merged.names[known] = _fresh(known.name, (*busy, *reserved))
        busy.append(merged.names.get(known, known.name))


def _classes(host: Share, donor: Share, merged: Merged) -> None:
    """The author's own classes keep apart where they look different; those of operators are the same everywhere."""
    mine, theirs = host.analysis.flow.class_defs, donor.analysis.flow.class_defs
    for name, uses in theirs.items():
        own = mine.get(name)
        if own is None or donor.graph.operators.by_class(name) is not None or name in ("Interface", "default"):
            continue
        if own[-1].definition.styles != uses[-1].definition.styles:
            merged.names[symbol("class", name)] = _fresh(name, (*mine, *theirs, *host.analysis.flow.nodes))


def _refuse_misread(share: Share, other: Share) -> None:
    """No label of ``share`` may come to name an operator that only ``other`` has."""
    strange = {
        name
        for name, spec in other.graph.operators.specs.items()
        if not spec.built_in and name not in share.graph.operators.specs
    }
    if not strange:
        return
    for node in share.kept:
        parts = node.resolution.label_parts
        words = [use.name.text for use in node.flow.classes] + ([parts.operator_word] if parts is not None else [])
        for word in words:
            near = other.graph.operators.nearest(word) if word else None
            if near is not None and near.name.casefold() in strange:
                raise NamesError(f"{node.id} would be taken for the operator {near.name} of the other workflow.")


def _words(body: object) -> Iterator[str]:
    """The names in a type expression, or in the types of a record's fields."""
    for text in body.values() if isinstance(body, dict) else (body,):
        if isinstance(text, str):
            yield from _WORD.findall(text)


def _port_types(body: object) -> Iterator[str]:
    """The names of types in the declaration of an operator."""
    if not isinstance(body, dict):
        return
    for side in ("inputs", "outputs"):
        ports = body.get(side)
        for meaning in ports.values() if isinstance(ports, dict) else ():
            yield from _words(meaning.get("type") if isinstance(meaning, dict) else meaning)


def _needed_types(share: Share) -> list[str]:
    """The user's types that the kept nodes and their operators name, and those that they are kinds of."""
    declared = share.analysis.settings.types
    waiting: list[str] = []
    for node in share.kept:
        if node.resolution.declared is not None:
            waiting += _words(innermost(node.resolution.declared))
        if node.spec is not None and not node.spec.built_in:
            waiting += _port_types(_body(share, node.spec.name))
    needed: dict[str, None] = {}
    while waiting:
        name = waiting.pop(0)
        if name in declared and name not in needed:
            needed[name] = None
            waiting += _words(declared[name])
    return list(needed)


def _own_libraries(host: Share, merged: Merged) -> None:
    """What the host has from libraries, as far as it is used: the child has no libraries."""
    front = host.analysis.diagram.front_matter
    own = NO_SETTINGS if front is None else read_settings(front[0].body, front[0].indent)
    settings = host.analysis.settings
    if settings is own:
        return
    merged.types.update((name, settings.types[name]) for name in _needed_types(host) if name not in own.types)
    known = {str(name).casefold() for name in own.operators}
    for name in sorted({node.spec.name for node in host.kept if node.spec is not None and not node.spec.built_in}):
        if name.casefold() not in known:
            merged.operators[name] = _body(host, name)


def _types(host: Share, donor: Share, merged: Merged) -> None:
    declared = donor.analysis.settings.types
    needed = _needed_types(donor)
    own = host.analysis.settings.types
    for name in needed:
        if name in own and not same_type(name, donor.graph.types, name, host.graph.types):
            merged.names[symbol("type", name)] = _fresh(name, (*own, *declared))
    for name in needed:
        new = merged.names.get(symbol("type", name), name)
        if new not in merged.types and (new not in own or new not in _front_types(host)):
            body = declared[name]
            merged.types[new] = _retyped(body, merged)


def _front_types(host: Share) -> Mapping[str, object]:
    front = host.analysis.diagram.front_matter
    return {} if front is None else read_settings(front[0].body, front[0].indent).types


def _retyped(body: object, merged: Merged) -> object:
    """A type expression, or the fields of a record, with the new names of types."""
    if isinstance(body, dict):
        return {field: _retyped(text, merged) if isinstance(text, str) else text for field, text in body.items()}
    if not isinstance(body, str):
        return body
    return _WORD.sub(lambda match: merged.names.get(symbol("type", match[0]), match[0]), body)


def _body(share: Share, name: str) -> object:
    """The declaration of a user's operator."""
    folded = name.casefold()
    operators = share.analysis.settings.operators
    return next((body for own, body in operators.items() if str(own).casefold() == folded), None)


def _operators(host: Share, donor: Share, merged: Merged) -> None:
    used = {node.spec.name: node.spec for node in donor.kept if node.spec is not None and not node.spec.built_in}
    mine = host.graph.operators
    for name in sorted(used):
        body = _renamed_ports(_body(donor, name), merged)
        new = name
        if mine.named(name) is not None:
            if _body(host, name) == body:
                if not _is_in_front(host, name):
                    merged.operators[name] = body
                continue
            new = _fresh(name, (*mine.names(), *donor.graph.operators.names()))
            merged.names[symbol("operator", name)] = new
        merged.operators[new] = body


def _is_in_front(host: Share, name: str) -> bool:
    front = host.analysis.diagram.front_matter
    own = {} if front is None else read_settings(front[0].body, front[0].indent).operators
    return name.casefold() in {str(known).casefold() for known in own}


def _renamed_ports(body: object, merged: Merged) -> object:
    if not isinstance(body, dict):
        return body
    made = dict(body)
    for side in ("inputs", "outputs"):
        ports = made.get(side)
        if isinstance(ports, dict):
            made[side] = {port: _renamed_port(meaning, merged) for port, meaning in ports.items()}
    return made


def _renamed_port(meaning: object, merged: Merged) -> object:
    if isinstance(meaning, str):
        return _retyped(meaning, merged)
    if isinstance(meaning, dict) and isinstance(meaning.get("type"), str):
        return {**meaning, "type": _retyped(meaning["type"], merged)}
    return meaning


@dataclass(frozen=True, slots=True)
class _Role:
    """A role that nodes of a parent have; ``text`` is that of its prompt, None where there is none."""

    name: str
    text: str | None
    wanted: bool


def _roles(share: Share) -> dict[str, _Role]:
    """The roles of the kept nodes by casefolded name; ``wanted`` where a node has no prompt that takes precedence over."""
    roles: dict[str, _Role] = {}
    for node in share.kept:
        role = role_of(node)
        if role is None or node.kind != "operator":
            continue
        key = role[1].strip().casefold()
        prompt = prompt_of(node, share.analysis.prompts)
        known = share.analysis.prompts.find(role[1])
        before = roles.get(key)
        wanted = not isinstance(prompt, str) or (before is not None and before.wanted)
        roles[key] = _Role(role[1].strip(), known.text if known is not None else None, wanted)
    return roles


def _prompts(host: Share, donor: Share, merged: Merged) -> None:
    mine, theirs = _roles(host), _roles(donor)
    own = {name.strip().casefold(): text for name, text in host.analysis.settings.prompts.items()}
    for key, role in theirs.items():
        other = mine.get(key)
        prompt = other.text if other is not None else own.get(key, role.text)
        if prompt != role.text:
            merged.names[Symbol("prompt", key)] = _fresh(role.name, [*mine, *theirs, *own])
    in_child = set(mine)
    wanted: dict[str, _Role] = {key: role for key, role in mine.items() if role.wanted and key not in own}
    for key, role in theirs.items():
        name = merged.names.get(Symbol("prompt", key), role.name)
        in_child.add(name.casefold())
        if role.wanted and name.casefold() not in own:
            wanted.setdefault(name.casefold(), _Role(name, role.text, True))
    for name in host.analysis.settings.prompts:
        key = name.strip().casefold()
        if key not in in_child and key in _roles_of_all(host):
            merged.unused.append(name)
    left = len(host.analysis.settings.prompts) > len(merged.unused)
    if left or any(role.text is not None for role in wanted.values()):
        merged.prompts = {
            role.name: role.text if role.text is not None else words_of_role(role.name) for role in wanted.values()
        }


def _agents(host: Share, donor: Share, merged: Merged) -> None:
    """The agents of the donor's nodes; one that is somebody else in the host gets another name."""
    mine, theirs = host.analysis.settings.agents, donor.analysis.settings.agents
    for node in donor.kept:
        agent = agent_of(node, donor.analysis.settings)
        if agent is None:
            continue
        key = agent.name.strip().casefold()
        known, name = mine.get(key), agent.name
        if Symbol("agent", key) in merged.names or (known is not None and replace(known, name=name) == agent):
            continue
        if known is not None:
            name = merged.names[Symbol("agent", key)] = _fresh(name, (*mine, *theirs, *merged.agents))
        keys: dict[str, Any] = {"role": agent.role, "prompt": agent.prompt or None, "model": agent.model}
        keys |= {"temperature": agent.temperature, "instances": agent.instances}
        merged.agents[name] = {part: value for part, value in keys.items() if value is not None}


def _validators(host: Share, donor: Share, merged: Merged) -> None:
    """The validators of the donor's nodes; one that checks something else in the host gets another name."""
    mine, theirs = host.analysis.settings.validators, donor.analysis.settings.validators
    for node in donor.kept:
        parameter = node.resolution.parameters.get("validate")
        for written in names_in(None if parameter is None else parameter.value):
            key = written.casefold()
            validator, known = theirs.get(key), mine.get(key)
            if validator is None or Symbol("validator", key) in merged.names:
                continue
            name = validator.name
            if known is not None and known.checks == validator.checks:
                continue
            if known is not None:
                name = merged.names[Symbol("validator", key)] = _fresh(name, (*mine, *theirs, *merged.validators))
            merged.validators[name] = donor.analysis.settings.validators_said[validator.name]


def _roles_of_all(share: Share) -> set[str]:
    roles = (role_of(node) for node in share.graph.nodes)
    return {role[1].strip().casefold() for role in roles if role is not None}
