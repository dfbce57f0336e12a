"""What is wrong with keys and values, in labels and metadata: without places, for nodes and subgraphs alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from merrow_analysis.definitions.labels.metadata import MetaDoc, parse_metadata
from merrow_analysis.definitions.labels.parameters import LabelParameter, LabelParts
from merrow_analysis.definitions.schema import (
    INTERFACE_KEYS,
    LOOP_KEYS,
    MAP_KEYS,
    NODE_KEYS,
    OPERATOR_KEYS,
    SUBGRAPH_KEYS,
    Fragment,
)
from merrow_analysis.definitions.settings import MACHINE_KEYS, machine_setting_message
from merrow_analysis.definitions.validation import (
    Path,
    Violation,
    fragment_at,
    named,
    sentence_start,
    shown,
    violations,
)
from merrow_analysis.diagnostics import Diagnostic, Fix, Severity
from merrow_analysis.places.node_places import metadata_key_range
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.declared.configuration_rules import MACHINE_SETTING
from merrow_analysis.rules.fixes.key_fixes import WrittenKeys, remove_key, remove_repeated, write_parameter, write_value
from merrow_analysis.rules.registry import Rule, RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, report
from merrow_analysis.suggest import closest
from merrow_analysis.syntax.tree import Block, Metadata
from merrow_analysis.text import Range, Span, TextEdit

FAMILY = RuleFamily[GraphContext](Scope.PARAMETER)
UNKNOWN_KEY = FAMILY.rule(
    "MW304",
    "unknown-parameter",
    "A node, edge or subgraph has an unknown key.",
    Severity.ERROR,
    fix="sometimes",
)
WRONG_VALUE = FAMILY.rule(
    "MW305",
    "wrong-parameter-value",
    "A parameter's value is of the wrong kind or out of range.",
    Severity.ERROR,
    fix="sometimes",
)
CONFLICT = FAMILY.rule(
    "MW306",
    "parameter-conflict",
    "A parameter is given differently by a node's label and its metadata, or by an edge as well.",
    Severity.WARNING,
    fix="sometimes",
)
REPEATED = FAMILY.rule(
    "MW307", "repeated-parameter", "A label gives a parameter twice.", Severity.ERROR, fix="sometimes"
)
IDLE = FAMILY.rule(
    "MW406", "parameter-without-effect", "A parameter has no effect on its operator.", Severity.HINT, fix="sometimes"
)
NOT_VALIDATED = FAMILY.rule(
    "MW334",
    "attempts-without-validator",
    "A node sets what happens when its result is invalid, but has no validator.",
    Severity.WARNING,
    fix="always",
)
REPEATED_EFFECT = FAMILY.rule(
    "MW319",
    "repeated-effect",
    "A parameter has something done several times that a person is asked for, or that happens outside.",
    Severity.ERROR,
    fix="sometimes",
)
MALFORMED = FAMILY.rule(
    "MW308",
    "malformed-parameters",
    "The parameters in a node's label can't be read.",
    Severity.WARNING,
    fix="sometimes",
)

FRAGMENTS: Mapping[str, Fragment] = {**NODE_KEYS, **OPERATOR_KEYS}
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+(?: [A-Za-z0-9_.-]+)*")
_MAPPING = re.compile(r"\{\w+: n\}")


Repair = Callable[[WrittenKeys, Range], Iterator[Fix]]


@dataclass(frozen=True, slots=True)
class KeyFinding:
    """Something wrong, without its place. ``block`` counts the node's metadata blocks; None is the label.

    ``path`` leads to the place in the metadata, ``span`` is it in the label; ``on_key`` marks the key, not the value.
    ``other`` is the metadata block that says otherwise, ``near`` the word that replaces the marked one. ``repair`` makes further
    fixes, of what is said and the place that is marked; ``superfluous`` marks what could be removed.
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
    repair: Repair | None = None
    superfluous: bool = False

    def fixes(self, written_keys: WrittenKeys, place: Range) -> Iterator[Fix]:
        """Its fixes, best first; ``place`` is where it is shown."""
        if self.near is not None and (written_keys.label is not None or self.block is not None):
            what = f"{self.path[0]}: {self.near}" if self.path and not self.on_key else self.near
            yield fix(f"Write {what}", [TextEdit(place, self.near)], safe=self.safe)
        if self.repair is not None:
            yield from self.repair(written_keys, place)


def metadata_findings(
    doc: MetaDoc,
    index: int,
    allowed: Mapping[str, Fragment],
    what: str,
    drawn: Collection[str],
    useful: Collection[str] | None = None,
) -> Iterator[KeyFinding]:
    """What is wrong with a metadata block; ``drawn`` are keys that Mermaid alone reads. Of the ``allowed`` ones those that are
    ``useful`` are proposed, None for all.
    """
    offered = allowed if useful is None else {key: wanted for key, wanted in allowed.items() if key in useful}
    for key, value in doc.values.items():
        if key in allowed:
            for wrong in violations(allowed[key], value, (key,)):
                if wrong.kind == "unknown":
                    yield _unknown_inside(wrong, value, index)
                    continue
                repair = _better(key, allowed[key], value, wrong.path, index)
                wanted = _MAPPING.sub(r'"\g<0>"', wrong.wanted)  # A bare brace ends the metadata.
                yield KeyFinding(WRONG_VALUE, _wrong(key, wrong.path, wanted, value), index, wrong.path, repair=repair)
        elif key in drawn:
            continue
        elif key.casefold() in MACHINE_KEYS:
            repair = removed(key, index, safe=True)
            yield KeyFinding(MACHINE_SETTING, machine_setting_message(key), index, (key,), on_key=True, repair=repair)
        else:
            near = _usable(closest(key, [*offered, *drawn]), value, offered, doc.values)
            # Neither Mermaid nor Merrow reads it at a subgraph that is only drawn.
            repair = removed(key, index, safe=near is None and allowed is SUBGRAPH_KEYS)
            message = _unknown(key, what, offered)
            yield KeyFinding(UNKNOWN_KEY, message, index, (key,), on_key=True, near=near, repair=repair)


def _unknown_inside(wrong: Violation, value: object, index: int | None) -> KeyFinding:
    """A key that a mapping which is a parameter's value doesn't know."""
    first, *above, key = (str(step) for step in wrong.path)
    inner: object = value
    for step in wrong.path[1:-1]:
        inner = inner[step]  # type: ignore[index]  # the path leads through it
    near = closest(key, wrong.known)
    near = None if isinstance(inner, dict) and near in inner else near
    keys = ", ".join(f"`{name}`" for name in wrong.known)
    hint = f"did you mean `{near}`?" if near else f"the keys are {keys}."
    message = f"There is no key `{key}` in {named(wrong.path[:-1])}; {hint}"
    alone = isinstance(inner, dict) and len(inner) == 1 and not above
    repair = removed(first, index) if alone else None
    return KeyFinding(UNKNOWN_KEY, message, index, wrong.path, on_key=True, near=near, repair=repair)


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
    parts: LabelParts,
    allowed: Mapping[str, Fragment],
    what: str,
    overruled: set[str],
    useful: Collection[str] | None = None,
) -> Iterator[KeyFinding]:
    """The same of a label's parameters; those that metadata ``overruled`` are left out."""
    offered = allowed if useful is None else {key: wanted for key, wanted in allowed.items() if key in useful}
    for problem in parts.problems:
        repair = _readable(problem.span, allowed, {*overruled, *parts.parameters})
        yield KeyFinding(MALFORMED, problem.message, None, span=problem.span, repair=repair)
    for first, again in zip(parts.overridden, parts.repeated, strict=True):
        message = f"`{again.key}` is in this label twice; keep one of them."
        yield KeyFinding(
            REPEATED, message, None, span=again.key_span, repair=_one_of(first, again, allowed.get(again.key))
        )
    for key, parameter in parts.parameters.items():
        if key in overruled:
            continue
        if key in allowed:
            value = _label_value(parameter, allowed[key])
            for wrong in violations(allowed[key], value, (key,)):
                if wrong.kind == "unknown":
                    yield replace(_unknown_inside(wrong, value, None), span=parameter.value_span, near=None)
                    continue
                span = parameter.value_span if parameter.text else parameter.key_span
                repair = _better(key, allowed[key], value, wrong.path, None)
                yield KeyFinding(
                    WRONG_VALUE, _wrong(key, wrong.path, wrong.wanted, value), None, span=span, repair=repair
                )
        elif key.casefold() in MACHINE_KEYS:
            repair = removed(key, None, safe=True)
            yield KeyFinding(
                MACHINE_SETTING, machine_setting_message(key), None, span=parameter.key_span, repair=repair
            )
        else:
            near = closest(key, offered)
            if near is not None:
                taken = {*overruled, *parts.parameters}
                near = _usable(near, _label_value(parameter, offered[near]), offered, taken)
            message, repair = _unknown(key, what, offered), removed(key, None)
            yield KeyFinding(UNKNOWN_KEY, message, None, span=parameter.key_span, near=near, repair=repair)


def _better(key: str, fragment: Fragment, value: object, path: Path, block: int | None) -> Repair:
    for step in path[1:]:
        fragment, value = fragment_at(fragment, step), value[step]  # type: ignore[index]  # the path leads through it

    return lambda written_keys, place: write_value(written_keys, key, fragment, value, path, block, place)


def removed(key: str, block: int | None, *, safe: bool = False) -> Repair:
    """A repair that takes a parameter out of the label (``block`` is None) or the metadata."""
    return lambda written_keys, _place: remove_key(written_keys, key, block, safe=safe)


def _readable(span: Span, allowed: Mapping[str, Fragment], taken: Collection[str]) -> Repair:
    return lambda written_keys, _place: write_parameter(written_keys, span, allowed, taken)


def _one_of(first: LabelParameter, second: LabelParameter, fragment: Fragment | None) -> Repair:
    def fits(kept: LabelParameter) -> bool:
        return fragment is None or not violations(fragment, _label_value(kept, fragment))

    return lambda written_keys, _place: remove_repeated(written_keys, first, second, fits)


def conflicts(parts: LabelParts, docs: list[MetaDoc], allowed: Mapping[str, Fragment]) -> Iterator[KeyFinding]:
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
        near = near if parameter.text else None
        repair = removed(key, None, safe=True)
        yield KeyFinding(CONFLICT, message, None, (key,), span, other=index, near=near, safe=True, repair=repair)


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
    name = sentence_start(named(path if len(path) > 1 else (key,)))
    if isinstance(value, str) and not value.strip():
        return f"{name} is empty; it must be {wanted}."
    return f"{name} must be {wanted}, not {shown(value)}."


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
            gone = remove_key(
                WrittenKeys(None, block.range, [(metadata, block)], drawn_elsewhere=True), key, 0, safe=True
            )
            yield report(MACHINE_SETTING, place, machine_setting_message(key), fixes=gone)
        elif key not in allowed:
            message = f"{what} has no key `{key}`; {_hint(key, allowed)}"
            yield report(UNKNOWN_KEY, place, message, fixes=_drawn(metadata, block, key, place, allowed))


def _drawn(metadata: Metadata, block: Block, key: str, place: Range, allowed: Mapping[str, Fragment]) -> Iterator[Fix]:
    near = closest(key, allowed)
    if near is not None and near not in parse_metadata(metadata.body).values:
        yield fix(f"Write {near}", [TextEdit(place, near)], safe=False)
    yield from remove_key(WrittenKeys(None, block.range, [(metadata, block)], drawn_elsewhere=True), key, 0, safe=False)
