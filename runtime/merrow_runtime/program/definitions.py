"""The nodes of a typed graph as they run: prompts found, parameters read, defaults filled in.

Of several places that say a model, the most specific counts: the node, then the command line (`RunOptions.model`), then
the workflow, then the user's settings. A node that names a model does so for a reason; the command line replaces
what is said for all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from merrow_analysis.definitions.schema import MERMAID_NODE_KEYS
from merrow_analysis.definitions.settings import Agent, Memory, WorkflowSettings
from merrow_analysis.definitions.templates import PromptTemplate
from merrow_analysis.definitions.types import ANY, BUILT_IN, TEXT, Type, TypeTable, innermost, item_of
from merrow_analysis.graph.instructions import agent_of, knows_aims, memory_of
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import called_path, may_ask_person, store_name
from merrow_runtime.models.user_settings import read_user_settings
from merrow_runtime.operators.ask_decision import CASE, CHOICE, case_words
from merrow_runtime.operators.base import Given, Memories, NodeDefinition, Operator, Remembered
from merrow_runtime.operators.formats.shapes import ValueShape, shape_of
from merrow_runtime.operators.output import Output
from merrow_runtime.operators.prompts.memory import remembered, wanted
from merrow_runtime.operators.prompts.prompting import PROMPT_FORMAT
from merrow_runtime.operators.registry import operator_for
from merrow_runtime.operators.retrieve import DECLARED, STORE
from merrow_runtime.operators.simulated_person import PARAMETER as SIMULATED
from merrow_runtime.options import DEFAULT_EMBEDDING_MODEL, DEFAULT_MODEL, RunOptions
from merrow_runtime.program.environment_parameters import environment_parameters
from merrow_runtime.program.fallbacks import check_fallback_case, empties, fallback_of, plain_value
from merrow_runtime.program.node_prompts import aims_of, prompt_text_of
from merrow_runtime.program.titles import title_of
from merrow_runtime.program.tool_parameters import agent_parameters, root_of, tool_parameters
from merrow_runtime.program.validating import Validation, resolve_validation
from merrow_runtime.store.rows import definition_name
from merrow_runtime.values import Outputs, Value, canonical
from merrow_runtime.workflow import Workflow

_KEY_FORMAT = 1
_OUTPUT = Output()


@dataclass(frozen=True)
class Step:
    """A node that has an operator, or a Decision that asks, with all that the scheduler must know to run it.

    ``shapes`` are those of its outputs as one execution gives them. ``samples`` is None where the node runs once and its
    outputs are no lists. ``timeout`` is in seconds, for one try of a call; ``retries`` counts further tries, None is for
    the endpoint's policy to say. ``fallback`` are the outputs where it fails and `on_error` is default.
    """

    node: TypedNode
    definition: NodeDefinition
    operator: Operator
    shapes: Mapping[str, ValueShape]
    memory: Memory
    digest: bytes
    timeout: float | None = None
    retries: int | None = None
    on_error: str = "fail"
    fallback: Outputs | None = None
    samples: int | None = None
    called: Workflow | None = None
    """The file that a Call runs."""
    agent: Agent | None = None
    """Who does it: its text is a part of the prompt already."""
    aims: str | None = None
    """What it is told of what its readers are asked. It is advice: no part of its key, nor of what its calls are known by."""
    validation: Validation | None = None
    """How its result is validated. It is no part of its key: a result that is kept is judged again."""

    @property
    def models(self) -> set[str]:
        """The models that may be asked for it: its own, unless it asks none, and those that its validators name."""
        # What runs another workflow asks none itself, but what it is given to run does.
        own = self.is_planned_call or self.memory.kind == "summary" or getattr(self.operator, "calls", (1, 1))[1] > 0
        person = self.definition.parameters.get(SIMULATED)
        played = (
            {str(person)} if person is not None and self.node.spec is not None and self.node.spec.is_agent else set()
        )
        return (
            ({self.definition.model} if own else set())
            | played
            | (set() if self.validation is None else self.validation.models)
        )

    @property
    def is_call(self) -> bool:
        """Whether it runs another workflow."""
        spec = self.node.spec
        return spec is not None and spec.is_call

    @property
    def is_planned_call(self) -> bool:
        """Whether it runs a workflow that it is given."""
        spec = self.node.spec
        return spec is not None and spec.is_planned_call

    @cached_property
    def default(self) -> Outputs:
        """Its outputs in an item that failed and counts all the same: those by ``default:``, else empty ones."""
        parameters = {key: parameter.value for key, parameter in self.node.resolution.parameters.items()}
        outputs = (
            fallback_of(self.node, parameters, self.shapes)
            if parameters.get("default") is not None
            else empties(self.shapes)
        )
        return outputs if self.samples is None else {port: [value] * self.samples for port, value in outputs.items()}

    @cached_property
    def shown(self) -> Mapping[str, Any]:
        """The definition as the journal shows it."""
        definition, memory = self.definition, self.memory
        return {
            "operator": definition.operator,
            "title": definition.title,
            **_asked(definition, self.samples),
            "memory": memory.kind if memory.amount is None else {memory.kind: memory.amount},
        }

    def key(self, inputs: Mapping[str, Sequence[Given]], memory: Sequence[Remembered]) -> str:
        """The node's key: SHA-256 of its resolved definition and of what it is given, in hexadecimal.

        Who gave a value counts as far as a prompt shows it; ids, layout, style and comments don't. ``memory`` is what the
        node remembers; of a summary, what it is made of, so that nothing is asked to know the key.
        """
        # Each part with its length, so that no two different lists are put together alike.
        parts: list[str] = []
        for port, values in inputs.items():
            parts.append(f"p{len(port)}:{port}")
            for value in values:
                kind, text = ("s", value.value) if isinstance(value.value, str) else ("j", canonical(value.value))
                parts.append(f"g{len(value.title)}:{value.title}{len(value.type)}:{value.type}{kind}{len(text)}:{text}")
        if self.memory.kind == "summary":
            parts.append("summary")
        parts += [f"r{len(entry.title)}:{entry.title}{len(entry.text)}:{entry.text}" for entry in memory]
        return hashlib.sha256(self.digest + "".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


def depth_of(step: Step) -> int:
    """How many calls of a node may run inside each other."""
    depth = step.definition.parameters.get("depth")
    return int(depth) if isinstance(depth, (int, float)) else 3


class Steps(dict[int, Step]):
    """The steps of all nodes with an operator, by index. It is not changed any more."""

    def memory_of(self, step: Step, entries: Memories) -> list[Remembered]:
        """What a step sees of earlier results, or has summarised; ``entries`` are those of all its ancestors, oldest first."""
        if step.memory.kind == "none":
            return []
        past = entries(wants=wanted(step.memory.kind, step.memory.amount))
        if step.memory.kind == "agent":
            past = [entry for entry in past if entry.node in self._by_agent.get(step.agent, ())]
        return remembered(step.memory.kind, step.memory.amount, past)

    @cached_property
    def _by_agent(self) -> Mapping[Agent | None, set[str]]:
        """The ids of the nodes that each agent carries out."""
        by_agent: dict[Agent | None, set[str]] = {}
        for step in self.values():
            if step.agent is not None:
                by_agent.setdefault(step.agent, set()).add(step.node.id)
        return by_agent


def definitions_of(by_place: Mapping[str, Steps]) -> dict[str, Mapping[str, Any]]:
    """The definitions of all steps as the journal shows them, those of called workflows too: see `definition_of`."""
    return {
        definition_name(place, step.definition.id): step.shown
        for place, steps in by_place.items()
        for step in steps.values()
    }


def meaning_without_step(node: TypedNode) -> Hashable:
    """The part of the definition of a node without a step that, with its inputs, determines its outcome: not how it is drawn."""
    drawn = {"op", *MERMAID_NODE_KEYS}
    written = (
        (key, repr(parameter.value)) for key, parameter in node.resolution.parameters.items() if key not in drawn
    )
    return node.kind, tuple(sorted(written)), None if node.cases is None else node.cases.keys


def make_steps(workflow: Workflow, options: RunOptions, default_model: str | None = None) -> Steps:
    """The steps of all nodes that ask or compute something, by index. ``default_model`` is that of the user's settings.

    They are made once for a workflow and shared by its runs. Raises `UsageFailure` where a parameter can't be used.
    """
    model_setting = workflow.analysis.settings.model
    model = options.model or model_setting or options.default_model or default_model or DEFAULT_MODEL
    is_override = options.override_models and options.model is not None
    key = f"{model}\0" if is_override else model
    key += "" if options.person is None else f"\0\0{options.person}"
    embedding = _embedding_model(workflow)
    key += "" if embedding is None else f"\0\0\0{embedding}"
    known: Steps | None = workflow.steps.get(key)
    if known is None:
        nodes = [node for node in workflow.graph.nodes if node.kind == "operator" or node.asks]
        steps = {
            node.index: _step(workflow, node, embedding, options.person, is_override=False)
            if embedding is not None and node.spec is not None and node.spec.embeds
            else _step(workflow, node, model, options.person, is_override=is_override)
            for node in nodes
        }
        for node in workflow.graph.nodes:
            if node.kind == "decision":
                own = node.resolution.parameters.get("on_error")
                check_fallback_case(node, workflow.analysis.settings.on_error if own is None else own.value)
        for node in workflow.graph.outputs:
            validation = resolve_validation(node, workflow.analysis.settings)
            if validation is not None:
                steps[node.index] = _output(node, model, validation)
        known = workflow.steps[key] = Steps(steps)
    return known


def _embedding_model(workflow: Workflow) -> str | None:
    """The model that embeds texts where a node names none; None where no node of a workflow has any embedded. What is said of
    models that answer does not hold for it. Raises `UsageFailure` where the user's settings can't be read.
    """
    if not workflow.analysis.settings.stores:
        return None
    if not any(node.spec is not None and node.spec.embeds for node in workflow.graph.nodes):
        return None
    return read_user_settings().models.embedding or DEFAULT_EMBEDDING_MODEL


def asks_models(workflow: Workflow, options: RunOptions) -> bool:
    """Whether a run may ask a model, in a called file too; revisions aside. Raises `UsageFailure` as `make_steps` does."""
    return any(step.models for reached in workflow.reached() for step in make_steps(reached, options).values())


def _step(workflow: Workflow, node: TypedNode, default_model: str, person: str | None, *, is_override: bool) -> Step:
    settings, spec, types = workflow.analysis.settings, node.spec, workflow.graph.types
    assert spec is not None  # noqa: S101 (an operator node has one)
    parameters = {key: parameter.value for key, parameter in node.resolution.parameters.items()}

    def of(key: str, default: Any = None, agents: Any = None) -> Any:
        value = parameters.get(key)
        value = agents if value is None else value
        own = getattr(settings, key, None)
        return value if value is not None else own if own is not None else default

    agent = None if node.asks else agent_of(node, settings)
    own_model = None if is_override else parameters.get("model") or (agent.model if agent is not None else None)
    model = own_model or default_model
    samples = int(_number(parameters["samples"])) if node.resolution.samples else None
    path = called_path(node.resolution)
    called = None if path is None else workflow.called[path]
    outputs = {name: _single(type_, samples) for name, type_ in node.own_outputs.items()}
    meanings = meanings_of(outputs.values(), types)
    own_keys = (spec.parameters - {spec.instruction_key, spec.prompt_key}) | {"returns" if spec.is_pass else "format"}
    if node.asks:
        outputs, own_keys = {CHOICE: CASE}, frozenset()
        meanings = Meanings({}, {CASE: case_words(node)}, {}, {})
    definition = NodeDefinition(
        id=node.id,
        operator=spec.name,
        title=title_of(node),
        prompt=prompt_text_of(workflow, node, agent),
        model=str(model),
        temperature=float(of("temperature", 0.0, None if agent is None else agent.temperature)),
        max_tokens=_whole(of("max_tokens")),
        seed=_whole(of("seed")),
        outputs=outputs,
        parameters={
            **{
                key: plain_value(parameters[key], node, key)
                for key in sorted(own_keys)
                if parameters.get(key) is not None
            },
            **({} if called is None else {"file": called.place, "text": _texts(called)}),
            **(tool_parameters(node) if spec.is_tool else agent_parameters(node) if spec.is_agent else {}),
            **(environment_parameters(node, settings, _folder(workflow)) if spec.is_environment else {}),
            **(_store_parameters(node, settings) if spec.uses_store else {}),
        },
        spec=None if spec.built_in else _declaration(node),
        **meanings._asdict(),
    )
    if person is not None and spec.is_human:
        definition = _simulated(definition, person)
    elif person is not None and (may_ask_person(node.resolution) or (called is not None and asks_people(called))):
        # What it gives is another result then.
        definition = replace(definition, parameters={**definition.parameters, SIMULATED: person})
    operator = operator_for(definition)
    shapes = {name: shape_of(type_, *meanings) for name, type_ in outputs.items()}
    on_error = str(of("on_error", "fail"))
    asks_no_model = spec.is_human or spec.is_tool or spec.is_environment or spec.uses_store
    memory = Memory() if spec.is_call or asks_no_model else memory_of(node, settings)
    timeout = of("timeout")
    return Step(
        node,
        definition,
        operator,
        shapes,
        memory,
        digest_of(definition, operator, samples),
        None if timeout is None else float(timeout),
        _whole(of("retries")),
        on_error,
        fallback_of(node, parameters, shapes) if on_error == "default" and not node.asks else None,
        samples,
        called,
        agent,
        aims_of(workflow, node) if knows_aims(node, settings) and not (node.asks or asks_no_model) else None,
        resolve_validation(node, settings),
    )


def _folder(workflow: Workflow) -> Path | None:
    """The folder of a workflow's file; None for a called one, whose place is known from the workflow that is run only."""
    return None if workflow.place else root_of(workflow) or Path.cwd()


def _store_parameters(node: TypedNode, settings: WorkflowSettings) -> dict[str, Value]:
    """The parameters of a node that uses a store: which one, and what the workflow says of it."""
    name = store_name(node.resolution)
    assert name is not None  # noqa: S101 (it was checked)
    return {STORE: name, DECLARED: settings.stores[name].to_json()}


def _simulated(definition: NodeDefinition, person: str) -> NodeDefinition:
    """A Human whose person a model plays. Nothing that is said of the workflow's models holds for it."""
    parameters = {**definition.parameters, SIMULATED: True}
    return replace(definition, model=person, temperature=0.0, max_tokens=None, seed=None, parameters=parameters)


def asks_people(workflow: Workflow) -> bool:
    """Whether a workflow, or a file that it calls, asks people."""
    nodes = (node for reached in workflow.reached() for node in reached.graph.nodes)
    return any((node.spec is not None and node.spec.is_human) or may_ask_person(node.resolution) for node in nodes)


def _output(node: TypedNode, model: str, validation: Validation) -> Step:
    """An output whose value is validated."""
    definition = NodeDefinition(
        id=node.id,
        operator=Output.name,
        title=title_of(node),
        prompt=None,
        model=model,
        temperature=0.0,
        max_tokens=None,
        seed=None,
        outputs={Output.port: ANY},
    )
    shapes = {Output.port: shape_of(ANY, {}, {})}
    digest = digest_of(definition, _OUTPUT, None)
    return Step(node, definition, _OUTPUT, shapes, Memory(), digest, validation=validation)


def _texts(called: Workflow) -> str:
    """A hash of all that a called file says, with the files that it reads and calls in turn."""
    texts = [
        [
            called_workflow.place,
            called_workflow.text,
            {path: dict(known) for path, known in called_workflow.files.items()},
        ]
        for called_workflow in called.reached()
    ]
    return hashlib.sha256(canonical(texts).encode("utf-8", "surrogatepass")).hexdigest()


def _single(type_: Type | None, samples: int | None) -> Type:
    if type_ is None:
        return TEXT
    return type_ if samples is None else item_of(type_) or type_


def _declaration(node: TypedNode) -> dict[str, Any]:
    spec = node.spec
    assert spec is not None  # noqa: S101 (an operator node has one)
    return {
        "inputs": {
            port.name: {"type": port.type, "required": port.required, "many": port.many} for port in spec.inputs
        },
        "outputs": {port.name: port.type for port in spec.outputs},
        "prompt": spec.prompt,
    }


class Meanings(NamedTuple):
    """What the types that a workflow declares mean for values, as in `NodeDefinition`."""

    kinds: dict[str, str]
    words: dict[str, tuple[str, ...]]
    records: dict[str, dict[str, str]]
    unions: dict[str, tuple[str, ...]]


def meanings_of(named: Iterable[Type], types: TypeTable) -> Meanings:
    """Of the types in ``named`` that the workflow itself declares, and of those that their values hold: the built-in one that
    each is a kind of, the words of enumerations, the fields of records and the kinds of unions.
    """
    meanings = Meanings({}, {}, {}, {})
    waiting = [innermost(type_) for type_ in named]
    seen: set[Type] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name in BUILT_IN:
            continue
        seen.add(name)
        words, fields, kinds = types.words_of(name), types.fields_of(name), types.kinds_of(name)
        if words is not None:
            meanings.words[name] = words
        if fields is not None:
            meanings.records[name] = dict(fields)
            waiting += map(innermost, fields.values())
        if kinds is not None:
            meanings.unions[name] = kinds
            waiting += kinds
        kind = next((above for above in types.ancestors(name) if above in BUILT_IN), None)
        if kind is not None:
            meanings.kinds[name] = kind
    return meanings


def _asked(definition: NodeDefinition, samples: int | None) -> dict[str, Any]:
    """What is asked of which model, as plain data."""
    return {
        "prompt": definition.prompt,
        "model": definition.model,
        "temperature": definition.temperature,
        "max_tokens": definition.max_tokens,
        "seed": definition.seed,
        "outputs": dict(definition.outputs),
        "parameters": dict(definition.parameters),
        "samples": samples,
    }


def digest_of(definition: NodeDefinition, operator: Operator, samples: int | None) -> bytes:
    """The hash of all that a node is: what its key begins with."""
    resolved = {
        "format": [_KEY_FORMAT, PROMPT_FORMAT],
        "operator": [definition.operator, operator.version],
        **_asked(definition, samples),
        "spec": definition.spec,
        "kinds": dict(definition.kinds),
        "words": {name: list(words) for name, words in definition.words.items()},
    }
    declared = None if definition.spec is None else definition.spec.get("prompt")
    templates = [isinstance(prompt, PromptTemplate) for prompt in (definition.prompt, declared)]
    if any(templates):
        resolved["templates"] = templates
    if definition.records or definition.unions:
        resolved["records"] = {name: dict(fields) for name, fields in definition.records.items()}
        resolved["unions"] = {name: list(kinds) for name, kinds in definition.unions.items()}
    return hashlib.sha256(canonical(resolved).encode("utf-8", "surrogatepass")).digest()


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 1.0
