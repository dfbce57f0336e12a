"""Shapes of plain flowcharts, of long tokens, and of what can't be read."""

from __future__ import annotations

from tests.growth.shape import long, repeated, shape

# Plain flowcharts

repeated("nodes", "N{i}\n", "flowchart TD\n")
repeated("nodes with labels", "N{i}[Label {i}]\n", "flowchart TD\n")
repeated("edges of one pair", "A --> B\n", "flowchart TD\n")
repeated("edges from one node", "A --> N{i}\n", "flowchart TD\n")
repeated("edges into one node", "N{i} --> A\n", "flowchart TD\n")
repeated("self loops", "N{i} --> N{i}\n", "flowchart TD\n")
repeated("labelled edges", "A -->|word {i}| B\n", "flowchart TD\n")
repeated("edges with ids", "A e{i}@--> B\n", "flowchart TD\n")
repeated("metadata of edges", "A e{i}@--> B\ne{i}@{ animate: true }\n", "flowchart TD\n")
repeated("a chain on lines", "N{i} --> N{j}\n", "flowchart TD\n")
long("a chain on one line", "flowchart TD\nA", " --> N{i}", "\n")
long("a long list of nodes", "flowchart TD\nA", " & N{i}", " --> B\n")
long("a list on both sides of an edge", "flowchart TD\nA", " & A", " --> B & C\n")
long("statements on one line", "flowchart TD\nA", "; N{i} --> N{j}", "\n")
long("a broken chain", "flowchart TD\nA", " --> N{i}", " -->\n")
repeated("arrows that continue", "--> N{i}\n", "flowchart TD\nA\n")
repeated("one line over and over", "A[same] --> B[same]\n", "flowchart TD\n")
repeated("shapes in metadata", "N{i}@{ shape: rect, label: 'Label {i}' }\n", "flowchart TD\n")
repeated("metadata on many lines", "N{i}@{\n  shape: rect\n  label: Label {i}\n}\n", "flowchart TD\n")
long("metadata with many keys", "flowchart TD\nA@{ shape: rect", ", k{i}: v", " }\n")
long("metadata nested deep", "flowchart TD\nA@{ k: ", "[", "\n")
repeated("subgraphs side by side", "subgraph S{i}\nM{i}\nend\n", "flowchart TD\n")
repeated("subgraphs without ids", "subgraph a title {i}\nM{i}\nend\n", "flowchart TD\n")
repeated("subgraphs without end", "subgraph S{i}\n", "flowchart TD\n")
repeated("ends without subgraph", "end\n")
repeated("edges of subgraphs", "subgraph S{i}\nM{i}\nend\nS{i} --> A\n", "flowchart TD\n")


@shape("subgraphs inside one another")
def _nested(n: int) -> str:
    return (
        "flowchart TD\n"
        + "".join(f"subgraph S{i}\n" for i in range(n))
        + "A-->B\n"
        + "".join("end\n" for _ in range(n))
    )


@shape("nested subgraphs with nodes")
def _nested_nodes(n: int) -> str:
    inside = "".join(f"subgraph S{i}\nM{i}\n" for i in range(n))
    return "flowchart TD\n" + inside + "end\n" * n


@shape("Loops inside one another")
def _nested_loops(n: int) -> str:
    inside = "".join(f'subgraph S{i}["Loop (max: 2)"]\nM{i}[Custom]\n' for i in range(n))
    return "flowchart TD\n" + inside + "end\n" * n


repeated("Loops side by side", 'subgraph S{i}["Loop (max: 2)"]\nM{i}[Custom]\nend\n', "flowchart TD\n")
repeated(
    "Maps in a row",
    'subgraph S{i}["Map ()"]\nM{i}[Custom]\nend\nM{i} -->|each:input| N{i}\n',
    "flowchart TD\n",
)
repeated("nodes in one subgraph", "N{i}\n", "flowchart TD\nsubgraph S\n")
repeated("one node in many subgraphs", "subgraph S{i}\nA\nend\n", "flowchart TD\n")
repeated("directions", "direction TB\n")
repeated("directions in a subgraph", "direction TB\n", "flowchart TD\nsubgraph S\n")
repeated("class definitions", "classDef C{i} fill:#fff\n")
repeated("one class defined again", "classDef C fill:#fff\n")
repeated("classes of one node", "class A C{i}\n")
repeated("one class of many nodes", "N{i}:::C\n", "flowchart TD\nclassDef C fill:#fff\n")
repeated("class lines", "class N{i} C\n", "flowchart TD\n")
long("a class line of many nodes", "flowchart TD\nclass A", ",N{i}", " C\n")
long("a class definition of many names", "flowchart TD\nclassDef A", ",C{i}", " fill:#fff\n")
long("a class definition of many styles", "flowchart TD\nclassDef A fill:#fff", ",k{i}:#fff", "\n")
long("many classes after a node", "flowchart TD\nA", ":::C{i}", "\n")
repeated("styles", "style N{i} fill:#fff\n")
long("a style with many properties", "flowchart TD\nstyle A fill:#fff", ",k{i}:#fff", "\n")
repeated("link styles", "linkStyle 0 stroke:#fff\n")
repeated("link styles of many edges", "A --> B\nlinkStyle {i} stroke:#fff\n", "flowchart TD\n")
long("a link style of many numbers", "flowchart TD\nA-->B\nlinkStyle 0", ",{i}", " stroke:#fff\n")
repeated("clicks", 'click N{i} "https://example.org/{i}"\n')
repeated("titles for screen readers", "accTitle: Title {i}\n")
long("a long description", "flowchart TD\nA-->B\naccDescr {\n", "word {i}\n", "}\n")
repeated("descriptions without end", "accDescr {\n")
repeated("comments", "%% comment {i}\n")
repeated("comments after nodes", "N{i}\n%% comment {i}\n", "flowchart TD\n")
repeated("directives", "%%{init: {'theme': 'dark'}}%%\n")
repeated("directives without end", "%%{init: {'theme'\n")
repeated("directives before the header", "%%{init: {'theme': 'dark'}}%%\n", "")
repeated("empty lines", "\n")
repeated("empty lines before the header", "\n", "")
repeated("semicolons", ";\n")
long("semicolons on one line", "flowchart TD\nA", ";", "\n")
repeated("carriage returns", "N{i} --> N{j}\r\n", "flowchart TD\r\n")
repeated("lone carriage returns", "N{i} --> N{j}\r", "flowchart TD\r")
repeated("tabs", "\t\tN{i}\t-->\tN{j}\n", "flowchart TD\n")
repeated("headers", "flowchart TD\n", "")
repeated("text that is not a flowchart", "word {i} and more\n", "")
repeated("another diagram", "Alice->>Bob: word {i}\n", "sequenceDiagram\n")

# Long tokens

long("a long id", "flowchart TD\n", "x", " --> B\n")
long("a long label", "flowchart TD\nA[", "word ", "] --> B\n")
long("a long label of brackets", 'flowchart TD\nA["', "((", '"]\n')
long("a label on many lines", 'flowchart TD\nA["', "word {i}\n", '"]\n')
long("a label of entities", 'flowchart TD\nA["', "#quot;", '"]\n')
long("a label of tags", 'flowchart TD\nA["', "<b>word</b><br/>", '"]\n')
long("a label of open tags", 'flowchart TD\nA["', "<b", '"]\n')
long("a label of scripts", 'flowchart TD\nA["', "<script", '"]\n')
long("a Markdown label", 'flowchart TD\nA["`', "**word** ", '`"]\n')
long("a long edge label", "flowchart TD\nA -->|", "word ", "| B\n")
long("a long label between dashes", "flowchart TD\nA -- ", "word ", "--> B\n")
long("a long arrow", "flowchart TD\nA ", "-", "> B\n")
long("letters of other scripts", "flowchart TD\n", "漢字{i} ", "\n")
long("emoji in a label", 'flowchart TD\nA["', "🎉", '"]\n')
repeated("emoji on each line", 'N{i}["🎉 party {i}"] --> N{j}\n', "flowchart TD\n")
long("many nodes with emoji on a line", "flowchart TD\nA", ' --> N{i}["🎉"]', "\n")
long("white space", "flowchart TD\nA", " ", "--> B\n")
long("white space at an end", "flowchart TD\nA --> B", " \t", "\n")
long("a long comment", "flowchart TD\n%% ", "word ", "\nA-->B\n")

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
    repeated(_name, _text)
long("unclosed brackets on one line", "flowchart TD\n", "A[", "\n")
long("unclosed quotes on one line", "flowchart TD\n", 'A["', "\n")
long("stray words on one line", "flowchart TD\nA-->B\n", "word ", "\n")
long("stray brackets on one line", "flowchart TD\nA-->B\n", "]", "\n")
long("dashes and words", "flowchart TD\nA ", "-- word ", "\n")
