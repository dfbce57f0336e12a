"""``merrow/graph``: a diagram's text for Mermaid, and what an editor needs to join the drawing with the text.

The request is ``{textDocument, diagram?, position?}``: the diagram of the document with this number, from 1; without one the
diagram at ``position`` or the last before it; without both the first. The answer is null where there is no such diagram; else

- ``text``, ``version`` and ``direction``, the document's ``diagram`` as a number and ``range``, and how many ``diagrams`` it has;
- ``kind``: ``flowchart``, ``other`` (a diagram that Merrow does not read) or ``unknown``; ``workflow``: whether it is one;
  ``why``: why it is not one, as part of a sentence, else null; ``asDrawn``: whether it is not one but can be run as it is drawn;
- ``nodes``: ``{id, kind, operator, style, label, title, settings, doing, subgraph, remembers, range, places, diagnostics}``,
  ``places`` being all that is written about the node, ``style`` the one in which its operator is published
  (``fill:#d0e1f9,stroke:#4378a2``), null where it has none, ``title`` the role of a step whose label only names its operator,
  else null, ``settings`` the other parameters in that label; ``doing`` is equal for steps that do the same with the same inputs,
  null for nodes that are no steps, ``subgraph`` the innermost one around the node, null outside of them; ``remembers`` the ids of
  the nodes whose results its memory may show; none are listed of nodes of a very large workflow;
- ``edges``, in Mermaid's order: ``{id, source, target, label, range, output, port, type, case, word, box, left,
  drawn, diagnostics}``,
  ``id`` being the one that Mermaid gives the path, ``word`` that of Loops and Maps (``again``), ``box`` the innermost Loop or
  Map around both ends, ``left`` those that it leads out of;
- ``subgraphs``: ``{id, title, operator, range}``, ``operator`` being ``Loop`` or ``Map`` of those that are one; and
  ``diagnostics`` about neither a node nor an edge.

A diagnostic is ``{code, severity, message, range}`` with the severities ``error``, ``warning`` and ``hint``. Ranges are those of
the document, in the encoding that was agreed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.ide import picture as ide_picture
from merrow_analysis.text import Position, Range
from merrow_server.lsp.documents import OpenDiagram, OpenDocument
from merrow_server.lsp.protocol import InvalidParameters
from merrow_server.lsp.server import MerrowServer
from merrow_server.positions import character_at

if TYPE_CHECKING:
    from merrow_analysis.graph.flow import Flowchart
    from merrow_analysis.graph.nodes import TypedNode

GRAPH = "merrow/graph"

_MOST_REMEMBERED = 50_000
"""Entries of the lists of whose results nodes remember: of a few hundred nodes, each of which remembers all before it."""


class _Json(dict[str, Any]):
    """JSON already: it goes out as it is, without a look of the converter at each of its thousand parts."""


def _as_it_is(whole: _Json) -> _Json:
    return whole


def register(server: MerrowServer) -> None:
    converter = server.protocol.converter
    if converter.get_unstructure_hook(_Json) is not _as_it_is:
        converter.register_unstructure_hook(_Json, _as_it_is)
    server.feature(GRAPH)(graph)


def graph(server: MerrowServer, params: Any) -> dict[str, Any] | None:
    """The diagram that ``params`` name, as the module says."""
    asked = _object(params)
    uri = _object(asked.get("textDocument")).get("uri")
    if not isinstance(uri, str):
        raise InvalidParameters(f"{GRAPH} needs a textDocument with a uri.")
    document = server.document(uri)
    if document is None or not document.diagrams:
        return None
    number = _number(document, asked.get("diagram"), _object(asked.get("position")).get("line"))
    return None if number is None else drawn(document, number)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(document: OpenDocument, wanted: object, line: object) -> int | None:
    """The number of the diagram ``wanted``, or else of the one at ``line``; None where there is none."""
    diagrams = document.diagrams
    if wanted is not None:
        if not isinstance(wanted, int) or isinstance(wanted, bool):
            raise InvalidParameters(f"The diagram of {GRAPH} must be a number from 1.")
        return wanted if 1 <= wanted <= len(diagrams) else None
    if not isinstance(line, int):
        return 1
    before = [number for number, diagram in enumerate(diagrams, 1) if _first_line(diagram) <= line]
    return before[-1] if before else 1


def _first_line(diagram: OpenDiagram) -> int:
    return 0 if diagram.fence is None else diagram.fence.range.start.line


def drawn(document: OpenDocument, number: int) -> dict[str, Any]:
    """A diagram of a document by its number, as the module says."""
    diagram = document.diagrams[number - 1]
    analysis = diagram.analysis
    picture = ide_picture.picture(analysis)
    boxes = {} if analysis.typed is None else analysis.typed.composites.boxes
    typed = analysis.typed
    # Late: the server answers `initialize` before it knows the language.
    from merrow_analysis.graph.remembering import readers

    remembers = {} if typed is None else readers(typed, analysis.settings, _MOST_REMEMBERED)
    encode = _PictureEncoder(diagram, remembers)
    return _Json(
        uri=document.uri,
        version=document.version,
        diagram=number,
        diagrams=len(document.diagrams),
        range=encode.whole(),
        text=diagram.text,
        kind=analysis.diagram.kind,
        workflow=analysis.is_workflow,
        why=analysis.why_no_workflow,
        asDrawn=analysis.may_be_drawn,
        direction=analysis.flow.direction,
        nodes=[encode.node(node) for node in picture.nodes],
        edges=[encode.edge(edge) for edge in picture.edges],
        subgraphs=[
            {
                "id": part.id,
                "title": part.title,
                "operator": boxes[part.id].operator if part.id in boxes else None,
                "range": encode.range(place),
            }
            for part, place in picture.subgraphs
        ],
        diagnostics=encode.diagnostics(picture.elsewhere),
    )


def _style(node: TypedNode) -> str | None:
    from merrow_analysis.definitions.operators import INTERFACE_STYLE

    if node.spec is not None:
        return node.spec.style
    return None if node.kind == "unknown" else INTERFACE_STYLE


def _innermost(flow: Flowchart) -> dict[str, str]:
    """The innermost subgraph of each node that is in one."""
    within: dict[str, str] = {}
    # What is in another one has no more nodes than that.
    for part in sorted(flow.subgraphs.values(), key=lambda part: -len(part.nodes)):
        within.update(dict.fromkeys(part.nodes, part.id))
    return within


class _PictureEncoder:
    """Writes the parts of a diagram's picture as JSON."""

    def __init__(self, diagram: OpenDiagram, remembers: Mapping[str, list[str]]) -> None:
        self._diagram = diagram
        self._remembers = remembers
        self._within = _innermost(diagram.analysis.flow)
        self._lines = diagram.document.lines
        self._encoding = diagram.document.encoding

    def range(self, place: Range) -> dict[str, Any]:
        fence = self._diagram.fence
        start, end = place if fence is None else fence.range_to_host(place)
        return {"start": self._position(start), "end": self._position(end)}

    def _position(self, position: Position) -> dict[str, int]:
        return {"line": position.line, "character": character_at(self._lines, position, self._encoding)}

    def whole(self) -> dict[str, Any]:
        """The fence with its marks, or the whole document."""
        diagram = self._diagram
        start, end = (Position(0, 0), diagram.document.end) if diagram.fence is None else diagram.fence.range
        return {"start": self._position(start), "end": self._position(end)}

    def diagnostics(self, findings: list[Diagnostic]) -> list[dict[str, Any]]:
        return [
            {
                "code": finding.code,
                "severity": finding.severity.value,
                "message": finding.message,
                "range": self.range(finding.range),
            }
            for finding in findings
        ]

    def node(self, node: ide_picture.NodePicture) -> dict[str, Any]:
        from merrow_analysis.graph.plain_steps import is_played  # late, as above
        from merrow_analysis.ide.steps import doing_of, settings_of, title_of

        label, typed = node.flow.label, node.typed
        title = None if typed is None else title_of(typed)
        return {
            "id": node.flow.id,
            "kind": "unknown" if typed is None else typed.kind,
            "operator": None if typed is None else typed.operator,
            "style": None if typed is None else _style(typed),
            "played": typed is not None and is_played(typed),
            "label": None if label is None else label.text,
            "title": title,
            "settings": "" if typed is None or title is None else settings_of(typed),
            "doing": None if typed is None else doing_of(typed, self._diagram.analysis.prompts),
            "subgraph": self._within.get(node.flow.id),
            "remembers": self._remembers.get(node.flow.id, []),
            "range": self.range(node.range),
            "places": [self.range(place) for place in node.places],
            "diagnostics": self.diagnostics(node.diagnostics),
        }

    def edge(self, edge: ide_picture.EdgePicture) -> dict[str, Any]:
        label, typed = edge.flow.arrow.label, edge.typed
        return {
            "id": edge.id,
            "source": edge.flow.source.id,
            "target": edge.flow.target.id,
            "label": None if label is None else label.text,
            "range": self.range(edge.range),
            "output": None if typed is None else typed.output,
            "port": None if typed is None else typed.port,
            "type": None if typed is None else typed.type,
            "case": None if typed is None else typed.case_label,
            "word": None if typed is None else typed.word,
            "box": None if typed is None else typed.border.scope,
            "left": [] if typed is None else list(typed.left),
            "drawn": not edge.flow.carries_nothing,
            "diagnostics": self.diagnostics(edge.diagnostics),
        }
