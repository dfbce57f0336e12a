"""A Hypothesis strategy for flowcharts as people draw them: boxes, diamonds, round ends, labels, mostly without arrows back."""

from __future__ import annotations

from hypothesis import strategies as st

SHAPES = ["[{}]", "({})", "[[{}]]", "{{{}}}", "{{{}}}", "([{}])", "(({}))", "[/{}/]"]
TEXTS = [
    *("Summarise", "Review", "Revise", "Text", "Preview", "Write the text", "Is it good?", "Start", "End", "Custom"),
    *(
        '"Check (again): a, b"',
        '"<b>Bold</b><br/>words"',
        "fa:fa-car Car",
        "总结文章",
        '"🚀"',
        '"Custom<br/>(role: one)"',
    ),
]
LABELS = ["", "", "", "|yes|", "|no|", "|else|", "|Error: not found|", "|input|", "|abort|", "|yes:input|"]
EXTRAS = [
    "class N1 CustomOp",
    "N1:::ReviewOp",
    "N2:::DecisionOp",
    "PROBLEM --> N1",
    "N1 --> PROBLEM",
    "RETURN --> N2",
    "N2 --> RETURN",
    "class N0 Interface",
    "N1@{ memory: none }",
    'N2@{ ask: "Which way?" }',
    "N0 ~~~ N3",
    "N3 --> N1",
    "N1@{ shape: diam }",
    "PROBLEM([Problem]):::Interface",
    "RETURN([Answer]):::Interface",
    "subgraph part",
    "end",
]


@st.composite
def drawings(draw: st.DrawFn) -> str:
    """A drawing with up to nine nodes, with notation of the language, arrows back and what else may be in a file."""
    lines = [*_head(draw), *_body(draw, TEXTS, draw(st.integers(1, 9)))]
    return "\n".join([*lines, *draw(st.lists(st.sampled_from(EXTRAS), max_size=3))]) + "\n"


@st.composite
def knotted_drawings(draw: st.DrawFn) -> str:
    """A drawing with arrows between any two steps, and from steps to themselves."""
    lines = ["---", "workflow: true", "---", *draw(drawings()).splitlines()]
    if lines[3] == "---":
        lines = lines[3:]  # It has a front matter of its own.
    node = st.integers(0, 9).map("N{}".format)
    for _ in range(draw(st.integers(0, 4))):
        source = draw(node)
        target = source if draw(st.booleans()) else draw(node)
        lines.append(f"{source} -->{draw(st.sampled_from(LABELS))} {target}")
    return "\n".join(lines) + "\n"


@st.composite
def whole_drawings(draw: st.DrawFn) -> str:
    """A drawing with up to nine nodes, most without errors: a box joins all that nothing else follows."""
    count = draw(st.integers(1, 9))
    body = _body(draw, TEXTS[:-2], count)
    last = [f"N{number}" for number in range(count) if not any(line.startswith(f"N{number} ") for line in body)]
    return "\n".join([*_head(draw), *body, f"{' & '.join(last)} --> LAST[Put it all together]"]) + "\n"


@st.composite
def returning_drawings(draw: st.DrawFn) -> str:
    """A whole drawing with arrows back, and from steps to themselves; many without errors."""
    lines = draw(whole_drawings()).splitlines()
    steps = st.sampled_from([line[: len("N0")] for line in lines if line.startswith("N") and " --" not in line])
    for _ in range(draw(st.integers(1, 3))):
        source = draw(steps)
        target = source if draw(st.booleans()) else draw(steps)
        lines.append(f"{source} -->{draw(st.sampled_from(['', '', '|yes|', '|once more|']))} {target}")
    return "\n".join(lines) + "\n"


@st.composite
def mixed_drawings(draw: st.DrawFn) -> str:
    """A drawing whose input and output are written, so that its other nodes alone are plain; most without errors."""
    count = draw(st.integers(2, 9))
    body = _body(draw, TEXTS[:-2], count)
    first = [f"N{number}" for number in range(count) if not any(line.endswith(f" N{number}") for line in body)]
    last = [f"N{number}" for number in range(count) if not any(line.startswith(f"N{number} ") for line in body)]
    ends = [
        "PROBLEM([Problem]):::Interface",
        "RETURN([Answer]):::Interface",
        "classDef Interface fill:#eee",
        f"PROBLEM --> {' & '.join(first)}",
        f"{' & '.join(last)} --> LAST[Put it all together]",
        "LAST --> RETURN",
    ]
    return "\n".join(["flowchart TD", *body, *ends]) + "\n"


def _head(draw: st.DrawFn) -> list[str]:
    front = draw(st.sampled_from(["", "---\nworkflow: true\n---\n", "---\nworkflow:\n  memory: none\n---\n"]))
    return [f"{front}flowchart TD"]


def _body(draw: st.DrawFn, texts: list[str], count: int) -> list[str]:
    """Declarations of nodes, and up to two edges into each."""
    shape, text, label = st.sampled_from(SHAPES), st.sampled_from(texts), st.sampled_from(LABELS)
    lines = [f"N{number}{draw(shape).format(draw(text))}" for number in range(count)]
    for target in range(1, count):
        sources = sorted(draw(st.sets(st.integers(0, target - 1), max_size=2)))
        lines += [f"N{source} -->{draw(label)} N{target}" for source in sources]
    return lines


@st.composite
def drawn_lines(draw: st.DrawFn) -> str:
    """A line that may be written into a drawing."""
    node = st.integers(0, 9).map("N{}".format)
    if draw(st.booleans()):
        return f"{draw(node)} -->{draw(st.sampled_from(LABELS))} {draw(node)}\n"
    if draw(st.booleans()):
        return f"{draw(node)}{draw(st.sampled_from(SHAPES)).format(draw(st.sampled_from(TEXTS)))}\n"
    return draw(st.sampled_from(EXTRAS)) + "\n"
