"""A fast path for the commonest lines, in front of the grammar.

`read_line` reads a line that is one whole statement in a common form and answers None for every other line, which then goes
through the lexer and the grammar. It must never answer differently from them: a test compares both on every line of the
conformance texts and on made-up ones. So it takes ids of word characters alone, refuses keywords, and leaves every
doubtful character to the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from sys import intern

from merrow_analysis.syntax.arrows import read_arrow
from merrow_analysis.syntax.characters import trim
from merrow_analysis.syntax.tree import (
    Arrow,
    Chain,
    ClassAssign,
    ClassDef,
    Label,
    Metadata,
    Name,
    Statement,
    Style,
    SubgraphEnd,
    SubgraphStart,
    Vertex,
)

RESERVED = frozenset(
    (
        "style",
        "default",
        "linkStyle",
        "interpolate",
        "classDef",
        "class",
        "href",
        "click",
        "call",
        "graph",
        "flowchart",
        "subgraph",
        "end",
        "v",
        "_self",
        "_blank",
        "_parent",
        "_top",
        "accTitle",
        "accDescr",
    )
)
"""Words that are tokens of their own: a node id that equals one is left to the grammar."""

_DIGITS = "0123456789"
_ARROW_BODY = frozenset("-=.")
_TEXT = r'[^\[\](){}|"~\r\n]++'
_QUOTED = r'"(?!`)[^"\r\n]++"'
_LABEL = f"(?:{_QUOTED}|{_TEXT})"
# One alternative a shape; group 1 the id, the last groups the class. Brackets that could open another shape are left out by
# the label's own pattern, which holds no bracket outside quotes.
_SHAPES: tuple[tuple[str, str, str], ...] = (
    ("square", r"\[", r"\]"),
    ("stadium", r"\(\[", r"\]\)"),
    ("round", r"\(", r"\)"),
    ("diamond", r"\{", r"\}"),
    ("subroutine", r"\[\[", r"\]\]"),
    ("cylinder", r"\[\(", r"\)\]"),
    ("circle", r"\(\(", r"\)\)"),
    ("hexagon", r"\{\{", r"\}\}"),
)
_OTHER_SHAPE = {"square": "/\\", "round": "-", "circle": "-"}
"""First characters of a label that make another bracket of the shape's own."""
_VERTEX = re.compile(
    r"([A-Za-z0-9_]+)(?:"
    + "|".join(f"{opening}({_LABEL}){closing}" for _, opening, closing in _SHAPES)
    + r"|(?=[\s&;:@<=.-]|$))"
    + r"(?::::([A-Za-z_][A-Za-z0-9_]*))?"
    + r'(?:(@\{)((?:[^}^"\r\n]++|"[^"\r\n]*+")*+)\})?',
    re.ASCII,
)
_FIRST_SHAPE, _CLASS = 2, 2 + len(_SHAPES)
_META_OPEN, _META_BODY = _CLASS + 1, _CLASS + 2
# "-->" and its kin may stand close to the ids; "---" not, since "o" or "x" after it would belong to it.
_LINK = re.compile(
    r"[ \t]*(--+>|==+>|-\.+->|---+(?=[ \t|])|===+(?=[ \t|])|-\.+-(?=[ \t|]))[ \t]*(?:(\|)("
    + _LABEL
    + r")\|[ \t]*)?(?=\w)",
    re.ASCII,
)
# The two lines that most files consist of, each read by one pattern: two ids and an arrow, and one node with a label.
_EDGE = re.compile(
    r"[ \t]*+(\w++)[ \t]*+(--+>|==+>|-\.+->)[ \t]*+(?:\|(" + _LABEL + r")\|[ \t]*+)?(\w++)[ \t]*+;?[ \t]*+$", re.ASCII
)
_NODE = re.compile(rf"[ \t]*+(\w++)\[({_LABEL})\](?::::([A-Za-z_]\w*+))?[ \t]*+;?[ \t]*+$", re.ASCII)
_AMP = re.compile(r"[ \t]+&[ \t]+(?=\w)", re.ASCII)
_REST = re.compile(r"[ \t]*;?[ \t]*$")
_ONE_CLASS = re.compile(r"class[ \t]++(\w++)[ \t]++(\w++);?$", re.ASCII)
_CLASS_ASSIGN = re.compile(r"class[ \t]+(\w+(?:,\w+)*)[ \t]+(\w+);?$", re.ASCII)
# No space before a "#": then Mermaid would take "#fff;" for an entity.
_STYLE_PROPERTY = r"[a-z]+(?:-[a-z]+)*:(?:#[0-9a-fA-F]{3,8}|[ ]?(?:\d+(?:px|em|pt)?|[a-z]+|\d+ \d+))"
_STYLES = rf"{_STYLE_PROPERTY}(?:,{_STYLE_PROPERTY})*"
_CLASS_DEF = re.compile(rf"(classDef|style)[ \t]+(\w+)[ \t]+({_STYLES});?$", re.ASCII)
_STYLE_RESERVED = re.compile(r"\b(?:" + "|".join(sorted(RESERVED)) + r")\b", re.ASCII)
_SUBGRAPH = re.compile(rf"subgraph[ \t]+(\w+)[ \t]*(?:\[({_LABEL})\])?$", re.ASCII)


def read_line(line: str) -> tuple[Statement, ...] | None:
    """The statements of a line without its line ending, or None where the grammar must decide.

    A blank line gives an empty tuple. Lines that start with an arrow continue the statement before them and are never taken.
    """
    match = _EDGE.match(line)
    if match is not None:
        return _edge(match, line)
    start = len(line) - len(line.lstrip(" \t"))
    if start == len(line):
        return ()
    if "direction" in line or "~~~" in line or "%%" in line:
        return None
    special = _KEYWORDS.get(line[start : start + 3])
    if special is not None:
        return special(line, start)
    match = _NODE.match(line)
    if match is not None:
        return _node(match)
    if line[start] in "xo" and line[start + 1 : start + 2] in _ARROW_BODY:
        return None
    return _chain(line, start)


def _edge(match: re.Match[str], line: str) -> tuple[Statement, ...] | None:
    """What ``A --> B`` and ``A -->|text| B`` say; the same as `_chain` answers, where it is asked."""
    source, arrow, text, target = match.groups()
    if source in RESERVED or target in RESERVED or "direction" in line or source == "x" or source == "o":
        return None
    if (source[0] in _DIGITS and _is_reserved(source)) or (target[0] in _DIGITS and _is_reserved(target)):
        return None
    _, source_span, (begin, end), (label_start, label_end), target_span = match.regs
    kind = _ARROWS.get(arrow)
    if kind is None:
        kind = read_arrow(arrow)
        if len(arrow) <= _SHORT_ARROW:
            _ARROWS[arrow] = kind
    label = None
    if text is not None:
        label = None if "~~~" in text or "%%" in text else _label(text, label_start)
        if label is None:
            return None
        end = label_end + 1
    first = Vertex(Name(intern(source), source_span), None, None, (), None, source_span)
    second = Vertex(Name(intern(target), target_span), None, None, (), None, target_span)
    drawn = Arrow(kind[0], kind[1], kind[2], label, None, (begin, end))
    return (Chain(((first,), (second,)), (drawn,), (source_span[0], target_span[1])),)


def _node(match: re.Match[str]) -> tuple[Statement, ...] | None:
    """What ``A["text"]:::class`` says; the same as `_chain` answers."""
    text, inside, class_name = match.groups()
    if text in RESERVED or (text[0] in _DIGITS and _is_reserved(text)) or inside[0] in _OTHER_SHAPE["square"]:
        return None
    _, name_span, (start, end), class_span = match.regs
    label = _label(inside, start)
    if label is None:
        return None
    end += 1
    classes: tuple[Name, ...] = ()
    if class_name is not None:
        if _is_reserved(class_name):
            return None
        classes = (Name(intern(class_name), class_span),)
        end = class_span[1]
    span = (name_span[0], end)
    vertex = Vertex(Name(intern(text), name_span), "square", label, classes, None, span)
    return (Chain(((vertex,),), (), span),)


_SHORT_ARROW = 8
_ARROWS: dict[str, tuple[str, str, int | None]] = {}
"""What short arrows say; there are few different ones."""


def _chain(line: str, position: int) -> tuple[Statement, ...] | None:
    first = position
    arrows: list[Arrow] = []
    groups: list[tuple[Vertex, ...]] = []
    group: list[Vertex] = []
    while True:
        match = _VERTEX.match(line, position)
        if match is None:
            return None
        vertex = _vertex(match)
        if vertex is None:
            return None
        group.append(vertex)
        end = position = match.end()
        rest = _REST.match(line, position)
        if rest is not None:
            break
        amp = _AMP.match(line, position)
        if amp is not None:
            position = amp.end()
            continue
        link = _LINK.match(line, position)
        if link is None:
            return None
        kind, stroke, length = read_arrow(link[1])
        label = None
        if link[2]:
            label = _label(link[3], link.start(3))
            if label is None:
                return None
            arrow_end = link.end(3) + 1
        else:
            arrow_end = link.end(1)
        arrows.append(Arrow(kind, stroke, length, label, None, (link.start(1), arrow_end)))
        groups.append(tuple(group))
        group = []
        position = link.end()
    groups.append(tuple(group))
    return (Chain(tuple(groups), tuple(arrows), (first, end)),)


def _vertex(match: re.Match[str]) -> Vertex | None:
    text = match[1]
    if _is_reserved(text):
        return None
    # A file names each node several times: interned, the names take little memory and are found quickly.
    name = Name(intern(text), match.span(1))
    shape: str | None = None
    label: Label | None = None
    end = match.end(1)
    index = match.lastindex or 1
    if index > 1:
        if index >= _CLASS:
            metadata = None
            classes: tuple[Name, ...] = ()
            inside = next((i for i in range(_FIRST_SHAPE, _CLASS) if match[i] is not None), None)
            if match[_CLASS] is not None:
                if _is_reserved(match[_CLASS]):
                    return None
                classes = (Name(intern(match[_CLASS]), match.span(_CLASS)),)
                end = match.end(_CLASS)
            elif inside is not None:
                end = match.end(_META_OPEN) - 2
            if match[_META_OPEN]:
                body = match[_META_BODY]
                if "#" in body:
                    return None
                metadata = Metadata(body, (match.start(_META_OPEN), match.end()), match.span(_META_BODY))
        else:
            inside, metadata, classes, end = index, None, (), match.end()
        if inside is not None:
            shape = _SHAPES[inside - _FIRST_SHAPE][0]
            if match[inside][0] in _OTHER_SHAPE.get(shape, ""):
                return None
            label = _label(match[inside], match.start(inside))
            if label is None:
                return None
        return Vertex(name, shape, label, classes, metadata, (match.start(1), end))
    return Vertex(name, None, None, (), None, name.span)


def _is_reserved(word: str) -> bool:
    """Whether a keyword is read in ``word``: also behind digits, which are a token of their own."""
    return word in RESERVED or (word[0] in _DIGITS and word.lstrip(_DIGITS) in RESERVED)


def _label(text: str, start: int) -> Label | None:
    if "#" in text and ";" in text:
        return None
    if text[0] == '"':
        # Quotes around quotes isn't allowed here; only white space is to be trimmed.
        return Label(trim(text[1:-1]), "string", (start + 1, start + len(text) - 1))
    return Label(trim(text), "text", (start, start + len(text)))


def _class(line: str, start: int) -> tuple[Statement, ...] | None:
    match = _ONE_CLASS.match(line, start)
    if match is not None:
        node, name = match.groups()
        if _is_reserved(node) or _is_reserved(name):
            return None
        _, node_span, name_span = match.regs
        return (ClassAssign((Name(intern(node), node_span),), Name(intern(name), name_span), (start, name_span[1])),)
    match = _CLASS_ASSIGN.match(line, start)
    if match is not None:
        names = []
        at = match.start(1)
        for part in match[1].split(","):
            if _is_reserved(part):
                return None
            names.append(Name(intern(part), (at, at + len(part))))
            at += len(part) + 1
        if _is_reserved(match[2]):
            return None
        return (ClassAssign(tuple(names), Name(intern(match[2]), match.span(2)), (start, match.end(2))),)
    return _styled(line, start)


def _styled(line: str, start: int) -> tuple[Statement, ...] | None:
    match = _CLASS_DEF.match(line, start)
    if match is None:
        return _chain_unless_keyword(line, start)
    if _is_reserved(match[2]) or _STYLE_RESERVED.search(match[3]):
        return None
    name = Name(match[2], match.span(2))
    styles = tuple(match[3].split(","))
    span = (start, match.end(3))
    return (ClassDef((name,), styles, span) if match[1] == "classDef" else Style(name, styles, span),)


def _end(line: str, start: int) -> tuple[Statement, ...] | None:
    if line[start:].rstrip(" \t") == "end":
        return (SubgraphEnd((start, start + 3)),)
    return _chain_unless_keyword(line, start)


def _subgraph(line: str, start: int) -> tuple[Statement, ...] | None:
    match = _SUBGRAPH.match(line, start)
    if match is None or _is_reserved(match[1]):
        return _chain_unless_keyword(line, start)
    name = Name(match[1], match.span(1))
    if match[2] is None:
        if match.end() != match.end(1):
            return None  # white space after the id makes it a title without an id
        return (SubgraphStart(name, Label(match[1], "text", match.span(1)), (start, match.end())),)
    if match[2][0] in "/\\":
        return None
    label = _label(match[2], match.start(2))
    return None if label is None else (SubgraphStart(name, label, (start, match.end())),)


def _chain_unless_keyword(line: str, start: int) -> tuple[Statement, ...] | None:
    """A node whose id merely begins like a keyword."""
    match = _WORD.match(line, start)
    return None if match is None or _is_reserved(match[0]) else _chain(line, start)


_WORD = re.compile(r"\w+", re.ASCII)
_KEYWORDS: dict[str, Callable[[str, int], tuple[Statement, ...] | None]] = {
    "cla": _class,
    "sty": _styled,
    "end": _end,
    "sub": _subgraph,
}
