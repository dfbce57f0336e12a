"""The values of a workflow's inputs: given, remembered, or asked for. They are kept in memory only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lsprotocol import types

from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.host import Host
from merrow_server.lsp.protocol import FeatureError

if TYPE_CHECKING:
    from merrow_analysis.graph.nodes import TypedNode

INPUT = "merrow/input"
_MOST = 200
"""Diagrams whose inputs are remembered."""


class Inputs:
    """Remembers what each diagram was last run with."""

    def __init__(self, server: Host) -> None:
        self._server = server
        self._last: dict[tuple[str, int], dict[str, Any]] = {}

    def known(self, diagram: OpenDiagram, number: int, given: Mapping[str, Any]) -> dict[str, Any]:
        """The values that are there without asking: those given, and what is remembered for the others."""
        nodes = {node.id.casefold(): node.id for node in _inputs(diagram)}
        values = {nodes.get(name.casefold(), name): value for name, value in given.items()}
        remembered = self._last.get(self._key(diagram, number), {})
        return {name: value for name, value in remembered.items() if name in nodes.values()} | values

    async def complete(
        self, diagram: OpenDiagram, number: int, given: Mapping[str, Any], *, ask: bool = False
    ) -> dict[str, Any]:
        """A value for each input that has no default. With ``ask`` the user is asked also about those remembered.

        Raises `FeatureError` where one is missing and the client can't ask, or the user doesn't say.
        """
        values = self.known(diagram, number, given)
        named = {name.casefold() for name in given}
        wanted = [
            node
            for node in _inputs(diagram)
            if (node.id not in values and not node.resolution.has_default) or (ask and node.id.casefold() not in named)
        ]
        if wanted and not self._server.supports.asks_for_inputs:
            missing = [node.id for node in wanted if node.id not in values and not node.resolution.has_default]
            if missing:
                raise FeatureError(_missing(missing), types.LSPErrorCodes.RequestFailed, {"code": "input"})
        else:
            for node in wanted:
                values[node.id] = await self._ask(diagram, number, node, values.get(node.id))
        return values

    def remember(self, diagram: OpenDiagram, number: int, values: Mapping[str, Any]) -> None:
        """Use these values the next time, where nothing else is said."""
        key = self._key(diagram, number)
        self._last.pop(key, None)
        self._last[key] = dict(values)
        while len(self._last) > _MOST:
            del self._last[next(iter(self._last))]

    async def _ask(self, diagram: OpenDiagram, number: int, node: TypedNode, last: Any) -> Any:
        from merrow_analysis.graph.placing.ports import INPUT_OUTPUT

        type_ = node.outputs.get(INPUT_OUTPUT)
        question: dict[str, Any] = {
            "uri": diagram.document.uri,
            "diagram": number,
            "name": node.id,
            "title": node.flow.label.text if node.flow.label is not None else node.id,
            "type": "Text" if type_ is None else str(type_),
        }
        if last is not None:
            question["last"] = last
        answer = await self._server.protocol.send_request_async(INPUT, question)
        if isinstance(answer, dict):
            answer = answer.get("value")
        if answer is None:
            sentence = f"No value was given for the input {node.id}; the workflow is not run."
            raise FeatureError(sentence, types.LSPErrorCodes.RequestCancelled, {"code": "input"})
        return answer

    @staticmethod
    def _key(diagram: OpenDiagram, number: int) -> tuple[str, int]:
        return unquote(diagram.document.uri), number


def _inputs(diagram: OpenDiagram) -> list[TypedNode]:
    typed = diagram.analysis.typed
    return [] if typed is None else typed.inputs


def _missing(names: list[str]) -> str:
    shown = ", ".join(names)
    example = ", ".join(f'"{name}": "..."' for name in names)
    inputs = "input" if len(names) == 1 else "inputs"
    return (
        f"A value is missing for the {inputs} {shown}: run the command with `inputs: {{{example}}}`, or write `default:` at"
        f" {'it' if len(names) == 1 else 'them'}."
    )
