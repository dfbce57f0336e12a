"""Changes of a workflow with Loops and Maps, as a person makes them line by line: of nodes, of edges, and of boxes."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from tests.runtime.frontier.nested_workflows import nested_workflow

from merrow_analysis.check import analyse
from merrow_analysis.graph.nodes import TypedGraph
from merrow_optimizer.mutations import moves

SMALL = moves.MoveFilter(moves.OPERATORS, max_nodes=60)


def valid_graph(text: str) -> TypedGraph | None:
    """The graph of a text, if it has no errors."""
    analysis = analyse(text)
    return None if analysis.errors else analysis.typed


def revision(text: str, random: Random) -> tuple[str, TypedGraph]:
    """Another text without errors, some changes away, and its graph; the same text where none is found."""
    for _ in range(60):
        changed = text
        for _ in range(random.choice([1, 1, 2, 4])):
            changed = random.choice(CHANGES)(changed, random)
        graph = valid_graph(changed) if changed != text else None
        if graph is not None:
            return changed, graph
    graph = valid_graph(text)
    assert graph is not None
    return text, graph


def _one(pattern: str, text: str, random: Random, change: Callable[[re.Match[str]], str]) -> str:
    """Change one of the places that a pattern finds."""
    found = list(re.finditer(pattern, text, re.MULTILINE))
    if not found:
        return text
    place = random.choice(found)
    return text[: place.start()] + change(place) + text[place.end() :]


def _prompt(text: str, random: Random) -> str:
    return _one(r"prompt: [^,)]*\.", text, random, lambda _: f"prompt: Try {random.randrange(3)}.")


def _number(text: str, random: Random) -> str:
    return _one(r"(max|min|parallel): \d", text, random, lambda found: f"{found[1]}: {random.randrange(5)}")


def _less_said(text: str, random: Random) -> str:
    return _one(r"(?<=\()[a-z_]+: [^,()]+(, )?(?=[^()]*\)\"\]$)", text, random, lambda _: "")


def _more_said(text: str, random: Random) -> str:
    said = random.choice(["on_error: skip", "max: 3", "max: 1", "min: 0", "parallel: 1"])
    return _one(r"(Loop|Map) \(", text, random, lambda found: f"{found[0]}{said}, ").replace(", )", ")")


def _until(text: str, random: Random) -> str:
    reviews = re.findall(r"(\w+)\[\"Review", text)
    if not reviews:
        return text
    said = f"until: {random.choice(reviews)}.result"
    return _one(r"until: \w+\.result|(?<=Loop \()", text, random, lambda found: said if found[0] else f"{said}, ")


def _moved_node(text: str, random: Random) -> str:
    """A node into a box, out of it, or to another."""
    lines = text.splitlines(keepends=True)
    nodes = [at for at, line in enumerate(lines) if re.search(r":::(Custom|Review|ScEnsemble|Decision)", line)]
    if not nodes:
        return text
    line = lines.pop(random.choice(nodes))
    boxes = [at + 1 for at, one in enumerate(lines) if one.strip() == "end" or "subgraph" in one]
    lines.insert(random.choice(boxes) if boxes else len(lines), line)
    return "".join(lines)


def _no_box(text: str, random: Random) -> str:
    """A box less around what is in it."""
    lines = text.splitlines(keepends=True)
    begins = [at for at, line in enumerate(lines) if "subgraph" in line]
    if not begins:
        return text
    begin = random.choice(begins)
    end = _end_of(lines, begin)
    return "".join(line for at, line in enumerate(lines) if at not in (begin, end))


def _boxed(text: str, random: Random) -> str:
    """A box around some nodes, or around a box."""
    lines = text.splitlines(keepends=True)
    nodes = [at for at, line in enumerate(lines) if (":::" in line and "Interface" not in line) or "subgraph" in line]
    if not nodes:
        return text
    begin = random.choice(nodes)
    end = _end_of(lines, begin) if "subgraph" in lines[begin] else begin
    kind = random.choice(["Loop (max: 2)", "Loop ()", "Map ()", "Map (parallel: 1)"])
    name = f"W{random.randrange(3)}"
    return "".join(
        [*lines[:begin], f'subgraph {name}["{kind}"]\n', *lines[begin : end + 1], "end\n", *lines[end + 1 :]]
    )


def _end_of(lines: list[str], begin: int) -> int:
    depth = 0
    for at in range(begin, len(lines)):
        depth += ("subgraph" in lines[at]) - (lines[at].strip() == "end")
        if depth == 0:
            return at
    return len(lines) - 1  # an earlier change has broken it


def _other_box(text: str, random: Random) -> str:
    """A box under another id."""
    return _one(r"subgraph (\w+)", text, random, lambda _: f"subgraph X{random.randrange(3)}")


def _no_edge(text: str, random: Random) -> str:
    return _one(r"^.*-\.?->.*\n", text, random, lambda _: "")


def _more_edge(text: str, random: Random) -> str:
    names = re.findall(r"^\s*(\w+)[\[{(]", text, re.MULTILINE)
    label = random.choice(["input", "again:input", "each:input"])
    return f"{text}    {random.choice(names)} -->|{label}| {random.choice(names)}\n"


def _other_source(text: str, random: Random) -> str:
    names = re.findall(r"^\s*(\w+)\[", text, re.MULTILINE)
    return _one(r"^\s*\w+(?= -->)", text, random, lambda _: f"    {random.choice(names or ['PROBLEM'])}")


def _mutated(text: str, random: Random) -> str:
    """A safe move."""
    if valid_graph(text) is None:
        return text
    lineage = moves.Lineage(text, SMALL)
    lineage.grow(random)
    return lineage.text


def _another(text: str, random: Random) -> str:
    """A workflow that has nothing in common with this one but ids."""
    return nested_workflow(random.randrange(1_000_000))


CHANGES: list[Callable[[str, Random], str]] = [
    _prompt, _prompt, _number, _less_said, _more_said, _until, _moved_node, _moved_node, _no_box, _boxed, _other_box,
    _no_edge, _more_edge, _other_source, _mutated, _mutated, _another,
]  # fmt: skip
