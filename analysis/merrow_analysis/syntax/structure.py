"""Mermaid's own account of a text: its verdict, the line of its first error, and the structure it stores.

This follows the order in which Mermaid acts, because a verdict depends on it: the first thing that fails decides. The checker
does not use it; it is what ``merrow parse`` prints and what the agreement with the real parser is measured on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from merrow_analysis.definitions.front_matter import read_front_matter
from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.syntax.characters import trim
from merrow_analysis.syntax.parser import Diagram, parse_diagram
from merrow_analysis.syntax.sanitise import sanitise_label
from merrow_analysis.syntax.shapes import SHAPES
from merrow_analysis.syntax.tree import (
    AccDescription,
    AccTitle,
    Arrow,
    Block,
    Broken,
    Chain,
    ClassAssign,
    ClassDef,
    Click,
    Comment,
    Direction,
    EmptyStatement,
    FrontMatter,
    Header,
    Label,
    LinkStyle,
    Metadata,
    Style,
    SubgraphEnd,
    SubgraphStart,
    Vertex,
)
from merrow_analysis.text import split_lines

_MOST_LENGTH = 10
_BEGINS = re.compile(r"(?:style|linkStyle|classDef|class|subgraph)\b", re.ASCII)
_NAMELESS = re.compile(r"subgraph;?(?:[\r\n]|\Z)")
_MOST_VALUES, _MOST_DEPTH = 10_000, 100


class MermaidRefusedError(Exception):
    """Mermaid refuses the text; ``line`` counts from 1, None where Mermaid names no line."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.message, self.line = message, line


def parse_record(text: str) -> dict[str, Any]:
    """``ok``, ``line`` (of the error, from 1), ``error`` and ``structure`` of a text, as ``merrow parse --jsonl`` prints them."""
    try:
        diagram = parse_diagram(text)
        structure = read_structure(diagram)
    except MermaidRefusedError as refused:
        return {"ok": False, "line": refused.line, "error": refused.message, "structure": None}
    return {"ok": True, "line": None, "error": None, "structure": structure}


def read_structure(diagram: Diagram) -> dict[str, Any]:
    """The structure of a diagram as Mermaid's database holds it; raises `MermaidRefusedError` at the first thing Mermaid
    refuses.
    """
    if diagram.front_matter is not None:
        _check_front_matter(diagram.front_matter[0])
    database = _Database(diagram)
    statements = [
        (block, statement)
        for block in diagram.blocks
        for statement in block.statements
        if not isinstance(statement, Comment)
    ]
    for (block, statement), following in zip_longest(statements, statements[1:]):
        if isinstance(statement, SubgraphEnd) and database.is_nameless and following is not None:
            after, broken = following
            if isinstance(broken, Broken) and _follows(broken, after, statement, block):
                raise _refused(broken, after)
        if isinstance(statement, Broken):
            if not _NAMELESS.match(block.text, statement.span[0]):
                raise _refused(statement, block)
            database.open.append(_Open(None))
        else:
            database.act(statement, block)
    return database.finish()


def _refused(broken: Broken, block: Block) -> MermaidRefusedError:
    problem = broken.problem
    line = None if problem.reported_line is None else block.line + problem.reported_line + 1
    return MermaidRefusedError(problem.message, line)


def _follows(broken: Broken, block: Block, end: SubgraphEnd, block_of_end: Block) -> bool:
    """Whether what can't be read is the very next thing after an end: Mermaid looks at one word more before it acts on an end,
    and gives up there if nothing may begin so.
    """
    start, place = end.span[1] if block is block_of_end else 0, broken.problem.span[0]
    begins_well = _NAMELESS.match(block.text, broken.span[0]) is not None or block.text.startswith("%", place)
    # The place of a word that was used as an id is where a statement of that name would begin.
    begins_well |= broken.problem.flaw == "reserved-word" and _BEGINS.match(block.text, place) is not None
    return not begins_well and not block.text[start:place].strip().strip('"')


def _check_front_matter(front: FrontMatter) -> None:
    problem = read_front_matter(front.body, front.indent).error
    if problem is not None:
        raise MermaidRefusedError(f"The front matter is not valid YAML: {problem.message}")


@dataclass(slots=True)
class _Open:
    """A subgraph that is open; ``start`` is None for one without a name, at whose end Mermaid breaks down."""

    start: SubgraphStart | None
    members: dict[str, None] = field(default_factory=dict)
    direction: str | None = None


class _Database:
    def __init__(self, diagram: Diagram) -> None:
        self.diagram = diagram
        self.direction = "TB"
        self.vertices: dict[str, dict[str, Any]] = {}
        self.edges: list[dict[str, Any]] = []
        self.edge_ids: dict[str, dict[str, Any]] = {}
        self.parallel: dict[tuple[str, str], int] = {}
        self.subgraphs: list[dict[str, Any]] = []
        self.by_id: dict[str, dict[str, Any]] = {}
        self.claimed: set[str] = set()
        self.closed = 0
        self.classes: dict[str, list[str]] = {}
        self.open: list[_Open] = []
        self.title: str | None = None
        self.description: str | None = None
        self._default_interpolate: str | None = None

    @property
    def is_nameless(self) -> bool:
        """Whether the innermost subgraph that is open has no name."""
        return bool(self.open) and self.open[-1].start is None

    def act(self, statement: Any, block: Block) -> None:
        """Do what Mermaid does when it has read a statement."""
        match statement:
            case Chain():
                self._chain(statement)
            case ClassAssign():
                for name in statement.ids:
                    self._set_class(name.text, statement.class_name.text)
            case ClassDef():
                for name in statement.names:
                    self.classes.setdefault(name.text, []).extend(_split_styles(statement.styles))
            case Style():
                vertex = self._vertex(statement.id.text)
                if vertex is not None:
                    vertex.setdefault("styles", []).extend(statement.styles)
            case LinkStyle():
                self._link_style(statement)
            case Click():
                self._click(statement)
            case SubgraphStart():
                self.open.append(_Open(statement))
            case SubgraphEnd():
                if not self.open:
                    line = block.position(statement.span[0]).line + 1
                    raise MermaidRefusedError("This end closes no subgraph.", line)
                self._close()
            case Header():
                self.direction = statement.direction
            case _:
                self._minor(statement)

    def _minor(self, statement: Any) -> None:
        match statement:
            case Direction():
                if self.open:
                    self.open[-1].direction = statement.value
            case AccTitle():
                self.title = statement.text
                self._member(statement.text)
            case AccDescription():
                self.description = statement.text
                self._member(statement.text)
            case EmptyStatement():
                self._member(";")

    def finish(self) -> dict[str, Any]:
        if self.open:
            raise MermaidRefusedError(
                "A subgraph is never closed: write end after its last line.", _last_line(self.diagram)
            )
        keyword = self.diagram.keyword
        kind = (
            "flowchart-elk"
            if keyword.startswith("flowchart-elk")
            else "swimlane"
            if keyword.startswith("swimlane-beta")
            else "flowchart-v2"
        )
        return {
            "diagram_type": kind,
            "direction": self.direction,
            "vertices": list(self.vertices.values()),
            "edges": self.edges,
            "subgraphs": self.subgraphs,
            "classDefs": [{"name": name, "styles": styles} for name, styles in self.classes.items()],
            "accTitle": self.title or None,
            "accDescr": self.description or None,
        }

    def _member(self, text: str) -> None:
        """Mermaid takes whatever a statement leaves behind for a member of the subgraph around it."""
        if self.open and trim(text):
            self.open[-1].members.setdefault(text)

    # Nodes

    def _chain(self, chain: Chain) -> None:
        previous: tuple[Vertex, ...] = ()
        for number, group in enumerate(chain.groups):
            for vertex in group:
                self._mention(vertex)
            for vertex in group:
                if vertex.metadata is not None:
                    self._metadata(vertex.name.text, vertex.metadata)
            if number:
                self._link(previous, group, chain.arrows[number - 1])
            previous = group
        if self.open:
            members = self.open[-1].members
            for group in reversed(chain.groups):
                for vertex in group:
                    members.setdefault(vertex.name.text)

    def _mention(self, mention: Vertex) -> None:
        vertex = self._vertex(mention.name.text)
        if vertex is not None and mention.shape is not None:
            vertex["shape"] = mention.shape
            if mention.label is not None:
                vertex["text"] = _shown(mention.label)
                vertex["label_type"] = mention.label.kind
        for name in mention.classes:
            for part in mention.name.text.split(","):
                self._set_class(part, name.text)

    def _vertex(self, name: str) -> dict[str, Any] | None:
        """The vertex with this id, made where there is none; None for the id of an edge."""
        if name in self.edge_ids or not trim(name):
            return None
        vertex = self.vertices.get(name)
        if vertex is None:
            vertex = {"id": name, "text": name, "label_type": "text", "shape": None, "classes": []}
            self.vertices[name] = vertex
        return vertex

    def _metadata(self, name: str, metadata: Metadata) -> None:
        doc = parse_metadata(metadata.body)
        values = {key: _finite(value) for key, value in doc.values.items()}
        if doc.error is not None:
            raise MermaidRefusedError(f"The metadata of {name} is not valid YAML: {doc.error.message}")
        if doc.is_empty:
            return
        subgraph = self.by_id.get(name)
        if subgraph is not None and doc.value:
            if values:
                subgraph["metadata"] = {**subgraph.get("metadata", {}), **values}
            return
        edge = self.edge_ids.get(name)
        if edge is not None:
            for source, target in (("animate", "animate"), ("animation", "animation"), ("curve", "interpolate")):
                if source in values:
                    edge[target] = values[source]
            step = values.get("step")
            if isinstance(step, int) and not isinstance(step, bool) and step > 0:
                edge["step"] = step
            return
        if doc.value is None:
            raise MermaidRefusedError(f"The metadata of {name} is null: Mermaid stops here.")
        vertex = self._vertex(name)
        if vertex is not None:
            _apply_metadata(vertex, name, values)

    def _set_class(self, name: str, class_name: str) -> None:
        for owner in (self.vertices.get(name), self.edge_ids.get(name), self.by_id.get(name)):
            if owner is not None:
                owner["classes"].append(class_name)

    def _click(self, click: Click) -> None:
        for name in click.ids:
            vertex = self.vertices.get(name.text)
            if vertex is not None and click.link is not None:
                vertex["link"] = click.link
                if click.target is not None:
                    vertex["linkTarget"] = click.target
        for name in click.ids:
            self._set_class(name.text, "clickable")

    # Edges

    def _link(self, sources: tuple[Vertex, ...], targets: tuple[Vertex, ...], arrow: Arrow) -> None:
        # Mermaid compares ids, so every source with the last one's id and every target with the first one's has the edge's id.
        last, first = sources[-1].name.text, targets[0].name.text
        for source in sources:
            for target in targets:
                named = source.name.text == last and target.name.text == first
                self._edge(source.name.text, target.name.text, arrow, named=named)

    def _edge(self, source: str, target: str, arrow: Arrow, *, named: bool) -> None:
        pair = (source, target)
        user = arrow.edge_id.text if arrow.edge_id is not None and named else None
        if user and user in self.edge_ids:
            user = None
        before = self.parallel.get(pair, 0)
        label = arrow.label
        edge: dict[str, Any] = {
            "id": user or f"L_{source}_{target}_{before + 1 if before else 0}",
            "user_id": bool(user),
            "from": source,
            "to": target,
            "text": _shown(label) if label is not None else "",
            "label_type": label.kind if label is not None else "text",
            "type": arrow.type,
            "stroke": arrow.stroke,
            "length": None if arrow.length is None else min(arrow.length, _MOST_LENGTH),
            "classes": [],
        }
        if self._default_interpolate is not None:
            edge["interpolate"] = self._default_interpolate
        self.parallel[pair] = before + 1
        self.edges.append(edge)
        self.edge_ids.setdefault(edge["id"], edge)

    def _link_style(self, statement: LinkStyle) -> None:
        if statement.targets is None:
            if statement.interpolate is not None:
                self._default_interpolate = statement.interpolate
            return
        for target in statement.targets:
            if target >= len(self.edges):
                raise MermaidRefusedError(
                    f"linkStyle names edge {target}, but only {len(self.edges)} edges are before it."
                )
            edge = self.edges[target]
            if statement.interpolate is not None:
                edge["interpolate"] = statement.interpolate
            if statement.styles is not None:
                styles = list(statement.styles)
                if not any(style.startswith("fill") for style in styles):
                    styles.append("fill:none")
                edge["styles"] = styles

    # Subgraphs

    def _close(self) -> None:
        done = self.open.pop()
        start = done.start
        if start is None:
            raise MermaidRefusedError("A subgraph needs a name: write it after the word subgraph.")
        title = start.title.text if start.title is not None else ""
        identifier = start.id.text if start.id is not None else f"subGraph{self.closed}"
        self.closed += 1
        members = [node for node in done.members if node not in self.claimed and node != identifier]
        self.claimed.update(members)
        existing = self.by_id.get(identifier)
        if existing is not None:
            existing["nodes"].extend(members)
        else:
            existing = {
                "id": identifier,
                "title": trim(sanitise_label(title)),
                "nodes": members,
                "dir": done.direction,
                "classes": [],
            }
            self.subgraphs.append(existing)
            self.by_id[identifier] = existing
        if self.open:
            self.open[-1].members.setdefault(identifier)


def _finite(value: Any) -> Any:
    """A value of metadata that can be written out; None for one that aliases make endless, very deep or very large."""
    if not isinstance(value, list | dict):
        return value
    level = [value]
    count = 0
    for _ in range(_MOST_DEPTH):
        count += sum(map(len, level))
        if count > _MOST_VALUES:
            return None
        level = [
            item
            for container in level
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, list | dict)
        ]
        if not level:
            return value
    return None


def _apply_metadata(vertex: dict[str, Any], name: str, values: dict[str, Any]) -> None:
    shape = values.get("shape")
    if shape:
        if not isinstance(shape, str):
            raise MermaidRefusedError(f"The shape of {name} is not a name.")
        if shape != shape.lower() or "_" in shape or shape not in SHAPES:
            raise MermaidRefusedError(f"Mermaid has no shape called “{shape}”.")
        vertex["shape"] = shape
    label = values.get("label")
    if label:
        vertex["text"] = label
        kind = values.get("labelType")
        vertex["label_type"] = kind if kind in ("markdown", "string", "text") else "markdown"
    for key in ("icon", "img"):
        if values.get(key):
            vertex[key] = values[key]
            if label and not isinstance(label, str):
                raise MermaidRefusedError(f"The label of {name} must be text.")
            if not (label and trim(label)) and vertex["text"] == name:
                vertex["text"] = ""
    for key in ("form", "pos", "constraint"):
        if values.get(key):
            vertex[key] = values[key]
    for key, stored in (("w", "assetWidth"), ("h", "assetHeight")):
        if values.get(key):
            vertex[stored] = values[key]


def _shown(label: Label) -> str:
    text = sanitise_label(label.text)
    if text.startswith('"') and text.endswith('"'):
        text = text[1:-1]
    return text


def _split_styles(styles: tuple[str, ...]) -> list[str]:
    joined = ",".join(styles).replace("\\,", "\0").replace(",", ";").replace("\0", ",")
    return joined.split(";")


def _last_line(diagram: Diagram) -> int:
    lines = split_lines("".join(block.text for block in diagram.blocks))
    last = len(lines)
    while last > 1 and not lines[last - 1].rstrip("\r\n"):
        last -= 1
    return max(last, 1)
