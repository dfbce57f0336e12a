"""What a program comes to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from merrow_runtime.store.contract import LoopRecord, exhausted_of
from merrow_runtime.values import Value, as_text


class Result(str):
    """What a program prints, which is its one output where that is text. ``outputs`` has the values of all outputs by id;
    ``diagram`` is the workflow that was run, as Mermaid. ``loops`` says how its Loops ended, as in the event `loop_ended`, and
    ``exhausted`` has the paths of those that still wanted another turn.
    """

    __slots__ = ("diagram", "exhausted", "loops", "outputs")
    outputs: dict[str, Value]
    diagram: str
    loops: list[dict[str, Any]]
    exhausted: list[str]

    def __new__(cls, outputs: Mapping[str, Value], diagram: str = "", loops: Sequence[LoopRecord] = ()) -> Result:
        """``outputs`` by id."""
        made = super().__new__(cls, "\n".join(map(as_text, outputs.values())))
        made.outputs = dict(outputs)
        made.diagram = diagram
        made.loops = [loop.to_json() for loop in loops]
        made.exhausted = exhausted_of(loops)
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
