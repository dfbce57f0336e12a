"""Operators that a workflow declares itself: the same machinery, with several inputs and outputs."""

from __future__ import annotations

from typing import ClassVar

from merrow_runtime.operators.base import NodeDefinition, Task
from merrow_runtime.operators.formats.answer_forms import answer_form_of
from merrow_runtime.operators.formats.structured import Field, answer_form, answer_schema, fields_reader
from merrow_runtime.operators.prompts.prompting import compose, input_sections
from merrow_runtime.operators.questions import OneQuestion, Question, output_shape
from merrow_runtime.values import Outputs


class UserOperator(OneQuestion):
    """The declaration's prompt, then the node's own; inputs in the order of the declared ports. One output is answered
    as a Custom's would be, several as the fields of one object.
    """

    name: ClassVar[str] = "user"
    version: ClassVar[int] = 1

    def question(self, task: Task) -> Question[Outputs]:
        node = task.node
        shapes = {port: output_shape(node, port) for port in node.outputs}
        instructions = [*_prompts(node)]
        sections = input_sections(task.inputs, _ports(task))
        if len(shapes) == 1:
            (port, shape), *_ = shapes.items()
            form = answer_form_of(port, shape, node.parameters.get("format"))
            messages = compose((*instructions, form.instruction), sections, task.memory)
            return Question("answer", messages, lambda text: {port: form.read(text)}, form.schema)
        fields = [Field(port, shape) for port, shape in shapes.items()]
        messages = compose((*instructions, answer_form(fields)), sections, task.memory)
        return Question("answer", messages, fields_reader(fields), answer_schema(node.operator, fields))


def _prompts(node: NodeDefinition) -> list[str]:
    """The declaration's prompt and the node's; what the engine resolved may be either of them, or both in one."""
    declared = node.spec.get("prompt") if node.spec is not None else None
    own = node.prompt
    if not isinstance(declared, str):
        return [own] if own else []
    return [declared, own] if own and declared.strip() not in own else [own or declared]


def _ports(task: Task) -> list[str]:
    """The ports in the order of their declaration, then any others."""
    declared = task.node.spec.get("inputs") if task.node.spec is not None else None
    names = [str(name).removesuffix("?").strip() for name in declared] if isinstance(declared, dict) else []
    return [*(name for name in names if name in task.inputs), *(port for port in task.inputs if port not in names)]
