# ruff: noqa: ARG005 - each shape is a function of n, also where a part of it does not grow
"""Shapes of workflows with records, unions, agents, validators, Loops and Maps, and of steps in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from tests.growth.shape import SHAPES, Shape, front_matter, numbered, workflow


def _shape(name: str, lines: Callable[[int], Iterable[str]], settings: Callable[[int], str]) -> None:
    SHAPES[name] = Shape(name, lambda n: workflow(lines(n), front_matter(settings(n))))


_END = "V[Assemble] --> RETURN"


def _each(line: str, n: int) -> list[str]:
    return [numbered(line, i) for i in range(n)]


_MODEL = "  model: m\n"

# Records and unions

_shape(
    "records that bring a field",
    lambda n: [
        *_each(
            'N{i}["Custom<br/>(role: r, returns: Kind{i})"]\nM{i}["Custom<br/>(role: r)"]\n'
            "PROBLEM -->|input| N{i} -->|advice:input| M{i} --> V",
            n,
        ),
        _END,
    ],
    lambda n: "  types:\n" + "".join(_each("    Kind{i}: {advice: Text, size: Number}\n", n)),
)
_shape(
    "a record with many fields",
    lambda n: ["PROBLEM -->|input| N[Custom]", "N@{ returns: Kind }", *_each("N -->|a{i}:| V", n), _END],
    lambda n: "  types:\n    Kind: {" + ", ".join(_each("a{i}: Text", n)) + "}\n",
)
_shape(
    "records in records",
    lambda n: [f"PROBLEM -->|input| N[Custom] -->|{'.'.join(['a'] * min(n, 7))}:| RETURN", "N@{ returns: Kind0 }"],
    lambda n: (
        "  types:\n"
        + "".join(f"    Kind{i}: {{a: {f'Kind{i + 1}' if i % 7 < 6 and i + 1 < n else 'Text'}}}\n" for i in range(n))
    ),
)
_shape(
    "a union of many kinds",
    lambda n: [
        "PROBLEM -->|input| A[Custom] --> D{Which?}:::DecisionOp",
        "A@{ returns: Any_kind }",
        *_each("D -->|K{i}:a:| V", n),
        _END,
    ],
    lambda n: (
        "  types:\n"
        + "".join(_each("    K{i}: {a: Text}\n", n))
        + "    Any_kind: "
        + " | ".join(_each("K{i}", n))
        + "\n"
    ),
)
_shape(
    "makers of a record",
    lambda n: [
        *_each('N{i}["Pass<br/>(returns: Kind)"]\nPROBLEM -->|a| N{i}\nPROBLEM -->|b| N{i}\nN{i} --> V', n),
        _END,
    ],
    lambda n: "  types:\n    Kind: {a: Text, b: Text}\n",
)

# Agents, validators, what is made again

_shape(
    "agents",
    lambda n: [*_each("N{i}@{ op: Custom, prompt: Solve it., agent: a{i} }\nPROBLEM -->|input| N{i} --> V", n), _END],
    lambda n: "  agents:\n" + "".join(_each("    a{i}: {role: Writer, prompt: Be brief.}\n", n)),
)
_shape(
    "one agent of a long chain",
    lambda n: [
        *_each("N{i}@{ op: Custom, prompt: Solve it., agent: A }", n),
        "PROBLEM -->|input| N0",
        *(f"N{i} --> N{j}" for i, j in pairwise(range(n))),
        f"N{n - 1} --> RETURN",
    ],
    lambda n: "  aims: true\n  agents:\n    a: {role: Writer}\n",
)
_shape(
    "validators",
    lambda n: [
        *_each("N{i}@{ op: Custom, prompt: Solve it., validate: v{i} }\nPROBLEM -->|input| N{i} --> V", n),
        _END,
    ],
    lambda n: "  validators:\n" + "".join(_each("    v{i}: {if: len(output) < 400}\n", n)),
)
_shape(
    "a node with many validators",
    lambda n: [
        "N@{ op: Custom, prompt: Solve it., validate: [" + ", ".join(_each("v{i}", n)) + "] }",
        "PROBLEM -->|input| N --> RETURN",
    ],
    lambda n: "  validators:\n" + "".join(_each("    v{i}: {regex: 'a{i}'}\n", n)),
)
_shape(
    "agents and validators that are misspelt",
    lambda n: _each("N{i}@{ op: Custom, prompt: Go on., agent: agentx{i}, validate: validx{i} }\nPROBLEM --> N{i}", n),
    lambda n: (
        "  agents:\n"
        + "".join(_each("    agent{i}: {role: W}\n", n))
        + "  validators:\n"
        + "".join(_each("    valid{i}: {regex: a}\n", n))
    ),
)
_shape(
    "nodes that are made again",
    lambda n: [*_each("N{i}@{ op: Custom, prompt: Solve it. }\nPROBLEM -->|input| N{i} --> V", n), _END],
    lambda n: "  redo: {" + ", ".join(_each("N{i}: 1", n)) + "}\n",
)

# Loops and Maps

_shape(
    "one Loop around a chain",
    lambda n: [
        'subgraph L["Loop (max: 3)"]',
        *_each("N{i}@{ op: Custom, prompt: Solve it. }", n),
        *(f"N{i} -->|input| N{j}" for i, j in pairwise(range(n))),
        f"N{n - 1} -->|again| N0",
        "end",
        "PROBLEM -->|input| N0",
        f"N{n - 1} --> RETURN",
    ],
    lambda n: _MODEL,
)
_shape(
    "Loops in a row",
    lambda n: [
        *_each(
            'subgraph L{i}["Loop (max: 3)"]\nN{i}@{ op: Custom, prompt: Solve it. }\n'
            "M{i}@{ op: Custom, prompt: Solve it. }\nN{i} -->|input| M{i}\nM{i} -->|again| N{i}\nend",
            n,
        ),
        "PROBLEM -->|input| N0",
        *(f"M{i} -->|input| N{j}" for i, j in pairwise(range(n))),
        f"M{n - 1} --> RETURN",
    ],
    lambda n: _MODEL,
)
_shape(
    "Maps side by side",
    lambda n: [
        "PROBLEM -->|input| S[Custom]",
        "S@{ returns: 'list[Text]', prompt: List. }",
        *_each(
            'subgraph M{i}["Map ()"]\nN{i}@{ op: Custom, prompt: Solve it. }\nend\n'
            "S -->|each:input| N{i}\nN{i} --> A{i}[Assemble]\nA{i} --> V",
            n,
        ),
        _END,
    ],
    lambda n: _MODEL,
)
_shape(
    "arrows back without a Loop",
    lambda n: [
        "PROBLEM -->|input| N0",
        *_each("N{i}@{ op: Custom, prompt: Solve it. }\nN{i} -->|input| N{j}\nN{j} -->|again| N{i}", n),
        f"N{n}@{{ op: Custom, prompt: Solve it. }}",
        f"N{n} --> RETURN",
    ],
    lambda n: _MODEL,
)

# Steps in plain words


def _steps(name: str, lines: Callable[[int], Iterable[str]]) -> None:
    SHAPES[name] = Shape(name, lambda n: front_matter(_MODEL) + "flowchart TD\n" + "\n".join(lines(n)) + "\n")


_steps("a chain of plain steps", lambda n: [*_each("N{i}[Do the thing {i}] --> N{j}", n), f"N{n}[End]"])
_steps("plain steps side by side", lambda n: ["S[Read]", *_each("S --> N{i}[Do {i}] --> E", n), "E[Put it together]"])
_steps("plain steps of the same words", lambda n: [*_each("N{i}[Check the numbers] --> N{j}", n), f"N{n}[End]"])
_steps(
    "plain steps with words at their arrows",
    lambda n: [*_each("N{i}[Do {i}] -->|the draft {i}| N{j}", n), f"N{n}[End]"],
)
_steps(
    "plain steps in subgraphs",
    lambda n: [
        *_each("subgraph S{i}[Part {i}]\nN{i}[Do {i}] --> M{i}[Check it]\nend", n),
        *(f"M{i} --> N{j}" for i, j in pairwise(range(n))),
    ],
)
