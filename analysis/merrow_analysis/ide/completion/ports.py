"""Completion on an arrow: ports that take what the source gives, its other outputs, the cases of a Decision."""

from __future__ import annotations

import re

from merrow_analysis.definitions.operators import InputPort
from merrow_analysis.definitions.types import item_of
from merrow_analysis.graph.boxes.edge_words import AGAIN, EACH, FIRST, OVER
from merrow_analysis.graph.decisions import ELSE, case_key
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.placing.notation import AFTER
from merrow_analysis.ide.completion.boxes import crossing, without_word, word_items
from merrow_analysis.ide.completion.fitting import Value, steps, value_at, values_of
from merrow_analysis.ide.completion.items import CompletionItems
from merrow_analysis.ide.cursor.place import InStatement

_TARGETS = re.compile(r"[^|;]*\|[ \t]*(\w[\w.-]*(?:[ \t]*&[ \t]*\w[\w.-]*)*)")
_NO_FIT = 50
_MEANINGFUL = (AGAIN, OVER, EACH, FIRST)


def edge_label_items(items: CompletionItems, place: InStatement) -> None:
    """Items for the text between the bars of an arrow."""
    graph = items.analysis.typed
    if graph is None:
        return
    typed = place.typed
    text = place.before[typed.inside :].lstrip(' \t"')
    sources = [graph.by_id[name] for name in typed.sources if name in graph.by_id]
    after = _TARGETS.match(place.after)
    names = re.split(r"[ \t]*&[ \t]*", after[1]) if after is not None else []
    targets = [graph.by_id[name] for name in names if name in graph.by_id]
    decision = next((node for node in sources if node.kind == "decision"), None)
    # A word comes first, or behind the case.
    parts, word_place = text.split(":"), 0 if decision is None else 1
    edge_word, parts = without_word(parts, word_place, _MEANINGFUL if graph.composites else ())
    text = ":".join(parts)
    head, colon, tail = text.rpartition(":")
    word = tail.lstrip() if colon else text
    if edge_word is None and len(parts) == word_place + 1:
        word_items(items, graph, sources, targets, len(word))
    if decision is not None:
        if colon:
            carried = _carried(graph, decision, head)
            _ports(items, graph, _arriving(graph, decision, carried, targets, edge_word), targets, len(word))
            _fields(items, graph, carried, len(word))
            items.add(AFTER, "port", items.range(len(word)), rank=60, detail="order only: brings no value")
        else:
            _cases(items, graph, decision, word)
        return
    values = [value for node in sources for value in _arriving(graph, node, values_of(node), targets, edge_word)]
    if edge_word == EACH and len(sources) == 1 and values and not sources[0].placement.signature.fields:
        # The items of a list of records have their fields.
        fields = graph.types.fields_of(values[0].type or "") or {}
        values += [Value(name, type_) for name, type_ in fields.items()]
    if colon:
        named = [(node, value) for node in sources if (value := value_at(node, head.strip())) is not None]
        given = [value for node, output in named for value in _arriving(graph, node, [output], targets, edge_word)]
        _ports(items, graph, given or values, targets, len(word))
        return
    defaults = [
        arriving[0] for node in sources if (arriving := _arriving(graph, node, values_of(node), targets, edge_word))
    ]
    _ports(items, graph, defaults, targets, len(word))
    if len(sources) == 1:
        _outputs(items, graph, values, targets, len(word))
        whole, dot, part = word.rpartition(".")
        record = value_at(sources[0], whole) if dot else None
        if record is not None:
            _fields(items, graph, [_item(record) if edge_word == EACH else record], len(part))


def _carried(graph: TypedGraph, decision: TypedNode, head: str) -> list[Value]:
    """What a case carries, by what is written before the port: a case, or a case and a field of what it carries."""
    signature = decision.placement.signature
    case, colon, field = head.rpartition(":")
    if not signature.has_value:
        return []
    if not colon:
        return [Value("", signature.carried(head))]
    whole = signature.carried(case)
    return [Value(field.strip(), None if whole is None else graph.types.field_at(whole, field.strip()))]


def _fields(items: CompletionItems, graph: TypedGraph, values: list[Value], length: int) -> None:
    """The fields of the records that are carried, each as an output."""
    for value in values:
        fields = None if value.type is None else graph.types.fields_of(value.type)
        for name, type_ in (fields or {}).items():
            items.add(f"{name}:", "port", items.range(length), rank=30, detail=f"field: {type_}")


def _arriving(
    graph: TypedGraph, source: TypedNode, values: list[Value], targets: list[TypedNode], word: str | None
) -> list[Value]:
    """Values of a node, as they arrive at the targets: Maps on the way make lists of them, ``each`` takes one apart."""
    if not targets or not graph.composites:
        return values
    return crossing(values, graph.composites.border(source.id, targets[0].id), graph.composites, word)


def _item(value: Value) -> Value:
    """What has fields once ``each`` takes the first list on the way apart."""
    return Value(value.output, None if value.type is None else item_of(value.type) or value.type)


def _open(target: TypedNode) -> list[tuple[InputPort, bool]]:
    """The ports of a target, and whether each is free."""
    return [(port, port.many or not target.sources(port.name)) for port in target.input_ports]


def _ports(
    items: CompletionItems, graph: TypedGraph, values: list[Value], targets: list[TypedNode], length: int
) -> None:
    """The ports of the targets; where no target is known yet, those of all nodes."""
    for target in targets or graph.nodes:
        for port, free in _open(target):
            far = [steps(value.type, port, graph.types) for value in values]
            good = [number for number in far if number is not None]
            fits = bool(good) and len(good) == len(far)
            rank = (
                (0 if port.required else 1) + (0 if free or not targets else 10) + (0 if fits or not far else _NO_FIT)
            )
            if not targets and not fits and far:
                continue
            items.add(
                port.name,
                "port",
                items.range(length),
                rank=rank,
                steps=min(good, default=0),
                detail=f": {port.type}",
                description=target.id if targets else "",
                subject=("port", target.id, port.name),
            )


def _outputs(
    items: CompletionItems, graph: TypedGraph, values: list[Value], targets: list[TypedNode], length: int
) -> None:
    """``output:port`` for outputs other than the default one, which need no name."""
    for number, value in enumerate(values[1:]):
        for target in targets:
            for port, free in _open(target):
                far = steps(value.type, port, graph.types)
                if far is not None and free:
                    items.add(
                        f"{value.output}:{port.name}",
                        "port",
                        items.range(length),
                        rank=20 + number,
                        steps=far,
                        detail=f": {value.type or '?'}",
                        description=target.id,
                        subject=("port", target.id, port.name),
                    )
        items.add(
            f"{value.output}:",
            "port",
            items.range(length),
            rank=30 + number,
            detail=f"output: {value.type or '?'}",
        )


def _cases(items: CompletionItems, graph: TypedGraph, decision: TypedNode, word: str) -> None:
    """What a Decision's edges may be labelled; cases without an edge come first."""
    decided_by, when = decision.placement.decided_by, decision.placement.when
    known = decision.cases.keys if decision.cases is not None else ()
    wanted = ["yes", "no"] if decided_by == "truth" else []
    if decided_by == "words" and when is not None:
        wanted = list(graph.types.words_of(when) or ())
    elif decided_by == "kinds" and when is not None:
        wanted = list(graph.types.kinds_of(when) or ())
    labels = list(decision.cases.labels) if decision.cases is not None else []
    for label in [*wanted, *labels, *([] if decided_by == "truth" else [ELSE])]:
        if label == word and label not in wanted:
            continue
        taken = case_key(label, decided_by) in known
        other = 20 if label == ELSE else 0
        items.add(label, "value", items.range(len(word)), rank=(10 if taken else 0) + other, detail="case")
