"""The operators of plain steps written out: lines below a drawing that say what was read into it."""

from __future__ import annotations

from collections.abc import Iterable

from merrow_analysis.definitions.labels.parameters import parse_label
from merrow_analysis.definitions.operators import INTERFACE_CLASS, INTERFACE_STYLE
from merrow_analysis.definitions.settings import WorkflowSettings, read_settings
from merrow_analysis.edits.labels import between_bars, takes_label, write_label
from merrow_analysis.edits.lines import indentation, insert_lines_after
from merrow_analysis.edits.yaml_write import quoted, word
from merrow_analysis.graph.boxes.edge_words import AGAIN
from merrow_analysis.graph.drawings.drawing import PROBLEM_ID, RETURN_ID
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.plain_steps import is_step, plain_nodes
from merrow_analysis.rules.drawn.written_arrows import named_steps, reads_otherwise
from merrow_analysis.rules.fixes.loop_fixes import with_word
from merrow_analysis.rules.operator_rules import class_for
from merrow_analysis.rules.reporting import edges_of_arrow
from merrow_analysis.syntax.tree import Block, FrontMatter
from merrow_analysis.text import Position, Range, TextEdit

_TOP = Range(Position(0, 0), Position(0, 0))


def write_out(
    graph: TypedGraph, settings: WorkflowSettings, front: tuple[FrontMatter, Block] | None
) -> list[TextEdit] | None:
    """The edits after which the file says itself what its plain steps mean; None where it can't be said so.

    Classes, prompts, titles and memory of the steps, PROBLEM and RETURN with their edges, and the names of a drawing's own
    ends are added below the drawing, whose boxes stay as they are.
    """
    block = graph.flow.last_block
    plain, drawn = plain_nodes(graph), graph.core.reading.drawn
    named = [node for node in graph.nodes if not node.implied and node.kind in ("input", "output")] if drawn else []
    if block is None or graph.cycles:
        # An arrow back that makes no Loop has an error of its own.
        return None
    edits, again, boxes = _words(graph), _arrows_back(graph), named_steps(graph)
    loosely = drawn and (again is None or boxes is None or edits is None or reads_otherwise(graph))
    names = _front_matter(graph, front, loosely) if drawn else []
    labels = [_label(node, graph) for node in plain]
    incomplete = not drawn and (edits is None or again is None)
    if names is None or any(label is None for label in labels) or incomplete:
        return None
    edits = [*(edits or []), *names]
    edits += again or []
    edits += boxes or []
    edits += [edit for label in labels for edit in label or ()]
    lines: list[str] = []
    classes: dict[str, tuple[list[str], str]] = {}
    for node in plain:
        spec = node.spec
        assert spec is not None  # noqa: S101 (a plain step has an operator)
        classes.setdefault(class_for(spec, graph.flow), ([], spec.style))[0].append(node.id)
        entries = ", ".join(f"{key}: {value}" for key, value in _entries(node, settings).items())
        if entries:
            lines.append(f"{node.id}@{{ {entries} }}")
    lines += [
        f"{node.id}@{{ type: Problem }}"
        for node in named
        if node.kind == "input" and node.id in graph.core.ends and node.resolution.declared is None
    ]
    ends = [node.id for node in named]
    ends += [node.id for node in graph.nodes if node.implied]
    if ends:
        classes[INTERFACE_CLASS] = (ends, INTERFACE_STYLE)
    texts = {PROBLEM_ID: "Problem", RETURN_ID: "Return"}
    drawing = [f"{node.id}([{texts[node.id]}])" for node in graph.nodes if node.implied]
    drawing += [_line(edge) for edge in graph.edges if edge.implied and (edge.source.implied or edge.target.implied)]
    lines = [*drawing, *lines]
    for name, (ids, style) in classes.items():
        if name not in graph.flow.class_defs:
            lines.append(f"classDef {name} {style};")
        lines.append(f"class {','.join(ids)} {name};")
    indent = indentation(_first_block(graph) or block)
    return [*edits, insert_lines_after(block, [indent + line for line in lines])]


def _line(edge: TypedEdge) -> str:
    """The line that draws an implied edge."""
    label = edge.flow.arrow.label
    shown = "" if label is None else f"|{between_bars(label.text)}|"
    return f"{edge.source.id} -->{shown} {edge.target.id}"


def _arrows_back(graph: TypedGraph) -> list[TextEdit] | None:
    """The word ``again`` on the arrows back. None where one of them is drawn together with others that say
    something else, or takes no label.
    """
    edits: dict[Range, TextEdit] = {}
    back = set(graph.again_records)
    for edge in graph.again:
        text = with_word(edge, AGAIN)
        if any(other.record not in back for other in edges_of_arrow(edge, graph)) or not takes_label(edge, text):
            return None
        edit = write_label(edge, text)
        if edits.setdefault(edit.range, edit) != edit:
            return None  # One arrow to or from several, of which only some ask.
    return list(edits.values())


def _first_block(graph: TypedGraph) -> Block | None:
    """Where the drawing begins, with a node or with a box around some."""
    nodes = (node.flow.mentions[0].block for node in graph.nodes if not node.implied)
    boxes = (group.block for group in graph.flow.subgraphs.values())
    return min((*nodes, *boxes), key=lambda block: block.line, default=None)


def _entries(node: TypedNode, settings: WorkflowSettings) -> dict[str, str]:
    """What the metadata of a plain step says, as YAML by key."""
    text, parameters = node.resolution.plain or "", node.resolution.parameters
    if node.kind == "operator" and not is_step(node):
        return {"how": "concat"} if "how" in parameters else {}
    entries: dict[str, str] = {}
    if node.kind == "operator":
        if "role" not in parameters:
            entries["role"] = quoted(node.resolution.title or "", in_statement=True)
            if "prompt" not in parameters:
                entries["prompt"] = quoted(text, in_statement=True)
    elif node.asks and "ask" not in parameters:
        entries["ask"] = quoted(text, in_statement=True)
    if not settings.says_memory and "memory" not in parameters and (node.kind == "operator" or node.asks):
        entries["memory"] = "all"
    return entries


def _words(graph: TypedGraph) -> list[TextEdit] | None:
    """Labels that only tell people something, replaced by the port that they would be taken for."""
    edits: dict[Range, TextEdit] = {}
    for edge in graph.edges:
        if edge.placed.label.words is None:
            continue
        sharing = edges_of_arrow(edge, graph)
        chosen = any(other.source.kind == "decision" for other in sharing)
        if len({feed.port for feed in edge.feeds}) != 1 or not _agree(sharing) or chosen:
            return None
        edit = write_label(edge, edge.feeds[0].port)
        edits[edit.range] = edit
    return list(edits.values())


def _agree(edges: Iterable[TypedEdge]) -> bool:
    return len({edge.port for edge in edges}) == 1


def _label(node: TypedNode, graph: TypedGraph) -> list[TextEdit] | None:
    """Edits by which a label isn't taken for an operator or parameters at a node with a class; it shows the same."""
    label, block = node.flow.label, node.flow.label_block
    if label is None or block is None or node.kind == "decision":
        return []
    parts = parse_label(label.text)
    near = graph.operators.nearest(parts.operator_word)
    if "(" not in label.text and near is None:
        return []
    start = label.text.find(parts.operator_word) if near is not None and parts.operator_word else -1
    text = label.text if start < 0 else f"{label.text[:start]}#{ord(label.text[start])};{label.text[start + 1 :]}"
    at = block.text.find(label.text, *label.span)
    if at < 0:
        return None
    return [TextEdit(block.range((at, at + len(label.text))), text.replace("(", "#40;").replace(")", "#41;"))]


def _front_matter(graph: TypedGraph, front: tuple[FrontMatter, Block] | None, loosely: bool) -> list[TextEdit] | None:
    """The edit that names the inputs and outputs which the drawing has itself, and says where arrows are read as those of a
    drawing (``loosely``); empty where there is nothing to say.
    """
    wanted: dict[str, list[str]] = {
        key: [node.id for node in nodes]
        for key, nodes in (("inputs", graph.inputs), ("outputs", graph.outputs))
        if any(node.id in graph.core.ends or node.id in graph.core.results for node in nodes)
    }
    entries = [f"{key}: [{', '.join(word(name) or name for name in names)}]" for key, names in wanted.items()]
    entries += ["drawn: true"] if loosely else []
    if not entries:
        return []
    if front is None:
        body = "".join(f"  {entry}\n" for entry in entries)
        return [TextEdit(_TOP, f"---\nworkflow:\n{body}---\n")]
    matter, block = front
    start, end = matter.body_span
    body = block.text[start:end]
    for place, text in _additions(body, entries):
        changed = f"{body[: place[0]]}{text}{body[place[1] :]}"
        settings = read_settings(changed, matter.indent)
        declared = {"inputs": settings.inputs, "outputs": settings.outputs, "drawn": settings.drawn}
        if not settings.violations and declared == {"inputs": None, "outputs": None, "drawn": loosely, **wanted}:
            return [TextEdit(block.range((start + place[0], start + place[1])), text)]
    return None


def _additions(body: str, entries: list[str]) -> Iterable[tuple[tuple[int, int], str]]:
    """Ways to add entries to the workflow's settings: places in the front matter, and what to write there."""
    lines = body.splitlines(keepends=True)
    offset = 0
    for number, line in enumerate(lines):
        if line.rstrip() in ("workflow:", "workflow: true", "workflow: {}"):
            following = lines[number + 1] if number + 1 < len(lines) else ""
            step = following[: len(following) - len(following.lstrip())] or "  "
            added = "\n".join(["workflow:", *(f"{step}{entry}" for entry in entries)])
            yield (offset, offset + len(line.rstrip("\r\n"))), added
        offset += len(line)
    added = "\n".join(["workflow:", *(f"  {entry}" for entry in entries)])
    yield (len(body), len(body)), f"{added}\n" if not body or body.endswith("\n") else f"\n{added}"
