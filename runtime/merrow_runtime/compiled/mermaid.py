"""A workflow of a program written as a Mermaid file: what was compiled, without its layout and comments."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from merrow_analysis.definitions.labels.parameters import parse_label
from merrow_analysis.definitions.labels.step_text import step_text, step_title
from merrow_analysis.definitions.operators import BUILT_IN_TABLE, HUMAN
from merrow_analysis.definitions.types import innermost, is_variable
from merrow_analysis.edits.yaml_write import block_text, flow, quoted, word
from merrow_runtime.compiled.handles import Handle, PlainEdge, PlainNode
from merrow_runtime.compiled.lines import FunctionLines

UNTITLED = "The workflow of"
"""How the docstring of a function begins whose file has no title."""
_STEP = "  "
_KEYS = (
    "model", "temperature", "max_tokens", "seed", "timeout", "retries", "on_error", "samples", "default", "if", "agent",
    "validate", "attempts", "on_invalid", "locked", "turns",
)  # fmt: skip


def mermaid_text(title: str, made: FunctionLines, files: Mapping[str, str]) -> str:
    """The file of a workflow with a title ("" for none). ``files`` has for each function the file that it is written to."""
    return _Writer(title, made, files).text()


_OF_A_WORKFLOW = re.compile(r"\w[\w.@+ -]*\.(?:mmd|mermaid|md)", re.IGNORECASE)
"""The name of a file that a workflow may be written to, whoever wrote the program that gives it."""


def file_names(functions: Mapping[str, str]) -> dict[str, str]:
    """By function the file that it is written to: named as the one that it was made of, whose path is given, or, where two
    would have one name, or that is none of a workflow, as the function.
    """
    names_of_files = {name: path.rpartition("/")[2] for name, path in functions.items()}
    names = {name: file if _OF_A_WORKFLOW.fullmatch(file) else f"{name}.mmd" for name, file in names_of_files.items()}
    shared = Counter(name.casefold() for name in names.values())
    return {name: f"{name}.mmd" if shared[file.casefold()] > 1 else file for name, file in names.items()}


class _Writer:
    def __init__(self, title: str, made: FunctionLines, files: Mapping[str, str]) -> None:
        self._title = "" if title.startswith(UNTITLED) else title
        self._flow, self._files = made, files
        self._graph = made.graph
        self._in_text = made.graph.nodes
        if made.drawn:
            places = {name: place for place, name in enumerate(made.nodes)}
            self._in_text = sorted(made.graph.nodes, key=lambda node: places.get(node.id, len(places)))
        self._prompts: dict[str, str] = {}
        self._own_prompts: set[str] = set()
        for node in self._graph.nodes:
            self._note_prompt(node)

    def text(self) -> str:
        """All of it."""
        return "".join(f"{line}\n" for line in (*self._header(), "flowchart TD", *self._nodes(None, 1), *self._edges()))

    def _note_prompt(self, node: PlainNode) -> None:
        """A prompt that goes by a role is among the prompts of the header, any other stands at its node."""
        parameters = node.said
        role, prompt = parameters.get("title"), parameters.get("prompt")
        if role is None or prompt is None or node.kind == "decision":
            return
        key = role.strip().casefold()
        if self._prompts.setdefault(role if key not in map(str.casefold, self._prompts) else key, prompt) == prompt:
            self._own_prompts.add(node.id)

    # The header

    def _header(self) -> Iterator[str]:
        made = self._flow
        yield "---"
        if self._title:
            yield f"title: {_written(self._title)}"
        yield "workflow:"
        if made.model is not None:
            yield f"{_STEP}model: {_written(made.model)}"
        limits = {"usd": made.usd, "tokens": made.tokens, "seconds": made.seconds}
        budget = {key: limit for key, limit in limits.items() if limit is not None}
        if budget:
            yield f"{_STEP}budget: {flow(budget)}"
        if made.refine is not None:
            yield f"{_STEP}refine: {flow(made.refine)}"
        if made.redo:
            yield f"{_STEP}redo: {flow(dict(made.redo))}"
        yield f"{_STEP}inputs: {flow([node.id for node in self._graph.of_kind('input')])}"
        outputs = [*(node.id for node in self._graph.of_kind("output")), *made.results]
        yield f"{_STEP}outputs: {flow(outputs)}"
        if made.drawn:
            yield f"{_STEP}drawn: true"
        if made.tools:
            yield f"{_STEP}tools: {flow(list(made.tools))}"
        for key, declared in (("stores", made.stores), ("environments", made.environments)):
            if declared:
                yield f"{_STEP}{key}: {flow({name: dict(says) for name, says in declared.items()})}"
        if made.types:
            yield f"{_STEP}types:"
            for name, definition in made.types.items():
                shown = (
                    list(definition)
                    if isinstance(definition, tuple)
                    else " | ".join(definition)
                    if isinstance(definition, list)
                    else definition
                )
                yield f"{_STEP * 2}{_written(name)}: {flow(shown)}"
        yield from self._agents()
        if made.validators:
            yield f"{_STEP}validators: {flow({name: list(checks) for name, checks in made.validators.items()})}"
        yield from self._operators()
        if self._prompts:
            yield f"{_STEP}prompts:"
            for role, prompt in self._prompts.items():
                yield f"{_STEP * 2}{_written(role)}: {text_of_prompt(prompt, _STEP * 3)}"
        yield "---"

    def _agents(self) -> Iterator[str]:
        if self._flow.agents:
            yield f"{_STEP}agents:"
        for name, settings in self._flow.agents.items():
            yield f"{_STEP * 2}{_written(name)}:"
            for key, value in settings.items():
                shown = text_of_prompt(value, _STEP * 4) if isinstance(value, str) else flow(value)
                yield f"{_STEP * 3}{key}: {shown}"

    def _operators(self) -> Iterator[str]:
        declared = {node.said["operator"]: node for node in self._graph.nodes if node.said.get("spec") is not None}
        if declared:
            yield f"{_STEP}operators:"
        for name, node in declared.items():
            spec = node.said["spec"]
            yield f"{_STEP * 2}{_written(name)}:"
            inputs = {
                port + ("" if port_spec["required"] else "?"): port_spec["type"]
                for port, port_spec in spec["inputs"].items()
            }
            yield f"{_STEP * 3}inputs: {flow(inputs)}"
            yield f"{_STEP * 3}outputs: {flow(dict(spec['outputs']))}"
            if spec["prompt"] is not None:
                yield f"{_STEP * 3}prompt: {text_of_prompt(spec['prompt'], _STEP * 4)}"
                if node.said.get("spec_template"):
                    yield f"{_STEP * 3}template: true"

    # The nodes

    def _nodes(self, box: str | None, depth: int) -> Iterator[str]:
        """The nodes directly in a composite, with the composites in it where their first node stands."""
        indent, boxes, inside = "    " * depth, self._graph.boxes, self._graph.inside
        seen: set[str] = set()
        for node in self._in_text:
            own = inside.get(node.id)
            if own == box:
                yield f"{indent}{_statement(node.id, self._node(node), indent)}"
                continue
            while own is not None and boxes[own].parent != box:
                own = boxes[own].parent
            if own is not None and own not in seen:
                seen.add(own)
                kind = "Loop" if boxes[own].kind == "loop" else "Map"
                yield f"{indent}subgraph {own}"
                yield from self._nodes(own, depth + 1)
                yield f"{indent}end"
                parameters = {"op": kind, **boxes[own].parameters}
                yield f"{indent}{_statement(own, parameters, indent)}"

    def _node(self, node: PlainNode) -> dict[str, Any]:
        """What the metadata of a node says."""
        parameters, name = node.said, node.id
        if node.kind == "input":
            more = {key: parameters[key] for key in ("type",) if key in parameters}
            more |= {} if name not in self._flow.inputs else {"default": self._flow.inputs[name]}
            return {"shape": "stadium", "label": name, **more}
        if node.kind == "output":
            more = {key: parameters[key] for key in ("type", "validate", "attempts", "on_invalid") if key in parameters}
            return {"shape": "stadium", "label": name, **more}
        asks = node.asks
        decides = node.kind == "decision"
        question = _as_drawn(node)
        entries: dict[str, Any] = {} if question else {"op": "Decision" if decides else parameters["operator"]}
        entries |= {"shape": "diam", "label": question or node.said.get("title") or name} if decides else {}
        entries |= {key: parameters[key] for key in _KEYS if key in parameters}
        entries |= dict(parameters.get("parameters", {}))
        if "memory" in parameters:
            memory = parameters["memory"]
            entries["memory"] = memory if isinstance(memory, str) else {memory[0]: memory[1]}
        prompt = parameters.get("prompt")
        if asks and prompt is not None:
            entries |= {} if question else {"ask": prompt}
        elif (
            prompt is not None
            and node.id not in self._own_prompts
            and prompt != (parameters.get("spec") or {}).get("prompt")
        ):
            entries["ask" if parameters.get("operator") == HUMAN.name else "prompt"] = prompt
        if parameters.get("title") is not None and not decides:
            entries["role"] = parameters["title"]
        if parameters.get("template"):
            entries["template"] = True
        if "aims" in parameters:
            entries["aims"] = True
        entries |= self._returns(node)
        if node.id in self._flow.functions:
            entries["workflow"] = f"./{self._files[self._flow.functions[node.id].__name__]}"
        return entries

    def _returns(self, node: PlainNode) -> dict[str, str]:
        """The type that a node's answer is promised to be, where it is one that the file declares or a list."""
        outputs = node.said.get("outputs") or {}
        if not outputs or node.said.get("spec") is not None or node.id in self._flow.functions:
            return {}
        usual = _usual(node.said["operator"])
        first = next(iter(outputs.values()))
        return {} if usual is None or first == usual else {"returns": first}

    # The edges

    def _edges(self) -> Iterator[str]:
        yield from (f"    {self._edge(edge)}" for edge in _in_order(self._every()))

    def _every(self) -> Iterator[PlainEdge]:
        for node in self._graph.nodes:
            whole = self._deciding(node)
            yield from (edge for edge in node.incoming if edge.handle not in whole or edge.port != "value")
            yield from node.again_in

    def _deciding(self, node: PlainNode) -> list[Handle]:
        """What a Decision on a union both goes by and passes on: one edge without a label does both."""
        if node.said.get("by") != "kinds":
            return []
        passed = [edge.handle for edge in node.incoming if edge.port == "value"]
        return [edge.handle for edge in node.incoming if edge.port == "when" and edge.handle in passed]

    def _edge(self, edge: PlainEdge) -> str:
        handle, again = edge.handle, edge in edge.target.again_in
        parts: list[str] = []
        if edge.source.kind == "decision" and handle.case is not None:
            parts.append(handle.case)
        word_ = "again" if again else handle.word
        if word_ is not None:
            parts.append(word_)
        if handle.output is not None:
            parts.append(handle.output)
        if edge.port is None:
            parts.append("after")
        elif handle in self._deciding(edge.target):
            pass
        elif edge.target.kind != "output":
            parts.append(edge.port)
        elif handle.output is not None:
            parts.append("")
        label = ":".join(parts)
        shown = f"|{_label(label)}|" if label else ""
        return f"{edge.source.id} -->{shown} {edge.target.id}"


def _as_drawn(node: PlainNode) -> str | None:
    """The label of a Decision that was drawn as a diamond with a question, which is what a model is asked; None for all others.

    Written with an operator it would lose its title, which later messages name.
    """
    prompt = node.said.get("prompt")
    if not node.asks or not isinstance(prompt, str) or node.said.get("title") != step_title(prompt):
        return None
    first = parse_label(prompt).operator_word
    declared = {other.said.get("operator", "").casefold() for other in node.graph.nodes}
    names_one = BUILT_IN_TABLE.by_op(first) is not None or first.casefold() in declared
    return None if names_one or step_text(prompt) != prompt else prompt


def _in_order(edges: Iterator[PlainEdge]) -> list[PlainEdge]:
    """The edges in an order in which those into each node are as they were, and the cases of each Decision, too."""
    every = list(edges)
    before: dict[int, list[int]] = {place: [] for place in range(len(every))}
    last: dict[tuple[str, bool], int] = {}
    taken_by: dict[tuple[str, int], list[int]] = {}
    for place, edge in enumerate(every):
        key = (edge.target.id, edge in edge.target.again_in)
        if key in last:
            before[place].append(last[key])
        last[key] = place
        if edge.source.kind == "decision" and edge.case is not None:
            taken_by.setdefault((edge.source.id, edge.case), []).append(place)
    for (source, case), places in taken_by.items():
        # All of them: the first here need not be the first in the end.
        for place in places:
            before[place] += taken_by.get((source, case - 1), ())[:1]
    done: dict[int, None] = {}
    waiting = list(range(len(every)))
    while waiting:
        ready = next((place for place in waiting if all(needed in done for needed in before[place])), waiting[0])
        waiting.remove(ready)
        done[ready] = None
    return [every[place] for place in done]


def _usual(operator: str) -> str | None:
    """The type of the first output of a built-in operator where nothing is said; None where that follows from its inputs."""
    spec = BUILT_IN_TABLE.named(operator)
    if spec is None or not spec.outputs:
        return None
    type_ = spec.outputs[0].type
    return None if type_ is None or is_variable(innermost(type_)) else type_


def _statement(name: str, parameters: Mapping[str, Any], indent: str) -> str:
    """The metadata of a node: on one line, or where a value has braces of its own, which end it there, over several."""
    if any(_has_braces(value) for value in parameters.values()):
        lines = (f"{indent}{_STEP}{line}" for line in _lines(parameters))
        return "\n".join([f"{name}@{{", *lines, f"{indent}}}"])
    return f"{name}@{{ {', '.join(f'{key}: {_written(value)}' for key, value in parameters.items())} }}"


def _has_braces(value: object) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(map(_has_braces, value)))


def _lines(parameters: Mapping[str, Any]) -> Iterator[str]:
    """A mapping as lines of YAML without braces."""
    for key, value in parameters.items():
        if not _has_braces(value) or not value:
            yield f"{_written(key)}: {_written(value)}"
            continue
        yield f"{_written(key)}:"
        for item in [value] if isinstance(value, Mapping) else value:
            inner = list(_lines(item)) if isinstance(item, Mapping) else [_written(item)]
            mark = _STEP if isinstance(value, Mapping) else "- "
            yield f"{mark}{inner[0]}"
            yield from (f"{_STEP}{line}" for line in inner[1:])


def _written(value: object) -> str:
    return flow(value) or quoted(str(value), in_statement=True)


def _label(text: str) -> str:
    return '"' + text.replace("#", "#35;").replace('"', "#quot;") + '"'


def text_of_prompt(text: str, indent: str) -> str:
    """A prompt in the header, behind its name."""
    block = block_text(text, indent)
    return word(text) or quoted(text, in_statement=True) if block is None or "<" in text or "%%" in text else block
