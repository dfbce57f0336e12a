"""What is printed for people of findings, repairs, mutants and figures, line by line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.runtime.engine.fakes import flowchart
from tests.server.program import GOOD, UNLABELLED, in_process, markdown, write
from tests.server.test_run_records import VOTE

Capture = pytest.CaptureFixture[str]


def ring(count: int) -> str:
    """A workflow whose nodes wait for each other in a cycle."""
    return flowchart(
        *(f'N{number}@{{op: Custom, prompt: "p"}}' for number in range(count)),
        "PROBLEM --> N0",
        *(f"N{number} --> N{(number + 1) % count}" for number in range(count)),
        f"N{count - 1} --> RETURN",
        "classDef Interface fill:#eee",
    )


def test_findings(capsys: Capture) -> None:
    write("ring.mmd", ring(8))
    lines = in_process(capsys, "check", "ring.mmd").out.splitlines()
    assert lines[0].startswith("ring.mmd:20:8: error[MW110] N0 -> ")
    assert lines[1:9] == [
        "   |",
        "20 |     N7 --> N0",
        "   |        ^^^",
        "  --> ring.mmd:13:8: N0 leads to N1",
        "   |",
        "13 |     N0 --> N1",
        "   |        ^^^",
        "  --> ring.mmd:14:8: N1 leads to N2",
    ]
    unsafe = "(may change the meaning: --fix --unsafe-fixes)"
    assert lines[28:] == [
        "   ... and 1 more place",
        f"   = help: Draw a Loop around N0, N1, N2, N3 and 4 more {unsafe}",
        *(f"   = help: Remove the edge {edge} {unsafe}" for edge in ("N7 → N0", "N0 → N1", "N1 → N2", "N2 → N3")),
        "",
        "Found 1 error in 1 file; 1 can be repaired with --fix --unsafe-fixes.",
    ]
    write("ring.mmd", ring(7))
    assert "more place" not in in_process(capsys, "check", "ring.mmd").out
    write("few.mmd", UNLABELLED.rstrip("\n"))
    lines = in_process(capsys, "check", ".", "--ignore", "MW110").out.splitlines()
    assert lines == [
        "few.mmd:5:13: warning[MW202] The edge from PROBLEM names no port of CODE (Programmer); it goes to `problem`: "
        "write `|problem|`.",
        "  |",
        "5 |     PROBLEM --> CODE",
        "  |             ^^^",
        "  = help: Write |problem| (--fix does it)",
        "",
        "Found 1 warning in 1 of 2 files; 1 can be repaired with --fix.",
    ]


def test_findings_that_lead_to_another_file(capsys: Capture) -> None:
    write("flows/prompts.yaml", "other: x\nsolver: Solve it.\n")
    front = "---\nworkflow: {prompts: ./prompts.yaml}\n---\n"
    write("flows/flow.mmd", front + GOOD.replace("role: solver", "role: solvr"))
    lines = in_process(capsys, "check", "flows/flow.mmd").out.splitlines()
    assert lines[0].startswith("flows/flow.mmd:6:26: error[MW301] ")
    assert lines[4:8] == [
        " --> flows/prompts.yaml:2:1: prompt `solver`",
        "  |",
        "2 | solver: Solve it.",
        "  | ^^^^^^",
    ]


def test_repairs(capsys: Capture) -> None:
    write("few.mmd", UNLABELLED.rstrip("\n"))
    write("notes.md", markdown(UNLABELLED, UNLABELLED))
    would = in_process(capsys, "check", ".", "--diff")
    assert (would.code, would.err) == (0, "Would repair 3 findings in 2 files: 3 x MW202.\n")
    assert would.out.startswith(
        """\
--- a/few.mmd
+++ b/few.mmd
@@ -2,7 +2,7 @@
     PROBLEM([Problem]):::Interface
     CODE["Programmer<br/>"]:::ProgrammerOp
     RETURN([Answer]):::Interface
-    PROBLEM --> CODE
+    PROBLEM -->|problem| CODE
     CODE --> RETURN
     classDef Interface fill:#eee
     classDef ProgrammerOp fill:#ddd
\\ No newline at end of file
--- a/notes.md
"""
    )
    did = in_process(capsys, "check", ".", "--fix")
    assert (did.code, did.out, did.err) == (0, "Repaired 3 findings in 2 files: 3 x MW202.\n", "")
    again = in_process(capsys, "check", ".", "--diff")
    assert (again.code, again.out, again.err) == (0, "", "There is nothing to repair.\n")
    Path("empty").mkdir()
    barren = in_process(capsys, "check", "empty", ".")
    assert (barren.code, barren.out) == (2, "")
    assert barren.err.startswith("merrow: There is no workflow in empty: it has no ")
    tidied = in_process(capsys, "fmt", "--check", ".")
    assert (tidied.code, tidied.out) == (1, "few.mmd is not formatted.\n1 file would be reformatted.\n")


def test_repairs_that_want_a_look(capsys: Capture) -> None:
    text = UNLABELLED + "    end\n"
    write("flow.mmd", text)
    lines = in_process(capsys, "check", "flow.mmd").out.splitlines()
    assert "  = help: Remove this end (may change the meaning: --fix --unsafe-fixes)" in lines
    found = "Found 1 error and 1 warning in 1 file"
    assert lines[-1] == f"{found}; 1 can be repaired with --fix; 1 more with --fix --unsafe-fixes."
    repaired = in_process(capsys, "check", "flow.mmd", "--fix").out.splitlines()
    assert repaired[0] == "Repaired 1 finding in 1 file: MW202."
    assert repaired[-1] == "Found 1 error in 1 file; 1 can be repaired with --fix --unsafe-fixes."
    assert Path("flow.mmd").read_text() == text.replace("PROBLEM -->", "PROBLEM -->|problem|")
    bold = in_process(capsys, "check", "flow.mmd", "--fix", "--unsafe-fixes")
    assert bold.out == "Repaired 1 finding in 1 file: MW012.\n"
    assert Path("flow.mmd").read_text() == UNLABELLED.replace("PROBLEM -->", "PROBLEM -->|problem|")


def test_mutants(capsys: Capture) -> None:
    write("flow.mmd", UNLABELLED)
    listed = in_process(capsys, "mutate", "flow.mmd", "--list").out.splitlines()
    assert all(re.fullmatch(r"[0-9a-f]{12}  [a-z]+ *  [A-Z].*", line) for line in listed)
    assert {line.index(line[14:].split("  ")[-1].lstrip()) for line in listed} == {28}
    made = in_process(capsys, "mutate", "flow.mmd", "--random", "2", "--max-nodes", "3")
    assert (made.code, made.err) == (0, "")
    assert re.findall(r"^\w{12}  [A-Z].*\n--- a/flow.mmd\n\+\+\+ b/flow.mmd\n@@ -1,", made.out, re.MULTILINE)
    write(
        "flow.mmd",
        "flowchart TD\n    PROBLEM([Problem]):::Interface\n    RETURN([Answer]):::Interface\n    PROBLEM --> RETURN\n",
    )
    short = in_process(capsys, "mutate", "flow.mmd", "--random", "2", "--max-nodes", "2")
    assert (short.code, short.out) == (1, "")
    assert short.err == "merrow: No safe mutation is left after 0 of 2; --max-nodes may leave no room.\n"


def test_figures(capsys: Capture) -> None:
    write("flow.mmd", VOTE)
    assert (
        in_process(capsys, "metrics", "flow.mmd").out
        == """\
                                       subtasks  whole graph
nodes                                         5            8
edges                                         3            9
depth                                         2            4
width                                         4            4
largest antichain                             4            4
parallelism P_avg                           2.5            2
dependency complexity C_dependency       0.9798         1.09
edges beyond the transitive reduction         0            0
expected completed, product formula       4.256        5.778
expected completed, exactly               4.256        5.991

calls: 5

critical path (subtasks): A -> V

critical path (whole graph): PROBLEM -> A -> V -> RETURN
"""
    )
    nodes = [f"N{number}" for number in range(7)]
    promised = [f'{name}@{{op: Custom, prompt: "p", returns: Number}}' for name in nodes]
    write("flow.mmd", flowchart(*promised, " --> ".join(["PROBLEM", *nodes, "RETURN"])))
    lines = in_process(capsys, "metrics", "flow.mmd").out.splitlines()
    assert lines[-5:] == [
        "7 of the types are promises of the author (returns:).",
        "",
        "critical path (subtasks): N0 -> N1 -> N2 -> (2 more) -> N5 -> N6",
        "",
        "critical path (whole graph): PROBLEM -> N0 -> N1 -> (4 more) -> N6 -> RETURN",
    ]
    write("flow.mmd", "flowchart TD\n    A --> B --> A\n")
    assert "\ndepth                                            -\n" in in_process(capsys, "metrics", "flow.mmd").out
