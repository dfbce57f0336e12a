"""What a program comes to."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from merrow_runtime.values import Value, as_text


class Result(str):
    """What a program prints, which is its one output where that is text. ``outputs`` has the values of all outputs by id;
    ``diagram`` is the workflow that was run, as Mermaid.
    """

    __slots__ = ("diagram", "outputs")
    outputs: dict[str, Value]
    diagram: str

    def __new__(cls, outputs: Mapping[str, Value], diagram: str = "") -> Result:
        """``outputs`` by id."""
        made = super().__new__(cls, "\n".join(map(as_text, outputs.values())))
        made.outputs = dict(outputs)
        made.diagram = diagram
        return made

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What a notebook shows."""
        del include, exclude
        shown = "".join(
            f"<h4>{escape(name)}</h4><pre>{escape(as_text(value))}</pre>" for name, value in self.outputs.items()
        )
        return {
            "text/plain": str(self),
            "text/vnd.mermaid": self.diagram,
            "text/html": f'<pre class="mermaid">{escape(self.diagram)}</pre>{shown}',
        }
