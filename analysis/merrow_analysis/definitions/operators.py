"""Operators: what a node can do, with the ports it reads and writes.

The built-in ones are a table; a workflow's front matter or an operator library adds its own in the same signature form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import Literal

from merrow_analysis.definitions.types import (
    ANSWER,
    ANY,
    BOOL,
    CODE,
    ENTRY_POINT,
    FEEDBACK,
    JSON,
    NUMBER,
    PROBLEM,
    TEXT,
    WORKFLOW,
    Type,
    TypeTable,
    item_of,
    list_of,
)
from merrow_analysis.suggest import closest

_MOST_COMPARED = 200
"""Operators that a misspelled one is compared with."""

COMMON_PARAMETERS = frozenset(
    {
        "op",
        "role",
        "prompt",
        "template",
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
        "agent",
        "aims",
        "validate",
        "attempts",
        "on_invalid",
        "locked",
        "turns",
    }
)
"""Keys that every node may have, in its label or its metadata."""

INTERFACE_PARAMETERS = frozenset({"op", "type", "default"})
"""Keys of input and output nodes."""

INTERFACE_CLASS = "Interface"

Effect = Literal["none", "model", "person", "tool", "store", "environment"]
"""What an operator reaches beyond its inputs. What a model answers can be asked for again and costs only money; what a person was
asked, or a tool, a store or an environment did, has happened.
"""


@dataclass(frozen=True, slots=True)
class InputPort:
    """A way into a node.

    ``many`` ports take any number of edges, others one at a time. A port of type ``list[T]`` takes many edges, each
    bringing a
    ``T`` or a whole list; with ``flat`` lists in lists count as one. ``variants`` are other published spellings of the name.
    """

    name: str
    type: Type
    required: bool = True
    many: bool = False
    variants: tuple[str, ...] = ()
    flat: bool = False

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
    ``common``, those that it shares with other operators.
    ``idle`` are keys that it may have as every node may, and that change nothing.
    ``literals`` are ports that a parameter of the same name may feed. ``sources`` is how many different nodes the
    first port needs (ensembles: two). ``prompt`` is the text of a user's operator. ``style`` is the published
    drawing style. ``prompt_key`` is the parameter whose text the model or person that answers sees.
    """

    name: str
    inputs: tuple[InputPort, ...]
    outputs: tuple[OutputPort, ...]
    bulk: str | None = None
    parameters: frozenset[str] = frozenset()
    idle: frozenset[str] = frozenset()
    literals: frozenset[str] = frozenset()
    sources: int = 1
    instruction_key: str | None = None
    prompt: str | None = None
    note: str = ""
    common: frozenset[str] = COMMON_PARAMETERS
    style: str = "fill:#e8e8e8,stroke:#777777,stroke-width:2px"
    class_spelling: str = ""
    built_in: bool = True
    effect: Effect = "model"
    prompt_key: str = "prompt"
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
    def is_call(self) -> bool:
        """Whether it runs another workflow. Each file has a signature of its own; `CALL` has none."""
        return self.name == CALL.name and self.built_in

    @property
    def is_planned_call(self) -> bool:
        """Whether it runs a workflow that an edge brings."""
        return self is PLANNED_CALL

    @property
    def is_pass(self) -> bool:
        return self is PASS

    @property
    def is_select(self) -> bool:
        return self is SELECT

    @property
    def is_human(self) -> bool:
        """Whether a person answers."""
        return self is HUMAN

    @property
    def is_tool(self) -> bool:
        """Whether it uses a tool. Each pinned tool has a signature of its own; `TOOL` has none."""
        return self.name == TOOL.name and self.built_in

    @property
    def is_environment(self) -> bool:
        """Whether it acts in an environment."""
        return self is ENVIRONMENT

    @property
    def uses_store(self) -> bool:
        """Whether it looks something up in a store, or adds to one."""
        return self.built_in and "store" in self.parameters

    @property
    def is_retrieve(self) -> bool:
        return self.built_in and self.name == RETRIEVE.name

    @property
    def embeds(self) -> bool:
        """Whether a model embeds texts for it: such a request has no answer in words."""
        return self.is_retrieve and "model" not in self.idle

    @property
    def is_agent(self) -> bool:
        """Whether a model chooses which tools it uses."""
        return self is TOOL_AGENT

    @property
    def asks_model(self) -> bool:
        """Whether a model answers and nothing else happens."""
        return self.effect == "model"

    @property
    def has_prompt(self) -> bool:
        """Whether a model or a person that answers sees a text of its own."""
        return self.effect in ("model", "person") or self.is_agent

    @property
    def not_repeated(self) -> frozenset[str]:
        """Keys that would do again what it does, so that it may not have them. The retries of an agent are those of its model."""
        return frozenset() if not self.acts else NOT_REPEATED - {"retries"} if self.is_agent else NOT_REPEATED

    @property
    def acts(self) -> bool:
        """Whether it does something in the world that can't be undone, or asked for again as a model's answer can: only people
        decide whether and how often.
        """
        return self.effect not in ("none", "model")

    @property
    def is_ensemble(self) -> bool:
        return self.sources > 1

    def output(self, name: str) -> OutputPort | None:
        return next((port for port in self.outputs if port.name == name), None)

    def allowed_parameters(self) -> frozenset[str]:
        """Every key a node with this operator may have."""
        return self.common | self.parameters

    def useful_parameters(self) -> frozenset[str]:
        """Those of them that change something and are not refused."""
        return self.allowed_parameters() - self.idle - self.not_repeated


def _style(fill: str, stroke: str, rest: str = "stroke-width:2px") -> str:
    return f"fill:#{fill},stroke:#{stroke},{rest}"


INTERFACE_STYLE = _style("e2e2f2", "6a6ab2")

_CUSTOM_INPUT = InputPort("input", ANY, many=True)
_SOLUTIONS = InputPort("solutions", list_of("T"), many=True)
_ENSEMBLE_STYLE = _style("f9e4b7", "b99b37")
_PROBLEM_TEXT = InputPort("problem", TEXT)

_FORMAT = frozenset({"format"})
_OF_MODEL_CALLS = COMMON_PARAMETERS - {"op", "on_error", "default"}
_JUDGED = frozenset({"validate", "on_invalid"})
"""Keys of nodes whose result is validated; those that ask no model have no further attempt."""

NOT_REPEATED = frozenset({"samples", "attempts", "retries"})
"""Keys that carry out a node several times, which no operator with an effect beyond a model may have."""

DECISION = OperatorSpec(
    "Decision",
    (InputPort("when", ANY), InputPort("value", ANY, required=False)),
    (),
    parameters=frozenset({"if", "ask"}),
    idle=_OF_MODEL_CALLS,
    note="Chooses one of its outgoing edges by their labels; further named inputs are for `if:`. "
    "`ask:` has a model choose.",
    style=_style("ffffff", "444444", "stroke-width:1px,stroke-dasharray:2 2"),
    effect="none",
)

PASS = OperatorSpec(
    "Pass",
    (InputPort("value", "T"),),
    (OutputPort("value", "T"),),
    bulk="value",
    idle=_OF_MODEL_CALLS - {"returns", "samples"} - _JUDGED,
    note="Hands on what it is given. With `returns:` and a record, each field is a port, and the record is the output.",
    style=_style("f5f5f5", "777777"),
    effect="none",
)

SELECT = OperatorSpec(
    "Select",
    (InputPort("items", list_of("T"), many=True, flat=True),),
    (OutputPort("selected", list_of("T")), OutputPort("best", "T"), OutputPort("score", NUMBER)),
    bulk="items",
    parameters=frozenset({"by", "keep"}),
    idle=_OF_MODEL_CALLS - {"samples"} - _JUDGED,
    note="Selects the items with the highest numbers: of records by the field that `by:` names. `keep:` says how many.",
    style=_style("f9e4b7", "b99b37"),
    effect="none",
)

CALL = OperatorSpec(
    "Call",
    (),
    (),
    parameters=frozenset({"workflow", "depth"}),
    common=frozenset({"op", "on_error", "default"}) | _JUDGED,
    note="Runs another workflow file: its inputs are the ports, its outputs the outputs.",
    style=_style("dff3f0", "2f8f83"),
)

PLANNED_CALL = replace(
    CALL,
    inputs=(InputPort("problem", TEXT), InputPort("workflow", WORKFLOW)),
    outputs=(OutputPort("result", TEXT), OutputPort("state", JSON), OutputPort("done", BOOL)),
    parameters=frozenset({"workflow", "stop_after"}),
    note="Runs the workflow that its port `workflow` brings. With `stop_after:` it stops after that many nodes, and `state` "
    "says how each of them stands. In later turns of a Loop it reuses what is finished.",
)
"""A Call without `workflow:`; with it, it is a Call of a file."""

HUMAN = OperatorSpec(
    "Human",
    (InputPort("input", ANY, required=False, many=True), InputPort("draft", TEXT, required=False)),
    (OutputPort("answer", TEXT), OutputPort("note", TEXT)),
    bulk="input",
    parameters=frozenset({"ask", "deadline"}),
    idle=_OF_MODEL_CALLS - _JUDGED - {"returns", "template", "locked", "turns"} - NOT_REPEATED,
    note="Asks a person and waits for the answer, for days if need be. `returns:` says what is asked for: Bool for approval, an "
    "enumeration for a choice, a record for a form. With an edge into `draft`, the person edits that text. Nobody is asked where "
    "neither a connected `draft` nor, without one, anything at `input` arrives.",
    style=_style("ffe8d6", "c2571a"),
    effect="person",
    prompt_key="ask",
)

TOOL = OperatorSpec(
    "Tool",
    (),
    (),
    parameters=frozenset({"tool", "with"}),
    idle=_OF_MODEL_CALLS - _JUDGED - {"timeout", "locked", "turns"} - NOT_REPEATED,
    note="Uses a tool of a server: `tool: web.search`. Its ports are the parameters and results that `merrow.tools.json` lists; "
    "`with:` gives parameters constants.",
    style=_style("e3f1d4", "5b8a2d"),
    effect="tool",
)

ENVIRONMENT_TASK = InputPort("task", ANY, required=False)
"""What an episode begins with."""

ENVIRONMENT = OperatorSpec(
    "Environment",
    (InputPort("action", TEXT, required=False), ENVIRONMENT_TASK),
    (OutputPort("observation", TEXT), OutputPort("done", BOOL), OutputPort("reward", NUMBER)),
    parameters=frozenset({"env"}),
    idle=_OF_MODEL_CALLS - _JUDGED - {"timeout", "locked", "turns"} - NOT_REPEATED,
    note="Acts in an environment: `env: textcraft`. Where no `action` arrives it begins an episode with the `task`, which "
    "lasts as long as the Loop around it; then each action is one step.",
    style=_style("dbe7d3", "4f7a3a"),
    effect="environment",
)

RETRIEVE = OperatorSpec(
    "Retrieve",
    (InputPort("query", TEXT),),
    (OutputPort("documents", list_of("Document")),),
    bulk="query",
    parameters=frozenset({"store", "k", "by"}),
    idle=_OF_MODEL_CALLS - _JUDGED - {"samples", "locked", "turns"},
    note="Finds the documents of a store that have the words of the query, the best first: `store: manual, k: 5`. Each has its "
    "text, source and place. With `by: embedding` those that mean something like it.",
    style=_style("fdf1cf", "a07f1d"),
    effect="none",
)

REMEMBER = OperatorSpec(
    "Remember",
    (InputPort("text", TEXT),),
    (OutputPort("text", TEXT),),
    bulk="text",
    parameters=frozenset({"store"}),
    idle=_OF_MODEL_CALLS - _JUDGED - {"locked", "turns"} - NOT_REPEATED,
    note="Adds a text to a store, once, and hands it on. Later runs find it there.",
    style=_style("fdf1cf", "a07f1d"),
    effect="store",
)

DEFAULT_STEPS = 8
MOST_STEPS = 100
"""In how many steps an agent may use tools: where nothing says it, and at most."""

TOOL_AGENT = OperatorSpec(
    "ToolAgent",
    (_CUSTOM_INPUT,),
    (OutputPort("response", TEXT), OutputPort("steps", list_of(JSON))),
    bulk="input",
    parameters=frozenset({"tools", "max"}),
    idle=_FORMAT,
    instruction_key="role",
    note="A model that uses tools, in up to `max:` steps, and then answers. `tools: 'web.search, person'` says which it may use; "
    "`person` lets it ask a person.",
    style=_style("e3f1d4", "4378a2"),
    effect="tool",
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
        idle=_FORMAT,
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
        idle=_FORMAT,
        note="Writes a program for the problem; its prompt is found by `instruction`.",
        style=_style("f9c2c2", "c23737"),
    ),
    OperatorSpec(
        "Programmer",
        (InputPort("problem", PROBLEM), InputPort("analysis", TEXT, required=False)),
        (OutputPort("output", ANSWER), OutputPort("code", CODE)),
        parameters=frozenset({"analysis"}),
        literals=frozenset({"analysis"}),
        idle=_FORMAT,
        note="Writes Python, runs it in the sandbox and repairs it up to three times.",
        style=_style("f9c2c2", "c23737"),
    ),
    OperatorSpec(
        "ScEnsemble",
        (_SOLUTIONS, InputPort("problem", TEXT, required=False)),
        (OutputPort("response", "T"),),
        bulk="solutions",
        sources=2,
        idle=_FORMAT,
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
        idle=_FORMAT,
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
        idle=_FORMAT,
        note="Runs the visible tests, reflects and repairs.",
        style=_style("d8f0d8", "2e8b57"),
    ),
    OperatorSpec(
        "Review",
        (InputPort("solution", TEXT), _PROBLEM_TEXT),
        (OutputPort("feedback", FEEDBACK), OutputPort("result", BOOL)),
        idle=_FORMAT,
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
    OperatorSpec(
        "Assemble",
        (InputPort("results", ANY, many=True), InputPort("problem", TEXT, required=False)),
        (OutputPort("result", TEXT),),
        bulk="results",
        parameters=frozenset({"how"}),
        note="Puts results together: a model does (`how: model`), they are joined one below the other (`concat`), or it takes "
        "the files out of them (`files`).",
        style=_style("fff6c9", "a58c1a"),
    ),
    CALL,
    PASS,
    SELECT,
    HUMAN,
    TOOL,
    ENVIRONMENT,
    RETRIEVE,
    REMEMBER,
    TOOL_AGENT,
    DECISION,
)

AFTER_PORT = InputPort("after", ANY, required=False, many=True)
"""The last port of each Tool whose tool has no parameter of that name: what it only waits for."""

ASKED_ABOUT = InputPort("input", ANY, many=True)
"""The one port of a Decision that asks a model: what it asks about, and passes on."""

OUTPUT_PORT = InputPort("result", ANY)
"""The one port of an output node such as RETURN."""


@lru_cache(8)
def by_embedding(spec: OperatorSpec) -> OperatorSpec:
    """A Retrieve that finds by embedding: the keys of its calls mean something."""
    return replace(spec, idle=spec.idle - {"model", "timeout", "retries"})


def ports_for(spec: OperatorSpec, declared: Type | None, types: TypeTable) -> tuple[InputPort, ...]:
    """The inputs of an operator at a node that ``returns`` a type: a Pass of a record has a port for each field."""
    fields = types.fields_of(declared) if spec.is_pass and declared is not None else None
    if fields is None:
        return spec.inputs
    return tuple(InputPort(name, type_, many=item_of(type_) is not None) for name, type_ in fields.items())


OPERATOR_VARIANTS = {"programop": "programmer", "program": "programmer", "decision": "decision"}
"""Published spellings of operators that differ in more than case (casefolded), as classes or ``op`` values."""


@dataclass(frozen=True, slots=True)
class OperatorMatch:
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

    def by_class(self, name: str) -> OperatorMatch | None:
        """The operator meant by a class: its name and ``Op``, or a published variant of that."""
        folded = name.casefold()
        if folded.endswith("op"):
            spec = self.specs.get(folded[:-2])
            if spec is not None:
                return OperatorMatch(spec)
        variant = self.specs.get(OPERATOR_VARIANTS.get(folded, "")) if folded != "program" else None
        return OperatorMatch(variant, variant=True) if variant is not None else None

    def by_op(self, value: str) -> OperatorMatch | None:
        """The operator meant by ``op:`` metadata: its name; class spellings are variants."""
        spec = self.specs.get(value.casefold())
        if spec is not None:
            return OperatorMatch(spec)
        operator = self.by_class(value)
        spec = operator.spec if operator else self.specs.get(OPERATOR_VARIANTS.get(value.casefold(), ""))
        return OperatorMatch(spec, variant=True) if spec is not None else None

    def nearest(self, word: str) -> OperatorSpec | None:
        """Did you mean? The operator whose name, or class for words in ``Op``, is nearest to ``word``."""
        stem = word[:-2] if word.casefold().endswith("op") and len(word) > 4 else word
        name = closest(stem, (spec.name for spec in islice(self.specs.values(), _MOST_COMPARED)))
        return None if name is None else self.specs[name.casefold()]

    def names(self) -> list[str]:
        return [spec.name for spec in self.specs.values()]


BUILT_IN_TABLE = OperatorTable.of(BUILT_IN_OPERATORS)

TABLE_WITHOUT_DOCUMENTS = OperatorTable.of(
    replace(spec, outputs=(OutputPort(spec.outputs[0].name, list_of(JSON)),)) if spec is RETRIEVE else spec
    for spec in BUILT_IN_OPERATORS
)
"""The same where the type of documents is not known, since the workflow declares no stores, or another type of that name."""
