"""Operators: what a node can do, with the ports it reads and writes.

The built-in ones are a table; a workflow's front matter or an operator library adds its own in the same signature form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from merrow_analysis.definitions.types import (
    ANSWER,
    ANY,
    BOOL,
    BUILT_IN_TYPES,
    CODE,
    ENTRY_POINT,
    FEEDBACK,
    PROBLEM,
    TEXT,
    DefinitionProblem,
    Type,
    TypeExpressionError,
    TypeTable,
    item_of,
    list_of,
)
from merrow_analysis.suggest import closest

_PORT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_OPERATOR_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

COMMON_PARAMETERS = frozenset(
    {
        "op",
        "role",
        "prompt",
        "model",
        "temperature",
        "max_tokens",
        "seed",
        "timeout",
        "retries",
        "on_error",
        "default",
        "samples",
        "memory",
        "returns",
        "format",
    }
)
"""Keys that every node may have, in its label or its metadata."""

INTERFACE_PARAMETERS = frozenset({"op", "type", "default"})
"""Keys of input and output nodes."""

INTERFACE_CLASS = "Interface"


@dataclass(frozen=True, slots=True)
class InputPort:
    """A way into a node.

    ``many`` ports take any number of edges, others one at a time. A port of type ``list[T]`` takes many edges, each
    bringing a
    ``T`` or a whole list. ``variants`` are other published spellings of the name.
    """

    name: str
    type: Type
    required: bool = True
    many: bool = False
    variants: tuple[str, ...] = ()

    @property
    def item(self) -> Type:
        """The type of one edge's value: that of the items, for a list."""
        return item_of(self.type) or self.type


@dataclass(frozen=True, slots=True)
class OutputPort:
    """A way out of a node."""

    name: str
    type: Type


@dataclass(frozen=True, eq=False)
class OperatorSpec:
    """An operator's signature. The first input is the *through* port, the first output the default one.

    ``bulk`` names the port that unlabelled edges go to without a word. ``parameters`` are keys beyond
    `COMMON_PARAMETERS`.
    ``literals`` are ports that a parameter of the same name may feed. ``sources`` is how many different nodes the
    first port needs (ensembles: two). ``prompt`` is the text of a user's operator. ``style`` is the published
    drawing style.
    """

    name: str
    inputs: tuple[InputPort, ...]
    outputs: tuple[OutputPort, ...]
    bulk: str | None = None
    parameters: frozenset[str] = frozenset()
    literals: frozenset[str] = frozenset()
    sources: int = 1
    instruction_key: str | None = None
    prompt: str | None = None
    note: str = ""
    style: str = "fill:#e8e8e8,stroke:#777777,stroke-width:2px"
    class_spelling: str = ""
    built_in: bool = True
    ports: Mapping[str, InputPort] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "ports", MappingProxyType({port.name: port for port in self.inputs}))

    @property
    def through(self) -> InputPort | None:
        """The port that carries on what the operator works on."""
        return self.inputs[0] if self.inputs else None

    @property
    def default_output(self) -> OutputPort | None:
        return self.outputs[0] if self.outputs else None

    @property
    def class_name(self) -> str:
        """The class as published files spell it."""
        return self.class_spelling or f"{self.name}Op"

    @property
    def is_decision(self) -> bool:
        return self is DECISION

    @property
    def is_ensemble(self) -> bool:
        return self.sources > 1

    def output(self, name: str) -> OutputPort | None:
        return next((port for port in self.outputs if port.name == name), None)

    def allowed_parameters(self) -> frozenset[str]:
        """Every key a node with this operator may have."""
        return COMMON_PARAMETERS | self.parameters


def _style(fill: str, stroke: str, rest: str = "stroke-width:2px") -> str:
    return f"fill:#{fill},stroke:#{stroke},{rest}"


INTERFACE_STYLE = _style("e2e2f2", "6a6ab2")

_CUSTOM_INPUT = InputPort("input", ANY, many=True)
_SOLUTIONS = InputPort("solutions", list_of("T"), many=True)
_ENSEMBLE_STYLE = _style("f9e4b7", "b99b37")
_PROBLEM_TEXT = InputPort("problem", TEXT)

DECISION = OperatorSpec(
    "Decision",
    (InputPort("when", ANY), InputPort("value", ANY, required=False)),
    (),
    parameters=frozenset({"if"}),
    note="Chooses one of its outgoing edges by their labels; further named inputs are for `if:`.",
    style=_style("ffffff", "444444", "stroke-width:1px,stroke-dasharray:2 2"),
)

BUILT_IN_OPERATORS: tuple[OperatorSpec, ...] = (
    OperatorSpec(
        "Custom",
        (_CUSTOM_INPUT,),
        (OutputPort("response", TEXT),),
        bulk="input",
        instruction_key="role",
        note="One model call: its prompt, then its inputs in edge order. `returns: Plan` says what its answer is.",
        style=_style("d0e1f9", "4378a2"),
    ),
    OperatorSpec(
        "AnswerGenerate",
        (_CUSTOM_INPUT,),
        (OutputPort("answer", ANSWER), OutputPort("thought", TEXT)),
        bulk="input",
        note="Reasons step by step and gives a short answer.",
        style=_style("d0e1f9", "4378a2"),
    ),
    OperatorSpec(
        "CustomCodeGenerate",
        (
            InputPort("problem", TEXT, many=True, variants=("input",)),
            InputPort("entry_point", ENTRY_POINT, required=False),
        ),
        (OutputPort("response", CODE),),
        parameters=frozenset({"instruction"}),
        instruction_key="instruction",
        note="Writes a program for the problem; its prompt is found by `instruction`.",
        style=_style("f9c2c2", "c23737"),
    ),
    OperatorSpec(
        "Programmer",
        (InputPort("problem", PROBLEM), InputPort("analysis", TEXT, required=False)),
        (OutputPort("output", ANSWER), OutputPort("code", CODE)),
        parameters=frozenset({"analysis"}),
        literals=frozenset({"analysis"}),
        note="Writes Python, runs it in the sandbox and repairs it up to three times.",
        style=_style("f9c2c2", "c23737"),
    ),
    OperatorSpec(
        "ScEnsemble",
        (_SOLUTIONS, InputPort("problem", TEXT, required=False)),
        (OutputPort("response", "T"),),
        bulk="solutions",
        sources=2,
        note="Picks the solution that occurs most often.",
        style=_ENSEMBLE_STYLE,
        class_spelling="ScEnSembleOp",
    ),
    OperatorSpec(
        "MdEnsemble",
        (_SOLUTIONS, InputPort("problem", TEXT, required=False)),
        (OutputPort("response", "T"),),
        bulk="solutions",
        sources=2,
        note="Picks the best solution by several votes over shuffled orders.",
        style=_ENSEMBLE_STYLE,
    ),
    OperatorSpec(
        "Test",
        (
            InputPort("solution", CODE),
            _PROBLEM_TEXT,
            InputPort("entry_point", ENTRY_POINT),
            InputPort("tests", list_of(TEXT), required=False, many=True),
        ),
        (OutputPort("solution", CODE), OutputPort("result", BOOL), OutputPort("feedback", FEEDBACK)),
        parameters=frozenset({"tests", "on_no_tests"}),
        literals=frozenset({"tests"}),
        note="Runs the visible tests, reflects and repairs.",
        style=_style("d8f0d8", "2e8b57"),
    ),
    OperatorSpec(
        "Review",
        (InputPort("solution", TEXT), _PROBLEM_TEXT),
        (OutputPort("feedback", FEEDBACK), OutputPort("result", BOOL)),
        note="Judges a solution: feedback, and whether it is accepted.",
        style=_style("f2e6ff", "7a4fb5"),
    ),
    OperatorSpec(
        "Revise",
        (InputPort("solution", "T"), _PROBLEM_TEXT, InputPort("feedback", FEEDBACK)),
        (OutputPort("solution", "T"),),
        note="Rewrites a solution by the feedback on it.",
        style=_style("f2e6ff", "7a4fb5"),
    ),
    OperatorSpec(
        "Format",
        (InputPort("solution", TEXT), _PROBLEM_TEXT),
        (OutputPort("solution", ANSWER),),
        note="Shortens a solution to the answer alone.",
        style=_style("fff6c9", "a58c1a"),
    ),
    DECISION,
)

OUTPUT_PORT = InputPort("result", ANY)
"""The one port of an output node such as RETURN."""

_VARIANTS = {"programop": "programmer", "program": "programmer", "decision": "decision"}
"""Published spellings of operators that differ in more than case (casefolded), as classes or ``op`` values."""


@dataclass(frozen=True, slots=True)
class Found:
    """An operator found by a word; ``variant`` when the word is a published but unusual spelling."""

    spec: OperatorSpec
    variant: bool = False


@dataclass(frozen=True, eq=False)
class OperatorTable:
    """All operators of one workflow, found by name, class or ``op`` value, regardless of case."""

    specs: Mapping[str, OperatorSpec]

    @staticmethod
    def of(specs: Iterable[OperatorSpec]) -> OperatorTable:
        """A table of ``specs``; a later one replaces an earlier one of the same name."""
        return OperatorTable({spec.name.casefold(): spec for spec in specs})

    def named(self, word: str) -> OperatorSpec | None:
        """The operator with this name, as labels write it."""
        return self.specs.get(word.casefold())

    def by_class(self, name: str) -> Found | None:
        """The operator meant by a class: its name and ``Op``, or a published variant of that."""
        folded = name.casefold()
        if folded.endswith("op"):
            spec = self.specs.get(folded[:-2])
            if spec is not None:
                return Found(spec)
        variant = self.specs.get(_VARIANTS.get(folded, "")) if folded != "program" else None
        return Found(variant, variant=True) if variant is not None else None

    def by_op(self, value: str) -> Found | None:
        """The operator meant by ``op:`` metadata: its name; class spellings are variants."""
        spec = self.specs.get(value.casefold())
        if spec is not None:
            return Found(spec)
        found = self.by_class(value)
        spec = found.spec if found else self.specs.get(_VARIANTS.get(value.casefold(), ""))
        return Found(spec, variant=True) if spec is not None else None

    def nearest(self, word: str) -> OperatorSpec | None:
        """Did you mean? The operator whose name, or class for words in ``Op``, is nearest to ``word``."""
        stem = word[:-2] if word.casefold().endswith("op") and len(word) > 4 else word
        name = closest(stem, (spec.name for spec in self.specs.values()))
        return None if name is None else self.specs[name.casefold()]

    def names(self) -> list[str]:
        return [spec.name for spec in self.specs.values()]


BUILT_IN_TABLE = OperatorTable.of(BUILT_IN_OPERATORS)


def declare_operators(
    declared: Mapping[str, Any], types: TypeTable = BUILT_IN_TYPES, *, base: OperatorTable = BUILT_IN_TABLE
) -> tuple[OperatorTable, list[DefinitionProblem]]:
    """Add operators to those of ``base``, from ``operators:`` of a front matter or an operator library.

    Each is a mapping with ``inputs``, ``outputs``, and optionally ``prompt`` and ``note``. A port is written
    ``problem: Problem``;
    ``plan?: Text`` need not be fed; ``items: list[Text]`` takes many edges; ``text: {type: Text, required: false,
    many: true}`` says all of it. A single capital letter is a type variable: ``{inputs: {draft: T}, outputs:
    {better: T}}``. What is wrong is told in the list, and left out of the table as far as it goes: an operator with
    one bad port keeps its others.
    """
    if not declared:
        return base, []
    problems: list[DefinitionProblem] = []
    specs = dict(base.specs)
    for name, body in declared.items():
        spec = _declare_one(name, body, types, specs, problems)
        if spec is not None:
            specs[spec.name.casefold()] = spec
    return OperatorTable(specs), problems


_OPERATOR_KEYS = ("inputs", "outputs", "prompt", "note")


def _declare_one(
    name: object,
    body: object,
    types: TypeTable,
    known: Mapping[str, OperatorSpec],
    problems: list[DefinitionProblem],
) -> OperatorSpec | None:
    path = ("operators", str(name))
    if not isinstance(name, str) or not _OPERATOR_NAME.fullmatch(name):
        message = f"`{name}` can't name an operator: use letters, digits and `_`, starting with a letter."
        problems.append(DefinitionProblem(path, message))
        return None
    taken = known.get(name.casefold())
    if taken is not None or name.casefold() in ("interface", *_VARIANTS):
        what = "a built-in operator" if taken is None or taken.built_in else "declared twice (case doesn't count)"
        problems.append(DefinitionProblem(path, f"Operator `{name}` is {what}; choose another name."))
        return None
    if not isinstance(body, Mapping):
        message = (
            f"Operator `{name}` needs its ports: `{name}: {{inputs: {{problem: Problem}}, outputs: {{plan: Plan}}}}`."
        )
        problems.append(DefinitionProblem(path, message))
        return None
    for key in body:
        if key not in _OPERATOR_KEYS:
            near = closest(str(key), _OPERATOR_KEYS)
            hint = f"did you mean `{near}`?" if near else f"the keys are {', '.join(_OPERATOR_KEYS)}."
            problems.append(DefinitionProblem((*path, str(key)), f"Operator `{name}` has no key `{key}`; {hint}"))
    inputs = _input_ports(name, body.get("inputs"), types, problems)
    outputs = _output_ports(name, body.get("outputs"), inputs, types, problems)
    prompt, note = body.get("prompt"), body.get("note")
    for key, value in (("prompt", prompt), ("note", note)):
        if value is not None and not isinstance(value, str):
            problems.append(DefinitionProblem((*path, key), f"The {key} of operator `{name}` must be text."))
    only_bulk = len(inputs) == 1 and inputs[0].many
    return OperatorSpec(
        name,
        inputs,
        outputs,
        bulk=inputs[0].name if only_bulk else None,
        prompt=prompt if isinstance(prompt, str) else None,
        note=note if isinstance(note, str) else "",
        built_in=False,
    )


def _entries(
    name: str, side: str, ports: object, problems: list[DefinitionProblem]
) -> list[tuple[str, str, bool, object]]:
    """Name as a port has it, key as written, whether it ends in ``?``, and meaning, of each well-named port."""
    if ports is None and side == "inputs":
        return []
    if not isinstance(ports, Mapping) or (side == "outputs" and not ports):
        needed = f"Operator `{name}` needs {side} as a mapping of port to type: `{side}: {{text: Text}}`."
        problems.append(DefinitionProblem(("operators", name, side), needed))
        return []
    found: list[tuple[str, str, bool, object]] = []
    seen: set[str] = set()
    for key, meaning in ports.items():
        written = str(key)
        optional = written.endswith("?")
        port = written.removesuffix("?").strip()
        message: str | None = None
        if not _PORT_NAME.fullmatch(port):
            message = f"`{written}` can't name a port of operator `{name}`: use letters, digits and `_`."
        elif optional and side == "outputs":
            message = f"Output `{port}` of operator `{name}` can't be optional; write it without `?`."
        elif port in seen:
            message = f"Operator `{name}` has port `{port}` twice among its {side}."
        if message is not None:
            problems.append(DefinitionProblem(("operators", name, side, written), message))
            continue
        seen.add(port)
        found.append((port, written, optional, meaning))
    return found


def _input_ports(
    name: str, ports: object, types: TypeTable, problems: list[DefinitionProblem]
) -> tuple[InputPort, ...]:
    made: list[InputPort] = []
    for port, written, optional, meaning in _entries(name, "inputs", ports, problems):
        path = ("operators", name, "inputs", written)
        text, required, many = meaning, not optional, False
        if isinstance(meaning, Mapping):
            text = meaning.get("type")
            required = meaning.get("required", required)
            many = meaning.get("many", False)
            unknown = [str(key) for key in meaning if key not in ("type", "required", "many")]
            if unknown or not isinstance(required, bool) or not isinstance(many, bool):
                message = (
                    f"Port `{port}` of operator `{name}` is written `{{type: Text, required: true, many: false}}`, "
                    "where `required` and `many` are true or false."
                )
                problems.append(DefinitionProblem(path, message))
                required, many = required is not False, many is True
        type_ = _port_type(name, port, text, types, path, problems)
        if type_ is not None:
            made.append(InputPort(port, type_, required, many or item_of(type_) is not None))
    return tuple(made)


def _output_ports(
    name: str, ports: object, inputs: tuple[InputPort, ...], types: TypeTable, problems: list[DefinitionProblem]
) -> tuple[OutputPort, ...]:
    variables = {_innermost(port.type) for port in inputs}
    made: list[OutputPort] = []
    for port, written, _, meaning in _entries(name, "outputs", ports, problems):
        path = ("operators", name, "outputs", written)
        text = meaning.get("type") if isinstance(meaning, Mapping) and set(meaning) == {"type"} else meaning
        type_ = _port_type(name, port, text, types, path, problems)
        if type_ is None:
            continue
        inner = _innermost(type_)
        if inner not in types.parents and inner not in variables:
            message = f"Output `{port}` of operator `{name}` has type `{type_}`, but no input says what `{inner}` is."
            problems.append(DefinitionProblem(path, message))
            continue
        made.append(OutputPort(port, type_))
    return tuple(made)


def _innermost(type_: Type) -> Type:
    inner = item_of(type_)
    return type_ if inner is None else _innermost(inner)


def _port_type(
    name: str,
    port: str,
    text: object,
    types: TypeTable,
    path: tuple[str | int, ...],
    problems: list[DefinitionProblem],
) -> Type | None:
    if not isinstance(text, str):
        # `items: [Text]` and `items: list[Text]` look alike to a reader who knows YAML's lists.
        message = f"Port `{port}` of operator `{name}` needs a type, such as `Text` or `list[Text]`."
        problems.append(DefinitionProblem(path, message))
        return None
    try:
        return types.parse(text, variables=True)
    except TypeExpressionError as error:
        problems.append(DefinitionProblem(path, f"Port `{port}` of operator `{name}`: {error}"))
        return None
