"""What a revision keeps, said beforehand."""

from __future__ import annotations

import pytest
from tests.runtime.composites.loops import box
from tests.runtime.engine.fakes import flowchart

from merrow_runtime.revising.difference import RevisionDifference, difference
from merrow_runtime.workflow import Workflow, check_workflow


def custom(name: str, more: str = "") -> str:
    return f'{name}["Custom (prompt: do {name}{", " + more if more else ""})"]:::CustomOp'


def work(*lines: str | list[str], front: str = "") -> Workflow:
    text = flowchart(*(line for part in lines for line in ([part] if isinstance(part, str) else part)))
    return check_workflow(f"---\nworkflow:\n  {front}\n---\n{text}" if front else text)


CHAIN = [
    custom("A"),
    custom("B"),
    custom("C"),
    "PROBLEM -->|input| A",
    "A -->|input| B",
    "B -->|input| C",
    "C --> RETURN",
]


def chain(a: str = "", b: str = "", c: str = "", front: str = "") -> Workflow:
    return work(custom("A", a), custom("B", b), custom("C", c), *CHAIN[3:], front=front)


def test_what_is_before_a_change_is_kept_and_what_is_behind_it_is_reset() -> None:
    found = difference(chain(), chain(b="temperature: 0.5"))
    assert found == RevisionDifference(kept=("A",), reset=("B", "C"), changed=("B",))
    assert difference(chain(), chain(b="temperature: 0.5"), ["A"]) == RevisionDifference(kept=("A",), changed=("B",))
    assert difference(chain(), chain(), ["B"]).reset == ("B",), "A is not finished, so B stands on nothing"


def test_a_change_of_what_is_not_finished_is_a_difference() -> None:
    found = difference(chain(), chain(b="temperature: 0.5"), [])
    assert found == RevisionDifference(changed=("B",))
    assert not found.is_empty


def test_what_only_orders_may_come_in_any_order() -> None:
    lines = [
        *(custom(name, "returns: Bool") for name in "AB"),
        *(custom(name) for name in "CXY"),
        "D{One?}:::DecisionOp",
        "E{Two?}:::DecisionOp",
        "PROBLEM -->|input| A & B & C & X",
        "A --> D",
        "B --> E",
        "D & E -->|no:after| X",
        "C & X -->|input| Y",
        "Y --> RETURN",
    ]
    first, second = "D -->|yes:after| C", "E -->|yes:after| C"
    found = difference(work(*lines, first, second), work(*lines, second, first))
    assert (set(found.kept), found.reset) == ({*"ABCDEXY"}, ())
    # Two values for one port are another matter.
    first, second = "A -->|input| C", "B -->|input| C"
    lines = [*CHAIN[:3], "PROBLEM -->|input| A & B & C", "C --> RETURN"]
    assert difference(work(*lines, first, second), work(*lines, second, first)).reset == ("C",)


def test_layout_style_and_comments_are_no_difference() -> None:
    same = work(*reversed(CHAIN[:3]), *CHAIN[3:], "%% a comment", "style A fill:#fff")
    found = difference(chain(), same)
    assert found.is_empty
    assert found.kept == ("A", "B", "C")


def test_nodes_come_and_go_and_edges_move() -> None:
    new = work(
        custom("A"),
        custom("X"),
        custom("C"),
        "PROBLEM -->|input| A",
        "A -->|input| X",
        "X -->|input| C",
        "C --> RETURN",
    )
    assert difference(chain(), new) == RevisionDifference(kept=("A",), reset=("C",), added=("X",), removed=("B",))
    joined = work(*CHAIN[:3], *CHAIN[3:6], "A -->|input| C", "C --> RETURN")
    assert difference(chain(), joined).reset == ("C",)


def test_the_order_of_what_comes_to_a_port_counts() -> None:
    three = [custom("A"), custom("B"), custom("C"), "PROBLEM -->|input| A & B"]
    one = work(*three, "A -->|input| C", "B -->|input| C", "C --> RETURN")
    other = work(*three, "B -->|input| C", "A -->|input| C", "C --> RETURN")
    assert difference(one, other) == RevisionDifference(kept=("A", "B"), reset=("C",))


def test_a_renamed_node_is_found_again_and_so_are_two_that_change_places() -> None:
    text = [line.replace("B[", "Q[").replace("B -->", "Q -->").replace("| B", "| Q") for line in CHAIN]
    assert difference(chain(), work(*text)) == RevisionDifference(kept=("A", "Q", "C"), renamed={"Q": "B"})
    swapped = [line.replace("do A", "do x").replace("do B", "do A").replace("do x", "do B") for line in CHAIN[:3]] + [
        "PROBLEM -->|input| B",
        "B -->|input| A",
        "A -->|input| C",
        "C --> RETURN",
    ]
    assert difference(chain(), work(*swapped)) == RevisionDifference(kept=("B", "A", "C"), renamed={"B": "A", "A": "B"})


def test_where_a_node_takes_the_name_of_one_that_is_gone_a_node_less_is_told() -> None:
    text = ["PROBLEM -->|input| B", custom("B").replace("do B", "do A"), custom("C"), "B -->|input| C", "C --> RETURN"]
    found = difference(chain(), work(*text))
    assert (found.kept, found.renamed, found.removed) == (("B",), {"B": "A"}, ("A",))


def test_an_execution_serves_one_node_and_a_rename_on_purpose_goes_first() -> None:
    voters = ['V1["Custom (prompt: v)"]:::CustomOp', 'V2["Custom (prompt: v)"]:::CustomOp']
    end = [custom("C"), "PROBLEM -->|input| {0}", "{0} -->|input| C", "C --> RETURN"]
    old = work(*voters, *[line.format("V1 & V2") for line in end])
    new = work(
        *(line.replace("V1", "W1").replace("V2", "W2") for line in voters), *[line.format("W1 & W2") for line in end]
    )
    assert difference(old, new).renamed == {"W1": "V1", "W2": "V2"}
    assert difference(old, new, renamed={"W1": "V2"}).renamed == {"W1": "V2", "W2": "V1"}
    more = work(*voters, voters[1].replace("V2", "V3"), *[line.format("V1 & V2 & V3") for line in end])
    assert difference(old, more) == RevisionDifference(kept=("V1", "V2"), reset=("C",), added=("V3",))


def test_of_two_alike_each_is_found_again_by_what_comes_to_it_beside_a_loop_too() -> None:
    def alike(first: str, second: str) -> Workflow:
        voters = [f'{name}["Custom (prompt: v)"]:::CustomOp' for name in (first, second)]
        return work(
            *(custom(name) for name in "ABC"), box("L", "Loop (max: 2)", custom("T")), *voters, "PROBLEM -->|input| A & B & T",
            "T -.->|again:input| T", f"A -->|input| {first}", f"B -->|input| {second}", f"{first} & {second} & T -->|input| C",
            "C --> RETURN",
        )  # fmt: skip

    found = difference(alike("V", "W"), alike("X", "Y"))
    assert found.renamed == {"X": "V", "Y": "W"}
    turned = difference(alike("V", "W"), alike("X", "Y"), renamed={"X": "W", "Y": "V"})
    assert turned == found, "a rename on purpose is none where something else comes to the node"


def test_a_decision_with_other_labels_is_another_one() -> None:
    def decided(word: str) -> Workflow:
        return work(
            'D{"Decision (if: 1 < 2)"}:::DecisionOp', custom("A"), custom("B"),
            "PROBLEM -->|when| D", f"D -- {word} --> A", "D -- else --> B", "PROBLEM -->|input| A & B", "A & B --> RETURN",
        )  # fmt: skip

    assert difference(decided("true"), decided("true")).is_empty
    found = difference(decided("true"), decided("false"))
    assert (found.changed, found.kept, found.reset) == (("D",), (), ("D", "A", "B"))


def test_what_is_asked_for_again_is_redone_with_what_follows() -> None:
    found = difference(chain(), chain(front="redo: {B: 1}"))
    assert found == RevisionDifference(kept=("A",), reset=("B", "C"), redone=("B",))
    assert difference(chain(front="redo: {B: 1}"), chain(front="redo: {B: 1}")).is_empty


def test_a_loop_whose_turns_are_others_keeps_nothing_in_it_or_behind_it() -> None:
    def loop(most: int, b: str = "") -> Workflow:
        return work(
            custom("A"), box("L", f"Loop (max: {most})", custom("B", b), custom("R")), custom("C"),
            "PROBLEM -->|input| A", "A -->|input| B", "B -->|input| R", "R -->|again:input| B", "B -->|input| C", "C --> RETURN",
        )  # fmt: skip

    assert difference(loop(2), loop(2)).kept == ("A", "B", "R", "C")
    assert difference(loop(2), loop(3)).kept == ("A",)
    assert difference(loop(2), loop(2, "temperature: 1")).kept == ("A",)


def judged_turns(judge: str | None = "", *, word: str = "", again: str = "B -.->|again:input| B") -> Workflow:
    """B in turns until a Decision on R ends them, of which E only knows that it did; ``judge`` None: nothing ends them."""
    judges: list[str] = []
    ends: list[str] = []
    if judge is not None:
        judges = [custom("R", f"returns: Bool{judge}"), "D{Good?}:::DecisionOp", "B -->|input| R & X", "R --> D"]
        judges += ["D -->|no:after| X", custom("X")]
        ends = ["X -->|input| E", "D -->|yes:after| E"]
    return work(
        *(custom(name) for name in "ACEF"), box("L", "Loop (max: 2)", custom("B"), *judges), "PROBLEM -->|input| A",
        "A -->|input| B & E", again, f"B -->|{word}input| C", *ends, "C & E -->|input| F",
        "F --> RETURN",
    )  # fmt: skip


def test_what_leaves_a_loop_stands_on_all_that_ends_its_turns() -> None:
    found = difference(judged_turns(), judged_turns(", temperature: 1"))
    assert (found.kept, found.changed) == (("A", "B"), ("R",))
    without = difference(judged_turns(), judged_turns(None))
    assert (without.kept, without.removed) == (("A", "B"), ("R", "D", "X"))


def test_what_comes_again_from_a_changed_node_is_something_else() -> None:
    again = "D -.->|no:again| B"
    assert difference(judged_turns(again=again), judged_turns(", temperature: 1", again=again)).kept == ("A",)


def test_the_word_of_an_edge_counts() -> None:
    """Behind the same Loop: what follows each end of it, and what follows only where its turns ran out."""
    assert difference(judged_turns(), judged_turns()).is_empty
    assert difference(judged_turns(), judged_turns(word="over:")).reset == ("C", "F")


def test_what_is_remembered_counts() -> None:
    def remembering(more: str = "") -> Workflow:
        return work(custom("A", more), custom("B"), custom("C", "memory: all"), *CHAIN[3:])

    assert difference(remembering(), remembering()).kept == ("A", "B", "C")
    assert difference(remembering(), remembering("temperature: 1")).kept == ()


def test_inputs_and_outputs_never_change() -> None:
    lines = [line.replace("RETURN", "ANSWER") for line in CHAIN]
    other = check_workflow(
        flowchart(*lines)
        .replace("RETURN", "ANSWER")
        .replace("flowchart TD", "---\nworkflow: {outputs: ANSWER}\n---\nflowchart TD", 1)
    )
    found = difference(chain(), other)
    assert [sentence.split(":")[0] for sentence in found.refused] == [
        "The output RETURN is gone",
        "The output ANSWER is new",
    ]
    assert not found.kept


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ("PROBLEM@{ type: Text }", "PROBLEM@{ type: Number }", "The input PROBLEM is Number now and was Text"),
        ("PROBLEM@{ type: Text }", "", "The input PROBLEM is Problem now and was Text"),
        ("RETURN@{ type: Text }", "RETURN@{ type: Any }", "The output RETURN is Any now and was Text"),
        ("RETURN@{ type: Text }", "", "The output RETURN is of any type now and was Text"),
        ("", "RETURN@{ type: Text }", "The output RETURN is Text now and was of any type"),
    ],
)
def test_types_of_inputs_and_outputs_never_change(before: str, after: str, sentence: str) -> None:
    found = difference(work(*CHAIN, before), work(*CHAIN, after))
    assert found.refused == (f"{sentence}: inputs and outputs of a run never change.",)
    assert difference(work(*CHAIN, before), work(*CHAIN, before)).is_empty


def test_how_a_decision_is_drawn_is_no_change() -> None:
    def decided(decision: str, default: str = "") -> Workflow:
        lines = [custom("A", "returns: Bool"), custom("B"), "PROBLEM -->|input| A & B"]
        edges = ["PROBLEM -->|value| D", "A -->|when| D", "D -->|no:after| B", "D -->|yes| RETURN", "B --> RETURN"]
        return work(*lines, decision, default, *edges)

    plain = decided("D{Good?}:::DecisionOp")
    drawn = decided("D@{ op: Decision, shape: diam, label: 'D' }")
    assert difference(plain, drawn).changed == ()
    assert difference(plain, decided("D{Good?}:::DecisionOp", "D@{ default: no }")).changed == ("D",)
