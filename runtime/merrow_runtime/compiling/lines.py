"""The part of a program that a person reads, of one file: its prompts, its table of nodes, and its function."""

from __future__ import annotations

import keyword
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from merrow_analysis.definitions.settings import Agent
from merrow_analysis.definitions.templates import PromptTemplate
from merrow_analysis.definitions.types import BUILT_IN, TypeTable, item_of
from merrow_analysis.graph.boxes.composites import Composite
from merrow_analysis.graph.liveness.waiting import is_gate
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.graph.placing.placement import PortFeed
from merrow_analysis.graph.placing.ports import INPUT_OUTPUT
from merrow_runtime.compiled.mermaid import UNTITLED
from merrow_runtime.compiling.python_text import PythonCode, PythonNames, in_lines, in_quotes, value
from merrow_runtime.compiling.refusing import pins_of_file, types_not_declared
from merrow_runtime.compiling.validation_lines import validation_of_node, validators_of
from merrow_runtime.frontier.layout import Layout, layout_of
from merrow_runtime.frontier.parts import Part
from merrow_runtime.operators.environment import OF
from merrow_runtime.operators.retrieve import DECLARED
from merrow_runtime.options import RunOptions
from merrow_runtime.program.definitions import Step, make_steps
from merrow_runtime.program.node_prompts import objective_of
from merrow_runtime.workflow import Workflow

OF_THE_WORKFLOW = "\0"
"""Stands for the model of nodes that name none."""
_INDENT = "    "
_LOOP_KEYS = ("max", "until", "best", "budget", "on_error")
_MAP_KEYS = ("parallel", "max", "min", "on_error")


@dataclass(slots=True)
class ProgramLines:
    """The lines of a program for one file: ``constants``, ``table`` and ``function``; ``words`` are those that its function
    calls.
    """

    constants: list[str] = field(default_factory=list)
    table: list[str] = field(default_factory=list)
    function: list[str] = field(default_factory=list)
    words: dict[str, None] = field(default_factory=dict)
    is_revised: bool = False
    """Whether a model may change it while it runs."""


class FileLines:
    """Writes the lines of one file."""

    def __init__(self, workflow: Workflow, functions: Mapping[str, str], names: PythonNames) -> None:
        """``functions`` are those of all files by their places; ``names`` are those of the module."""
        self._workflow, self._functions, self._module = workflow, functions, names
        self._graph = workflow.graph
        self._layout: Layout = layout_of(workflow.graph)
        self._steps = make_steps(workflow, RunOptions(model=OF_THE_WORKFLOW))
        self._own = functions[workflow.place]
        self._is_main = not workflow.place
        self._locals = PythonNames([*names.given, *functions.values(), "flow", *IMPORTED])
        self._prompts: dict[str, str] = {}
        self._agents: dict[str, dict[str, Any]] = {}
        self._variables: dict[int, str] = {}
        self._written = ProgramLines()
        self._nodes = "NODES" if self._is_main else names.of(f"{self._own}_nodes", constant=True)
        self._types = "TYPES" if self._is_main else names.of(f"{self._own}_types", constant=True)
        self._validators_name = "VALIDATORS" if self._is_main else names.of(f"{self._own}_validators", constant=True)
        self._tools_name = "TOOLS" if self._is_main else names.of(f"{self._own}_tools", constant=True)
        self._world = {
            key: key.upper() if self._is_main else names.of(f"{self._own}_{key}", constant=True) for key in _WORLD
        }
        self._agents_name = "AGENTS" if self._is_main else names.of(f"{self._own}_agents", constant=True)

    def write(self) -> ProgramLines:
        """All lines of the file."""
        written, graph = self._written, self._graph
        types = _declared(graph.types, types_not_declared(self._workflow))
        tools = {name: None if pin is None else pin.entry() for name, pin in pins_of_file(self._workflow).items()}
        for node in graph.inputs:
            self._variables[node.index] = self._locals.of(node.id)
        body = list(self._part(self._layout.whole, 1))
        body += [
            f"{_INDENT}flow.result({self._variables[node.index]})" for node in graph.outputs if node.kind != "output"
        ]
        loose = graph.core.loose
        order = list(self._order(self._layout.whole))
        if loose:
            # Where cycles are Loops the order of the text says at which step some begin.
            texts = {name: place for place, name in enumerate(graph.core.chart.nodes)}
            order.sort(key=lambda handle: texts.get(graph.node(handle).id, len(texts)))
        entries = [(node.id, self._entry(node)) for node in map(graph.node, order)]
        if types:
            written.constants.append(f"{self._types} = {value(types)}")
        validators = validators_of(self._workflow)
        if validators:
            written.constants.append(f"{self._validators_name} = {value(validators)}")
        if tools:
            entries_of_tools = [f"{_INDENT}{in_quotes(name)}: {value(pin)}," for name, pin in tools.items()]
            written.constants += [f"{self._tools_name} = {{", *entries_of_tools, "}"]
        written.constants += [f"{self._world[key]} = {value(said)}" for key, said in world_of(self._workflow).items()]
        if self._agents:
            written.constants.append(f"{self._agents_name} = {value(self._agents)}")
        written.table += [f"{self._nodes} = {{"]
        written.table += [
            f"{_INDENT}{in_quotes(name)}: {value(parameters)}," for name, parameters in entries if parameters or loose
        ]
        written.table += ["}"]
        inputs = ", ".join(map(self._parameter, graph.inputs))
        if self._is_main:
            head = [f"async def {self._own}({inputs}) -> Result:"]
        else:
            head = [f"def {self._own}({inputs}) -> Flow:"]
        title = self._title
        head.append(f'{_INDENT}"""{_in_docstring(title)}"""')
        head.append(f"{_INDENT}flow = {self._flow(bool(types), bool(validators), bool(tools))}")
        reviser = "ModelReviser()" if written.is_revised else ""
        tail = f"{_INDENT}return await flow.run({reviser})" if self._is_main else f"{_INDENT}return flow"
        written.function = [*head, *body, tail]
        return written

    @property
    def _title(self) -> str:
        """What the file is called, in one line."""
        written = self._workflow.analysis.settings.document.values.get("title")
        text = " ".join(str(written).split()) if isinstance(written, str) else ""
        return text or f"{UNTITLED} {file_name(self._workflow)}"

    def _flow(self, types: bool, validators: bool, tools: bool) -> str:
        settings = self._workflow.analysis.settings
        options: dict[str, object] = {"types": PythonCode(self._types)} if types else {}
        options |= {"agents": PythonCode(self._agents_name)} if self._agents else {}
        options |= {"validators": PythonCode(self._validators_name)} if validators else {}
        options |= {"tools": PythonCode(self._tools_name)} if tools else {}
        options |= {key: PythonCode(self._world[key]) for key in world_of(self._workflow)}
        options |= {} if settings.model is None else {"model": settings.model}
        options |= {"drawn": True} if self._graph.core.loose else {}
        if self._is_main:
            budget = settings.budget
            limits = {"tokens": budget.tokens, "seconds": budget.seconds, "usd": budget.usd}
            options |= {name: limit for name, limit in limits.items() if limit is not None}
            header: Any = self._workflow.analysis.settings.document.values.get("workflow")
            for key in ("refine", "redo") if isinstance(header, dict) else ():
                options |= {key: header[key]} if header.get(key) else {}
            self._written.is_revised = "refine" in options
        more = "".join(f", {name}={value(setting)}" for name, setting in options.items())
        return f"Flow({in_quotes(file_name(self._workflow))}, {self._nodes}{more})"

    def _parameter(self, node: TypedNode) -> str:
        type_ = node.outputs.get(INPUT_OUTPUT) or "Any"
        default = node.resolution.parameters.get("default")
        text = f"{self._variables[node.index]}: {_PYTHON.get(type_, 'object' if item_of(type_) is None else 'list')}"
        return text if default is None or default.value is None else f"{text} = {value(default.value)}"

    def _units(self, part: Part) -> list[int | str]:
        """What is directly in a part, in order; the outputs last, and in the order in which they are printed."""
        ends = self._graph.shape.outputs if part.box is None else ()
        outputs = dict.fromkeys(self._graph.shape.by_rank(ends))
        return [*(unit for unit in part.order if unit not in outputs), *outputs]

    def _order(self, part: Part) -> Iterator[int]:
        for unit in self._units(part):
            if isinstance(unit, int):
                yield unit
            else:
                yield from self._order(self._layout.boxes[unit].part)

    # The function

    def _part(self, part: Part, depth: int) -> Iterator[str]:
        """The lines of the whole, or of the inside of a composite."""
        indent = _INDENT * depth
        for unit in self._units(part):
            if isinstance(unit, str):
                box = self._layout.boxes[unit]
                if box.composite.implied:
                    yield from self._part(box.part, depth)
                    continue
                yield f"{indent}with flow.{box.composite.kind}({self._box(box.composite)}):"
                yield from self._part(box.part, depth + 1)
            else:
                yield indent + self._line(self._graph.node(unit))
        for handle in self._order(part):
            node = self._graph.node(handle)
            for edge in node.again_in:
                if self._graph.composites.scope(edge.source.id, node.id) == part.box:
                    yield from (indent + line for line in self._back(edge))

    def _box(self, box: Composite) -> str:
        keys = _LOOP_KEYS if box.kind == "loop" else _MAP_KEYS
        settings = {key: box.parameters[key].value for key in keys if key in box.parameters}
        return ", ".join([in_quotes(box.id), *(f"{key}={value(setting)}" for key, setting in settings.items())])

    def _line(self, node: TypedNode) -> str:
        name = in_quotes(node.id)
        if node.kind == "input":
            variable = self._variables[node.index]
            return f"{variable} = flow.input({name}, {variable})"
        ports, order = self._given(node)
        if node.kind == "output":
            sources = [source for ones in ports.values() for source in ones]
            return f"flow.output({', '.join([name, *sources, *_as_arguments(order)])})"
        many = {port.name for port in node.input_ports if port.many}
        arguments = {
            port: f"[{', '.join(ones)}]" if port in many else self._one_of(ones) for port, ones in ports.items()
        }
        self._variables[node.index] = variable = self._locals.of(node.id)
        step = self._steps.get(node.index)
        if step is not None and step.called is not None:
            call = f"flow.call({name}, {self._functions[step.called.place]}"
        else:
            call = f"flow({name}"
        return f"{variable} = {', '.join([call, *_as_arguments(arguments), *_as_arguments(order)])})"

    def _one_of(self, ones: list[str]) -> str:
        return ones[0] if len(ones) == 1 else self._call("either", *ones)

    def _call(self, function: str, *arguments: str) -> str:
        self._written.words[function] = None
        return f"{function}({', '.join(arguments)})"

    def _given(self, node: TypedNode) -> tuple[dict[str, list[str]], dict[str, str]]:
        """What each port of a node is given, and what says when it runs."""
        ports: dict[str, list[str]] = {}
        only_if: list[str] = []
        after: list[str] = []
        for edge in node.incoming:
            for port, expression in self._feeds(edge):
                ports.setdefault(port, []).append(expression)
            if not edge.feeds:
                (only_if if is_gate(edge) else after).append(self._handle(edge, None))
        order = {"only_if": only_if, "after": after}
        given = {key: ones[0] if len(ones) == 1 else f"[{', '.join(ones)}]" for key, ones in order.items() if ones}
        return ports, given

    def _feeds(self, edge: TypedEdge) -> Iterator[tuple[str, str]]:
        """The ports that an edge feeds, and with what. A Decision that asks passes on all that it is given as one."""
        ports: set[str] = set()
        for feed in edge.feeds:
            if not (edge.source.asks and feed.port in ports):
                yield feed.port, self._handle(edge, feed)
            ports.add(feed.port)

    def _handle(self, edge: TypedEdge, feed: PortFeed | None) -> str:
        """What an edge brings to a port, or its order alone."""
        source = edge.source
        text = self._variables[source.index]
        if source.cases is not None and edge.case is not None:
            text += f"[{in_quotes(source.cases.labels[edge.case])}]"
        if feed is not None and feed.output is not None and feed.output != next(iter(source.own_outputs), None):
            text += f"[{in_quotes(feed.output)}]"
        word = edge.word
        return text if word is None or word == "again" else self._call(word, text)

    def _back(self, edge: TypedEdge) -> Iterator[str]:
        target = self._variables[edge.target.index]
        if not edge.feeds:
            yield f"flow.again({self._handle(edge, None)}, {target})"
        for port, expression in self._feeds(edge):
            yield f"flow.again({expression}, {target}, {in_quotes(port)})"

    # The table

    def _entry(self, node: TypedNode) -> dict[str, Any]:
        """What the table says of a node; nothing where all is as usual."""
        entry: dict[str, Any] = {}
        title = self._layout.titles[node.index]
        if node.kind == "input":
            type_ = node.outputs.get(INPUT_OUTPUT) or "Any"
            entry |= {} if type_ == "Problem" else {"type": type_}
        elif node.kind == "decision":
            entry |= self._of_decision(node)
        elif node.kind == "output" and node.resolution.declared is not None:
            entry["type"] = node.resolution.declared
        step = self._steps.get(node.index)
        if step is not None and node.kind != "output":
            entry = {**self._of_step(node, step), **entry}
        entry |= validation_of_node(self._workflow, node)
        if node.kind != "output" and title != (node.id if node.spec is None else node.spec.name):
            entry["title"] = title
        return entry

    def _of_decision(self, node: TypedNode) -> dict[str, Any]:
        cases, parameters = node.cases, node.resolution.parameters
        assert cases is not None  # noqa: S101 (it is a Decision)
        entry: dict[str, Any] = {"by": cases.decided_by, "cases": list(cases.labels)}
        if node.resolution.expression is not None:
            entry["if"] = node.resolution.expression
        if not node.asks:
            on_error = parameters.get("on_error")
            usual = self._workflow.analysis.settings.on_error or "fail"
            chosen = usual if on_error is None else str(on_error.value)
            entry |= {} if chosen == "fail" else {"on_error": chosen}
        default = parameters.get("default")
        if default is not None and default.value is not None:
            entry["default"] = default.value
        return entry

    def _of_step(self, node: TypedNode, step: Step) -> dict[str, Any]:
        definition, memory = step.definition, step.memory
        own = objective_of(self._workflow, node)
        parameters: dict[str, Any] = {
            name: parameter
            for name, parameter in definition.parameters.items()
            if name not in ("file", "text", OF, DECLARED)
        }
        if node.spec is not None and (node.spec.is_tool or node.spec.is_agent):
            # As they are written: what the pins add to them follows from `TOOLS`.
            written = node.resolution.parameters
            parameters = {key: written[key].value for key in sorted(node.spec.parameters) if key in written}
        spec = None if definition.spec is None else dict(definition.spec)
        default, locked, turns = (node.resolution.parameters.get(key) for key in ("default", "locked", "turns"))
        entry: dict[str, Any] = {
            "operator": definition.operator,
            "agent": None if step.agent is None else self._agent(step.agent),
            "prompt": self._prompt(node, own),
            "template": isinstance(own, PromptTemplate) or None,
            "outputs": None if node.asks else dict(definition.outputs),
            "parameters": parameters or None,
            "spec": spec,
            "spec_template": (spec is not None and isinstance(spec["prompt"], PromptTemplate)) or None,
            "model": self._model(node, definition.model),
            "temperature": definition.temperature or None,
            "max_tokens": definition.max_tokens,
            "seed": definition.seed,
            "memory": None
            if memory.kind == "none"
            else memory.kind
            if memory.amount is None
            else (memory.kind, memory.amount),
            "timeout": step.timeout,
            "retries": step.retries,
            "samples": step.samples,
            "on_error": None if step.on_error == "fail" else step.on_error,
            "default": None if default is None or node.asks else default.value,
            "aims": step.aims,
            "locked": None if locked is None else locked.value,
            "turns": None if turns is None else turns.value,
        }
        return {key: part for key, part in entry.items() if part is not None}

    def _model(self, node: TypedNode, model: str) -> str | None:
        """The model that a node names."""
        if node.spec is not None and node.spec.embeds:
            written = node.resolution.parameters.get("model")
            return None if written is None else str(written.value)
        return None if model == OF_THE_WORKFLOW else model

    def _agent(self, agent: Agent) -> str:
        entry = {"role": agent.role, "prompt": agent.prompt or None, "instances": agent.instances}
        self._agents[agent.name] = {key: part for key, part in entry.items() if part is not None}
        return agent.name

    def _prompt(self, node: TypedNode, prompt: str | None) -> PythonCode | None:
        if prompt is None:
            return None
        known = self._prompts.get(prompt)
        if known is None:
            known = self._prompts[prompt] = self._module.of(node.id, constant=True)
            self._written.constants.append(f"{known} = {in_lines(prompt)}")
        return PythonCode(known)


_WORLD = ("stores", "environments")
"""Keys of the header that a program has as they are written."""


def world_of(workflow: Workflow) -> dict[str, Any]:
    """What the header of a file says of stores and environments, by its key."""
    header: Any = workflow.analysis.settings.document.values.get("workflow")
    return {key: header[key] for key in _WORLD if header.get(key)} if isinstance(header, dict) else {}


WORDS = ("each", "either", "first", "over")
IMPORTED = ("Flow", "ModelReviser", "Result", "main", "run_program", "workflow", *WORDS)
"""Names that mean the same in each program."""
_PYTHON = {
    "Any": "object",
    "Bool": "bool",
    "Json": "object",
    "Number": "float",
    **dict.fromkeys(("Answer", "Analysis", "Code", "EntryPoint", "Feedback", "Plan", "Problem", "Text"), "str"),
}


def file_name(workflow: Workflow) -> str:
    """What a program calls the file that it was made of: the last part of its path."""
    return workflow.place or workflow.name.replace("\\", "/").rpartition("/")[2]


def _as_arguments(given: Mapping[str, str]) -> list[str]:
    named = [f"{name}={text}" for name, text in given.items() if _is_plain(name)]
    others = [f"{in_quotes(name)}: {text}" for name, text in given.items() if not _is_plain(name)]
    return [*named, "**{" + ", ".join(others) + "}"] if others else named


def _is_plain(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name)


def _in_docstring(text: str) -> str:
    return in_quotes(text)[1:-1]


def _declared(types: TypeTable, others: Collection[str]) -> dict[str, Any]:
    """The types that the file declares, which are not ``others``, as a program has them: a tuple has the words of an
    enumeration, a mapping the fields of a record, a list the kinds of a union, and a text the type that another is a kind of.
    """
    declared: dict[str, Any] = {}
    for name, parent in types.parents.items():
        if name in BUILT_IN or name in others:
            continue
        if name in types.words:
            declared[name] = tuple(types.words[name])
        elif name in types.records:
            declared[name] = dict(types.records[name])
        elif name in types.unions:
            declared[name] = list(types.unions[name])
        elif parent is not None:
            declared[name] = parent
    return declared
