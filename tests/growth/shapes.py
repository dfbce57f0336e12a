# ruff: noqa: ARG005 - each shape is a function of n, also where a part of it does not grow
"""Shapes of text that grow with a number: long, deep, wide, broken, commented, or many of one thing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

Make = Callable[[int], str]


@dataclass(frozen=True)
class Shape:
    """A kind of text. ``make(n)`` has about ``n`` of its thing; ``most`` is the largest n that the whole sweep asks for."""

    name: str
    make: Make
    most: int = 8000
    markdown: bool = False


SHAPES: dict[str, Shape] = {}


def shape(name: str, *, most: int = 8000, markdown: bool = False) -> Callable[[Make], Make]:
    def register(make: Make) -> Make:
        assert name not in SHAPES, name
        SHAPES[name] = Shape(name, make, most, markdown)
        return make

    return register


def _repeated(name: str, line: str, head: str = "flowchart TD\nA-->B\n", *, most: int = 8000) -> None:
    """A shape of ``n`` lines; ``{i}`` in a line is its number, ``{j}`` the next one's."""
    SHAPES[name] = Shape(name, lambda n: head + "".join(_line(line, i) for i in range(n)), most)


def _long(name: str, before: str, piece: str, after: str, *, most: int = 16_000) -> None:
    """A shape with ``n`` pieces on one line."""
    SHAPES[name] = Shape(name, lambda n: before + "".join(_line(piece, i) for i in range(n)) + after, most)


def _line(template: str, number: int) -> str:
    return template.replace("{i}", str(number)).replace("{j}", str(number + 1))


START = "flowchart TD\nPROBLEM([Problem]):::Interface\nRETURN([Return]):::Interface\n"
_CLASSES = "".join(
    f"classDef {name} fill:#d0e1f9\n" for name in ("Interface", "CustomOp", "ScEnsembleOp", "DecisionOp", "TestOp")
)


def _workflow(lines: Iterable[str], front: str = "") -> str:
    return front + START + "\n".join(lines) + "\n" + _CLASSES


def _front(workflow: str) -> str:
    return f"---\nworkflow:\n{workflow}---\n"


# Plain flowcharts

_repeated("nodes", "N{i}\n", "flowchart TD\n")
_repeated("nodes with labels", "N{i}[Label {i}]\n", "flowchart TD\n")
_repeated("edges of one pair", "A --> B\n", "flowchart TD\n")
_repeated("edges from one node", "A --> N{i}\n", "flowchart TD\n")
_repeated("edges into one node", "N{i} --> A\n", "flowchart TD\n")
_repeated("self loops", "N{i} --> N{i}\n", "flowchart TD\n")
_repeated("labelled edges", "A -->|word {i}| B\n", "flowchart TD\n")
_repeated("edges with ids", "A e{i}@--> B\n", "flowchart TD\n")
_repeated("metadata of edges", "A e{i}@--> B\ne{i}@{ animate: true }\n", "flowchart TD\n", most=4000)
_repeated("a chain on lines", "N{i} --> N{j}\n", "flowchart TD\n")
_long("a chain on one line", "flowchart TD\nA", " --> N{i}", "\n", most=4000)
_long("a long list of nodes", "flowchart TD\nA", " & N{i}", " --> B\n", most=4000)
_long("a list on both sides of an edge", "flowchart TD\nA", " & A", " --> B & C\n", most=4000)
_long("statements on one line", "flowchart TD\nA", "; N{i} --> N{j}", "\n", most=4000)
_long("a broken chain", "flowchart TD\nA", " --> N{i}", " -->\n", most=4000)
_repeated("arrows that continue", "--> N{i}\n", "flowchart TD\nA\n", most=4000)
_repeated("one line over and over", "A[same] --> B[same]\n", "flowchart TD\n")
_repeated("shapes in metadata", "N{i}@{ shape: rect, label: 'Label {i}' }\n", "flowchart TD\n", most=4000)
_repeated("metadata on many lines", "N{i}@{\n  shape: rect\n  label: Label {i}\n}\n", "flowchart TD\n", most=2000)
_long("metadata with many keys", "flowchart TD\nA@{ shape: rect", ", k{i}: v", " }\n", most=4000)
_long("metadata nested deep", "flowchart TD\nA@{ k: ", "[", "\n", most=4000)
_repeated("subgraphs side by side", "subgraph S{i}\nM{i}\nend\n", "flowchart TD\n", most=4000)
_repeated("subgraphs without ids", "subgraph a title {i}\nM{i}\nend\n", "flowchart TD\n", most=4000)
_repeated("subgraphs without end", "subgraph S{i}\n", "flowchart TD\n", most=4000)
_repeated("ends without subgraph", "end\n", most=4000)
_repeated("edges of subgraphs", "subgraph S{i}\nM{i}\nend\nS{i} --> A\n", "flowchart TD\n", most=2000)


@shape("subgraphs inside one another", most=2000)
def _nested(n: int) -> str:
    return (
        "flowchart TD\n"
        + "".join(f"subgraph S{i}\n" for i in range(n))
        + "A-->B\n"
        + "".join("end\n" for _ in range(n))
    )


@shape("nested subgraphs with nodes", most=1000)
def _nested_nodes(n: int) -> str:
    inside = "".join(f"subgraph S{i}\nM{i}\n" for i in range(n))
    return "flowchart TD\n" + inside + "end\n" * n


@shape("Loops inside one another", most=400)
def _nested_loops(n: int) -> str:
    inside = "".join(f'subgraph S{i}["Loop (max: 2)"]\nM{i}[Custom]\n' for i in range(n))
    return "flowchart TD\n" + inside + "end\n" * n


_repeated("Loops side by side", 'subgraph S{i}["Loop (max: 2)"]\nM{i}[Custom]\nend\n', "flowchart TD\n", most=2000)
_repeated(
    "Maps in a row",
    'subgraph S{i}["Map ()"]\nM{i}[Custom]\nend\nM{i} -->|each:input| N{i}\n',
    "flowchart TD\n",
    most=1000,
)
_repeated("nodes in one subgraph", "N{i}\n", "flowchart TD\nsubgraph S\n")
_repeated("one node in many subgraphs", "subgraph S{i}\nA\nend\n", "flowchart TD\n", most=4000)
_repeated("directions", "direction TB\n")
_repeated("directions in a subgraph", "direction TB\n", "flowchart TD\nsubgraph S\n")
_repeated("class definitions", "classDef C{i} fill:#fff\n")
_repeated("one class defined again", "classDef C fill:#fff\n")
_repeated("classes of one node", "class A C{i}\n")
_repeated("one class of many nodes", "N{i}:::C\n", "flowchart TD\nclassDef C fill:#fff\n")
_repeated("class lines", "class N{i} C\n", "flowchart TD\n")
_long("a class line of many nodes", "flowchart TD\nclass A", ",N{i}", " C\n")
_long("a class definition of many names", "flowchart TD\nclassDef A", ",C{i}", " fill:#fff\n")
_long("a class definition of many styles", "flowchart TD\nclassDef A fill:#fff", ",k{i}:#fff", "\n")
_long("many classes after a node", "flowchart TD\nA", ":::C{i}", "\n", most=4000)
_repeated("styles", "style N{i} fill:#fff\n")
_long("a style with many properties", "flowchart TD\nstyle A fill:#fff", ",k{i}:#fff", "\n")
_repeated("link styles", "linkStyle 0 stroke:#fff\n")
_repeated("link styles of many edges", "A --> B\nlinkStyle {i} stroke:#fff\n", "flowchart TD\n", most=4000)
_long("a link style of many numbers", "flowchart TD\nA-->B\nlinkStyle 0", ",{i}", " stroke:#fff\n")
_repeated("clicks", 'click N{i} "https://example.org/{i}"\n')
_repeated("titles for screen readers", "accTitle: Title {i}\n")
_long("a long description", "flowchart TD\nA-->B\naccDescr {\n", "word {i}\n", "}\n")
_repeated("descriptions without end", "accDescr {\n", most=2000)
_repeated("comments", "%% comment {i}\n")
_repeated("comments after nodes", "N{i}\n%% comment {i}\n", "flowchart TD\n", most=4000)
_repeated("directives", "%%{init: {'theme': 'dark'}}%%\n", most=4000)
_repeated("directives without end", "%%{init: {'theme'\n", most=2000)
_repeated("directives before the header", "%%{init: {'theme': 'dark'}}%%\n", "", most=4000)
_repeated("empty lines", "\n")
_repeated("empty lines before the header", "\n", "")
_repeated("semicolons", ";\n")
_long("semicolons on one line", "flowchart TD\nA", ";", "\n")
_repeated("carriage returns", "N{i} --> N{j}\r\n", "flowchart TD\r\n")
_repeated("lone carriage returns", "N{i} --> N{j}\r", "flowchart TD\r", most=4000)
_repeated("tabs", "\t\tN{i}\t-->\tN{j}\n", "flowchart TD\n")
_repeated("headers", "flowchart TD\n", "")
_repeated("text that is not a flowchart", "word {i} and more\n", "")
_repeated("another diagram", "Alice->>Bob: word {i}\n", "sequenceDiagram\n")

# Long tokens

_long("a long id", "flowchart TD\n", "x", " --> B\n", most=64_000)
_long("a long label", "flowchart TD\nA[", "word ", "] --> B\n", most=32_000)
_long("a long label of brackets", 'flowchart TD\nA["', "((", '"]\n', most=16_000)
_long("a label on many lines", 'flowchart TD\nA["', "word {i}\n", '"]\n')
_long("a label of entities", 'flowchart TD\nA["', "#quot;", '"]\n')
_long("a label of tags", 'flowchart TD\nA["', "<b>word</b><br/>", '"]\n', most=8000)
_long("a label of open tags", 'flowchart TD\nA["', "<b", '"]\n')
_long("a label of scripts", 'flowchart TD\nA["', "<script", '"]\n')
_long("a Markdown label", 'flowchart TD\nA["`', "**word** ", '`"]\n')
_long("a long edge label", "flowchart TD\nA -->|", "word ", "| B\n", most=32_000)
_long("a long label between dashes", "flowchart TD\nA -- ", "word ", "--> B\n", most=16_000)
_long("a long arrow", "flowchart TD\nA ", "-", "> B\n", most=32_000)
_long("letters of other scripts", "flowchart TD\n", "漢字{i} ", "\n", most=8000)
_long("emoji in a label", 'flowchart TD\nA["', "🎉", '"]\n', most=16_000)
_repeated("emoji on each line", 'N{i}["🎉 party {i}"] --> N{j}\n', "flowchart TD\n", most=4000)
_long("many nodes with emoji on a line", "flowchart TD\nA", ' --> N{i}["🎉"]', "\n", most=2000)
_long("white space", "flowchart TD\nA", " ", "--> B\n", most=64_000)
_long("white space at an end", "flowchart TD\nA --> B", " \t", "\n", most=32_000)
_long("a long comment", "flowchart TD\n%% ", "word ", "\nA-->B\n", most=32_000)

# Broken

for _name, _text in {
    "broken words": "word {i} and more\n",
    "unclosed brackets": "N{i}[label\n",
    "unclosed round brackets": "N{i}(label\n",
    "unclosed braces": "N{i}{{label\n",
    "unclosed quotes": 'N{i}["label\n',
    "unclosed metadata": "N{i}@{ shape: rect\n",
    "unclosed edge labels": "A -->|label\n",
    "stray brackets": "]\n",
    "stray arrows": "-->\n",
    "half arrows": "A -- \n",
    "two dashes": "--\n",
    "arrows to nothing": "N{i} -->\n",
    "ampersands": "A & \n",
    "unknown characters": "\x01\x02 A\n",
    "unfinished class definitions": "classDef\n",
    "unfinished styles": "style N{i}\n",
    "unfinished clicks": "click\n",
    "unfinished link styles": "linkStyle 99999 \n",
    "bad shapes": "N{i}@{ shape: nothing{i} }\n",
    "bad metadata": "N{i}@{ label: [ }\n",
    "reserved words": "end{i} --> end\n",
    "quotes in labels": 'N{i}[a "quoted" word]\n',
    "lower-case ends": "A --> end\n",
}.items():
    _repeated(_name, _text, most=2000)
_long("unclosed brackets on one line", "flowchart TD\n", "A[", "\n", most=4000)
_long("unclosed quotes on one line", "flowchart TD\n", 'A["', "\n", most=4000)
_long("stray words on one line", "flowchart TD\nA-->B\n", "word ", "\n", most=8000)
_long("stray brackets on one line", "flowchart TD\nA-->B\n", "]", "\n", most=8000)
_long("dashes and words", "flowchart TD\nA ", "-- word ", "\n", most=4000)

# Workflows


@shape("a workflow chain")
def _chain(n: int) -> str:
    nodes = [f'N{i}["Custom<br/>(role: solver)"]:::CustomOp' for i in range(n)]
    edges = [f"N{i} --> N{i + 1}" for i in range(n - 1)]
    return _workflow([*nodes, "PROBLEM --> N0", *edges, f"N{n - 1} --> RETURN"])


@shape("voters")
def _voters(n: int) -> str:
    nodes = [f'N{i}["Custom<br/>(role: solver)"]:::CustomOp' for i in range(n)]
    edges = [f"PROBLEM --> N{i} --> V" for i in range(n)]
    return _workflow([*nodes, 'V["ScEnsemble<br/>"]:::ScEnsembleOp', *edges, "V --> RETURN"])


@shape("a grid", most=8000)
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
    return _workflow([*nodes, *edges])


@shape("layers", most=8000)
def _layers(n: int) -> str:
    """Lists of ten nodes, each layer wholly joined to the next."""
    layers = max(n // 10, 1)
    nodes = [f'N{i}["Custom<br/>(role: solver)"]:::CustomOp' for i in range(layers * 10)]
    groups = [" & ".join(f"N{layer * 10 + i}" for i in range(10)) for layer in range(layers)]
    return _workflow(
        [
            *nodes,
            f"PROBLEM --> {groups[0]}",
            *map(" --> ".join, pairwise(groups)),
            f"{groups[-1]} --> RETURN",
        ]
    )


@shape("a cycle", most=4000)
def _cycle(n: int) -> str:
    nodes = [f'N{i}["Custom<br/>(role: solver)"]:::CustomOp' for i in range(n)]
    return _workflow([*nodes, *(f"N{i} --> N{(i + 1) % n}" for i in range(n)), "PROBLEM --> N0 --> RETURN"])


@shape("many cycles", most=4000)
def _cycles(n: int) -> str:
    nodes = [f'N{i}["Custom<br/>(role: solver)"]:::CustomOp' for i in range(n)]
    return _workflow([*nodes, *(f"N{i} --> N{i ^ 1}" for i in range(n)), "PROBLEM --> N0 --> RETURN"])


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


@shape("Decisions side by side", most=2000)
def _parallel_decisions(n: int) -> str:
    lines = [
        line for i in range(n) for line in [*_decision(i, "PROBLEM", target=f"M{i}"), f'M{i}["Custom<br/>"]:::CustomOp']
    ]
    return _workflow(
        [*lines, *(f"M{i} --> V" for i in range(n)), 'V["ScEnsemble<br/>"]:::ScEnsembleOp', "V --> RETURN"]
    )


@shape("Decisions side by side into one output", most=2000)
def _parallel_outputs(n: int) -> str:
    return _workflow([line for i in range(n) for line in _decision(i, "PROBLEM")])


@shape("Decisions in a row", most=2000)
def _decisions_in_a_row(n: int) -> str:
    lines = _decision(0, "PROBLEM", target="M0")
    for i in range(n):
        lines.append(f'M{i}["Custom<br/>"]:::CustomOp')
        if i + 1 < n:
            lines += _decision(i + 1, f"M{i}", target=f"M{i + 1}")
    return _workflow([*lines, f"M{n - 1} --> RETURN"])


@shape("a Decision with many cases", most=4000)
def _cases(n: int) -> str:
    words = ", ".join(f"case{i}" for i in range(n))
    nodes = [f'N{i}["Custom<br/>"]:::CustomOp' for i in range(n)]
    edges = [f"D -->|case{i}:after| N{i} --> RETURN" for i in range(n)]
    start = ['A["Custom<br/>(returns: Route)"]:::CustomOp', "PROBLEM --> A -->|when| D", "D{Which?}:::DecisionOp"]
    starts = [f"PROBLEM --> N{i}" for i in range(n)]
    return _workflow([*start, *nodes, *starts, *edges], _front(f"  types:\n    Route: [{words}]\n"))


@shape("a Decision nested in a Decision", most=400)
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
    return _workflow([*lines, f'D{n}["Custom<br/>"]:::CustomOp', f"PROBLEM --> D{n} --> RETURN"])


def _operator(name: str, lines: Callable[[int], list[str]], front: Callable[[int], str], *, most: int = 4000) -> None:
    SHAPES[name] = Shape(name, lambda n: _workflow(lines(n), _front(front(n))), most)


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
    most=2000,
)
_operator(
    "an operator with many ports",
    lambda n: ['N["Op<br/>"]', *(f"PROBLEM -->|a{i}| N" for i in range(n)), "N --> RETURN"],
    lambda n: (
        "  operators:\n    Op:\n      inputs:\n"
        + "".join(f"        a{i}: Text\n" for i in range(n))
        + "      outputs: {b: Text}\n"
    ),
    most=2000,
)
_operator(
    "an operator with many open ports",
    lambda n: ['N["Op<br/>"]', *("PROBLEM --> N" for i in range(n)), "N --> RETURN"],
    lambda n: (
        "  operators:\n    Op:\n      inputs:\n"
        + "".join(f"        a{i}: Text\n" for i in range(n))
        + "      outputs: {b: Text}\n"
    ),
    most=1000,
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
    most=2000,
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
    most=2000,
)
_operator(
    "roles and prompts that are misspelt",
    lambda n: [f'N{i}["Custom<br/>(role: prompt{i}x)"]:::CustomOp\nPROBLEM --> N{i} --> RETURN' for i in range(n)],
    lambda n: "  prompts:\n" + "".join(f"    prompt{i}: Solve it {{input}}.\n" for i in range(n)),
    most=2000,
)
_operator(
    "types that are misspelt",
    lambda n: [f'N{i}["Custom<br/>(returns: Typ{i}x)"]:::CustomOp\nPROBLEM --> N{i} --> RETURN' for i in range(n)],
    lambda n: "  types:\n" + "".join(f"    Type{i}: Text\n" for i in range(50)),
    most=2000,
)
_operator(
    "kinds of types that are misspelt",
    lambda n: ["PROBLEM --> RETURN"],
    lambda n: "  types:\n" + "".join(f"    Type{i}: Typ{i}x\n" for i in range(n)),
    most=2000,
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
    most=2000,
)
_operator(
    "an operator with ports that are misspelt",
    lambda n: ['N["Op<br/>"]', *(f"PROBLEM -->|port{i}x| N" for i in range(n)), "N --> RETURN"],
    lambda n: (
        "  operators:\n    Op:\n      inputs:\n"
        + "".join(f"        port{i}: Text\n" for i in range(n))
        + "      outputs: {b: Text}\n"
    ),
    most=1000,
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
    most=2000,
)
_operator(
    "YAML anchors",
    lambda n: ["PROBLEM --> RETURN"],
    lambda n: "  memory:\n" + "".join(f"    k{i}: &a{i} word\n    l{i}: *a{i}\n" for i in range(n)),
    most=2000,
)
SHAPES["broken front matter"] = Shape(
    "broken front matter", lambda n: "---\n" + "".join(f"key{i} word: [\n" for i in range(n)) + "---\n" + _workflow([])
)
SHAPES["front matter without end"] = Shape(
    "front matter without end", lambda n: "---\n" + "".join(f"key{i}: word\n" for i in range(n)) + _workflow([])
)


@shape("label parameters", most=8000)
def _parameters(n: int) -> str:
    inside = ", ".join(f"k{i}: v" for i in range(n))
    return _workflow([f'N["Custom<br/>({inside})"]:::CustomOp', "PROBLEM --> N --> RETURN"])


@shape("one label parameter again and again", most=8000)
def _same_parameters(n: int) -> str:
    inside = ", ".join("role: v" for i in range(n))
    return _workflow([f'N["Custom<br/>({inside})"]:::CustomOp', "PROBLEM --> N --> RETURN"])


@shape("metadata parameters", most=4000)
def _metadata_parameters(n: int) -> str:
    inside = ", ".join(f"k{i}: v" for i in range(n))
    return _workflow([f"N@{{ op: Custom, {inside} }}", "PROBLEM --> N --> RETURN"])


@shape("many labels of one node", most=4000)
def _labels(n: int) -> str:
    return _workflow([*(f'N["Custom<br/>(role: r{i})"]' for i in range(n)), "PROBLEM --> N --> RETURN"])


@shape("parameters that nothing reads", most=4000)
def _idle(n: int) -> str:
    nodes = [f'N{i}["ScEnsemble<br/>(temperature: 0.5, unknown: 3)"]\nPROBLEM --> N{i} --> RETURN' for i in range(n)]
    return _workflow(nodes)


@shape("nodes that nothing reaches", most=4000)
def _unreached(n: int) -> str:
    return _workflow([*(f'N{i}["Custom<br/>"]:::CustomOp' for i in range(n)), "PROBLEM --> RETURN"])


@shape("edges of wrong types", most=4000)
def _wrong_types(n: int) -> str:
    nodes = [f'N{i}["Test<br/>"]:::TestOp\nPROBLEM -->|solution| N{i}\nN{i} -->|nothing| RETURN' for i in range(n)]
    return _workflow(nodes)


@shape("edges to one port", most=4000)
def _one_port(n: int) -> str:
    nodes = [f'N{i}["Custom<br/>"]:::CustomOp\nPROBLEM --> N{i} -->|problem| T' for i in range(n)]
    return _workflow([*nodes, 'T["Test<br/>"]:::TestOp', "T --> RETURN"])


@shape("a workflow in subgraphs", most=2000)
def _workflow_in_subgraphs(n: int) -> str:
    lines = [
        f'subgraph S{i}\nN{i}["Custom<br/>(role: solver)"]:::CustomOp\nend\nPROBLEM --> N{i} --> RETURN'
        for i in range(n)
    ]
    return _workflow(lines)


@shape("two copies of each node", most=2000)
def _twins(n: int) -> str:
    """Nodes that say the same, fed by the same."""
    nodes = [f'N{i}@{{ op: Custom, prompt: "Solve." }}\nPROBLEM --> N{i} --> V' for i in range(n)]
    return _workflow([*nodes, 'V["ScEnsemble<br/>"]:::ScEnsembleOp --> RETURN'])


# Suppressions

for _name, _text in {
    "comments that ignore all": "%% merrow: ignore\nclassDef U{i} fill:#fff\n",
    "comments that ignore a rule": "%% merrow: ignore[MW404] why\nclassDef U{i} fill:#fff\n",
    "comments that ignore a group": "%% merrow: ignore[MW4,MW1]\nclassDef U{i} fill:#fff\n",
    "comments that ignore a name": "%% merrow: ignore[unused-class]\nclassDef U{i} fill:#fff\n",
    "unused suppressions": "%% merrow: ignore[MW201]\nN{i}\n",
    "suppressions above one statement": "%% merrow: ignore[MW404]\n",
    "suppressions of a file": "%% merrow: ignore-file[MW404]\nclassDef U{i} fill:#fff\n",
    "suppressions of a file for all": "%% merrow: ignore-file\n",
    "suppressions of a file that are unused": "%% merrow: ignore-file[MW201]\n",
    "suppressions of unknown rules": "%% merrow: ignore[MWX{i}]\nN{i}\n",
    "suppressions that can't be read": "%% merrow: ignor[MW404]\nN{i}\n",
    "suppressions of nothing": "%% merrow: ignore[]\nN{i}\n",
}.items():
    _repeated(_name, _text, START, most=4000)
_long("a suppression of many rules", START + "%% merrow: ignore[MW404", ",MW1", "]\nclassDef U fill:#fff\n")
_long("a suppression of many unknown rules", START + "%% merrow: ignore-file[MW404", ",no-{i}", "]\n", most=1000)

# Drawings with diamonds, whose values and loops must not multiply


def _drawn(name: str, line: str, head: str, end: str, *, most: int = 500) -> None:
    """A drawing that is read as a workflow: ``n`` times the line, then the end, in which ``{i}`` is n."""
    SHAPES[name] = Shape(
        name,
        lambda n: (
            _front("  model: m\n") + "flowchart TD\n" + head + "".join(_line(line, i) for i in range(n)) + _line(end, n)
        ),
        most,
    )


_ENDS = "A{i} -->|a| X[Write]\nA{i} -->|b| Y[Say]\n"


@shape("diamonds that lead to the next two", most=500)
def _next_two(n: int) -> str:
    ways = (f"A{i} -->|a| A{i + 1}{{q?}}\nA{i} -->|b| A{i + 2}{{q?}}\n" for i in range(n))
    ends = _line(_ENDS, n) + _line(_ENDS, n + 1)
    return _front("  model: m\n") + "flowchart TD\nS[Read] --> A0{q?}\n" + "".join(ways) + ends


_drawn(
    "diamonds in two rows",
    "A{i} -->|a| A{j}{q?}\nA{i} -->|b| B{j}{r?}\nB{i} -->|a| A{j}\nB{i} -->|b| B{j}\n",
    "S[Read] --> A0{q?} & B0{r?}\n",
    _ENDS + "B{i} -->|a| X\nB{i} -->|b| Y\n",
)
_drawn("two cases to the next diamond", "A{i} -->|a| A{j}{q?}\nA{i} -->|b| A{j}\n", "S[Read] --> A0{q?}\n", _ENDS)
_drawn(
    "diamonds with a step in one case",
    "A{i} -->|a| P{i}[Do it] --> A{j}{q?}\nA{i} -->|b| A{j}\n",
    "S[Read] --> A0{q?}\n",
    _ENDS,
)
_drawn(
    "arrows back to the first step",
    "B{i} --> A{i}{ok?}\nA{i} -->|no| B0\nA{i} -->|yes| B{j}[Do it]\n",
    "S[Read] --> B0[Do it]\n",
    "B{i} --> X[End]\n",
)
_drawn(
    "arrows back to the step before",
    "B{i} --> A{i}{ok?}\nA{i} -->|no| B{i}\nA{i} -->|yes| B{j}[Do it]\n",
    "S[Read] --> B0[Do it]\n",
    "B{i} --> X[End]\n",
)


# Markdown


def _markdown(name: str, make: Make, *, most: int = 2000) -> None:
    SHAPES[name] = Shape(name, make, most, markdown=True)


_FENCE = "```mermaid\nflowchart TD\nA{i} --> B\n```\n"
_markdown("fences", lambda n: "".join(_line(_FENCE + "\n", i) for i in range(n)))
_markdown(
    "fences of workflows",
    lambda n: "".join(f"```mermaid\n{_workflow(['PROBLEM --> RETURN'])}```\n\n" for i in range(n)),
    most=1000,
)
_markdown("fences without end", lambda n: "```mermaid\nflowchart TD\n" + "A --> B\n" * n, most=8000)
_markdown("openings of fences", lambda n: "```mermaid\n" * n, most=8000)
_markdown("paragraphs", lambda n: "Words and words.\n\n" * n + _line(_FENCE, 0), most=8000)
_markdown("one paragraph", lambda n: "Words and words.\n" * n + _line(_FENCE, 0), most=8000)
_markdown("lists", lambda n: "".join(f"- item {i}\n" for i in range(n)) + "\n" + _line(_FENCE, 0), most=8000)
_markdown("lists inside one another", lambda n: "".join(" " * (2 * i) + "- item\n" for i in range(n)), most=400)
_markdown("quotes inside one another", lambda n: "> " * n + "```mermaid\n", most=8000)
_markdown("lines of quotes", lambda n: "> words\n" * n + "\n" + _line(_FENCE, 0), most=8000)
_markdown(
    "fences in quotes",
    lambda n: "".join("> " + line + "\n" for i in range(n) for line in _line(_FENCE, i).splitlines()) + "\n",
)
_markdown(
    "fences in lists",
    lambda n: "".join(
        "- item\n\n" + "".join(f"  {line}\n" for line in _line(_FENCE, i).splitlines()) + "\n" for i in range(n)
    ),
)
_markdown("list marks on one line", lambda n: "- " * n + "```mermaid\n", most=8000)
_markdown(
    "a long fence",
    lambda n: "# Title\n\n```mermaid\nflowchart TD\n" + "".join(f"N{i} --> N{i + 1}\n" for i in range(n)) + "```\n",
    most=8000,
)
_markdown("HTML blocks", lambda n: "<div>\n" * n + "\n" + _line(_FENCE, 0), most=8000)
_markdown("indented code", lambda n: "    code\n" * n + "\n" + _line(_FENCE, 0), most=8000)
_markdown("backticks", lambda n: "`" * n + "mermaid\nflowchart TD\nA-->B\n", most=32_000)
