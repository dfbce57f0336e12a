"""What leaves a node is what its ports promise: nothing missing, nothing ill-typed."""

from __future__ import annotations

from collections.abc import Mapping

from merrow_runtime.errors import NodeFailure
from merrow_runtime.operators.base import NodeDefinition
from merrow_runtime.operators.formats.shapes import is_of, phrase, shown
from merrow_runtime.operators.questions import output_shape
from merrow_runtime.values import Value


def check_outputs(definition: NodeDefinition, outputs: Mapping[str, Value]) -> None:
    """Raise `NodeFailure`, naming port and types, unless ``outputs`` has for exactly the node's output ports a value of
    their types. It looks at one execution: with ``samples:``, at each before they become lists.
    """
    for port, type_ in definition.outputs.items():
        if port not in outputs:
            raise NodeFailure(
                f"Node {definition.id} gave nothing at its output `{port}` ({type_}).", node=definition.id
            )
        shape = output_shape(definition, port)
        if not is_of(outputs[port], shape):
            wanted = type_ if not shape.words else f"{type_}, {phrase(shape)}"
            raise NodeFailure(
                f"Node {definition.id} gave {shown(outputs[port])} at its output `{port}`, which must be {wanted}.",
                node=definition.id,
            )
    more = [port for port in outputs if port not in definition.outputs]
    if more:
        raise NodeFailure(
            f"Node {definition.id} gave a value at `{more[0]}`, which is no output of its operator.", node=definition.id
        )
