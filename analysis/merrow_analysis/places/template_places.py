"""Where the prompts with variables are written, and which nodes use each of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.definitions.prompts import Prompt, PromptBook
from merrow_analysis.definitions.settings import NO_SETTINGS, WorkflowSettings, read_settings
from merrow_analysis.definitions.templates import PromptTemplate, TemplatePiece, pieces
from merrow_analysis.graph.instructions import prompt_of
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.places.node_places import source_span
from merrow_analysis.syntax.tree import Block, FrontMatter
from merrow_analysis.text import Span

if TYPE_CHECKING:
    from merrow_analysis.check import Analysis

Front = tuple[FrontMatter, Block] | None


@dataclass(slots=True, eq=False)
class TemplateText:
    """A template and the nodes that use it, in the order of first mention. ``span`` is the place of its source in ``block``;
    None where it is written in another file.
    """

    text: PromptTemplate
    nodes: list[TypedNode] = field(default_factory=list)
    block: Block | None = None
    span: Span = (0, 0)

    def written(self) -> list[TemplatePiece]:
        """Its pieces with their places in the block; none where it is not written there as it is."""
        if self.block is None:
            return []
        start, end = self.span
        written_pieces = pieces(self.block.text[start:end])
        if [(piece.kind, piece.text) for piece in written_pieces if piece.kind != "text"] != [
            (piece.kind, piece.text) for piece in pieces(self.text) if piece.kind != "text"
        ]:
            return []
        return [piece._replace(span=(start + piece.span[0], start + piece.span[1])) for piece in written_pieces]


def _may_have_templates(graph: TypedGraph, book: PromptBook) -> bool:
    """Whether any prompt may be a template: a quick look, for files that have none."""
    return (
        bool(graph.marks.templates)
        or any(isinstance(prompt.text, PromptTemplate) for prompt in book.prompts.values())
        or any(isinstance(spec.prompt, PromptTemplate) for spec in graph.operators.specs.values())
    )


def template_texts(graph: TypedGraph, book: PromptBook, front: Front, own: WorkflowSettings) -> list[TemplateText]:
    """Every template that a node uses. ``own`` are the settings that the front matter itself says."""
    if not _may_have_templates(graph, book):
        return []
    texts: dict[object, TemplateText] = {}
    for index in graph.ranked:
        node = graph.node(index)
        if node.kind != "operator" or node.spec is None or not node.spec.has_prompt:
            continue
        prompt = prompt_of(node, book)
        text = prompt.text if isinstance(prompt, Prompt) else prompt
        if not isinstance(text, PromptTemplate):
            continue
        key, block, span = _source(node, prompt, front, own)
        texts.setdefault(key, TemplateText(text, [], block, span)).nodes.append(node)
    return list(texts.values())


def _source(
    node: TypedNode, prompt: Prompt | str | None, front: Front, own: WorkflowSettings
) -> tuple[object, Block | None, Span]:
    """What the template that a node uses is known by, and where it is written."""
    parameter = node.resolution.parameters.get(_key(node))
    if parameter is not None and isinstance(parameter.value, str) and parameter.value.strip():
        return node.id, *_at_node(node)
    if node.spec is not None and node.spec.prompt is not None:
        path: tuple[str, ...] = ("operators", node.spec.name, "prompt")
    elif isinstance(prompt, Prompt):
        if prompt.file is not None:
            return (prompt.file, prompt.name), None, (0, 0)
        whole = own.document.places("workflow", "prompts", prompt.name, "text")
        path = ("prompts", prompt.name) if whole is None else ("prompts", prompt.name, "text")
    else:
        return node.id, *_at_label(node)
    places = own.document.places("workflow", *path)
    if front is None or places is None:
        return path, None, (0, 0)
    start = front[0].body_span[0]
    return path, front[1], (start + places[1][0], start + places[1][1])


def _key(node: TypedNode) -> str:
    return "prompt" if node.spec is None else node.spec.prompt_key


def _at_node(node: TypedNode) -> tuple[Block | None, Span]:
    key = _key(node)
    parameter, parts = node.resolution.parameters[key], node.resolution.label_parts
    if parameter.block is not None:
        metadata, block = node.flow.metadata[parameter.block]
        return block, source_span(metadata, block, parse_metadata(metadata.body).value_span(key))
    label, block_of_label = node.flow.label, node.flow.label_block
    if parts is None or label is None or block_of_label is None:
        return None, (0, 0)
    at = block_of_label.text.find(label.text, *label.span)
    start, end = parts.parameters[key].value_span
    return (None, (0, 0)) if at == -1 else (block_of_label, (at + start, at + end))


def _at_label(node: TypedNode) -> tuple[Block | None, Span]:
    """The text of a plain step."""
    label, block = node.flow.label, node.flow.label_block
    return (None, (0, 0)) if label is None or block is None else (block, label.span)


def templates_of(analysis: Analysis) -> list[TemplateText]:
    """The templates of a text that was analysed."""
    front = analysis.diagram.front_matter
    if analysis.typed is None:
        return []
    own = NO_SETTINGS if front is None else read_settings(front[0].body, front[0].indent)
    return template_texts(analysis.typed, analysis.prompts, front, own)
