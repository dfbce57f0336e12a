"""What is wrong with keys and values, in labels and metadata: without places, for nodes and subgraphs alike."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from merrow_analysis.definitions.metadata import MetaDoc, parse_metadata
from merrow_analysis.definitions.parameters import LabelParameter, LabelParts
from merrow_analysis.definitions.schema import INTERFACE_KEYS, LOOP_KEYS, MAP_KEYS, NODE_KEYS, OPERATOR_KEYS, Fragment
from merrow_analysis.definitions.settings import MACHINE_KEYS
from merrow_analysis.definitions.validation import Path, shown, violations
from merrow_analysis.diagnostics import Diagnostic, Fix, Severity
from merrow_analysis.places.node_places import metadata_key_range
from merrow_analysis.rules.configuration_rules import MACHINE_SETTING, machine_setting_message
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.registry import Family, Rule, Scope
from merrow_analysis.rules.reporting import fix, report
from merrow_analysis.suggest import closest
from merrow_analysis.syntax.tree import Block, Metadata
from merrow_analysis.text import Range, TextEdit

FAMILY = Family[GraphContext](Scope.PARAMETER)
UNKNOWN_KEY = FAMILY.rule(
    "MW304",
    "unknown-parameter",
    "A node, edge or subgraph has a key that means nothing.",
    Severity.ERROR,
    fix="sometimes",
)
WRONG_VALUE = FAMILY.rule(
    "MW305", "wrong-parameter-value", "A parameter's value is of the wrong kind or out of range.", Severity.ERROR
)
CONFLICT = FAMILY.rule(
    "MW306",
    "parameter-conflict",
    "A parameter is given differently by a node's label and its metadata, or by an edge as well.",
    Severity.WARNING,
    fix="sometimes",
)
REPEATED = FAMILY.rule("MW307", "repeated-parameter", "A label gives a parameter twice.", Severity.ERROR)
IDLE = FAMILY.rule(
    "MW406", "parameter-without-effect", "A parameter changes nothing at its operator.", Severity.HINT, fix="sometimes"
)
MALFORMED = FAMILY.rule(
    "MW308", "malformed-parameters", "The parameters in a node's label can't be read.", Severity.WARNING
)

FRAGMENTS: Mapping[str, Fragment] = {**NODE_KEYS, **OPERATOR_KEYS}
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+(?: [A-Za-z0-9_.-]+)*")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong, without its place. ``block`` counts the node's metadata blocks; None is the label.

    ``path`` leads to the place in the metadata, ``span`` is it in the label; ``on_key`` marks the key, not the value.
    ``other`` is the metadata block that says otherwise, ``near`` the word that replaces the marked one, ``superfluous``
    a parameter to be removed.
    """

    rule: Rule
    message: str
    block: int | None
    path: Path = ()
    span: tuple[int, int] = (0, 0)
    on_key: bool = False
    other: int | None = None
    near: str | None = None
    safe: bool = False
    superfluous: str | None = None


def metadata_findings(
    doc: MetaDoc, index: int, allowed: Mapping[str, Fragment], what: str, drawn: Collection[str]
) -> Iterator[Finding]:
    """What is wrong with a metadata block; ``drawn`` are keys that Mermaid alone reads."""
    for key, value in doc.values.items():
        if key in allowed:
            for wrong in violations(allowed[key], value, (key,)):
                yield Finding(WRONG_VALUE, _wrong(key, wrong.path, wrong.wanted, value), index, wrong.path)
        elif key in drawn:
            continue
        elif key.casefold() in MACHINE_KEYS:
            yield Finding(MACHINE_SETTING, machine_setting_message(key), index, (key,), on_key=True)
        else:
            near = _usable(closest(key, [*allowed, *drawn]), value, allowed, doc.values)
            yield Finding(UNKNOWN_KEY, _unknown(key, what, allowed), index, (key,), on_key=True, near=near)


def _usable(near: str | None, value: object, allowed: Mapping[str, Fragment], taken: Collection[str]) -> str | None:
    """``near`` where it is not given yet and takes ``value``: writing it would else put one finding in place of another."""
    if (
        near is None
        or near in taken
        or (near in allowed and any(True for _ in violations(allowed[near], value, (near,))))
    ):
        return None
    return near


def label_findings(
    parts: LabelParts, allowed: Mapping[str, Fragment], what: str, overruled: set[str]
) -> Iterator[Finding]:
    for problem in parts.problems:
        yield Finding(MALFORMED, problem.message, None, span=problem.span)
    for again in parts.repeated:
        message = f"`{again.key}` stands in this label twice; keep one of them."
        yield Finding(REPEATED, message, None, span=again.key_span)
    for key, parameter in parts.parameters.items():
        if key in overruled:
            continue
        if key in allowed:
            value = _label_value(parameter, allowed[key])
            for wrong in violations(allowed[key], value, (key,)):
                span = parameter.value_span if parameter.text else parameter.key_span
                yield Finding(WRONG_VALUE, _wrong(key, wrong.path, wrong.wanted, value), None, span=span)
        elif key.casefold() in MACHINE_KEYS:
            yield Finding(MACHINE_SETTING, machine_setting_message(key), None, span=parameter.key_span)
        else:
            near = closest(key, allowed)
            if near is not None:
                taken = {*overruled, *parts.parameters}
                near = _usable(near, _label_value(parameter, allowed[near]), allowed, taken)
            yield Finding(UNKNOWN_KEY, _unknown(key, what, allowed), None, span=parameter.key_span, near=near)


def conflicts(parts: LabelParts, docs: list[MetaDoc], allowed: Mapping[str, Fragment]) -> Iterator[Finding]:
    for key, parameter in parts.parameters.items():
        index = next((n for n in reversed(range(len(docs))) if key in docs[n].values), None)
        if index is None or key not in allowed:
            continue
        value = docs[index].values[key]
        if value == _label_value(parameter, allowed[key]):
            continue
        message = f"The label says `{key}: {parameter.text}`, the metadata {shown(value)}; the metadata counts."
        near = _as_plain_word(value)
        span = parameter.value_span if parameter.text else parameter.key_span
        yield Finding(
            CONFLICT, message, None, (key,), span, other=index, near=near if parameter.text else None, safe=True
        )


def _as_plain_word(value: object) -> str | None:
    """A value as a label can say it without quotes; None for any other."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, (str, int, float)):
        return None
    text = str(value)
    return text if _PLAIN.fullmatch(text) and text not in ("nan", "inf", "-inf") else None


def _label_value(parameter: LabelParameter, fragment: Fragment) -> object:
    """A label's value as its key wants it: text for a key that is text, else what the text means."""
    return parameter.text if fragment.get("type") == "string" or "enum" in fragment else parameter.value


def _wrong(key: str, path: Path, wanted: str, value: object) -> str:
    for step in path[1:]:
        value = value[step]  # type: ignore[index]
    name = ".".join(str(step) for step in path) if len(path) > 1 else key
    if isinstance(value, str) and not value.strip():
        return f"`{name}` is empty; it must be {wanted}."
    return f"`{name}` must be {wanted}, not {shown(value)}."


def _unknown(key: str, what: str, allowed: Mapping[str, Fragment]) -> str:
    if key in FRAGMENTS or key in INTERFACE_KEYS or key in LOOP_KEYS or key in MAP_KEYS:
        return f"`{key}` means nothing at {what}; its keys are {_listed(allowed)}."
    article = what if what.startswith(("a ", "an ")) else f"operator {what}"
    return f"{article[:1].upper() + article[1:]} has no key `{key}`; {_hint(key, allowed)}"


def _hint(key: str, allowed: Mapping[str, Fragment]) -> str:
    near = closest(key, allowed)
    if near:
        return f"did you mean `{near}`?"
    return f"the keys are {_listed(allowed)}." if len(allowed) > 1 else f"the one key is {_listed(allowed)}."


def _listed(allowed: Mapping[str, Fragment]) -> str:
    return ", ".join(f"`{key}`" for key in allowed)


def only_drawn(metadata: Metadata, block: Block, allowed: Mapping[str, Fragment], what: str) -> Iterator[Diagnostic]:
    """Keys that mean nothing at something of which Merrow reads no metadata, and Mermaid those ``allowed``."""
    for key in parse_metadata(metadata.body).values:
        place = metadata_key_range(metadata, block, key)
        if key.casefold() in MACHINE_KEYS:
            yield report(MACHINE_SETTING, place, machine_setting_message(key))
        elif key not in allowed:
            message = f"{what} has no key `{key}`; {_hint(key, allowed)}"
            yield report(UNKNOWN_KEY, place, message, fixes=rename(place, closest(key, allowed), safe=False))


def rename(place: Range, near: str | None, *, safe: bool) -> tuple[Fix, ...]:
    return () if near is None else (fix(f"Write {near}", [TextEdit(place, near)], safe=safe),)
