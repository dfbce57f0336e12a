"""The outline of a file: its front matter, its subgraphs with their nodes, and the nodes with their operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.front_matter import read_front_matter
from merrow_analysis.graph.flow import FlowNode, Mention
from merrow_analysis.ide.subgraphs import Stretch, stretches
from merrow_analysis.places.front_names import scalar_span
from merrow_analysis.text import Range, Span

EntryKind = Literal["front-matter", "key", "prompt", "operator", "type", "subgraph", "node", "interface", "decision"]

_SECTIONS: Mapping[str, EntryKind] = {"prompts": "prompt", "operators": "operator", "types": "type"}


@dataclass(slots=True, eq=False)
class OutlineEntry:
    """One entry of the outline: ``range`` is all of it, ``name_range`` lies in it and is where a click leads."""

    name: str
    kind: EntryKind
    range: Range
    name_range: Range
    detail: str = ""
    children: list[OutlineEntry] = field(default_factory=list)


def outline(analysis: Analysis) -> list[OutlineEntry]:
    """The entries of a file in the order of the text, those of a front matter or subgraph below it."""
    entries = list(_front_matter(analysis))
    if not analysis.diagram.is_flowchart:
        return entries
    boxes = stretches(analysis.diagram)
    made = {id(stretch): _subgraph(analysis, stretch) for stretch in boxes}
    by_name: dict[str, Stretch] = {}
    for stretch in boxes:
        by_name.setdefault(stretch.id, stretch)
        siblings = entries if stretch.parent is None else made[id(stretch.parent)].children
        siblings.append(made[id(stretch)])
    flow = analysis.flow
    home = {node: by_name[name] for name, group in flow.subgraphs.items() if name in by_name for node in group.nodes}
    for node in flow.nodes.values():
        if node.id in flow.subgraphs:
            continue
        stretch_of_node = home.get(node.id)
        siblings = entries if stretch_of_node is None else made[id(stretch_of_node)].children
        siblings.append(_node(analysis, node, stretch_of_node))
    for siblings in (entries, *(entry.children for entry in made.values())):
        siblings.sort(key=_start)
    return entries


def flattened(entries: list[OutlineEntry]) -> Iterator[tuple[OutlineEntry, str]]:
    """Each entry with the name of the one above it, for clients and lists without levels."""
    waiting = [(entry, "") for entry in reversed(entries)]
    while waiting:
        entry, above = waiting.pop()
        yield entry, above
        waiting += [(child, entry.name) for child in reversed(entry.children)]


def matches(query: str, name: str) -> bool:
    """Whether the letters of a query are in a name, in this order and regardless of case."""
    letters = iter(name.casefold())
    return all(letter in letters for letter in query.casefold() if not letter.isspace())


def _start(entry: OutlineEntry) -> Range:
    return entry.range


def _subgraph(analysis: Analysis, stretch: Stretch) -> OutlineEntry:
    head = stretch.head
    place = head.id.span if head.id is not None else head.title.span if head.title is not None else head.span
    detail = stretch.title if stretch.title != stretch.id else ""
    box = analysis.typed.composites.boxes.get(stretch.id) if analysis.typed is not None else None
    if box is not None and not detail.startswith(box.operator):
        detail = f"{box.operator}: {detail}" if detail else box.operator
    return OutlineEntry(stretch.id, "subgraph", stretch.range, stretch.block.range(place), detail)


def _node(analysis: Analysis, node: FlowNode, home: Stretch | None) -> OutlineEntry:
    """A node where it is declared, or, inside a subgraph, where it is first mentioned there."""
    mentions = [mention for mention in node.mentions if mention.declares] or node.mentions
    if home is not None:
        inside = [mention for mention in (*mentions, *node.mentions) if _within(mention.range, home.range)]
        mentions = inside or mentions
    mention = mentions[0]
    kind, detail = _meaning(analysis, node)
    return OutlineEntry(node.id, kind, _whole(mention), mention.range, detail)


def _meaning(analysis: Analysis, node: FlowNode) -> tuple[EntryKind, str]:
    """What kind of entry a node is, and its operator; its label where it has none."""
    label = " ".join(node.label.text.split()) if node.label is not None else ""
    known = analysis.typed.by_id.get(node.id) if analysis.typed is not None else None
    resolution = None if known is None else known.resolution
    if resolution is None or resolution.kind == "unknown":
        return "node", label
    if resolution.kind in ("input", "output"):
        return "interface", resolution.kind
    if resolution.title is not None:
        return ("decision" if resolution.kind == "decision" else "node"), resolution.title
    name = resolution.spec.name if resolution.spec is not None else ""
    role = resolution.parameters.get("role")
    detail = f"{name} ({role.value})" if role is not None and isinstance(role.value, str) else name
    return ("decision" if resolution.kind == "decision" else "node"), detail


def _whole(mention: Mention) -> Range:
    vertex = mention.vertex
    end = vertex.metadata.span[1] if vertex.metadata is not None else vertex.span[1]
    return mention.block.range((vertex.name.span[0], end))


def _within(inner: Range, outer: Range) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _front_matter(analysis: Analysis) -> Iterator[OutlineEntry]:
    if analysis.diagram.front_matter is None:
        return
    front, block = analysis.diagram.front_matter
    document = read_front_matter(front.body, front.indent)
    start = front.body_span[0]

    def entry(name: str, kind: EntryKind, *path: str) -> OutlineEntry | None:
        places = document.places(*path)
        if places is None:
            return None
        (key_start, key_end), (_, value_end) = places
        key: Span = scalar_span(block.text, (start + key_start, start + key_end))
        whole = block.range((start + key_start, start + max(key_end, value_end)))
        return OutlineEntry(name, kind, whole, block.range(key))

    place = block.range(front.span)
    top = OutlineEntry("front matter", "front-matter", place, Range(place.start, place.start))
    for key in document.values:
        made = entry(key, "key", key)
        if made is None:
            continue
        top.children.append(made)
        inner = document.values[key]
        if key == "workflow" and isinstance(inner, dict):
            for name, value in inner.items():
                section = entry(name, "key", key, name)
                if section is None:
                    continue
                made.children.append(section)
                if name in _SECTIONS and isinstance(value, dict):
                    parts = (entry(part, _SECTIONS[name], key, name, part) for part in value)
                    section.children += [part for part in parts if part is not None]
    yield top
