"""What is kept from one edit to the next never shows: the analysis equals that of the text read cold."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.analysis.decision_workflows import decision_workflows
from tests.analysis.definition_checks import GivenFiles
from tests.sizes import ALL

from merrow_analysis.check import Analyser, Analysis, analyse
from merrow_analysis.diagnostics import without_fixes
from merrow_analysis.graph.flow import Flowchart
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
FRONT = "---\nworkflow:\n  prompts: ./prompts.yaml\n---\n"
BOOKS = ["one: Do it.\n", "one: Do it.\ntwo: Do the other.\n", "code: Write it.\nnobody: Not used.\n", "one: [\n", None]
"""What may be in the file of prompts; None where it is missing."""
NAMES = ["PROBLEM", "A", "B", "V", "GEN", "T", "CHECK", "RETURN", "NEW", "ENTRY_POINT"]


@st.composite
def statements(draw: st.DrawFn) -> str:
    name = st.sampled_from(NAMES)
    match draw(st.integers(0, 11)):
        case 11:
            shape = st.sampled_from(["[Write it]", "{Good?}", "[Review]", "([Start])", "[Debate<br/>]", "[Custm]"])
            return f"    {draw(name)}{draw(shape)}\n"
        case 10:
            codes = st.sampled_from(["", "[MW404]", "[MW102]", "[MW216, MW204]", "[MW301]", "[MW999]", "[MW0"])
            return f"    %% merrow: {draw(st.sampled_from(['ignore', 'ignore-file', 'ignor']))}{draw(codes)} a reason\n"
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


def flow_picture(flow: Flowchart) -> object:
    def edge(e: object) -> object:
        return (e.index, e.source.id, e.target.id, e.range, e.arrow)  # type: ignore[attr-defined]

    return (
        [
            (
                node.id,
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


@settings(max_examples=12)
@given(st.data(), st.sampled_from([WORKFLOW, WITH_SUBGRAPH, FRONT + WORKFLOW]))
@pytest.mark.thinned(16, "typed as if read cold")
def test_an_edited_text_is_analysed_as_if_read_cold(data: st.DataObject, start: str) -> None:
    check_edits(data, start, statements())


@settings(max_examples=4, suppress_health_check=list(HealthCheck))
@given(st.lists(statements(), max_size=4), st.lists(statements(), min_size=1, max_size=4), st.integers(1, 20))
def test_a_fork_begins_with_what_is_known_and_goes_its_own_way(before: list[str], after: list[str], line: int) -> None:
    place = Range(Position(line, 0), Position(line, 0))
    analyser = Analyser(WITH_SUBGRAPH)
    analyser.analysis()
    for one in before:
        analyser.edit(TextEdit(place, one))
    known = picture(analyser.analysis()) if line % 2 else None
    fork = analyser.fork()
    for one in after:
        fork.edit(TextEdit(place, one))
        assert picture(fork.analysis()) == picture(analyse(fork.document.text))
    assert analyser.document.text != fork.document.text
    assert known in (None, picture(analyser.analysis()))
    analyser.edit(TextEdit(place, after[0]))
    assert picture(analyser.analysis()) == picture(analyse(analyser.document.text))


@settings(max_examples=4, suppress_health_check=list(HealthCheck))
@given(st.data(), decision_workflows())
@pytest.mark.thinned(16, "typed as if read cold")
def test_an_edited_text_with_several_decisions_is_analysed_as_if_read_cold(data: st.DataObject, start: str) -> None:
    check_edits(data, start, st.one_of(lines_of(start), lines_of(start), lines_of(start), statements()))


@st.composite
def lines_of(draw: st.DrawFn, text: str) -> str:
    """A line of a workflow, as it is or with another line's source, label or target."""
    edges = [line for line in text.splitlines() if "-->" in line]
    first, second = draw(st.sampled_from(edges)), draw(st.sampled_from(edges))
    source, arrow, target = first.split(" ")[0], first.split(" ")[1], second.split(" ")[-1]
    return draw(st.sampled_from([f"{source} {arrow} {target}\n", f"{source} --> {target}\n", f"{first}\n"]))


def check_edits(data: st.DataObject, start: str, new_lines: st.SearchStrategy[str]) -> None:
    """Edit a text and its file of prompts at random; after some of the edits, compare with the text read cold.

    Fixes, which take nine tenths of the time, are compared after the last edit, and every night after each.
    """
    provider = Prompts(BOOKS[0])
    analyser = Analyser(start, provider=provider)
    analyser.analysis()
    text = start
    for edits_to_come in reversed(range(6)):
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
                new = "" if kind == "delete" else data.draw(new_lines)
                edit = TextEdit(Range(Position(line, 0), Position(end, 0)), new)
            text = apply_edits(text, [edit])
            analyser.edit(edit)
            lines = text.splitlines(keepends=True)
        if data.draw(st.integers(0, 3)) == 0:
            provider.book = data.draw(st.sampled_from(BOOKS))
        assert analyser.document.text == text
        warm, cold = analyser.analysis(), analyse(text, provider=provider)
        same = flow_picture(warm.flow) == flow_picture(cold.flow)
        assert same, text
        assert without_fixes(warm.diagnostics) == without_fixes(cold.diagnostics)
        if edits_to_come == 0 or ALL:
            assert warm.diagnostics == cold.diagnostics


class Prompts:
    """A folder with one file of prompts, which may change; ``book`` is its text."""

    def __init__(self, book: str | None) -> None:
        self.book = book

    def _files(self) -> GivenFiles:
        return GivenFiles({} if self.book is None else {"prompts.yaml": self.book})

    def read(self, path: str) -> str:
        return self._files().read(path)

    def exists(self, path: str) -> bool:
        return self._files().exists(path)


def test_a_changed_file_of_prompts_shows_after_an_edit_of_edges_alone() -> None:
    text = FRONT + WORKFLOW
    provider = Prompts("one: Do it.\ntwo: Do the other.\ncode: Write it.\n")
    analyser = Analyser(text, provider=provider)
    assert "MW301" not in [found.code for found in analyser.analysis().diagnostics]
    provider.book = "one: Do it.\ntwo: Do the other.\n"
    line = text.splitlines().index("    A --> V")
    edit = TextEdit(Range(Position(line, 0), Position(line + 1, 0)), "    A ==> V\n")
    analyser.edit(edit)
    found = analyser.analysis().diagnostics
    assert [one.range.start.line for one in found if one.code == "MW301"] == [
        text.splitlines().index('    GEN["CustomCodeGenerate<br/>(instruction: code)"]')
    ]
    assert found == analyse(apply_edits(text, [edit]), provider=provider).diagnostics


def test_a_class_that_is_being_typed_at_a_mention_of_a_node_shows() -> None:
    text = WORKFLOW + "    A:::\n"
    analyser = Analyser(text + "\n")
    lines = len(text.splitlines())
    for typed in ("A", "B"):
        place = Position(lines - 1, len("    A:::") + "AB".index(typed))
        analyser.analysis()
        analyser.edit(TextEdit(Range(place, place), typed))
        text = text[:-1] + typed + "\n"
        warm, cold = analyser.analysis(), analyse(text + "\n")
        assert warm.diagnostics == cold.diagnostics
        assert "MW114" in {one.code for one in warm.diagnostics}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    PROBLEM --> A\n", "\n"),
        ("\n", "    PROBLEM --> A\n"),
        ("    PROBLEM\n", "    PROBLEM([Problem])\n"),
        ("    PROBLEM([Problem])\n", "    PROBLEM\n"),
    ],
)
@pytest.mark.parametrize("more", ["", "    PROBLEM --> A\n"])
def test_a_class_is_offered_where_the_node_is_mentioned_now(before: str, after: str, more: str) -> None:
    head = 'flowchart TD\n    PROBLEM([Problem]):::other\n    A["Custom<br/>(role: one)"]:::CustomOp --> RETURN\n'
    text = f"{head}{more}%s    classDef CustomOp fill:#fff\n"
    analyser = Analyser(text % before)
    assert "MW106" in [found.code for found in analyser.analysis().diagnostics]
    line = head.count("\n") + more.count("\n")
    analyser.edit(TextEdit(Range(Position(line, 0), Position(line + 1, 0)), after))
    assert analyser.analysis().diagnostics == analyse(text % after).diagnostics


def test_a_finding_moves_to_a_declaration_above() -> None:
    text = 'flowchart TD\n    PROBLEM --> R\n    R%s\n    R["Review"]:::ReviewOp\n    R --> RETURN\n'
    analyser = Analyser(text % "")
    analyser.analysis()
    place = Position(2, 5)
    analyser.edit(TextEdit(Range(place, place), '["Review"]'))
    assert analyser.analysis().diagnostics == analyse(text % '["Review"]').diagnostics


SINGLE_NODES = """flowchart TD
    PROBLEM([Problem]):::Interface
    IN([Input]):::Interface
    RETURN([Result]):::Interface
    A["Custom<br/>(role: one)"]:::CustomOp
    B["Custom<br/>(role: two)"]:::CustomOp
    LOST["Custom<br/>(role: three)"]:::CustomOp
    ALONE["Custom<br/>(role: four)"]:::CustomOp
    PROBLEM --> A
    A --> B
    A --> B
    LOST --> B
    A --> OK{fine?}
    OK -->|yes| B
    OK -->|no| B
    OK -->|perhaps| RETURN
    B --> RETURN
    classDef Interface fill:#fff
    classDef CustomOp fill:#fff
"""


@pytest.mark.parametrize(
    "edits",
    [
        [("    PROBLEM --> A\n", "    IN --> A\n"), ("    IN --> A\n", "    PROBLEM --> A\n")],
        [("    OK -->|perhaps| RETURN\n", "    OK -->|yes| RETURN\n"), ("    OK -->|no| B\n", "    OK -->|yes| B\n")],
        [("(role: three)", "(role: more)"), ("    LOST --> B\n", "    LOST\n"), ("    LOST\n", "    ALONE --> LOST\n")],
        [("    A --> B\n    A --> B\n", "    A -->|input| B\n    A --> B\n"), ("    B --> RETURN\n", "    B --> A\n")],
        [("    LOST --> B\n", "    LOST -->\n"), ("    LOST -->\n", "    LOST --> B\n\n"), ("ALONE", "OTHER")],
        [("    classDef Interface fill:#fff\n", ""), ('    A["Custom<br/>(role: one)"]', '\n    A["Review"]')],
        [
            ('LOST["Custom<br/>(role: three)"]:::CustomOp', 'LOST["Test"]:::TestOp'),
            ("    IN([Input]):::Interface\n", ""),
        ],
    ],
)
def test_what_is_said_of_single_nodes_is_that_of_the_text_as_it_is_now(edits: list[tuple[str, str]]) -> None:
    text = SINGLE_NODES
    analyser = Analyser(text)
    assert {"MW102", "MW117"} <= {found.code for found in analyser.analysis().diagnostics}
    for old, new in edits:
        start = text.index(old)
        before, within = text[:start], text[: start + len(old)]
        place = Range(*(Position(part.count("\n"), len(part) - part.rfind("\n") - 1) for part in (before, within)))
        analyser.edit(TextEdit(place, new))
        text = before + new + text[start + len(old) :]
        assert analyser.document.text == text
        assert analyser.analysis().diagnostics == analyse(text).diagnostics


def test_edges_of_one_case_are_told_once_the_decision_takes_them_for_one() -> None:
    text = """flowchart TD
    PROBLEM([Problem]):::Interface --> A["Custom<br/>(role: one)"]:::CustomOp --> OK
    OK@{ op: Decision, label: "ok" }
    A --> B["Custom<br/>(role: two)"]:::CustomOp --> RETURN([Result]):::Interface
    OK -->|yes:after| B
    OK -->|passed:after| B
    OK -->|no:after| RETURN
    classDef Interface fill:#fff
    classDef CustomOp fill:#fff
"""
    analyser = Analyser(text)
    assert "MW117" not in {found.code for found in analyser.analysis().diagnostics}
    # What arrives at B is what it was.
    place = Position(2, text.splitlines()[2].index("label"))
    for edit in (
        TextEdit(Range(place, place), "if: \"when == 'x'\", "),
        TextEdit(Range(place, Position(2, place.column + 20)), ""),
    ):
        text = apply_edits(text, [edit])
        analyser.edit(edit)
        warm = analyser.analysis()
        assert warm.diagnostics == analyse(text).diagnostics
        assert ("MW117" in {found.code for found in warm.diagnostics}) == ("if:" in text)
