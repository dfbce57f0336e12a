"""What is kept from one edit to the next never shows: the analysis equals that of the text read cold."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from merrow_analysis.check import Analyser, Analysis, analyse
from merrow_analysis.graph.flow import Flow
from merrow_analysis.text import Position, Range, TextEdit, apply_edits

WORKFLOW = """flowchart TD
    PROBLEM([Problem])
    ENTRY_POINT([entry_point])
    A["Custom<br/>(role: one)"]
    B["Custom<br/>(role: two)"]
    GEN["CustomCodeGenerate<br/>(instruction: code)"]
    V["ScEnsemble<br/>"]
    T["Test<br/>"]
    CHECK{passed?}
    RETURN([Return response & cost])
    %% merrow: ignore[MW404] on purpose
    classDef Interface fill:#e2e2f2,stroke:#6a6ab2,stroke-width:2px;
    classDef CustomOp fill:#d0e1f9,stroke:#4378a2,stroke-width:2px;
    class PROBLEM,ENTRY_POINT,RETURN Interface
    class A,B CustomOp
    class GEN CustomCodeGenerateOp
    class V ScEnSembleOp
    class T TestOp
    class CHECK DecisionOp
    PROBLEM -->|input| A
    PROBLEM -->|input| B
    A --> V
    B --> V
    PROBLEM -->|problem| GEN
    V -->|problem| GEN
    ENTRY_POINT -->|entry_point| GEN & T
    GEN -->|solution| T
    PROBLEM -->|problem| T
    T --> CHECK
    CHECK -- Passed --> RETURN
    CHECK -- Failed --> RETURN
"""
WITH_SUBGRAPH = WORKFLOW.replace("    A --> V\n", "    subgraph votes [Votes]\n    A --> V\n").replace(
    "    PROBLEM -->|problem| GEN\n", "    end\n    PROBLEM -->|problem| GEN\n", 1
)
NAMES = ["PROBLEM", "A", "B", "V", "GEN", "T", "CHECK", "RETURN", "NEW", "ENTRY_POINT"]


@st.composite
def statements(draw: st.DrawFn) -> str:
    name = st.sampled_from(NAMES)
    match draw(st.integers(0, 9)):
        case 0 | 1 | 2:
            label = draw(st.sampled_from(["", "|input|", "|problem|", "|solution|", "|nope|", "|output:|"]))
            return f"    {draw(name)} -->{label} {draw(name)}\n"
        case 3:
            role = draw(st.sampled_from(["one", "two", "three"]))
            return f'    {draw(name)}["Custom<br/>(role: {role})"]\n'
        case 4:
            return f"    {draw(name)} --> {draw(name)} & {draw(name)}\n"
        case 5:
            return f"    class {draw(name)} {draw(st.sampled_from(['CustomOp', 'Interface', 'TestOp', 'mine']))}\n"
        case 6:
            about = draw(st.one_of(name, st.just("votes")))
            return f"    {about}@{{ samples: {draw(st.sampled_from(['3', '0', 'x']))} }}\n"
        case 7:
            return f"    {draw(name)}:::CustomOp --> {draw(name)}\n"
        case 8:
            return draw(
                st.sampled_from(["\n", "    %% a note\n", "    A[x[y]\n", '    A["q\n', "    --> B\n", "end\n"])
            )
        case _:
            return draw(
                st.sampled_from(["    linkStyle 3 stroke:#fff\n", "    A --xB\n", "    e1@--> B\n", "    A e1@--> B\n"])
            )


def picture(analysis: Analysis) -> object:
    return analysis.diagnostics, flow_picture(analysis.flow)


def flow_picture(flow: Flow) -> object:
    def edge(e: object) -> object:
        return (e.index, e.source.id, e.target.id, e.range, e.arrow)  # type: ignore[attr-defined]

    return (
        [
            (
                node.id,
                node.index,
                node.shape,
                node.label,
                [(m.vertex, m.range) for m in node.mentions],
                [(use.name, use.range) for use in node.classes],
                [(metadata, block.line) for metadata, block in node.metadata],
                [edge(e) for e in node.incoming],
                [edge(e) for e in node.outgoing],
            )
            for node in flow.nodes.values()
        ],
        [edge(e) for e in flow.edges],
        [
            (
                s.id,
                s.title,
                s.nodes,
                [(metadata, block.line) for metadata, block in s.metadata],
                [(use.name, use.range) for use in s.classes],
            )
            for s in flow.subgraphs.values()
        ],
    )


@settings(max_examples=int(os.environ.get("MERROW_EXAMPLES", "250")), deadline=None)
@given(st.data(), st.sampled_from([WORKFLOW, WITH_SUBGRAPH]))
def test_an_edited_text_is_analysed_as_if_read_cold(data: st.DataObject, start: str) -> None:
    analyser = Analyser(start)
    analyser.analysis()
    text = start
    for _ in range(6):
        lines = text.splitlines(keepends=True)
        for _ in range(data.draw(st.integers(1, 2))):
            line = data.draw(st.integers(1, len(lines)))
            kind = data.draw(st.sampled_from(["replace", "insert", "delete", "character"]))
            if kind == "character" and line < len(lines):
                column = data.draw(st.integers(0, len(lines[line]) - 1))
                piece = data.draw(st.sampled_from(["x", "_", "|", ">", '"', " ", ""]))
                edit = TextEdit(
                    Range(Position(line, column), Position(line, min(column + 1, len(lines[line]) - 1))), piece
                )
            else:
                end = line if kind == "insert" else min(line + 1, len(lines))
                new = "" if kind == "delete" else data.draw(statements())
                edit = TextEdit(Range(Position(line, 0), Position(end, 0)), new)
            text = apply_edits(text, [edit])
            analyser.edit(edit)
            lines = text.splitlines(keepends=True)
        assert analyser.document.text == text
        warm, cold = analyser.analysis(), analyse(text)
        assert flow_picture(warm.flow) == flow_picture(cold.flow)
        assert warm.diagnostics == cold.diagnostics
