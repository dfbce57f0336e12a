"""Workflows with seeded defects: the twenty kinds of the corpus, put into valid workflows one by one or several at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from tests.shared import SHARED

from merrow_analysis.check import analyse
from merrow_analysis.edits.change import GraphChange, WantedEdge, as_it_is
from merrow_analysis.edits.replacements import edits_both_ways
from merrow_analysis.edits.write import write
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_optimizer.mutations.original import Original

ROOT = Path(__file__).parents[2]
CORPUS = SHARED / "corpus"
Seed = Callable[[str, Original, Random], str | None]


def valid_workflows() -> dict[str, str]:
    """Valid workflows by file name: those of the corpus, the examples, and the patterns of the gallery."""
    files = [
        *sorted((CORPUS / "mmd").glob("v*.mmd")),
        *sorted((CORPUS / "language2" / "valid").glob("*.mmd")),
        *sorted((ROOT / "examples").glob("*.mmd")),
        *sorted((ROOT / "examples" / "patterns").glob("*.mmd")),
    ]
    texts = {path.name: path.read_text("utf-8") for path in files}
    return {name: text for name, text in texts.items() if _is_whole(text)}


def _is_whole(text: str) -> bool:
    analysis = analyse(text)
    graph = analysis.typed
    if graph is None or not analysis.is_valid or any(one.plain is not None for one in graph.resolutions):
        return False
    return not graph.core.reading.drawn


def defective_files() -> dict[str, str]:
    """The files of the corpus with one defect each."""
    return {path.name: path.read_text("utf-8") for path in sorted((CORPUS / "mmd").glob("d*.mmd"))}


def seeded(text: str, kind: str, random: Random) -> str | None:
    """``text`` with a defect of a kind; None where it has no place for it."""
    analysis = analyse(text)
    try:
        return KINDS[kind](text, Original(analysis), random)
    except ValueError:  # no workflow any more, or a change that can't be written
        return None


def several(
    texts: dict[str, str], number: int, of: int, random: Random
) -> Iterator[tuple[str, tuple[str, ...], str, str]]:
    """``number`` workflows with ``of`` different defects each: file, kinds, the text before and after. All have errors."""
    names = sorted(texts)
    while number:
        name = random.choice(names)
        kinds = tuple(random.sample(sorted(KINDS), of))
        text: str | None = texts[name]
        for kind in kinds:
            text = None if text is None else seeded(text, kind, random)
        if text is not None and not analyse(text).is_valid:
            yield name, kinds, texts[name], text
            number -= 1


def _written(original: Original, change: GraphChange) -> str:
    workflow_text = original.workflow_text
    return edits_both_ways(workflow_text.places, write(workflow_text, change))[0]


def _without(original: Original, edges: list[TypedEdge]) -> str | None:
    if not edges:
        return None
    return _written(original, GraphChange(edges={edge.flow.index: () for edge in edges}))


def _one(things: list, random: Random):  # type: ignore[no-untyped-def,type-arg]
    return random.choice(things) if things else None


def _renamed(text: str, old: str, new: str) -> str:
    return re.sub(rf"\b{re.escape(old)}\b", new, text)


def _works(graph: TypedGraph) -> list[TypedNode]:
    return [node for node in graph.nodes if node.kind == "operator"]


def _missing_problem(text: str, original: Original, random: Random) -> str | None:
    return _renamed(text, "PROBLEM", "START") if "PROBLEM" in original.flow.nodes else None


def _missing_return(text: str, original: Original, random: Random) -> str | None:
    node = original.typed.by_id.get("RETURN")
    if node is None:
        return None
    edges = {edge.flow.index: () for edge in node.incoming}
    return _written(original, GraphChange(removed=frozenset({"RETURN"}), edges=edges))


def _unreachable_node(text: str, original: Original, random: Random) -> str | None:
    node = _one([node for node in _works(original.typed) if node.incoming and node.outgoing], random)
    return None if node is None else _without(original, node.incoming)


def _dead_end(text: str, original: Original, random: Random) -> str | None:
    node = _one([node for node in _works(original.typed) if node.incoming and node.outgoing], random)
    return None if node is None else _without(original, node.outgoing)


def _isolated_node(text: str, original: Original, random: Random) -> str | None:
    return _with_line(text, '    SPARE["Custom<br/>(role: spare)"]')


def _with_line(text: str, line: str) -> str:
    """A line right below the header of the flowchart."""
    return re.sub(r"(?m)^((?:flowchart|graph)\b[^\n]*\n)", lambda found: found[1] + line + "\n", text, count=1)


def _wrong_interface_class(text: str, original: Original, random: Random) -> str | None:
    return _changed(text, r"\bPROBLEM\b[^\n;]*:::Interface|class PROBLEM Interface", "Interface", "CustomOp")


def _changed(text: str, pattern: str, old: str, new: str) -> str | None:
    after = re.sub(pattern, lambda found: found[0].replace(old, new), text, count=1)
    return None if after == text else after


def _wrong_operator_class(text: str, original: Original, random: Random) -> str | None:
    names = re.findall(r"class (\w+) CustomOp|(\w+)\[\"Custom<br/>[^\n]*:::CustomOp", text)
    name = _one([one or other for one, other in names], random)
    if name is None:
        return None
    return _changed(text, rf"class {name} CustomOp|\b{name}\[[^\n]*:::CustomOp", "CustomOp", "ProgrammerOp")


def _class_typo(text: str, original: Original, random: Random) -> str | None:
    name = _one(sorted(set(re.findall(r"\b\w+Op\b", text))), random)
    if name is None:
        return None
    at = random.randrange(1, len(name) - 3)
    return _renamed(text, name, name[:at] + name[at + 1 :])


def _undeclared_class(text: str, original: Original, random: Random) -> str | None:
    line = _one(re.findall(r"(?m)^[ \t]*classDef [^\n]*\n", text), random)
    return None if line is None else text.replace(line, "", 1)


def _unknown_operator(text: str, original: Original, random: Random) -> str | None:
    node = _one([node for node in _works(original.typed) if node.operator == "Custom"], random)
    if node is None:
        return None
    after = _changed(text, rf"\b{node.id}\[\"Custom<br/>[^\n]*", "Custom", "Debate")
    return after and re.sub(rf"class {node.id} CustomOp", f"class {node.id} DebateOp", after)


def _ensemble_single_input(text: str, original: Original, random: Random) -> str | None:
    node = _one([node for node in _works(original.typed) if node.spec is not None and node.spec.is_ensemble], random)
    if node is None:
        return None
    voices = [edge for edge in node.incoming if edge.port == node.spec.inputs[0].name]
    return _without(original, voices[1:])


def _labelled(original: Original) -> list[TypedEdge]:
    return [
        edge
        for edge in original.typed.edges
        if edge.flow.arrow.label is not None and edge.word is None and edge.source.kind != "decision" and edge.port
    ]


def _label(original: Original, edge: TypedEdge, label: str | None) -> str:
    link = WantedEdge(edge.source.id, edge.target.id, label, kept=True)
    return _written(original, GraphChange(edges={edge.flow.index: (link,)}))


def _missing_port_label(text: str, original: Original, random: Random) -> str | None:
    edge = _one([edge for edge in _labelled(original) if not edge.inferred], random)
    return None if edge is None else _label(original, edge, None)


def _unknown_port(text: str, original: Original, random: Random) -> str | None:
    edge = _one([edge for edge in _labelled(original) if edge.target.kind == "operator"], random)
    return None if edge is None else _label(original, edge, "answer")


def _missing_required_input(text: str, original: Original, random: Random) -> str | None:
    edge = _one(
        [edge for edge in original.typed.edges if edge.port in edge.target.placement.required and edge.word is None],
        random,
    )
    return None if edge is None else _without(original, [edge])


def _type_mismatch(text: str, original: Original, random: Random) -> str | None:
    edge = _one([edge for edge in original.typed.edges if edge.port in ("solution", "problem", "entry_point")], random)
    if edge is None or edge.source.kind == "decision":
        return None
    others = [
        node for node in _works(original.typed) if node.operator == "Custom" and not original.reaches(edge.target, node)
    ]
    other = _one(others, random)
    if other is None or other.id == edge.source.id:
        return None
    link = WantedEdge(other.id, edge.target.id, edge.port, kept=True)
    return _written(original, GraphChange(edges={edge.flow.index: (link,)}))


def _duplicate_id(text: str, original: Original, random: Random) -> str | None:
    node = _one([node for node in _works(original.typed) if node.operator == "Custom"], random)
    return None if node is None else _with_line(text, f'    {node.id}["Custom<br/>(role: someone_else)"]')


def _cycle(text: str, original: Original, random: Random) -> str | None:
    works = [node for node in _works(original.typed) if node.operator == "Custom"]
    pairs = [(one, other) for one in works for other in works if one is not other and original.reaches(other, one)]
    pair = _one(pairs, random)
    if pair is None or not original.flow.edges:
        return None
    last = original.flow.edges[-1]
    return _written(
        original, GraphChange(edges={last.index: (as_it_is(last), WantedEdge(pair[0].id, pair[1].id, "input"))})
    )


def _missing_prompt(text: str, original: Original, random: Random) -> str | None:
    role = _one(re.findall(r"role: (\w+)", text), random)
    return None if role is None else re.sub(rf"\brole: {role}\b", f"role: {role}_x", text, count=1)


def _unconnected_entry_point(text: str, original: Original, random: Random) -> str | None:
    node = original.typed.by_id.get("ENTRY_POINT")
    return None if node is None or node.kind != "input" else _without(original, node.outgoing)


def _custom_feeds_programmer_problem(text: str, original: Original, random: Random) -> str | None:
    edges = [edge for edge in original.typed.edges if edge.target.operator == "Programmer" and edge.port == "problem"]
    edge = _one(edges, random)
    works = [node for node in _works(original.typed) if node.operator == "Custom"]
    other = None if edge is None else _one([node for node in works if not original.reaches(edge.target, node)], random)
    if edge is None or other is None:
        return None
    link = WantedEdge(other.id, edge.target.id, "problem", kept=True)
    return _written(original, GraphChange(edges={edge.flow.index: (link,)}))


KINDS: dict[str, Seed] = {
    "missing_problem": _missing_problem,
    "missing_return": _missing_return,
    "unreachable_node": _unreachable_node,
    "dead_end": _dead_end,
    "isolated_node": _isolated_node,
    "wrong_interface_class": _wrong_interface_class,
    "wrong_operator_class": _wrong_operator_class,
    "class_typo": _class_typo,
    "undeclared_class": _undeclared_class,
    "unknown_operator": _unknown_operator,
    "ensemble_single_input": _ensemble_single_input,
    "missing_port_label": _missing_port_label,
    "unknown_port": _unknown_port,
    "missing_required_input": _missing_required_input,
    "type_mismatch": _type_mismatch,
    "duplicate_id": _duplicate_id,
    "cycle": _cycle,
    "missing_prompt": _missing_prompt,
    "unconnected_entry_point": _unconnected_entry_point,
    "custom_feeds_programmer_problem": _custom_feeds_programmer_problem,
}
"""The kinds of the corpus, each with what seeds it."""
