"""What Mermaid itself would refuse, or read differently from how it looks: rules MW0xx, with their fixes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import zip_longest

from merrow_analysis.definitions.front_matter import read_front_matter
from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.diagnostics import Applicability, Diagnostic, Fix, Related, Severity
from merrow_analysis.graph.drawings.fold import MOST_EDGES_READ
from merrow_analysis.graph.flow import Flowchart, Undrawn
from merrow_analysis.rules.context import TextContext
from merrow_analysis.rules.fixes.end_fixes import closed, link_style_fixes
from merrow_analysis.rules.fixes.id_fixes import ReservedIds
from merrow_analysis.rules.fixes.syntax_fixes import fixes_for
from merrow_analysis.rules.fixes.yaml_fixes import readable_front, readable_metadata
from merrow_analysis.rules.registry import FixAvailability, Flags, Rule, RuleFamily, Scope
from merrow_analysis.rules.reporting import fix, metadata_value_span, report
from merrow_analysis.suggest import closest
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.shapes import SHAPES, is_shape
from merrow_analysis.syntax.tree import (
    Arrow,
    Block,
    Broken,
    Chain,
    Flaw,
    LinkStyle,
    Metadata,
    SubgraphEnd,
    SubgraphStart,
    Vertex,
)
from merrow_analysis.text import Position, Range, TextEdit

_FAMILY = RuleFamily[TextContext](Scope.TEXT, Flags.READING)


def _refused(code: str, name: str, summary: str, fix: FixAvailability = "none") -> Rule:
    """A rule about a text that Mermaid itself refuses."""
    return _FAMILY.rule(code, name, summary, Severity.ERROR, fix=fix, flags=Flags.REFUSED)


SYNTAX_ERROR = _refused("MW001", "syntax-error", "A statement is not valid Mermaid.", fix="sometimes")
UNCLOSED_BRACKET = _refused("MW002", "unclosed-bracket", "A bracket is never closed.", fix="sometimes")
UNCLOSED_QUOTE = _refused("MW003", "unclosed-quote", "A quote is never closed.", fix="sometimes")
COMMENT_AFTER_STATEMENT = _refused(
    "MW004", "comment-after-statement", "A comment follows a statement on the same line.", fix="sometimes"
)
RESERVED_WORD = _refused("MW005", "reserved-word", "A reserved word of Mermaid is used as an id.", fix="sometimes")
BRACKET_IN_LABEL = _refused("MW006", "bracket-in-label", "A label without quotes contains a bracket.", fix="sometimes")
METADATA = _refused("MW007", "metadata-not-yaml", "A metadata block is not valid YAML.", fix="sometimes")
FRONT_MATTER = _refused("MW008", "front-matter-not-yaml", "The front matter is not valid YAML.", fix="sometimes")
SHAPE = _refused("MW009", "unknown-shape", "Mermaid has no shape of this name.", fix="sometimes")
MISPLACED_FRONT_MATTER = _refused(
    "MW010", "misplaced-front-matter", "Front matter is not closed, or not at the top.", fix="sometimes"
)
NOT_A_DIAGRAM = _refused("MW011", "not-a-diagram", "The text does not begin like a Mermaid diagram.", fix="sometimes")
STRAY_END = _refused("MW012", "stray-end", "An end closes no subgraph.", fix="sometimes")
UNCLOSED = _refused("MW013", "unclosed-subgraph", "A subgraph is never closed.", fix="sometimes")
LINK_STYLE = _refused("MW014", "link-style-out-of-range", "linkStyle names an edge that isn't there.", fix="sometimes")
TOO_MANY = _FAMILY.rule(
    "MW015", "too-many-edges", "The flowchart has more edges than Mermaid draws by default.", Severity.WARNING
)
MISREAD = _FAMILY.rule(
    "MW016", "misread-id", "Mermaid reads an id differently from how it looks.", Severity.WARNING, fix="sometimes"
)

MOST_EDGES = 500
"""Mermaid's default for its setting maxEdges, which hosts such as GitHub leave alone."""

_HEADS = {"arrow_cross": "x", "arrow_circle": "o", "double_arrow_cross": "x", "double_arrow_circle": "o"}
_BROKEN: dict[Flaw, Rule] = {
    "syntax-error": SYNTAX_ERROR,
    "unclosed-bracket": UNCLOSED_BRACKET,
    "unclosed-quote": UNCLOSED_QUOTE,
    "comment-after-statement": COMMENT_AFTER_STATEMENT,
    "reserved-word": RESERVED_WORD,
    "bracket-in-label": BRACKET_IN_LABEL,
    "misplaced-front-matter": MISPLACED_FRONT_MATTER,
    "not-a-diagram": NOT_A_DIAGRAM,
}
_SUBGRAPH = re.compile(r"subgraph\b")
_WORD = re.compile(r"\w+")


def is_notable(block: Block) -> bool:
    """Whether these rules have anything to say about a block, or look at it together with others.

    All others need not be among the ``notable`` blocks of a `TextContext`.
    """
    if not _has_notable(block):
        return False
    if any(type(statement) is not Chain for statement in block.statements):
        return True
    return bool(check_syntax(TextContext(*_ALONE, [block])))


_ALONE = Diagram(), Flowchart()


def _has_notable(block: Block) -> bool:
    # Nearly all blocks are asked about: what these texts are not in has neither metadata nor comment marks.
    doubtful = "%%" in block.text or "@" in block.text
    for statement in block.statements:
        if isinstance(statement, Chain):
            for arrow in statement.arrows:
                if arrow.type in _HEADS:
                    return True
            if doubtful and _is_odd(statement, block):
                return True
        elif type(statement) in _NOTABLE:
            return True
    return False


@_FAMILY.checked_by
def check_syntax(context: TextContext) -> list[Diagnostic]:
    """Everything about the syntax of a diagram: none for one of another kind. Never raises."""
    diagram, flow = context.diagram, context.flow
    findings: list[Diagnostic] = []
    if diagram.kind == "other":
        return findings
    if diagram.front_matter is not None:
        findings += _front_matter(diagram)
    reserved = ReservedIds(diagram, flow)
    open_subgraphs: list[tuple[SubgraphStart, Block]] = []
    half_open = 0
    begins_id: Range | None = None
    for block in context.notable:
        for statement, following in zip_longest(block.statements, block.statements[1:]):
            if isinstance(statement, Chain):
                if _is_odd(statement, block):
                    findings += _chain(statement, block)
            elif isinstance(statement, Broken):
                findings.append(_broken(statement, block, context, reserved))
                half_open += _SUBGRAPH.match(block.text, statement.span[0]) is not None
            elif isinstance(statement, SubgraphStart):
                open_subgraphs.append((statement, block))
            elif isinstance(statement, SubgraphEnd):
                if isinstance(following, Broken) and following.problem.span[0] == statement.span[0]:
                    continue  # it is the id of a node
                if open_subgraphs:
                    open_subgraphs.pop()
                    if _begins_id(statement, block):
                        begins_id = block.range(statement.span)
                elif half_open:
                    half_open -= 1  # it belongs to a subgraph whose first line can't be read
                else:
                    findings.append(_stray_end(statement, block, reserved, begins_id))
            elif isinstance(statement, LinkStyle) and flow.scenery.undrawn is None:
                findings += _link_style(statement, block, _edges_before(flow, (block.line, statement.span[0])))
    if open_subgraphs:
        findings += _unclosed(open_subgraphs, diagram)
    if flow.scenery.undrawn is not None:
        findings.append(_unreadable(flow, flow.scenery.undrawn))
    elif len(flow.chart.edges) > MOST_EDGES:
        findings.append(_too_many(flow))
    return findings


_NOTABLE = frozenset((Broken, SubgraphStart, SubgraphEnd, LinkStyle))


def _edges_before(flow: Flowchart, place: tuple[int, int]) -> int:
    """How many edges are drawn above a place, given as a line and an offset in its block."""
    here = flow.here
    return bisect_left(flow.chart.edges, place, key=lambda edge: (here(edge.block).line, edge.arrow.span[0]))


def _broken(statement: Broken, block: Block, context: TextContext, reserved: ReservedIds) -> Diagnostic:
    problem = statement.problem
    related = [Related(block.range(span), text) for span, text in problem.related]
    return report(
        _BROKEN[problem.flaw],
        block.range(problem.span),
        problem.message,
        related=related,
        fixes=fixes_for(problem, block, context.diagram, context.flow, reserved),
    )


def _front_matter(diagram: Diagram) -> Iterator[Diagnostic]:
    if diagram.front_matter is None:
        return
    front, block = diagram.front_matter
    problem = read_front_matter(front.body, front.indent).error
    if problem is not None:
        place = block.range(_word_at(block.text, front.body_span[0] + problem.offset))
        fixes = readable_front(front, block, problem.offset)
        yield report(FRONT_MATTER, place, f"The front matter is not valid YAML: {problem.message}", fixes=fixes)


def _word_at(text: str, at: int) -> tuple[int, int]:
    """A span that can be seen at an offset: the word there, else a character, else the one before."""
    at = min(max(at, 0), len(text))
    match = _WORD.match(text, at)
    if match:
        return match.span()
    if at < len(text) and text[at] not in "\r\n":
        return at, at + 1
    while at > 0 and text[at - 1] in "\r\n":
        at -= 1
    return max(at - 1, 0), at


# Nodes


def _is_odd(chain: Chain, block: Block) -> bool:
    """Whether anything in a chain needs a look: metadata, arrows that end in a letter, a comment mark."""
    for group in chain.groups:
        for vertex in group:
            if vertex.metadata is not None:
                return True
    for arrow in chain.arrows:
        if arrow.type in _HEADS:
            return True
    # Only this chain's own text: a line may hold thousands of statements.
    return block.text.find("%%", *chain.span) != -1


def _chain(chain: Chain, block: Block) -> Iterator[Diagnostic]:
    for group in chain.groups:
        for vertex in group:
            if vertex.metadata is not None:
                yield from _metadata(vertex, vertex.metadata, block)
            if vertex.name.text == "%%":
                yield _empty_comment(vertex, block)
            elif "%%" in vertex.name.text:
                yield _comment_in_id(vertex, block)
    for index, arrow in enumerate(chain.arrows):
        if arrow.type in _HEADS and arrow.label is None:
            target = chain.groups[index + 1][0]
            if arrow.span[1] == target.name.span[0]:
                yield _misread_arrow(arrow, target, block)


def _metadata(vertex: Vertex, metadata: Metadata, block: Block) -> Iterator[Diagnostic]:
    doc = parse_metadata(metadata.body)
    name = vertex.name.text
    if doc.error is not None:
        span = metadata.body_span
        if span[1] - span[0] == len(metadata.body):
            span = _word_at(block.text, span[0] + doc.error.offset)
        message = f"The metadata of {name} is not valid YAML: {doc.error.message}"
        yield report(METADATA, block.range(span), message, fixes=readable_metadata(metadata, block, doc.error.offset))
        return
    if doc.value is None and not doc.is_empty:
        place, message = block.range(metadata.span), f"The metadata of {name} says nothing: remove it."
        yield report(METADATA, place, message, fixes=[fix("Remove the metadata", [TextEdit(place, "")], safe=False)])
        return
    shape = doc.values.get("shape")
    if shape and not is_shape(shape):
        yield _unknown_shape(name, shape, metadata, block)


def _unknown_shape(name: str, shape: object, metadata: Metadata, block: Block) -> Diagnostic:
    span = metadata_value_span(metadata, "shape") or metadata.span
    near = closest(str(shape), (known for known in SHAPES if is_shape(known)))
    hint = f"did you mean “{near}”?" if near else "choose one of Mermaid's shapes, such as rect, rounded or diam."
    fixes = []
    if near and span is not metadata.span:
        fixes.append(Fix(f"Write {near}", (TextEdit(block.range(span), near),), Applicability.UNSAFE))
    return report(SHAPE, block.range(span), f"Mermaid has no shape “{shape}” for {name}: {hint}", fixes=fixes)


def _misread_arrow(arrow: Arrow, target: Vertex, block: Block) -> Diagnostic:
    head = _HEADS[arrow.type]
    name = target.name.text
    at = block.position(arrow.span[1])
    before = block.position(arrow.span[1] - 1)
    word = "cross" if head == "x" else "circle"
    message = (
        f"Mermaid reads the {head} as the arrow's head and the node as {name}: write a space after {head} for a {word},"
        f" or before it for a node {head}{name}."
    )
    line = block.text[arrow.span[0] : arrow.span[1] - 1]
    # Without its head the arrow is one character shorter than any arrow may be.
    lengthen = line[-1:] if len(line) < 3 else ""
    return report(
        MISREAD,
        Range(before, block.position(target.name.span[1])),
        message,
        fixes=[
            Fix(f"Keep the {word}: add a space", (TextEdit(Range(at, at), " "),), Applicability.UNSAFE),
            Fix(
                f"Name the node {head}{name}",
                (TextEdit(Range(before, before), f"{lengthen} "),),
                Applicability.UNSAFE,
            ),
        ],
    )


def _comment_in_id(vertex: Vertex, block: Block) -> Diagnostic:
    message = (
        f"Mermaid reads “{vertex.name.text}” as one id: a comment needs a line of its own, and %% isn't allowed in an id"
        " by intent."
    )
    return report(MISREAD, block.range(vertex.name.span), message)


def _empty_comment(vertex: Vertex, block: Block) -> Diagnostic:
    message = "Mermaid draws a node `%%` here, since a comment needs a text: write one, or remove the marks."
    fixes = []
    if block.text.strip() == "%%":
        whole = Range(Position(block.line, 0), Position(block.line + block.line_count, 0))
        fixes.append(fix("Remove the empty comment", [TextEdit(whole, "")]))
    return report(MISREAD, block.range(vertex.name.span), message, fixes=fixes)


# Subgraphs and edges


def _begins_id(end: SubgraphEnd, block: Block) -> bool:
    """Whether an end is the beginning of what looks like an id: ``end-user``."""
    return block.text.startswith("-", end.span[1])


def _stray_end(end: SubgraphEnd, block: Block, reserved: ReservedIds, before: Range | None) -> Diagnostic:
    """The finding; ``before`` is the place of an end that closed a subgraph although it begins what looks like an id."""
    place = block.range(end.span)
    if _begins_id(end, block):
        message = "The word end closes a subgraph, so no id can begin with it and a dash: choose another id."
        return report(RESERVED_WORD, place, message, fixes=reserved.fixes(place.start.line))
    if before is not None:
        message = "This end closes no subgraph, since an id above begins with the word end, which closes one: choose another id."
        related = [Related(before, "closes the subgraph")]
        return report(STRAY_END, place, message, related=related, fixes=reserved.fixes(before.start.line))
    message = "This end closes no subgraph: remove it, or open a subgraph above it."
    fixes: list[Fix] = []
    if len(block.statements) == 1:
        whole = Range(Position(block.line, 0), Position(block.line + block.line_count, 0))
        fixes.append(Fix("Remove this end", (TextEdit(whole, ""),), Applicability.UNSAFE))
    return report(STRAY_END, place, message, fixes=fixes)


def _unclosed(open_subgraphs: list[tuple[SubgraphStart, Block]], diagram: Diagram) -> Iterator[Diagnostic]:
    for start, block in open_subgraphs:
        name = start.title.text.strip() if start.title is not None else ""
        message = f"The subgraph {name or 'here'} is never closed: write end after its last line."
        yield report(
            UNCLOSED, block.range(start.span), message, fixes=closed([group for _, group in open_subgraphs], diagram)
        )


def _link_style(statement: LinkStyle, block: Block, edges: int) -> Iterator[Diagnostic]:
    for target in statement.targets or ():
        if target >= edges:
            known = f"the edges above are 0 to {edges - 1}" if edges else "there is no edge above"
            message = f"linkStyle names edge {target}, but {known}: edges count from 0, and must be above the style."
            fixes = link_style_fixes(statement, block, edges)
            yield report(LINK_STYLE, block.range(statement.span), message, fixes=fixes)
            return


def _too_many(flow: Flowchart) -> Diagnostic:
    message = (
        f"The flowchart has {len(flow.chart.edges)} edges: Mermaid draws at most {MOST_EDGES} unless its setting maxEdges is"
        " raised, which GitHub does not do."
    )
    return report(TOO_MANY, flow.edge(flow.chart.edges[MOST_EDGES]).range, message)


def _unreadable(flow: Flowchart, undrawn: Undrawn) -> Diagnostic:
    message = (
        f"The text has {undrawn.edges:,} edges, since each node before an arrow leads to each one after it. Merrow reads none of"
        f" more than {MOST_EDGES_READ:,}, and Mermaid draws at most {MOST_EDGES} unless its setting maxEdges is raised; name"
        " fewer nodes around an arrow."
    )
    return report(TOO_MANY, flow.here(undrawn.block).range(undrawn.statement.span), message)
