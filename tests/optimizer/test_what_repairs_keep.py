"""What repairs keep of drawings that Mermaid refuses: every node, edge and box, and the words on them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broken_drawings import BREAKS, DRAWINGS, broken_drawings, kept, repaired
from tests.judge import mermaid
from tests.server.program import in_process
from tests.sizes import sized

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.rules.registry import is_refused
from merrow_analysis.syntax.structure import parse_record
from merrow_analysis.text import apply_edits
from merrow_optimizer.repair.search import repair

WORDS = ["Read", "the mail", "Sort letters", "数据", "Größe", "Plan maps 2", "Is it good?", "café", "Ship"]
SHAPES = ['["{}"]', '["{}"]', '("{}")', '{{"{}"}}', '(["{}"])', '(("{}"))', '[("{}")]', '{{{{"{}"}}}}', '[["{}"]]']
ARROWS = ["-->", "-->", "-.->", "==>", "---", "<-->"]


@st.composite
def drawings(draw: st.DrawFn) -> str:
    """A drawing with up to seven nodes, one line for each node and arrow, some of them in up to two boxes."""
    count = draw(st.integers(2, 7))
    label = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
    lines = [f"N{number}{draw(st.sampled_from(SHAPES)).format(draw(label))}" for number in range(count)]
    inside = draw(st.integers(0, count))
    text = "flowchart TD\n"
    if inside:
        text += (
            f'    subgraph G1["{draw(label)}"]\n'
            + "".join(f"        {line}\n" for line in lines[:inside])
            + "    end\n"
        )
    text += "".join(f"    {line}\n" for line in lines[inside:])
    node = st.integers(0, count - 1)
    for _ in range(draw(st.integers(1, count))):
        said = f'|"{draw(label)}"|' if draw(st.booleans()) else ""
        text += f"    N{draw(node)} {draw(st.sampled_from(ARROWS))}{said} N{draw(node)}\n"
    return text


def refusals(text: str) -> list[Diagnostic]:
    return [one for one in analyse(text).diagnostics if is_refused(one.code)]


@settings(max_examples=25, deadline=None)
@given(drawings(), st.sampled_from(sorted(BREAKS)), st.integers(0, 99))
def test_a_repair_loses_nothing_where_a_local_fix_exists(text: str, kind: str, seed: int) -> None:
    broken = BREAKS[kind](text, Random(seed))
    if broken is None or parse_record(broken.text)["ok"]:
        return
    found = repaired(broken)
    assert not found.lost, f"{found.lost} in {broken.text} repaired as {found.text}"
    assert not found.commented


@settings(max_examples=25, deadline=None)
@given(drawings(), st.sampled_from(sorted(BREAKS)), st.integers(0, 99))
def test_a_quick_fix_changes_its_own_box_label_or_arrow_only(text: str, kind: str, seed: int) -> None:
    broken = BREAKS[kind](text, Random(seed))
    if broken is None or parse_record(broken.text)["ok"]:
        return
    for finding in refusals(broken.text):
        for fix in finding.fixes:
            after = apply_edits(broken.text, fix.edits)
            assert not kept(broken.meant, after), f"{fix.title} makes {after} of {broken.text}"


@settings(max_examples=15, deadline=None)
@given(drawings(), st.lists(st.sampled_from(sorted(BREAKS)), min_size=2, max_size=3), st.integers(0, 99))
def test_several_breaks_become_legal_without_comments(text: str, kinds: list[str], seed: int) -> None:
    random = Random(seed)
    for kind in kinds:
        broken = BREAKS[kind](text, random)
        text = text if broken is None else broken.text
    done = repair(text, clock=lambda: 0.0)
    assert parse_record(done.text)["ok"], done.text
    assert not any(step.gives_up for step in done.steps), f"{text} repaired as {done.text}"


@pytest.mark.shared("field/drawings.jsonl")
def test_of_public_drawings_all_become_legal_and_nearly_all_keep_everything() -> None:
    every = sized(30, 9)
    texts = [json.loads(line)["text"] for line in DRAWINGS.read_text(encoding="utf-8").splitlines()][::every]
    count, whole = Counter[str](), Counter[str]()
    with mermaid() as judge:
        for kind, broken in broken_drawings(texts):
            found = repaired(broken)
            count[kind] += 1
            whole[kind] += not found.lost
            assert found.is_legal
            assert judge.judge(found.text)["ok"], f"{kind}: {found.text}"
    assert len(count) >= 0.8 * len(BREAKS)
    assert sum(whole.values()) >= 0.95 * sum(count.values())
    assert all(whole[kind] >= 0.9 * count[kind] for kind in count), whole


CASES = {
    "quotes": ('A[Say "hi" twice] --> B', 'A["Say #quot;hi#quot; twice"] --> B'),
    "quotes in quotes": ('A["Say "hi"!"] --> B["x"]', 'A["Say #quot;hi#quot;!"] --> B["x"]'),
    "escaped quotes": (r'A["Empty (\"\")"] --> B["x"]', 'A["Empty (#quot;#quot;)"] --> B["x"]'),
    "quotes on an arrow": ('A -- says "no" --> B', 'A -- "says #quot;no#quot;" --> B'),
    "quotes between bars": ('A -->|says "no"| B', 'A -->|"says #quot;no#quot;"| B'),
    "half a quote": ('A["Read] --> B["x"]', 'A["Read"] --> B["x"]'),
    "brackets": ("A[f(x)] --> B(g(y))", 'A["f(x)"] --> B("g(y)")'),
    "a bar": ("A{on | off} --> B", 'A{"on | off"} --> B'),
    "a path": ("A[/etc/hosts] --> B", 'A["/etc/hosts"] --> B'),
    "nothing": ("A[] --> B", "A --> B"),
    "nothing in a diamond": ("A{} --> B", 'A{" "} --> B'),
    "nothing between bars": ("A -->|| B", "A --> B"),
    "a space": ("A [Read] --> B ((Write))", "A[Read] --> B((Write))"),
    "an open bracket": ("A[Read --> B[Write]", "A[Read] --> B[Write]"),
    "an open bracket before a label": ('A{Read -->|"no"| B{"Write"}', 'A{Read} -->|"no"| B{"Write"}'),
    "another bracket": ("A[Read) --> B{Ok?]", "A[Read] --> B{Ok?}"),
    "one bracket too many": ("A(Read)) --> B", "A(Read) --> B"),
    "one bracket too few": ("A[[Read] --> B", "A[[Read]] --> B"),
    "a quote too many": ('A["Read""] --> B["x"]', 'A["Read"] --> B["x"]'),
    "a smile": ("A[Read :)] --> B", 'A["Read :)"] --> B'),
    "a mark too many": ("]A[Read] --> B", "A[Read] --> B"),
    "half an arrow": ("A -- B", "A --> B"),
    "half an arrow with a text": ('A ==|"no"| B', 'A ==>|"no"| B'),
    "a bar too many": ('A -->|"no"|| B', 'A -->|"no"| B'),
    "a bar too many before a text": ("A -->||no| B", "A -->|no| B"),
    "a bracket twice": ("A([([Read]) --> B", "A([Read]) --> B"),
    "an open bar": ("A -->| B", "A --> B"),
    "a missing bar": ('A -->"no"| B', 'A -->|"no"| B'),
    "two statements on a line": ('A --> B    B -->|"no"| C', 'A --> B\nB -->|"no"| C'),
    "another case of a keyword": ("Subgraph one\nA --> B\nend", "subgraph one\nA --> B\nend"),
    "another case of a direction": ("direction lr\nA --> B", "direction LR\nA --> B"),
    "nothing of a text on an arrow": ("A -- --> B", "A --> B"),
    "a title with brackets": ("subgraph Input (raw)\nA --> B\nend", 'subgraph "Input (raw)"\nA --> B\nend'),
    "a title with an id": (
        'subgraph in[The "raw" one]\nA --> B\nend',
        'subgraph in["The #quot;raw#quot; one"]\nA --> B\nend',
    ),
    "a title without an id": ("subgraph [Input]\nA --> B\nend", 'subgraph "Input"\nA --> B\nend'),
    "an open title without words": ('subgraph in ["\nA --> B\nend', "subgraph in \nA --> B\nend"),
    "a title and a node": ('subgraph in [Input]    A{"Ok?"}\nend', 'subgraph in [Input]\nA{"Ok?"}\nend'),
    "half a quote in half a bracket": ('A[["Read] --> B', 'A[["Read"]] --> B'),
    "an open title": ("subgraph in [Input\nA --> B\nend", "subgraph in [Input]\nA --> B\nend"),
    "the id end": ("A --> end\nend --> B\nend[Last]", "A --> End\nEnd --> B\nEnd[Last]"),
    "the id end in a box": (
        "subgraph G\nA --> end\nend\nend -->|x| B",
        "subgraph G\nA --> End\nend\nEnd -->|x| B",
    ),
    "the id end-user, alone in a box": (
        "subgraph G\nend-user[Read]\nend\nA --> B",
        "subgraph G\nEnd-user[Read]\nend\nA --> B",
    ),
    "the id graph, with a style": (
        "A --> graph\ngraph[Map] --> B\nstyle graph fill:#eee\nclass graph big",
        "A --> Graph\nGraph[Map] --> B\nstyle Graph fill:#eee\nclass Graph big",
    ),
    "the id class, where Class is another one": ("class --> Class\nclass[x]", "Class_ --> Class\nClass_[x]"),
    "the id style-sheet": ("A --> style-sheet\nstyle-sheet --> B", "A --> Style-sheet\nStyle-sheet --> B"),
    "brackets in a label of several lines": (
        "A[One\ntwo\n(three) four] --> B{Ok?}",
        'A["One\ntwo\n(three) four"] --> B{Ok?}',
    ),
    "quotes in a label of several lines": ('A["One "x"\ntwo"] --> B', 'A["One #quot;x#quot;\ntwo"] --> B'),
    "two labels of several lines": ('A[读\n"x"] --> B[y\n(z)]', 'A["读\n#quot;x#quot;"] --> B["y\n(z)"]'),
    "brackets between bars in several lines": ("A -->|one\ntwo (x)| B", 'A -->|"one\ntwo (x)"| B'),
    "a title of several lines": ("subgraph g[One\n(two)]\nA --> B\nend", 'subgraph g["One\n(two)"]\nA --> B\nend'),
    "an open bracket above a label": ("A[Read\nB[Write]\nA --> B", "A[Read]\nB[Write]\nA --> B"),
    "a bracket too many before another": ("A(([Read]) --> B", "A([Read]) --> B"),
    "a bracket too many before a quote": ('A[(("Read")] --> B', 'A[("Read")] --> B'),
    "a bracket too few behind brackets": ("A((f(x)) --> B", 'A(("f(x)")) --> B'),
    "a quote and a bar in the wrong order": ('A -->|"one|" B', 'A -->|"one"| B'),
    "an open bracket before a text on an arrow": ("A[Read -->|one| B", "A[Read] -->|one| B"),
    "a bar that is missing before a label": ("A[x] -->|when done B[y]", "A[x] -->|when done| B[y]"),
    "a bar and a quote that are missing": ('A -->|"when done B', 'A -->|"when done"| B'),
    "an open bar above another text": ("A -->|one B\nB -->|two| C", "A -->|one| B\nB -->|two| C"),
    "a short arrow behind a text": ("A -- one -> B\nB -->|two| C", "A -- one --> B\nB -->|two| C"),
    "one dash before a text": ("A - if so --> B", "A -- if so --> B"),
    "a comment behind an arrow": ("A --> %% why\nB", "%% why\nA -->\nB"),
    "a comment behind a class": ("A --> B:::big; %% why", "%% why\nA --> B:::big;"),
    "a comment of another language": ("A --> B // why", "%% why\nA --> B"),
    "a line that is a comment elsewhere": ("# Read first\nA --> B", "%% Read first\nA --> B"),
    "another line that is one elsewhere": ("A --> B\n// then\nB --> C", "A --> B\n%% then\nB --> C"),
    "an unfinished arrow with a text": ("A --> B -->|one|", "%% -->|one|\nA --> B"),
    "an unfinished text on an arrow": ("A[x] -- one two", "%% -- one two\nA[x]"),
    "an unfinished text between bars": ("A -->|one\nB -->|two| C", "%% -->|one\nA\nB -->|two| C"),
    "a title in round brackets": (
        "subgraph one(Round)\nA --> B\nend\none --> C",
        'subgraph one["Round"]\nA --> B\nend\none --> C',
    ),
    "a quoted title in a diamond": ('subgraph one{"Is it"}\nA --> B\nend', 'subgraph one["Is it"]\nA --> B\nend'),
    "a comment behind a title": ("subgraph Raw (x) %% why\nA\nend", '%% why\nsubgraph "Raw (x)"\nA\nend'),
    "a comment behind an &": ("A & %% why\nB --> C", "%% why\nA & B --> C"),
    "an & at the end of a line": ("A --> B &\n\nC --> D", "A --> B & C --> D"),
    "an & before another statement": ("A --> B & %% why\nstyle A fill:#eee", "%% why\nA --> B\nstyle A fill:#eee"),
    "a bracket that lacks after a quoted label of two lines": ('A["One\ntwo" --> B["x"]', 'A["One\ntwo"] --> B["x"]'),
    "a bar in a label before a label of two lines": ("A[x | y] --> B[Step\n2]", 'A["x | y"] --> B[Step\n2]'),
    "the id subgraph": ("subgraph --> B\nA --> subgraph", "Subgraph --> B\nA --> Subgraph"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_was_broken_is_written_as_it_was_meant(name: str) -> None:
    broken, meant = (f"flowchart LR\n    {lines.replace(chr(10), chr(10) + '    ')}\n" for lines in CASES[name])
    assert not parse_record(broken)["ok"]
    found = refusals(broken)
    assert apply_edits(broken, found[0].fixes[0].edits) == meant
    assert repair(broken, clock=lambda: 0.0).text == meant
    assert parse_record(meant)["ok"]


@pytest.mark.parametrize(
    ("line", "message", "title"),
    [
        ("A [Read] --> B", "remove the space", "Remove the space before the bracket"),
        ("A --> class", "The word", "Rename class to Class"),
        ("A[a | b] --> B", "double quotes", "Put the label in quotes"),
        ("A[/x] --> B", "double quotes", "Put the label in quotes"),
        ("A -->|| B", "remove the bars", "Remove the empty bars"),
        ("A[] --> B", "remove the brackets", "Remove the empty brackets"),
        ("end --> B", "choose another id, such as End", "Rename end to End"),
        ("end-1 --> B", "choose another id", "Rename end-1 to End-1"),
        ("subgraph Raw (x)", "write the whole title in double quotes", "Put the title in quotes"),
    ],
)
def test_the_sentence_says_what_the_first_fix_does(line: str, message: str, title: str) -> None:
    found = refusals(f"flowchart LR\n    {line}\n")[0]
    assert message in found.message
    assert found.fixes[0].title == title


@pytest.mark.parametrize(
    "line",
    ['A["x"] # c', "A{x}{y}", "A[/x/][/y/]", "A((text))B", "A->>B", "A[x\\][/y", 'A["x"]B["y"]', "A[x] → B[y]"],
)
def test_no_fix_makes_one_label_of_several_things(line: str) -> None:
    text = f"flowchart LR\n    {line}\n"
    for finding in refusals(text):
        for fix in finding.fixes:
            after = apply_edits(text, fix.edits)
            assert after.count('"') == text.count('"'), f"{fix.title}: {after}"


def test_the_first_line_of_a_diagram_is_no_node() -> None:
    for text in ("flowchart;\nA --> B\n", "graph [TD];A-->B;\n", "%%{init: {} %%\ngraph TD\nA --> B\n  end\n"):
        titles = [fix.title for one in refusals(text) for fix in one.fixes]
        assert not [title for title in titles if title.startswith(("Rename", "Begin"))]


UNREADABLE = "flowchart TD\n    A --> B\n    ?! )( ?!\n    B --> C\n"


def test_a_line_becomes_a_comment_only_where_nothing_else_helps_and_that_is_said_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.mmd").write_text(UNREADABLE)
    done = in_process(capsys, "repair", "--no-config", "--apply", "a.mmd")
    assert Path("a.mmd").read_text() == UNREADABLE.replace("?!", "%% ?!", 1)
    assert "One line could not be read and becomes a comment" in done.err.splitlines()[0]
    Path("a.mmd").write_text('flowchart TD\n    A["x "y""] --> B\n')
    done = in_process(capsys, "repair", "--no-config", "a.mmd")
    assert "comment" not in done.out + done.err
