"""Completion for Loops and Maps: the words on edges, titles with their parameters, expressions over members."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from merrow_analysis.definitions.types import BOOL, NUMBER, Type, TypeTable, item_of, list_of
from merrow_analysis.graph.boxes.composites import Border, Composites
from merrow_analysis.graph.boxes.edge_words import AGAIN, EACH, FIRST, OVER, Word, entered_map, possible_words
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.ide.completion.fitting import Value, upstream
from merrow_analysis.ide.completion.items import CompletionItems
from merrow_analysis.ide.cursor.label_place import LabelPlace, label_place
from merrow_analysis.ide.cursor.place import InStatement
from merrow_analysis.ide.cursor.schema_walk import words_at
from merrow_analysis.ide.texts.box_text import KEYS_BY_OPERATOR, title_keys
from merrow_analysis.places.box_places import EXPRESSIONS

_EXPRESSION_WORD = re.compile(r"[\w.]*\Z")
_FIELDS_UNASKED = 2
"""A path with fewer dots is offered with the fields of the record that it leads to."""
_BOXES = (
    ("Loop", "Loop (max: ${1:3})", "its nodes run in turns"),
    ("Map", "Map (parallel: ${1:4})", "its nodes run once for each item of a list"),
)
_MEANINGS: Mapping[Word, str] = {
    AGAIN: "brings it in later turns",
    OVER: "taken when the turns ran out",
    EACH: "takes the list apart, an item a run",
    FIRST: "gives way where `again` brings something",
}


def words_between(graph: TypedGraph, source: TypedNode, target: TypedNode) -> list[Word]:
    """The words that have a meaning on an edge between two nodes."""
    composites = graph.composites
    if not composites:
        return []
    return possible_words(composites.border(source.id, target.id), composites, again_into=bool(target.again_in))


def word_items(
    items: CompletionItems, graph: TypedGraph, sources: Sequence[TypedNode], targets: Sequence[TypedNode], length: int
) -> None:
    """The words that have a meaning on an edge from all sources to all targets; without targets those that may have one."""
    if not graph.composites or not sources:
        return
    if targets:
        each = [words_between(graph, source, target) for source in sources for target in targets]
        words = [word for word in each[0] if all(word in other for other in each)]
    else:
        words = [
            word for word in (AGAIN, OVER, EACH) if all(_may_have(graph.composites, source, word) for source in sources)
        ]
    back = upstream(graph, list(sources)) if targets else b""
    for word in words:
        wanted = word == AGAIN and any(node.index < len(back) and back[node.index] for node in targets)
        wanted = wanted or (word == EACH and bool(targets))
        items.add(
            word,
            "keyword",
            items.range(length),
            rank=-1 if wanted else 40,
            detail=_MEANINGS[word],
            subject=("word", word),
        )


def _may_have(composites: Composites, source: TypedNode, word: Word) -> bool:
    around = composites.around(source.id)
    if word == AGAIN:
        return bool(around)
    if word == OVER:
        return any(composites.boxes[box].kind == "loop" for box in around)
    return any(box.kind == "map" and box.id not in around for box in composites)


def crossing(values: Sequence[Value], border: Border, composites: Composites, word: str | None) -> list[Value]:
    """Values as they arrive over an edge with a word that crosses a border: lists out of Maps, items into them."""
    crossed = list(values)
    for _ in composites.maps(border.left):
        crossed = [Value(value.output, None if value.type is None else list_of(value.type)) for value in crossed]
    if word == EACH and entered_map(border, composites) is not None:
        crossed = [Value(value.output, None if value.type is None else item_of(value.type)) for value in crossed]
    return crossed


def without_word(parts: Sequence[str], place: int, words: Sequence[str]) -> tuple[str | None, list[str]]:
    """The word at a place among the parts of a label that is being typed, and the parts without it."""
    if len(parts) > place + 1 and parts[place].strip() in words:
        return parts[place].strip(), [*parts[:place], *parts[place + 1 :]]
    return None, list(parts)


def title_place(text: str) -> tuple[LabelPlace, int]:
    """What is typed at the end of a subgraph's title, and how long the word there is so far."""
    here = label_place(text)
    return here, len(text) - here.start


def title_items(items: CompletionItems, place: InStatement) -> None:
    """Items for a subgraph's title: Loop and Map, then their parameters."""
    graph = items.analysis.typed
    here, length = title_place(place.before[place.typed.inside :])
    if here.kind == "operator":
        for name, snippet, detail in _BOXES:
            items.add(name, "operator", items.range(length), text=f"{name} ()", snippet=snippet, detail=detail)
        return
    operator = operator_of_title(items, place.typed.node, here.operator)
    keys = title_keys(operator)
    if here.kind == "key":
        for name, fragment in keys.items():
            if name not in here.keys:
                items.add(
                    name,
                    "key",
                    items.range(length),
                    text=f"{name}: ",
                    detail=str(fragment.get("description", "")),
                    subject=("drawing-key", operator, name),
                )
    elif here.kind in ("value", "text") and here.key in keys:
        box_values(items, graph, place.typed.node, operator, here.key, length)


def operator_of_title(items: CompletionItems, name: str, written: str) -> str:
    """Loop or Map: what the title says, else what the subgraph is by its class or metadata; empty for neither."""
    if written in KEYS_BY_OPERATOR:
        return written
    graph = items.analysis.typed
    box = None if graph is None else graph.composites.boxes.get(name)
    return "" if box is None else box.operator


def box_values(
    items: CompletionItems, graph: TypedGraph | None, name: str, operator: str, key: str, length: int
) -> None:
    """Values of a parameter of a Loop or a Map."""
    keys = KEYS_BY_OPERATOR[operator]
    if key in EXPRESSIONS and graph is not None:
        before = items.line[: items.position.column]
        match = _EXPRESSION_WORD.search(before)
        word = match[0] if match is not None else ""
        wanted = BOOL if key == "until" else NUMBER
        for node, output, type_ in _outputs_inside(graph, name):
            for path, reached in _with_fields(graph.types, f"{node.id}.{output}", type_, word):
                items.add(
                    path,
                    "value",
                    items.range(len(word)),
                    rank=0 if reached == wanted else 1,
                    detail=f": {reached or '?'}",
                    subject=("node", node.id),
                )
        return
    fragment = keys[key]
    for word in words_at({"properties": keys}, (key,)):
        items.add(word, "value", items.range(length))
    if isinstance(fragment.get("default"), int):
        items.add(str(fragment["default"]), "value", items.range(length), rank=1, detail="the default")


def _with_fields(types: TypeTable, path: str, type_: Type | None, typed: str) -> Iterator[tuple[str, Type | None]]:
    """A path and those of its record's fields, of fields in them too as far as they are typed already."""
    waiting = [(path, type_)]
    while waiting:
        path, type_ = waiting.pop(0)
        yield path, type_
        fields = None if type_ is None else types.fields_of(type_)
        if fields is not None and (path.count(".") < _FIELDS_UNASKED or typed.startswith(f"{path}.")):
            waiting += [(f"{path}.{name}", field) for name, field in fields.items()]


def _outputs_inside(graph: TypedGraph, name: str) -> Iterator[tuple[TypedNode, str, str | None]]:
    """The outputs of the nodes of which a subgraph is the innermost Loop; of all nodes where it is none yet."""
    box = graph.composites.boxes.get(name)
    group = graph.flow.subgraphs.get(name)
    inside = box.nodes if box is not None else tuple(group.nodes) if group is not None else tuple(graph.by_id)
    for box_id in inside:
        node = graph.by_id.get(box_id)
        if node is not None and node.kind == "operator":
            yield from ((node, output, type_) for output, type_ in node.outputs.items())
