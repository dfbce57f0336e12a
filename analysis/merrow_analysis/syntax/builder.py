"""Turns the grammar's reductions into the statements of `tree`, with spans in the block's own text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lark import Token, Transformer

from merrow_analysis.entities import show_entities
from merrow_analysis.syntax.arrows import normal_direction, read_arrow
from merrow_analysis.syntax.characters import WHITE_CHARACTERS, trim
from merrow_analysis.syntax.reduction import Reduced
from merrow_analysis.syntax.tree import (
    AccDescription,
    AccTitle,
    Arrow,
    Chain,
    ClassAssign,
    ClassDef,
    Click,
    Direction,
    Header,
    Label,
    LabelKind,
    LinkStyle,
    Metadata,
    Name,
    Statement,
    Style,
    SubgraphEnd,
    SubgraphStart,
    Vertex,
)
from merrow_analysis.text import Span

_KINDS: dict[str, LabelKind] = {"STR": "string", "MD_STR": "markdown"}


def make_label(text: str, kind: LabelKind, span: Span) -> Label:
    """A label from the text between its delimiters, trimmed as Mermaid does."""
    text = trim(text)
    if text.startswith('"') and text.endswith('"'):
        text = text[1:-1]
    return Label(show_entities(text), kind, span)


def make_styles(parts: list[str]) -> tuple[str, ...]:
    """The style properties of a ``classDef`` or ``style`` statement, one a string, as written."""
    return tuple(parts)


def split_names(text: str, start: int) -> tuple[Name, ...]:
    """``A,B`` as names with their places; the text starts at ``start``."""
    names = []
    for part in text.split(","):
        names.append(Name(show_entities(part), (start, start + len(part))))
        start += len(part) + 1
    return tuple(names)


@dataclass(slots=True)
class _ChainDraft:
    """A chain that may go on."""

    groups: list[list[Vertex]] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)


class StatementBuilder(Transformer[Token, Statement]):
    """The grammar's callbacks. `place` sets which text the tokens' offsets speak of."""

    def __init__(self) -> None:
        super().__init__()
        self._reduced = Reduced("")
        self._base = 0

    def place(self, reduced: Reduced, base: int) -> None:
        """From now on tokens are in ``reduced``; spans count from the source offset ``base``."""
        self._reduced, self._base = reduced, base

    def span(self, start: int, end: int) -> Span:
        reduced = self._reduced
        return reduced.source(start) - self._base, reduced.source_end(end) - self._base

    def _tight(self, start: int, end: int) -> Span:
        """The span without the white space at both ends."""
        text = self._reduced.text
        while end > start and text[end - 1] in WHITE_CHARACTERS:
            end -= 1
        while start < end and text[start] in WHITE_CHARACTERS:
            start += 1
        return self.span(start, end)

    def _whole(self, children: list[Any]) -> Span:
        tokens = [c for c in children if isinstance(c, Token)]
        return self._tight(_start(tokens[0]), _end(tokens[-1]))

    # Names and labels

    def id(self, tokens: list[Token]) -> Name:
        text = "".join(tokens)
        return Name(show_entities(text), self.span(_start(tokens[0]), _end(tokens[-1])))

    def alpha_num(self, tokens: list[Token]) -> Name:
        return self.id(tokens)

    def label(self, tokens: list[Token]) -> Label:
        kind = _KINDS.get(tokens[0].type, "text")
        return make_label("".join(tokens), kind, self.span(_start(tokens[0]), _end(tokens[-1])))

    edge_label = label

    def title(self, tokens: list[Token]) -> Label:
        kind = _KINDS.get(tokens[0].type, "text")
        text = "".join(tokens)
        return Label(show_entities(text), kind, self._tight(_start(tokens[0]), _end(tokens[-1])))

    # Nodes

    def metadata(self, tokens: list[Token]) -> Metadata:
        text = self._reduced.text
        body_end = _end(tokens[-1])
        end = body_end + 1 if text.startswith("}", body_end) else body_end
        return Metadata(
            show_entities("".join(tokens)), self.span(_start(tokens[0]), end), self.span(_end(tokens[0]), body_end)
        )

    def vertex(self, children: list[Any]) -> Vertex:
        name: Name = children[0]
        shape: str | None = None
        label: Label | None = None
        end = name.span[1]
        classes: tuple[Name, ...] = ()
        if len(children) > 1 and isinstance(children[1], tuple):
            shape, label, end = children[1]
        if isinstance(children[-2] if len(children) > 2 else None, Token):
            cls: Name = children[-1]
            classes, end = (cls,), cls.span[1]
        return Vertex(name, shape, label, classes, None, (name.span[0], end))

    def nodes(self, children: list[Any]) -> list[Vertex]:
        first = children[0]
        group: list[Vertex] = first if isinstance(first, list) else [first]
        for child in children[1:]:
            if isinstance(child, Metadata):
                group[-1].metadata = child
            elif isinstance(child, Vertex):
                group.append(child)
        return group

    def chain(self, children: list[Any]) -> _ChainDraft:
        first = children[0]
        if isinstance(first, _ChainDraft):
            draft, group = first, children[2]
            draft.arrows.append(children[1])
        else:
            draft, group = _ChainDraft(), first
        draft.groups.append(group)
        for child in children[1:]:
            if isinstance(child, Metadata):
                group[-1].metadata = child
        return draft

    def whole_chain(self, children: list[Any]) -> Chain:
        draft: _ChainDraft = children[0]
        last = draft.groups[-1][-1]
        end = last.metadata.span[1] if last.metadata else last.span[1]
        groups = tuple(tuple(group) for group in draft.groups)
        return Chain(groups, tuple(draft.arrows), (groups[0][0].span[0], end))

    # Links

    def link(self, children: list[Any]) -> Arrow:
        edge_id, rest = self._edge_id(children)
        kind, stroke, length = read_arrow(rest[0])
        label = next((c for c in rest if isinstance(c, Label)), None)
        start = children[0]
        pipes = [c for c in rest if isinstance(c, Token) and c.type == "PIPE"]
        last = pipes[-1] if pipes else rest[0]
        return Arrow(kind, stroke, length, label, edge_id, self._tight(_start(start), _end(last)))

    def text_link(self, children: list[Any]) -> Arrow:
        edge_id, rest = self._edge_id(children)
        kind, stroke, length = read_arrow(rest[2], rest[0])
        return Arrow(kind, stroke, length, rest[1], edge_id, self._tight(_start(children[0]), _end(rest[2])))

    def _edge_id(self, children: list[Any]) -> tuple[Name | None, list[Any]]:
        first = children[0]
        if first.type != "LINK_ID":
            return None, children
        start, end = _start(first), _end(first)
        return Name(show_entities(str(first).replace("@", "", 1)), self.span(start, end - 1)), children[1:]

    # Classes and styles

    def class_def(self, children: list[Any]) -> ClassDef:
        name: Name = children[2]
        styles, end = children[4]
        return ClassDef(split_names(name.text, name.span[0]), styles, self._from(children[0], end))

    def class_assign(self, children: list[Any]) -> ClassAssign:
        ids: Name = children[2]
        name: Name = children[4]
        start = self.span(_start(children[0]), _end(children[0]))[0]
        return ClassAssign(split_names(ids.text, ids.span[0]), name, (start, name.span[1]))

    def style(self, children: list[Any]) -> Style:
        styles, end = children[4]
        return Style(children[2], styles, self._from(children[0], end))

    def link_style(self, children: list[Any]) -> LinkStyle:
        styles, end = children[4]
        targets, place = children[2]
        return LinkStyle(targets, place, styles, None, self._from(children[0], end))

    def link_style_interpolate(self, children: list[Any]) -> LinkStyle:
        targets, place = children[2]
        curve: Name = children[6]
        start = self.span(_start(children[0]), _end(children[0]))[0]
        if len(children) > 7:
            styles, end = children[8]
            return LinkStyle(targets, place, styles, curve.text, self._from(children[0], end))
        return LinkStyle(targets, place, None, curve.text, (start, curve.span[1]))

    def link_targets(self, tokens: list[Token]) -> tuple[tuple[int, ...] | None, Span]:
        span = self.span(_start(tokens[0]), _end(tokens[-1]))
        if tokens[0].type == "DEFAULT":
            return None, span
        # An index of more digits than any file has edges is out of range whatever its value.
        return tuple(int(token[:12]) for token in tokens if token.type == "NUM"), span

    def style_text(self, tokens: list[Token]) -> tuple[str, int]:
        return show_entities("".join(tokens)), _end(tokens[-1])

    def styles(self, children: list[Any]) -> tuple[tuple[str, ...], int]:
        parts = [child for child in children if not isinstance(child, Token)]
        return make_styles([text for text, _ in parts]), parts[-1][1]

    def _from(self, first: Token, end: int) -> Span:
        return self._tight(_start(first), end)

    # Clicks

    def click_callback(self, children: list[Any]) -> Click:
        tooltip = next((str(c) for c in children[2:] if c.type == "STR"), None)
        return self._click(children, callback=str(children[1]), tooltip=tooltip)

    def click_function(self, children: list[Any]) -> Click:
        name: Name = children[1]
        tooltip = str(children[3]) if len(children) > 2 else None
        return self._click(children, callback=name.text, tooltip=tooltip)

    def click_link(self, children: list[Any]) -> Click:
        strings = [str(c) for c in children if c.type == "STR"]
        target = next((str(c) for c in children if c.type == "LINK_TARGET"), None)
        return self._click(children, link=strings[0], tooltip=strings[1] if len(strings) > 1 else None, target=target)

    def _click(
        self,
        children: list[Any],
        *,
        link: str | None = None,
        tooltip: str | None = None,
        target: str | None = None,
        callback: str | None = None,
    ) -> Click:
        first: Token = children[0]
        start = self._reduced.text.rfind("click", 0, _start(first))
        ids = split_names(str(first), self.span(_start(first), _end(first))[0])
        last = next(c for c in reversed(children) if isinstance(c, Token))
        end = _end(last)
        if last.type == "STR":
            end += 1
        return Click(ids, link, tooltip, target, callback, self._tight(max(start, 0), end))

    # The rest

    def square(self, children: list[Any]) -> tuple[str, Label, int]:
        return self._shape("square", children)

    def _shape(self, name: str, children: list[Any]) -> tuple[str, Label, int]:
        label = next(c for c in children if isinstance(c, Label))
        return name, label, self.span(_start(children[-1]), _end(children[-1]))[1]

    def header(self, tokens: list[Token]) -> Header:
        word = trim(tokens[1]) if tokens[1].type == "DIR" else ""
        end = tokens[1] if word else tokens[0]
        return Header(str(tokens[0]), normal_direction(word or "TB"), word, self._tight(_start(tokens[0]), _end(end)))

    def subgraph(self, children: list[Any]) -> SubgraphStart:
        title: Label = children[2]
        text = trim(title.text)
        # Without brackets the words are id and title in one; Mermaid makes up an id when there is white space in them.
        name = None if any(c in WHITE_CHARACTERS for c in title.text) else Name(text, title.span)
        return SubgraphStart(name, title, self._subgraph_span(children, title.span[1]))

    def subgraph_titled(self, children: list[Any]) -> SubgraphStart:
        name: Label = children[2]
        end = self.span(_start(children[-1]), _end(children[-1]))[1]
        return SubgraphStart(Name(trim(name.text), name.span), children[4], self._subgraph_span(children, end))

    def _subgraph_span(self, children: list[Any], end: int) -> Span:
        return self.span(_start(children[0]), _end(children[0]))[0], end

    def subgraph_end(self, tokens: list[Token]) -> SubgraphEnd:
        return SubgraphEnd(self._whole(tokens))

    def direction(self, tokens: list[Token]) -> Direction:
        return Direction(tokens[0].type.removeprefix("DIRECTION_"), self._whole(tokens))

    def acc_title(self, tokens: list[Token]) -> AccTitle:
        return AccTitle(trim(tokens[1]), self._whole(tokens))

    def acc_descr(self, tokens: list[Token]) -> AccDescription:
        return AccDescription(trim(tokens[-1]), self._whole(tokens))


def _shape_callback(name: str) -> Any:
    def callback(self: StatementBuilder, children: list[Any]) -> tuple[str, Label, int]:
        return self._shape(name, children)

    return callback


for _name in (
    *("doublecircle", "circle", "ellipse", "stadium", "subroutine", "rect", "cylinder", "round", "diamond", "hexagon"),
    *("odd", "trapezoid", "inv_trapezoid", "lean_right", "lean_left"),
):
    setattr(StatementBuilder, _name, _shape_callback(_name))


def _start(token: Token) -> int:
    return token.start_pos or 0


def _end(token: Token) -> int:
    return token.end_pos or 0
