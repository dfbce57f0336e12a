"""Published workflow classes (AFlow's, MermaidFlow's) as workflows: read from their syntax tree, never run.

What is understood: straight lines of awaited operators, results joined into an input, lists into an ensemble, ``for _ in
range(k)`` that appends (samples), and ``if`` on a result that is true or false. Anything else is refused by its line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from merrow_analysis.edits.yaml_write import flow, quoted, word
from merrow_runtime.compiled.mermaid import text_of_prompt
from merrow_runtime.compiling.program_reader import NotReadError, parse

_PORTS: Mapping[str, tuple[str, ...]] = {
    "Custom": ("input", "instruction"),
    "AnswerGenerate": ("input",),
    "CustomCodeGenerate": ("problem", "entry_point", "instruction"),
    "Format": ("problem", "solution"),
    "MdEnsemble": ("solutions", "problem"),
    "Programmer": ("problem", "analysis"),
    "Review": ("problem", "solution"),
    "Revise": ("problem", "solution", "feedback"),
    "ScEnsemble": ("solutions", "problem"),
    "Test": ("problem", "solution", "entry_point"),
}
_BY_FOLDED = {name.casefold(): name for name in _PORTS}
_DEFAULT = {
    "AnswerGenerate": "answer", "Programmer": "output", "Review": "feedback", "Test": "solution",
}  # fmt: skip
_TRUTHS = frozenset({("Test", "result"), ("Review", "result"), ("Review", "review_result")})
_INTERFACE = {"problem": "PROBLEM", "entry_point": "ENTRY_POINT"}


class PublishedValue(NamedTuple):
    """A value in the class: what a node gives, under the name of an output, in a branch of a Decision."""

    node: str
    output: str | None = None


@dataclass(slots=True)
class PublishedNode:
    """A node in the making. ``gate`` is the case under which it runs."""

    id: str
    operator: str
    said: dict[str, object] = field(default_factory=dict)
    ports: list[tuple[str, PublishedValue]] = field(default_factory=list)
    gate: tuple[str, str] | None = None


def read_published(text: str, prompts: str | None = None) -> tuple[str, list[str]]:
    """The workflow of a published class and notes on what was left out; ``prompts`` is the text of the ``prompt.py`` beside it.

    Raises `NotReadError` that names the line which is not understood.
    """
    tree = parse(text)
    classes = [
        statement for statement in tree.body if isinstance(statement, ast.ClassDef) and statement.name == "Workflow"
    ]
    if not classes:
        raise NotReadError(1, "it has neither a class `Workflow` nor what merrow compile writes.")
    constants = _texts(tree)
    if prompts is not None:
        constants |= _texts(parse(prompts))
    reader = _Class(classes[0], constants)
    reader.read()
    return "".join(f"{line}\n" for line in reader.lines()), list(dict.fromkeys(reader.notes))


def _texts(tree: ast.Module) -> dict[str, str]:
    """The texts that a file gives names."""
    texts: dict[str, str] = {}
    for statement in tree.body:
        if (
            isinstance(statement, ast.Assign)
            and isinstance(statement.value, ast.Constant)
            and isinstance(statement.value.value, str)
        ):
            texts |= {target.id: statement.value.value for target in statement.targets if isinstance(target, ast.Name)}
    return texts


class _Class:
    """Reads one class."""

    def __init__(self, node: ast.ClassDef, constants: Mapping[str, str]) -> None:
        self._node, self._constants = node, constants
        self._operators: dict[str, str] = {}
        self._nodes: dict[str, PublishedNode] = {}
        self._values: dict[str, list[PublishedValue]] = {}
        self._prompts: dict[str, str] = {}
        self._results: list[tuple[PublishedValue, tuple[str, str] | None]] = []
        self._inputs: list[str] = []
        self.notes: list[str] = []

    def read(self) -> None:
        """Take in ``__init__`` and ``__call__``. Raises `NotReadError`."""
        methods = {
            statement.name: statement
            for statement in self._node.body
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
        }
        made = methods.get("__init__")
        for statement in [] if made is None else made.body:
            self._attribute(statement)
        call = methods.get("__call__")
        if not isinstance(call, ast.AsyncFunctionDef):
            raise NotReadError(self._node.lineno, "its class `Workflow` has no `async def __call__`.")
        for argument in call.args.args[1:]:
            if argument.arg not in _INTERFACE:
                raise NotReadError(argument.lineno, f"the input `{argument.arg}` is not one of published workflows.")
            self._inputs.append(argument.arg)
            self._values[argument.arg] = [PublishedValue(_INTERFACE[argument.arg])]
        self._body(call.body, None)
        if not self._results:
            raise NotReadError(call.lineno, "`__call__` returns nothing.")

    def _attribute(self, statement: ast.stmt) -> None:
        """Of ``self.custom = operator.Custom(self.llm)`` which operator the attribute is."""
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Attribute):
            return
        made = statement.value
        if isinstance(made, ast.Call) and isinstance(made.func, (ast.Attribute, ast.Name)):
            name = made.func.attr if isinstance(made.func, ast.Attribute) else made.func.id
            if name.casefold() in _BY_FOLDED:
                self._operators[statement.targets[0].attr] = _BY_FOLDED[name.casefold()]

    # Statements

    def _body(self, body: Sequence[ast.stmt], gate: tuple[str, str] | None) -> bool:
        """Take in some lines; whether they end by returning."""
        for number, statement in enumerate(body):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue
            if isinstance(statement, ast.Return):
                self._return(statement, gate)
                return True
            if isinstance(statement, ast.If):
                return self._choice(statement, list(body[number + 1 :]), gate)
            self._statement(statement, gate)
        return False

    def _statement(self, statement: ast.stmt, gate: tuple[str, str] | None) -> None:
        if (
            isinstance(statement, ast.Assign)
            and len(statement.targets) == 1
            and isinstance(statement.targets[0], ast.Name)
        ):
            name = statement.targets[0].id
            if isinstance(statement.value, ast.Await):
                self._values[name] = [PublishedValue(self._call(statement.value, name, gate))]
            else:
                self._values[name] = self._given(statement.value)
            return
        if isinstance(statement, ast.For):
            self._samples(statement, gate)
            return
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and self._appends(statement.value):
            return
        raise NotReadError(
            statement.lineno,
            f"`{ast.unparse(statement).splitlines()[0][:60]}` is not understood as a step of a workflow.",
        )

    def _appends(self, call: ast.Call) -> bool:
        function = call.func
        if not (
            isinstance(function, ast.Attribute) and function.attr == "append" and isinstance(function.value, ast.Name)
        ):
            return False
        name = function.value.id
        self._values[name] = [*self._values.get(name, []), *self._given(call.args[0])]
        return True

    def _samples(self, loop: ast.For, gate: tuple[str, str] | None) -> None:
        """A loop that asks the same several times and keeps all answers."""
        times = loop.iter
        if not (
            isinstance(times, ast.Call)
            and isinstance(times.func, ast.Name)
            and times.func.id == "range"
            and len(times.args) == 1
            and isinstance(times.args[0], ast.Constant)
            and isinstance(times.args[0].value, int)
        ):
            raise NotReadError(loop.lineno, "a loop is understood as `for _ in range(3)` alone.")
        before = set(self._nodes)
        awaited = [step for step in loop.body if isinstance(step, ast.Assign) and isinstance(step.value, ast.Await)]
        if len(awaited) != 1 or len(loop.body) != 2:
            raise NotReadError(loop.lineno, "a loop is understood where it asks one question and appends its answer.")
        for step in loop.body:
            self._statement(step, gate)
        for name in self._nodes.keys() - before:
            self._nodes[name].said["samples"] = times.args[0].value

    def _choice(self, choice: ast.If, rest: list[ast.stmt], gate: tuple[str, str] | None) -> bool:
        """An ``if``: a Decision, whose other way is the ``else`` or what follows."""
        if gate is not None:
            raise NotReadError(choice.lineno, "an `if` inside an `if` is not understood.")
        test, turned = choice.test, False
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, turned = test.operand, True
        given = self._given(test)
        source = given[0] if len(given) == 1 else None
        operator = None if source is None or source.node not in self._nodes else self._nodes[source.node].operator
        if source is None or (operator, source.output) not in _TRUTHS:
            raise NotReadError(choice.lineno, "an `if` is understood on the `result` of Test or Review alone.")
        decision = self._fresh("CHECK")
        self._nodes[decision] = PublishedNode(
            decision, "Decision", ports=[("when", PublishedValue(source.node, "result"))]
        )
        yes, no = ("no", "yes") if turned else ("yes", "no")
        known = dict(self._values)
        ends = self._body(choice.body, (decision, yes))
        first = self._values
        self._values = dict(known)
        other = [*choice.orelse, *rest] if ends else choice.orelse
        ends_too = self._body(other, (decision, no))
        if ends != ends_too:
            raise NotReadError(choice.lineno, "both ways of an `if` must return, or neither.")
        if not ends:
            self._join(known, first, choice.lineno)
            return self._body(rest, None)
        return True

    def _join(
        self, known: Mapping[str, list[PublishedValue]], first: Mapping[str, list[PublishedValue]], line: int
    ) -> None:
        """After both ways: what only one of them changed can't be told apart."""
        for name in {*first, *self._values}:
            earlier, other = first.get(name), self._values.get(name)
            if earlier == other:
                continue
            if earlier is None or other is None or known.get(name) in (earlier, other):
                raise NotReadError(line, f"`{name}` must be made on both ways of the `if`, or on neither.")
            self._values[name] = [*earlier, *other]

    def _return(self, statement: ast.Return, gate: tuple[str, str] | None) -> None:
        value = statement.value
        if isinstance(value, ast.Tuple) and value.elts:
            value = value.elts[0]  # beside it stands what the run has cost
        if value is None:
            raise NotReadError(statement.lineno, "it returns nothing.")
        self._results += [(given, gate) for given in self._sources(value)]

    # Expressions

    def _call(self, awaited: ast.Await, name: str, gate: tuple[str, str] | None) -> str:
        """An awaited operator as a node; its id."""
        call = awaited.value
        if not (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
            and call.func.value.id == "self"
        ):
            raise NotReadError(awaited.lineno, "only operators of the class are awaited.")
        attribute = call.func.attr
        operator = self._operators.get(attribute) or _BY_FOLDED.get(attribute.replace("_", "").casefold())
        if operator is None:
            raise NotReadError(awaited.lineno, f"`self.{attribute}` is not an operator that Merrow knows.")
        node = PublishedNode(self._fresh(name), operator, gate=gate)
        ports = _PORTS[operator]
        arguments = dict(zip(ports, call.args, strict=False))
        arguments |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
        for port, value in arguments.items():
            if port not in ports:
                raise NotReadError(value.lineno, f"{operator} has no port `{port}`.")
            if port == "instruction":
                self._prompt(node, value)
            elif isinstance(value, ast.Constant):
                self._literal(node, port, value)
            else:
                node.ports += [(port, given) for given in self._sources(value)]
        self._nodes[node.id] = node
        return node.id

    def _prompt(self, node: PublishedNode, value: ast.expr) -> None:
        """What a node is asked: a text, or one of ``prompt.py``."""
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            if value.value.strip():
                node.said["role"] = self._role(node.id.casefold(), value.value)
            return
        name = value.attr if isinstance(value, ast.Attribute) else value.id if isinstance(value, ast.Name) else None
        if name is None:
            raise NotReadError(value.lineno, "an instruction is a text or the name of one in prompt.py.")
        if name not in self._constants:
            raise NotReadError(
                value.lineno, f"there is no text `{name}`; put the prompt.py that has it beside the file."
            )
        node.said["role"] = self._role(re.sub(r"_prompt$", "", name.casefold()), self._constants[name])

    def _role(self, wanted: str, prompt: str) -> str:
        """The role by which a prompt goes: the wanted one, with a number where another prompt goes by it."""
        role, number = wanted, 1
        while self._prompts.setdefault(role, prompt) != prompt:
            number += 1
            role = f"{wanted}_{number}"
        return role

    def _literal(self, node: PublishedNode, port: str, value: ast.Constant) -> None:
        if value.value in (None, "", "None"):
            return
        if port != "analysis":
            raise NotReadError(
                value.lineno, f"a value at the port `{port}` of {node.operator} comes from another step."
            )
        node.said["analysis"] = str(value.value)

    def _sources(self, value: ast.expr) -> list[PublishedValue]:
        """The same without the names of outputs that are a node's usual one, or that its operator calls otherwise."""
        return list(dict.fromkeys(map(self._usual, self._given(value))))

    def _usual(self, given: PublishedValue) -> PublishedValue:
        node = self._nodes.get(given.node)
        usual = node is None or given.output in ("response", _DEFAULT.get(node.operator, "solution"))
        return PublishedValue(given.node) if usual else given

    def _given(self, value: ast.expr) -> list[PublishedValue]:
        """What an expression is made of, each once."""
        return list(dict.fromkeys(self._parts(value)))

    def _parts(self, value: ast.expr) -> Iterator[PublishedValue]:
        if isinstance(value, ast.Constant):
            if isinstance(value.value, str) and value.value.strip():
                self.notes.append(f"Line {value.lineno}: the text between joined results is left out.")
            return
        if isinstance(value, ast.Name):
            if value.id not in self._values:
                raise NotReadError(value.lineno, f"`{value.id}` has no value here.")
            yield from self._values[value.id]
        elif isinstance(value, ast.Subscript):
            yield from self._subscript(value)
        elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            yield from self._parts(value.left)
            yield from self._parts(value.right)
        elif isinstance(value, ast.JoinedStr):
            for part in value.values:
                yield from self._parts(part)
        elif isinstance(value, ast.FormattedValue):
            yield from self._parts(value.value)
        elif isinstance(value, (ast.List, ast.Tuple)):
            for element in value.elts:
                yield from self._parts(element)
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "str" and value.args:
            yield from self._parts(value.args[0])
        else:
            raise NotReadError(value.lineno, f"`{ast.unparse(value)[:60]}` is not understood as a value of a workflow.")

    def _subscript(self, value: ast.Subscript) -> Iterator[PublishedValue]:
        key = value.slice.value if isinstance(value.slice, ast.Constant) else None
        for given in self._parts(value.value):
            if not isinstance(key, str) or given.node not in self._nodes or given.output is not None:
                raise NotReadError(value.lineno, f"`{ast.unparse(value)[:60]}` is not an output of a step.")
            yield PublishedValue(given.node, "result" if key == "review_result" else key)

    def _fresh(self, name: str) -> str:
        plain = re.sub(r"\W+", "_", name).upper() or "STEP"
        free, number = plain, 1
        while free in self._nodes or free in _INTERFACE.values() or free == "RETURN":
            number += 1
            free = f"{plain}_{number}"
        return free

    # The workflow

    def lines(self) -> Iterator[str]:
        """The workflow's file."""
        yield from ("---", "workflow: true" if not self._prompts else "workflow:")
        if self._prompts:
            yield "  prompts:"
            for role, text in self._prompts.items():
                yield f"    {word(role) or quoted(role)}: {text_of_prompt(text, '      ')}"
        yield from ("---", "flowchart TD")
        yield from (f"    {_INTERFACE[name]}([{name}]):::Interface" for name in self._inputs)
        for node in self._nodes.values():
            shape = {"shape": "diam", "label": "passed?"} if node.operator == "Decision" else {}
            parameters = {"op": node.operator, **shape, **node.said}
            shown = ", ".join(
                f"{key}: {flow(value) or quoted(str(value), in_statement=True)}" for key, value in parameters.items()
            )
            yield f"    {node.id}@{{ {shown} }}"
        yield "    RETURN([answer]):::Interface"
        for node in self._nodes.values():
            if node.gate is not None:
                yield f"    {node.gate[0]} -->|{node.gate[1]}:after| {node.id}"
            for port, given in node.ports:
                yield f"    {given.node} -->|{self._label(given, port)}| {node.id}"
        for given, gate in self._results:
            yield from self._result(given, gate)

    @staticmethod
    def _label(given: PublishedValue, port: str) -> str:
        return port if given.output is None else f"{given.output}:{port}"

    def _result(self, given: PublishedValue, gate: tuple[str, str] | None) -> Iterator[str]:
        """An edge to RETURN. What was there before an ``if`` goes through it."""
        node = self._nodes.get(given.node)
        if gate is None or (node is not None and node.gate == gate):
            label = self._label(given, "")
            yield f"    {given.node} -->{f'|{label}|' if label else ''} RETURN"
            return
        decision = self._nodes[gate[0]]
        if ("value", given) not in decision.ports:
            if any(port == "value" for port, _ in decision.ports):
                raise NotReadError(1, "both ways of an `if` return results from before it; one can be passed on.")
            decision.ports.append(("value", given))
            yield f"    {given.node} -->|{self._label(given, 'value')}| {gate[0]}"
        yield f"    {gate[0]} -->|{gate[1]}| RETURN"
