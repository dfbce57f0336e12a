"""Where an edge without a label goes, whatever ports are open and whatever it brings."""

from __future__ import annotations

import pytest
from tests.analysis.workflows import workflow

from merrow_analysis.check import analyse

# What each kind of source gives.
SOURCES = {
    "Text": "{name}[Custom]\nPROBLEM --> {name}",
    "Code": "{name}[CustomCodeGenerate]\nPROBLEM -->|problem| {name}",
}


def _declared(inputs: str) -> str:
    entries = [f"inputs: {{{inputs}}}", "outputs: {taken: Text}", "prompt: Take it."]
    return "\n".join(["workflow:", "  operators:", "    Take:", *(f"      {entry}" for entry in entries), ""])


# What is said of an edge: nothing fits better than the port it goes to, so that it only lacks its label; it fits two; it
# does not fit; the port is fed already; there is no port.
LABEL, EITHER, MISFIT, TWICE, NONE = "MW202", "MW203", "MW206", "MW205", "MW201"


@pytest.mark.parametrize(
    ("inputs", "edges"),
    [
        # To the open port of the nearest type.
        ("a?: Code, b?: Text", [("Code", "a", {LABEL})]),
        ("a?: Text, b?: Code", [("Code", "b", {LABEL})]),
        ("a: Code, b: Text", [("Code", "a", {LABEL}), ("Text", "b", {LABEL})]),
        ("a?: Text, b?: Text", [("Text", None, {EITHER})]),
        # None fits: to one that must be fed, else to any that is open.
        ("a?: Feedback, b: Feedback", [("Code", "b", {MISFIT})]),
        ("a: Feedback, b: Code", [("Text", "a", {MISFIT}), ("Code", "b", {LABEL})]),
        ("a: Code, b?: Feedback", [("Code", "a", {LABEL}), ("Text", "b", {MISFIT})]),
        # To one that is fed already, where it fits and nothing else must be fed.
        ("a: Code, b?: Feedback", [("Code", "a", {LABEL}), ("Code", "a", {LABEL, TWICE})]),
        # All are fed, and none fits.
        ("a: Code", [("Code", "a", {LABEL}), ("Text", "a", {MISFIT, TWICE})]),
        ("a: Code, b?: Feedback", [("Code", "a", {LABEL}), ("Text", "b", {MISFIT}), ("Text", "a", {MISFIT, TWICE})]),
        # There is no port.
        ("", [("Text", None, {NONE})]),
    ],
)
def test_an_edge_without_a_label_goes_to_the_port_that_is_left_for_it(
    inputs: str, edges: list[tuple[str, str | None, set[str]]]
) -> None:
    names = [f"S{number}" for number in range(len(edges))]
    sources = [SOURCES[kind].format(name=name) for name, (kind, _, _) in zip(names, edges, strict=True)]
    arrows = [f"{name} --> V" for name in names]
    text = workflow(*sources, "V[Take]", *arrows, "V --> RETURN", front=_declared(inputs))
    analysis = analyse(text)
    assert analysis.typed is not None
    assert [edge.port for edge in analysis.typed.by_id["V"].incoming] == [port for _, port, _ in edges]
    first = text.splitlines().index(arrows[0])
    found = [
        {one.code for one in analysis.diagnostics if one.range.start.line == first + number}
        for number in range(len(edges))
    ]
    assert found == [codes for _, _, codes in edges]
