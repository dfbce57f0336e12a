"""Which operator a node has: by its ``op`` metadata, its class, and the first line of its label.

The answer is a pure function of what is written on the node, so it can be cached by value (`NodeText`). A node without an
operator is a plain step: a Custom whose prompt is its label, or a Decision if it is a diamond with labelled edges out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from merrow_analysis.definitions.callees import Callee
from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.definitions.labels.parameters import LabelParts, parse_label
from merrow_analysis.definitions.labels.step_text import step_text, step_title
from merrow_analysis.definitions.operators import (
    INTERFACE_CLASS,
    PLANNED_CALL,
    OperatorSpec,
    OperatorTable,
    by_embedding,
)
from merrow_analysis.definitions.schema import EMBEDDING
from merrow_analysis.definitions.types import Misspelled, Type, TypeExpressionError, TypeTable
from merrow_analysis.graph.outside import Outside
from merrow_analysis.shared_values import RecentValues
from merrow_analysis.text import Span
from merrow_analysis.tools.constants import Constants, read_constants
from merrow_analysis.tools.listed import PERSON, listed_tools
from merrow_analysis.tools.pinned_tools import KnownTool

Role = Literal["input", "output", "through"]
"""What an Interface node is to the workflow; ``through`` for one with edges on both sides, which is neither."""

PlainKind = Literal["asks", "passes", "gathers", "step"]
"""What a node of a drawing is at which no operator is written: it asks which way to take, passes on what arrives, joins what
arrives, or asks a model the text of its box.
"""

NodeKind = Literal["input", "output", "operator", "decision", "unknown"]
Place = Literal["op", "class", "label"]


class FlowchartReading(NamedTuple):
    """How a flowchart is read. ``names``: a bare operator's name in a box names that operator; ``drawn``: its shapes and words
    say what goes in and what comes out.
    """

    names: bool = True
    drawn: bool = False


WRITTEN = FlowchartReading()
"""A workflow in the notation of the language."""


class NodeText(NamedTuple):
    """The text on a node that determines its operator; ``ways`` are the labels on a diamond's outgoing edges, or a question's in
    another shape. ``drawn`` is what the node of a drawing is.
    """

    role: Role | None
    label: str | None
    is_diamond: bool
    classes: tuple[str, ...]
    metadata: tuple[str, ...]
    reading: FlowchartReading = WRITTEN
    ways: tuple[str | None, ...] = ()
    drawn: PlainKind | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One place that names an operator: ``index`` counts the node's metadata blocks or classes; ``spec`` None if
    unknown.
    """

    place: Place
    word: str
    index: int
    spec: OperatorSpec | None
    variant: bool = False


@dataclass(frozen=True, slots=True)
class NodeProblem:
    """A problem with the text on a node; ``claims`` are the places, ``near`` the operator and ``misspelled`` the type that
    were probably meant.
    """

    kind: Literal["disagreement", "unknown", "none", "variant", "wrong-class", "no-class", "bad-type", "callee", "tool"]
    claims: tuple[Claim, ...] = ()
    near: OperatorSpec | None = None
    key: str = ""
    message: str = ""
    misspelled: Misspelled | None = None


@dataclass(frozen=True, slots=True)
class NodeParameter:
    """A parameter of a node: ``text`` in a label is always a str. ``block`` counts metadata blocks; None for the
    label.
    """

    value: object
    block: int | None


@dataclass(frozen=True, eq=False)
class Resolution:
    """The operator of a node. ``spec`` is None for input, output and unknown nodes; unknown nodes are not checked further.

    ``declared`` is the type that ``returns:`` (or ``type:``, at an Interface node) says; ``samples`` that outputs are lists.
    ``literals`` are the ports that parameters feed; ``expression`` is a Decision's ``if:``. ``callee`` is the file that a Call
    runs, ``tool`` the tool that a Tool uses, ``tools`` are those that an agent may use. ``plain`` is the text of a node at which
    no operator is written, None for all others; ``ways`` are the labels on the ways out of such a Decision. ``ask`` is what a
    Decision asks a model if nothing else decides, ``by`` what a Select sorts by. ``answers`` are those to questions that depend
    on nothing else, by their names: they are forgotten with it.
    """

    kind: NodeKind
    spec: OperatorSpec | None = None
    claims: tuple[Claim, ...] = ()
    problems: tuple[NodeProblem, ...] = ()
    parameters: dict[str, NodeParameter] = field(default_factory=dict)
    declared: Type | None = None
    samples: bool = False
    literals: frozenset[str] = frozenset()
    expression: str | None = None
    label_parts: LabelParts | None = None
    plain: str | None = None
    ways: tuple[str | None, ...] = ()
    ask: str | None = None
    callee: Callee | None = None
    tool: KnownTool | None = None
    tools: tuple[KnownTool, ...] = ()
    by: str | None = None
    answers: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def label_is_text(self) -> bool:
        """Whether its label names neither an operator nor parameters."""
        return self.kind in ("input", "output", "decision") or self.plain is not None

    @property
    def has_default(self) -> bool:
        """Whether there is a ``default:`` value."""
        default = self.parameters.get("default")
        return default is not None and default.value is not None

    @property
    def title(self) -> str | None:
        """The name of a plain step in messages."""
        return step_title(self.plain) if self.plain else None


@dataclass(frozen=True, slots=True)
class OperatorChoice:
    """The operator that the text on a node chooses, the places that name it, and the problems with them. ``plain`` means
    that no text names one, and the node is a plain step.
    """

    spec: OperatorSpec | None
    claims: tuple[Claim, ...]
    problems: tuple[NodeProblem, ...]
    plain: bool = False


class Words(NamedTuple):
    """The words at a node that may name an operator: few nodes have words of their own.

    ``text`` is what its label says to people, ``parameters`` that it has some; ``branches`` that it is a diamond with labelled
    ways out, ``names`` that a bare name counts (`Reading`); ``drawn`` as in `NodeText`.
    """

    label: str
    text: str
    parameters: bool
    branches: bool
    classes: tuple[str, ...]
    op: tuple[str, int] | None
    names: bool
    drawn: PlainKind | None = None


def resolve(
    text: NodeText,
    table: OperatorTable,
    types: TypeTable,
    choices: RecentValues[Words, OperatorChoice] | None = None,
    outside: Outside | None = None,
) -> Resolution:
    """Determine a node's operator from the text on it. Never raises. ``choices`` caches answers for equal texts; ``outside``
    finds the files that Calls run.
    """
    metadata: dict[str, NodeParameter] = {}
    op: tuple[str, int] | None = None
    for index, body in enumerate(text.metadata):
        for key, value in parse_metadata(body).values.items():
            metadata[str(key)] = NodeParameter(value, index)
    written = metadata.get("op")
    if written is not None and written.block is not None and isinstance(written.value, str) and written.value.strip():
        op = (written.value.strip(), written.block)
    if text.role is not None:
        return _interface(text, op, metadata, table, types)
    parts = parse_label(text.label) if text.label is not None else None
    # The text is used only if nothing else says what the node is.
    speaks = op is None and not any(name.endswith("Op") or is_operator_class(name, table) for name in text.classes)
    word = "" if parts is None else parts.lone_word if speaks else parts.operator_word
    speaks = speaks and not (text.reading.names and table.named(word) is not None)
    branches = text.drawn == "asks" if text.drawn else text.is_diamond and any(way is not None for way in text.ways)
    spoken = step_text(text.label) if speaks and text.label is not None else ""
    words = Words(
        word,
        # If a diamond shows only an icon, the labels of its edges say enough.
        spoken or (_WHICH if speaks and branches else ""),
        parts is not None and bool(parts.parameters),
        branches,
        text.classes,
        op,
        text.reading.names,
        text.drawn if speaks else None,
    )
    choice = choices.get(words) if choices is not None else None
    if choice is None:
        choice = _choose(words, table)
        if choices is not None:
            choices.keep(words, choice)
    if choice.plain:
        if words.drawn == "gathers":
            metadata = {"how": NodeParameter("concat", None), **metadata}
        return _with_parameters(choice, metadata, None, types, words.text, text.ways)
    if parts is None or not parts.parameters or (choice.spec is not None and choice.spec.is_decision):
        parameters = metadata
    else:
        parameters = {key: NodeParameter(value.value, None) for key, value in parts.parameters.items()}
        parameters.update(metadata)
    if choice.spec is not None and choice.spec.is_call:
        return _call(choice, parameters, parts, types, outside)
    if choice.spec is not None and choice.spec.is_tool:
        return _tool(choice, parameters, parts, types, outside)
    if choice.spec is not None and choice.spec.is_agent:
        agent = _with_parameters(choice, parameters, parts, types)
        pinned = None if outside is None else outside.tools
        tools = () if pinned is None else tuple(pinned.find(named.name) for named in named_tools(agent))
        return replace(agent, tools=tools)
    return _with_parameters(choice, parameters, parts, types)


def is_operator_class(name: str, table: OperatorTable) -> bool:
    """Whether a class names an operator in any flowchart: a style named ``decision`` does so only among other operators."""
    return name[-2:].casefold() == "op" and table.by_class(name) is not None


def _written_claims(
    classes: tuple[str, ...], op: tuple[str, int] | None, table: OperatorTable, *, names: bool = True
) -> tuple[list[Claim], bool]:
    """Claims by metadata and classes, in order of precedence, and whether one of them says Interface. ``names`` as in
    `FlowchartReading`.
    """
    claims: list[Claim] = []
    is_interface = False
    if op is not None:
        word, index = op
        operator = table.by_op(word)
        if word.casefold() == INTERFACE_CLASS.casefold():
            is_interface = True
        else:
            claims.append(
                Claim("op", word, index, operator.spec if operator else None, operator is not None and operator.variant)
            )
    for index, word in enumerate(classes):
        if word.casefold() == INTERFACE_CLASS.casefold():
            is_interface = True
            continue
        operator = table.by_class(word) if names or is_operator_class(word, table) else None
        if operator is not None:
            claims.append(Claim("class", word, index, operator.spec, operator.variant))
        elif word.endswith("Op") and len(word) > 2:
            claims.append(Claim("class", word, index, None))
    return claims, is_interface


def _interface(
    text: NodeText,
    op: tuple[str, int] | None,
    metadata: dict[str, NodeParameter],
    table: OperatorTable,
    types: TypeTable,
) -> Resolution:
    claims, is_interface = _written_claims(text.classes, op, table)
    problems: list[NodeProblem] = []
    if claims:
        problems.append(NodeProblem("wrong-class", tuple(claims)))
    elif text.role == "through":
        problems.append(NodeProblem("wrong-class"))
    elif not (is_interface or text.reading.drawn):
        problems.append(NodeProblem("no-class"))
    declared = _read_type("type", metadata, types, problems)
    kind: NodeKind = "unknown" if text.role == "through" or text.role is None else text.role
    return Resolution(kind, None, tuple(claims), tuple(problems), metadata, declared)


def _choose(words: Words, table: OperatorTable) -> OperatorChoice:
    claims, _ = _written_claims(words.classes, words.op, table, names=words.names)
    word = words.label
    known = [claim for claim in claims if claim.spec is not None]
    unknown = [claim for claim in claims if claim.spec is None]
    says_decision = any(claim.spec is not None and claim.spec.is_decision for claim in known)
    speaks = bool(word) and not says_decision and (bool(claims) or words.names or words.parameters)
    label = _label_claim(word, claims, table) if speaks else None
    candidates = known if label is None else [*known, label]
    problems = [NodeProblem("variant", (claim,)) for claim in candidates if claim.variant]
    if unknown:
        meant = label.spec if label is not None else None
        problems += [NodeProblem("unknown", (claim,), meant or table.nearest(claim.word)) for claim in unknown]
        return OperatorChoice(None, (*claims, *candidates[len(known) :]), tuple(problems))
    if len({claim.spec.name for claim in candidates if claim.spec is not None}) > 1:
        problems.append(NodeProblem("disagreement", tuple(candidates)))
        return OperatorChoice(None, tuple(candidates), tuple(problems))
    if candidates:
        return OperatorChoice(candidates[0].spec, tuple(candidates), tuple(problems))
    return _plain(words, table)


_LONE_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_CAMEL_CASE = re.compile(r"[a-z0-9][A-Z]")
_SHORTEST_LONE = 5
_WHICH = "Which way?"


def _plain(words: Words, table: OperatorTable) -> OperatorChoice:
    """A node whose words name no operator: a plain step, unless its label is empty, or an operator's name misspelled."""
    if words.drawn in ("passes", "gathers"):
        return OperatorChoice(table.named("Pass" if words.drawn == "passes" else "Assemble"), (), (), plain=True)
    if words.branches and words.text:
        return OperatorChoice(table.named("Decision"), (), (), plain=True)
    claim = Claim("label", words.label, 0, None)
    if _LONE_WORD.fullmatch(words.label):
        near = _meant(words, table)
        if near is not None or (words.parameters and words.names):
            return OperatorChoice(None, (claim,), (NodeProblem("unknown", (claim,), near),))
    if not words.text:
        return OperatorChoice(None, (), (NodeProblem("none"),))
    return OperatorChoice(table.named("Custom"), (), (), plain=True)


def _meant(words: Words, table: OperatorTable) -> OperatorSpec | None:
    """The operator that a lone word probably means; most words near an operator's name mean what they say."""
    word = words.label
    near = table.nearest(word)
    if near is None or words.parameters:
        return near
    if not words.names or words.text != word:
        return None
    alike = word[:1].casefold() == near.name[:1].casefold() and _one_slip(word.casefold(), near.name.casefold())
    return near if _CAMEL_CASE.search(word) or (len(word) >= _SHORTEST_LONE and alike) else None


def _label_claim(word: str, others: list[Claim], table: OperatorTable) -> Claim | None:
    """What the label's first line says: an operator, nearly one beside other claims, or a published variant alone."""
    spec = table.named(word)
    if spec is not None:
        return Claim("label", word, 0, spec)
    if not others:
        operator = table.by_op(word)
        return Claim("label", word, 0, operator.spec, variant=True) if operator is not None else None
    near = table.nearest(word)
    if near is not None and len(word) >= _SHORTEST_NEARLY and _one_slip(word.casefold(), near.name.casefold()):
        return Claim("label", word, 0, near)
    return None


_SHORTEST_NEARLY = 6
"""Words shorter than this are taken literally: "Text" is not a typo for "Test"."""


def _one_slip(first: str, second: str) -> bool:
    """Whether one letter too many, too few, wrong, or two swapped make the difference."""
    if abs(len(first) - len(second)) > 1 or first == second:
        return first == second
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    a, b = first[start:], second[start:]
    swapped = len(a) >= 2 and len(b) >= 2 and a[:2] == b[1::-1] and a[2:] == b[2:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or swapped


def called_path(resolution: Resolution) -> str | None:
    """The file that a node calls, as it is written; None for a node that calls none."""
    if resolution.spec is None or not resolution.spec.is_call:
        return None
    parameter = resolution.parameters.get("workflow")
    written = parameter.value if parameter is not None else None
    return written.strip() or None if isinstance(written, str) else None


def _call(
    choice: OperatorChoice,
    parameters: dict[str, NodeParameter],
    parts: LabelParts | None,
    types: TypeTable,
    outside: Outside | None,
) -> Resolution:
    """A node that runs another file, or without `workflow:` a planned one. If the file can't be read, the ports are unknown and
    its edges are not checked.
    """
    if "workflow" not in parameters:
        return Resolution("operator", PLANNED_CALL, choice.claims, choice.problems, parameters, label_parts=parts)
    call = Resolution("unknown", choice.spec, choice.claims, choice.problems, parameters, label_parts=parts)
    path = called_path(call)
    callee = outside.find(path) if outside is not None and path is not None else None
    if path is None or (callee is not None and callee.problem is not None):
        call = replace(call, problems=(*choice.problems, NodeProblem("callee", key="workflow")), callee=callee)
    if callee is None or callee.inputs is None:
        return call
    return replace(call, kind="operator", spec=callee.spec(types), callee=callee)


def tool_name(resolution: Resolution) -> str | None:
    """The tool that a node uses, as it is written; None for a node that uses none."""
    if resolution.spec is None or not resolution.spec.is_tool:
        return None
    parameter = resolution.parameters.get("tool")
    written = parameter.value if parameter is not None else None
    return written.strip() or None if isinstance(written, str) else None


def environment_name(resolution: Resolution) -> str | None:
    """The environment that a node acts in, as it is written; None for a node that acts in none, or says none."""
    if resolution.spec is None or not resolution.spec.is_environment:
        return None
    parameter = resolution.parameters.get("env")
    written = parameter.value if parameter is not None else None
    return written.strip() or None if isinstance(written, str) else None


def store_name(resolution: Resolution) -> str | None:
    """The store that a node uses, as it is written; None for a node that uses none, or says none."""
    if resolution.spec is None or not resolution.spec.uses_store:
        return None
    parameter = resolution.parameters.get("store")
    written = parameter.value if parameter is not None else None
    return written.strip() or None if isinstance(written, str) else None


class NamedTool(NamedTuple):
    """A tool that a node names, with the key whose text says it, and where in that text."""

    name: str
    key: str
    span: Span


def named_tools(resolution: Resolution) -> Sequence[NamedTool]:
    """The tools that a node names: that of a Tool, and those that an agent is offered, but for asking a person."""
    name = tool_name(resolution)
    if name is not None:
        return [NamedTool(name, "tool", (0, len(name)))]
    if resolution.spec is None or not resolution.spec.is_agent:
        return []
    return _offered(_tool_list(resolution))


@lru_cache(64)
def _offered(listed: str) -> Sequence[NamedTool]:
    return tuple(NamedTool(name, "tools", span) for name, span in listed_tools(listed) if name != PERSON)


def may_ask_person(resolution: Resolution) -> bool:
    """Whether a node is an agent that is offered to ask a person."""
    is_agent = resolution.spec is not None and resolution.spec.is_agent
    return is_agent and any(name == PERSON for name, _ in listed_tools(_tool_list(resolution)))


def _tool_list(resolution: Resolution) -> str:
    parameter = resolution.parameters.get("tools")
    return parameter.value if parameter is not None and isinstance(parameter.value, str) else ""


def constants_of(resolution: Resolution) -> Constants:
    """The constants that a Tool gives its parameters; none for another node."""
    parameter = resolution.parameters.get("with") if resolution.spec is not None and resolution.spec.is_tool else None
    return (
        read_constants(parameter.value) if parameter is not None and isinstance(parameter.value, str) else _NO_CONSTANTS
    )


def _tool(
    choice: OperatorChoice,
    parameters: dict[str, NodeParameter],
    parts: LabelParts | None,
    types: TypeTable,
    outside: Outside | None,
) -> Resolution:
    """A node that uses a tool. If that is not pinned, the ports are unknown and its edges are not checked."""
    node = Resolution("unknown", choice.spec, choice.claims, choice.problems, parameters, label_parts=parts)
    name = tool_name(node)
    tool = outside.tools.find(name) if outside is not None and name is not None else None
    if name is None or (tool is not None and tool.problem is not None):
        node = replace(node, problems=(*choice.problems, NodeProblem("tool", key="tool")), tool=tool)
    if tool is None or tool.signature is None:
        return node
    fed = constants_of(node).values.keys() & {parameter.name for parameter in tool.signature.parameters}
    return replace(node, kind="operator", spec=tool.spec(types), tool=tool, literals=frozenset(fed))


def _with_parameters(
    choice: OperatorChoice,
    parameters: dict[str, NodeParameter],
    parts: LabelParts | None,
    types: TypeTable,
    plain: str | None = None,
    ways: tuple[str | None, ...] = (),
) -> Resolution:
    spec, claims, problems = choice.spec, choice.claims, choice.problems
    if spec is None:
        return Resolution("unknown", None, claims, problems, parameters, label_parts=parts)
    if spec.is_decision:
        condition = parameters.get("if")
        expression = str(condition.value) if condition is not None and condition.value is not None else None
        asked = parameters.get("ask")
        ask = asked.value.strip() if asked is not None and isinstance(asked.value, str) else ""
        return Resolution(
            "decision",
            spec,
            claims,
            problems,
            parameters,
            expression=expression,
            label_parts=parts,
            plain=plain,
            ways=ways,
            ask=ask or plain,
        )
    declared = None
    if "returns" in parameters and "returns" not in spec.idle:
        wrong: list[NodeProblem] = []
        declared = _read_type("returns", parameters, types, wrong)
        if declared is not None and spec.is_pass and types.fields_of(declared) is None:
            message = f"`{declared}` is not a record; a Pass returns what it is given, or a record whose fields are its ports."
            wrong.append(NodeProblem("bad-type", key="returns", message=message))
            declared = None
        problems = (*problems, *wrong)
    samples = parameters.get("samples")
    if spec.is_retrieve and (how := parameters.get("by")) is not None and how.value == EMBEDDING:
        spec = by_embedding(spec)
    by = parameters.get("by") if spec.is_select else None
    return Resolution(
        "operator",
        spec,
        claims,
        problems,
        parameters,
        declared,
        samples is not None and samples.value is not None,
        frozenset(spec.literals & parameters.keys()) if spec.literals else _NO_LITERALS,
        label_parts=parts,
        plain=plain,
        by=by.value.strip() or None if by is not None and isinstance(by.value, str) else None,
    )


_NO_LITERALS: frozenset[str] = frozenset()
_NO_CONSTANTS = Constants()


def _read_type(
    key: str, parameters: dict[str, NodeParameter], types: TypeTable, problems: list[NodeProblem]
) -> Type | None:
    parameter = parameters.get(key)
    if parameter is None or not isinstance(parameter.value, str):
        return None
    try:
        return types.parse(parameter.value)
    except TypeExpressionError as error:
        problems.append(NodeProblem("bad-type", key=key, message=str(error), misspelled=error.misspelled))
        return None
