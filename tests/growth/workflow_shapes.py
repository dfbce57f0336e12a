# ruff: noqa: ARG005 - each shape is a function of n, also where a part of it does not grow
"""Shapes of workflows and of what they declare."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from tests.growth.shape import SHAPES, Shape, front_matter, shape, workflow

# Workflows


@shape("a workflow chain")
def _chain(n: int) -> str:
    nodes = [f'N{i}["Custom<br/>(role: solver)"]:::CustomOp' for i in range(n)]
    edges = [f"N{i} --> N{i + 1}" for i in range(n - 1)]
    return workflow([*nodes, "PROBLEM --> N0", *edges, f"N{n - 1} --> RETURN"])


@shape("voters")
def _voters(n: int) -> str:
    nodes = [f'N{i}["Custom<br/>(role: solver)"]:::CustomOp' for i in range(n)]
    edges = [f"PROBLEM --> N{i} --> V" for i in range(n)]
    return workflow([*nodes, 'V["ScEnsemble<br/>"]:::ScEnsembleOp', *edges, "V --> RETURN"])


@shape("a grid")
def _grid(n: int) -> str:
    """Rows of ten; each node feeds two below it."""
    rows = max(n // 10, 1)
    nodes = [f'N{i}["Custom<br/>(role: solver)"]:::CustomOp' for i in range(rows * 10)]
    edges = [f"PROBLEM --> N{i}" for i in range(10)]
    for row in range(rows - 1):
        for column in range(10):
            at = row * 10 + column
            edges += [f"N{at} --> N{at + 10}", f"N{at} --> N{row * 10 + 10 + (column + 1) % 10}"]
    edges += [f"N{rows * 10 - 1 - i} --> RETURN" for i in range(10)]
    return workflow([*nodes, *edges])


@shape("layers")
def _layers(n: int) -> str:
    """Lists of ten nodes, each layer wholly joined to the next."""
    layers = max(n // 10, 1)
    nodes = [f'N{i}["Custom<br/>(role: solver)"]:::CustomOp' for i in range(layers * 10)]
    groups = [" & ".join(f"N{layer * 10 + i}" for i in range(10)) for layer in range(layers)]
    return workflow(
        [
            *nodes,
            f"PROBLEM --> {groups[0]}",
            *map(" --> ".join, pairwise(groups)),
            f"{groups[-1]} --> RETURN",
        ]
    )


@shape("a cycle")
def _cycle(n: int) -> str:
    nodes = [f'N{i}["Custom<br/>(role: solver)"]:::CustomOp' for i in range(n)]
    return workflow([*nodes, *(f"N{i} --> N{(i + 1) % n}" for i in range(n)), "PROBLEM --> N0 --> RETURN"])


@shape("many cycles")
def _cycles(n: int) -> str:
    nodes = [f'N{i}["Custom<br/>(role: solver)"]:::CustomOp' for i in range(n)]
    return workflow([*nodes, *(f"N{i} --> N{i ^ 1}" for i in range(n)), "PROBLEM --> N0 --> RETURN"])


def _decision(i: int, source: str, *, target: str = "RETURN") -> list[str]:
    return [
        f'A{i}["Custom<br/>(role: solver, returns: Bool)"]:::CustomOp',
        f"D{i}{{Good?}}:::DecisionOp",
        f'Y{i}["Custom<br/>(role: solver)"]:::CustomOp',
        f'Z{i}["Custom<br/>(role: solver)"]:::CustomOp',
        f"{source} --> A{i} -->|when| D{i}",
        f"PROBLEM --> Y{i} & Z{i}",
        f"D{i} -->|yes:after| Y{i} --> {target}",
        f"D{i} -->|no:after| Z{i} --> {target}",
    ]


@shape("Decisions side by side")
def _parallel_decisions(n: int) -> str:
    lines = [
        line for i in range(n) for line in [*_decision(i, "PROBLEM", target=f"M{i}"), f'M{i}["Custom<br/>"]:::CustomOp']
    ]
    return workflow([*lines, *(f"M{i} --> V" for i in range(n)), 'V["ScEnsemble<br/>"]:::ScEnsembleOp', "V --> RETURN"])


@shape("Decisions side by side into one output")
def _parallel_outputs(n: int) -> str:
    return workflow([line for i in range(n) for line in _decision(i, "PROBLEM")])


@shape("Decisions in a row")
def _decisions_in_a_row(n: int) -> str:
    lines = _decision(0, "PROBLEM", target="M0")
    for i in range(n):
        lines.append(f'M{i}["Custom<br/>"]:::CustomOp')
        if i + 1 < n:
            lines += _decision(i + 1, f"M{i}", target=f"M{i + 1}")
    return workflow([*lines, f"M{n - 1} --> RETURN"])


@shape("a Decision with many cases")
def _cases(n: int) -> str:
    words = ", ".join(f"case{i}" for i in range(n))
    nodes = [f'N{i}["Custom<br/>"]:::CustomOp' for i in range(n)]
    edges = [f"D -->|case{i}:after| N{i} --> RETURN" for i in range(n)]
    start = ['A["Custom<br/>(returns: Route)"]:::CustomOp', "PROBLEM --> A -->|when| D", "D{Which?}:::DecisionOp"]
    starts = [f"PROBLEM --> N{i}" for i in range(n)]
    return workflow([*start, *nodes, *starts, *edges], front_matter(f"  types:\n    Route: [{words}]\n"))


@shape("a Decision nested in a Decision")
def _nested_decisions(n: int) -> str:
    lines = ['A["Custom<br/>(returns: Bool)"]:::CustomOp', "PROBLEM --> A"]
    for i in range(n):
        lines += [
            f"D{i}{{Good?}}:::DecisionOp",
            f'N{i}["Custom<br/>"]:::CustomOp',
            f"A -->|when| D{i}",
            f"PROBLEM --> N{i} --> RETURN",
            f"D{i} -->|yes:after| N{i}",
            f"D{i} -->|no:after| D{i + 1}",
        ]
    return workflow([*lines, f'D{n}["Custom<br/>"]:::CustomOp', f"PROBLEM --> D{n} --> RETURN"])


def _operator(name: str, lines: Callable[[int], list[str]], front: Callable[[int], str]) -> None:
    SHAPES[name] = Shape(name, lambda n: workflow(lines(n), front_matter(front(n))))


_operator(
    "declared operators",
    lambda n: [f'N{i}["Op{i}<br/>"]:::Op{i}Op\nPROBLEM --> N{i} --> RETURN' for i in range(n)],
    lambda n: (
        "  operators:\n" + "".join(f"    Op{i}: {{inputs: {{a: Text}}, outputs: {{b: Text}}}}\n" for i in range(n))
    ),
)
_operator(
    "declared operators that nothing uses",
    lambda n: ['N["Op0<br/>"]', "PROBLEM --> N --> RETURN"],
    lambda n: (
        "  operators:\n" + "".join(f"    Op{i}: {{inputs: {{a: Text}}, outputs: {{b: Text}}}}\n" for i in range(n))
    ),
)
_operator(
    "operators that are misspelt",
    lambda n: [f'N{i}["Opp{i}<br/>"]\nPROBLEM --> N{i} --> RETURN' for i in range(n)],
    lambda n: (
        "  operators:\n" + "".join(f"    Op{i}: {{inputs: {{a: Text}}, outputs: {{b: Text}}}}\n" for i in range(50))
    ),
)
_operator(
    "an operator with many ports",
    lambda n: ['N["Op<br/>"]', *(f"PROBLEM -->|a{i}| N" for i in range(n)), "N --> RETURN"],
    lambda n: (
        "  operators:\n    Op:\n      inputs:\n"
        + "".join(f"        a{i}: Text\n" for i in range(n))
        + "      outputs: {b: Text}\n"
    ),
)
_operator(
    "an operator with many open ports",
    lambda n: ['N["Op<br/>"]', *("PROBLEM --> N" for i in range(n)), "N --> RETURN"],
    lambda n: (
        "  operators:\n    Op:\n      inputs:\n"
        + "".join(f"        a{i}: Text\n" for i in range(n))
        + "      outputs: {b: Text}\n"
    ),
)
_operator(
    "types",
    lambda n: [f'N{i}["Custom<br/>(returns: T{i})"]:::CustomOp\nPROBLEM --> N{i} --> RETURN' for i in range(n)],
    lambda n: "  types:\n" + "".join(f"    T{i}: Text\n" for i in range(n)),
)
_operator(
    "types that are kinds of one another",
    lambda n: [f'N["Custom<br/>(returns: T{n - 1})"]:::CustomOp', "PROBLEM --> N --> RETURN"],
    lambda n: "  types:\n" + "".join(f"    T{i}: {f'T{i - 1}' if i else 'Text'}\n" for i in range(n)),
)
_operator(
    "a type with many words",
    lambda n: ['N["Custom<br/>(returns: T)"]:::CustomOp', "PROBLEM --> N --> RETURN"],
    lambda n: "  types:\n    T: [" + ", ".join(f"word{i}" for i in range(n)) + "]\n",
)
_operator(
    "prompts",
    lambda n: [f'N{i}["Custom<br/>(role: p{i})"]:::CustomOp\nPROBLEM --> N{i} --> RETURN' for i in range(n)],
    lambda n: "  prompts:\n" + "".join(f"    p{i}: Solve it {{input}}.\n" for i in range(n)),
)
_operator(
    "roles without prompts",
    lambda n: [f'N{i}["Custom<br/>(role: q{i})"]:::CustomOp\nPROBLEM --> N{i} --> RETURN' for i in range(n)],
    lambda n: "  prompts:\n" + "".join(f"    p{i}: Solve it {{input}}.\n" for i in range(50)),
)
_operator(
    "roles and prompts that are misspelt",
    lambda n: [f'N{i}["Custom<br/>(role: prompt{i}x)"]:::CustomOp\nPROBLEM --> N{i} --> RETURN' for i in range(n)],
    lambda n: "  prompts:\n" + "".join(f"    prompt{i}: Solve it {{input}}.\n" for i in range(n)),
)
_operator(
    "types that are misspelt",
    lambda n: [f'N{i}["Custom<br/>(returns: Typ{i}x)"]:::CustomOp\nPROBLEM --> N{i} --> RETURN' for i in range(n)],
    lambda n: "  types:\n" + "".join(f"    Type{i}: Text\n" for i in range(50)),
)
_operator(
    "kinds of types that are misspelt",
    lambda n: ["PROBLEM --> RETURN"],
    lambda n: "  types:\n" + "".join(f"    Type{i}: Typ{i}x\n" for i in range(n)),
)
_operator(
    "cases that are misspelt",
    lambda n: [
        'A["Custom<br/>(returns: Route)"]:::CustomOp',
        "PROBLEM --> A -->|when| D",
        "D{Which?}:::DecisionOp",
        *(f"D -->|cases{i}| RETURN" for i in range(n)),
    ],
    lambda n: "  types:\n    Route: [" + ", ".join(f"case{i}" for i in range(n)) + "]\n",
)
_operator(
    "an operator with ports that are misspelt",
    lambda n: ['N["Op<br/>"]', *(f"PROBLEM -->|port{i}x| N" for i in range(n)), "N --> RETURN"],
    lambda n: (
        "  operators:\n    Op:\n      inputs:\n"
        + "".join(f"        port{i}: Text\n" for i in range(n))
        + "      outputs: {b: Text}\n"
    ),
)
_operator(
    "a long prompt",
    lambda n: ['N["Custom<br/>(role: p)"]:::CustomOp', "PROBLEM --> N --> RETURN"],
    lambda n: "  prompts:\n    p: |\n" + "".join(f"      Solve it {i} {{input}}.\n" for i in range(n)),
)
_operator(
    "unknown keys",
    lambda n: ["PROBLEM --> RETURN"],
    lambda n: "".join(f"  key{i}: value\n" for i in range(n)),
)
_operator(
    "repeated keys",
    lambda n: ["PROBLEM --> RETURN"],
    lambda n: "".join("  model: value\n" for i in range(n)),
)
_operator(
    "inputs",
    lambda n: [f"I{i}[In]:::Interface --> RETURN" for i in range(n)],
    lambda n: "  inputs: [" + ", ".join(f"I{i}" for i in range(n)) + "]\n",
)
_operator(
    "YAML nested deep",
    lambda n: ["PROBLEM --> RETURN"],
    lambda n: "  memory: " + "{a: " * n + "\n",
)
_operator(
    "YAML anchors",
    lambda n: ["PROBLEM --> RETURN"],
    lambda n: "  memory:\n" + "".join(f"    k{i}: &a{i} word\n    l{i}: *a{i}\n" for i in range(n)),
)
SHAPES["broken front matter"] = Shape(
    "broken front matter", lambda n: "---\n" + "".join(f"key{i} word: [\n" for i in range(n)) + "---\n" + workflow([])
)
SHAPES["front matter without end"] = Shape(
    "front matter without end", lambda n: "---\n" + "".join(f"key{i}: word\n" for i in range(n)) + workflow([])
)


@shape("label parameters")
def _parameters(n: int) -> str:
    inside = ", ".join(f"k{i}: v" for i in range(n))
    return workflow([f'N["Custom<br/>({inside})"]:::CustomOp', "PROBLEM --> N --> RETURN"])


@shape("one label parameter again and again")
def _same_parameters(n: int) -> str:
    inside = ", ".join("role: v" for i in range(n))
    return workflow([f'N["Custom<br/>({inside})"]:::CustomOp', "PROBLEM --> N --> RETURN"])


@shape("metadata parameters")
def _metadata_parameters(n: int) -> str:
    inside = ", ".join(f"k{i}: v" for i in range(n))
    return workflow([f"N@{{ op: Custom, {inside} }}", "PROBLEM --> N --> RETURN"])


@shape("many labels of one node")
def _labels(n: int) -> str:
    return workflow([*(f'N["Custom<br/>(role: r{i})"]' for i in range(n)), "PROBLEM --> N --> RETURN"])


@shape("parameters that nothing reads")
def _idle(n: int) -> str:
    nodes = [f'N{i}["ScEnsemble<br/>(temperature: 0.5, unknown: 3)"]\nPROBLEM --> N{i} --> RETURN' for i in range(n)]
    return workflow(nodes)


@shape("nodes that nothing reaches")
def _unreached(n: int) -> str:
    return workflow([*(f'N{i}["Custom<br/>"]:::CustomOp' for i in range(n)), "PROBLEM --> RETURN"])


@shape("edges of wrong types")
def _wrong_types(n: int) -> str:
    nodes = [f'N{i}["Test<br/>"]:::TestOp\nPROBLEM -->|solution| N{i}\nN{i} -->|nothing| RETURN' for i in range(n)]
    return workflow(nodes)


@shape("edges to one port")
def _one_port(n: int) -> str:
    nodes = [f'N{i}["Custom<br/>"]:::CustomOp\nPROBLEM --> N{i} -->|problem| T' for i in range(n)]
    return workflow([*nodes, 'T["Test<br/>"]:::TestOp', "T --> RETURN"])


@shape("a workflow in subgraphs")
def _workflow_in_subgraphs(n: int) -> str:
    lines = [
        f'subgraph S{i}\nN{i}["Custom<br/>(role: solver)"]:::CustomOp\nend\nPROBLEM --> N{i} --> RETURN'
        for i in range(n)
    ]
    return workflow(lines)


@shape("two copies of each node")
def _twins(n: int) -> str:
    """Nodes that say the same, fed by the same."""
    nodes = [f'N{i}@{{ op: Custom, prompt: "Solve." }}\nPROBLEM --> N{i} --> V' for i in range(n)]
    return workflow([*nodes, 'V["ScEnsemble<br/>"]:::ScEnsembleOp --> RETURN'])


@shape("a Decision that asks with many cases")
def _asked_cases(n: int) -> str:
    nodes = [f'N{i}["Custom<br/>(prompt: Answer.)"]' for i in range(n)]
    return workflow(
        ["D{Which?}:::DecisionOp", "PROBLEM --> D", *nodes, *(f"D -->|case {i}| N{i} --> RETURN" for i in range(n))]
    )


@shape("steps in Loops inside one another")
def _steps_in_loops(n: int) -> str:
    begun = [f'subgraph L{i}["Loop (max: 2)"]\nN{i}["Custom<br/>(prompt: Go on.)"]' for i in range(n)]
    back = [f"N{i} -.->|again:input| N{i}" for i in range(n)]
    path = f"PROBLEM --> {' --> '.join(f'N{i}' for i in range(n))} --> RETURN"
    return workflow([*begun, *["end"] * n, path, *back])


_operator(
    "an operator that lacks many inputs",
    lambda n: ['N["Op<br/>"]', "PROBLEM -->|a0| N", "N --> RETURN"],
    lambda n: (
        "  operators:\n    Op:\n      inputs:\n"
        + "".join(f"        a{i}: Text\n" for i in range(n))
        + "      outputs: {b: Text}\n"
    ),
)
