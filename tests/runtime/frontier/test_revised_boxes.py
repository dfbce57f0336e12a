"""What single revisions of Loops and Maps lead to, and what they leave alone."""

from __future__ import annotations

from collections.abc import Callable

from tests.analysis.workflows import typed
from tests.runtime.composites.loops import box, custom
from tests.runtime.engine.fakes import flowchart
from tests.runtime.frontier.test_nested_revisions import key_of
from tests.runtime.frontier.thought import named

from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_runtime.errors import NodeFailure
from merrow_runtime.frontier import (
    Chose,
    Closes,
    Consequence,
    Failed,
    Frontier,
    Gave,
    Inputs,
    Judged,
    JudgeTurn,
    Opens,
    Skip,
    Start,
)
from merrow_runtime.operators.base import Remembered
from merrow_runtime.values import Value


def graph_of(*lines: str | list[str]) -> TypedGraph:
    return typed(flowchart(*(line for part in lines for line in ([part] if isinstance(part, str) else part))))


def said(consequences: list[Consequence]) -> list[str]:
    """Consequences in words: ``+A[1]`` and ``-A[1]`` for what opens and closes."""
    words: list[str] = []
    for one in consequences:
        match one:
            case Start() | Skip():
                words.append(("" if isinstance(one, Start) else "no ") + named(one.visit))
            case Opens() | Closes():
                place = f"{one.path}/{one.composite.id}" if one.path else one.composite.id
                words.append(f"{'+' if isinstance(one, Opens) else '-'}{place}[{one.number}] of {one.most}")
            case JudgeTurn():
                words.append(f"? {one.path}!{one.redo}" if one.redo else f"? {one.path}")
    return words


def with_memory(node: TypedNode, inputs: Inputs, entries: Callable[[], list[Remembered]], path: str) -> str:
    del path
    return key_of(node, inputs, entries) + repr([(one.node, one.text) for one in entries()])


class Told:
    """A run that is told what comes of visits by their names."""

    def __init__(self, graph: TypedGraph) -> None:
        self.frontier = Frontier(graph, parallel=2)
        self.starts: dict[str, Start] = {}
        self.follow(self.frontier.begin())

    def follow(self, consequences: list[Consequence]) -> list[str]:
        self.starts |= {named(one.visit): one for one in consequences if isinstance(one, Start)}
        return said(consequences)

    def gave(self, name: str, value: Value = "x") -> list[str]:
        start = self.starts[name]
        port = "result" if start.node.kind == "output" else next(iter(start.node.outputs))
        return self.follow(self.frontier.tell(Gave(start.visit, {port: value})))

    def failed(self, name: str) -> list[str]:
        return self.follow(self.frontier.tell(Failed(self.starts[name].visit, NodeFailure(f"{name} fails"), ends=True)))

    def chose(self, name: str, case: int) -> list[str]:
        start = self.starts[name]
        return self.follow(self.frontier.tell(Chose(start.visit, case, start.inputs["value"])))

    def judged(self, path: str, *, holds: bool, redo: int = 0) -> list[str]:
        return self.follow(self.frontier.tell(Judged(path, holds, redo=redo)))

    def revised(self, graph: TypedGraph) -> list[str]:
        return self.follow(self.frontier.replace(graph, with_memory, with_memory))


LIST = 'LIST["Custom (prompt: LIST, returns: list[Text])"]:::CustomOp'


def items(*inside: str, title: str = "Map ()", end: str = "Custom (prompt: END)") -> TypedGraph:
    return graph_of(
        LIST,
        box("M", title, custom("A"), *inside),
        f'END["{end}"]:::CustomOp',
        "PROBLEM -->|input| LIST",
        "LIST -->|each:input| A",
        f"{'B' if inside else 'A'} -->|input| END",
        "END --> RETURN",
    )


def test_items_are_found_again_by_their_values_wherever_they_stand() -> None:
    run = Told(items())
    run.gave("PROBLEM")
    assert run.gave("LIST", ["a", "b", "a"]) == ["+M[1] of 3", "M[1]/A", "+M[2] of 3", "M[2]/A"]
    assert run.gave("M[1]/A", "first") == ["-M[1] of 3", "+M[3] of 3", "M[3]/A"]
    run.gave("M[2]/A", "of b")
    assert run.gave("M[3]/A", "second") == ["-M[3] of 3", "END"]
    other = typed(flowchart(*items_lines_with_other_list()))
    assert run.revised(other) == ["LIST!1"]
    assert run.gave("LIST!1", ["b", "c", "a"]) == [
        "+M[1] of 3", "-M[1] of 3", "+M[2] of 3", "M[2]/A!1", "+M[3] of 3", "-M[3] of 3",
    ]  # fmt: skip
    run.gave("M[2]/A!1", "of c")
    assert run.starts["END!1"].inputs["input"][0].value == ["of b", "of c", "first"]


def items_lines_with_other_list() -> list[str]:
    return [
        LIST.replace("prompt: LIST", "prompt: OTHER"),
        *box("M", "Map ()", custom("A")),
        custom("END"),
        "PROBLEM -->|input| LIST",
        "LIST -->|each:input| A",
        "A -->|input| END",
        "END --> RETURN",
    ]


def test_what_is_under_way_in_a_box_goes_on_where_the_revision_is_elsewhere() -> None:
    run = Told(items())
    run.gave("PROBLEM")
    run.gave("LIST", ["a", "b", "c"])
    run.gave("M[1]/A", "1")
    assert run.revised(items(end="Custom (prompt: END, temperature: 0.5)")) == []
    assert run.frontier.obsolete() == []
    assert all(run.frontier.counts(run.starts[name].visit) for name in ("M[2]/A", "M[3]/A"))
    assert run.gave("M[3]/A", "3") == ["-M[3] of 3"]
    assert run.gave("M[2]/A", "2") == ["-M[2] of 3", "END"]
    assert run.starts["END"].inputs["input"][0].value == ["1", "2", "3"]


def test_a_node_that_leaves_its_box_takes_its_calls_along() -> None:
    head = ["PROBLEM -->|input| A", "A -->|input| B", "B --> RETURN"]
    inside = graph_of(box("L", "Loop (max: 2)", custom("A"), custom("B")), *head)
    outside = graph_of(custom("A"), box("L", "Loop (max: 2)", custom("B")), *head)
    run = Told(inside)
    assert run.gave("PROBLEM") == ["+L[1] of 1", "L[1]/A"]
    assert run.gave("L[1]/A", "a") == ["L[1]/B"]
    assert run.revised(outside) == []
    assert run.gave("L[1]/B", "b") == ["-L[1] of 1", "RETURN"]
    # And into one again, while the next is on its way.
    assert run.revised(inside) == []
    assert run.gave("RETURN", "b") == []
    assert run.frontier.results == {"RETURN": "b"}


def test_an_outcome_that_came_when_its_frame_was_over_counts_once_that_goes_on() -> None:
    def both(more: str = "") -> TypedGraph:
        return graph_of(
            box("L", "Loop (on_error: skip)", custom("A", more), custom("B"), custom("C")),
            custom("END"),
            "PROBLEM -->|input| A & B",
            "A & B -->|input| C",
            "C & PROBLEM -->|input| END",
            "END --> RETURN",
        )

    run = Told(both())
    assert run.gave("PROBLEM") == ["+L[1] of 1", "L[1]/A", "L[1]/B"]
    assert run.failed("L[1]/A") == ["-L[1] of 1", "END"]
    assert not run.frontier.counts(run.starts["L[1]/B"].visit)
    assert run.gave("L[1]/B", "b") == []
    # A failure is an outcome, too: nothing that is the same is tried again.
    assert run.revised(both()) == []
    assert run.frontier.obsolete() == []
    assert run.revised(both("temperature: 0.5")) == ["+L[1] of 1", "L[1]/A!1"]
    assert run.gave("L[1]/A!1", "a") == ["L[1]/C"]


def test_a_call_on_its_way_in_a_frame_that_is_over_is_obsolete() -> None:
    def both(end: str = "END") -> TypedGraph:
        return graph_of(
            box("L", "Loop (on_error: skip)", custom("A"), custom("B")),
            f'END["Custom (prompt: {end})"]:::CustomOp',
            "PROBLEM -->|input| A & B",
            "A & B & PROBLEM -->|input| END",
            "END --> RETURN",
        )

    run = Told(both())
    run.gave("PROBLEM")
    assert run.failed("L[1]/A") == ["-L[1] of 1", "END"]
    assert run.revised(both("OTHER")) == ["END!1"]
    assert {str(visit) for visit in run.frontier.obsolete()} == {"L[1]/B", "END"}
    assert not run.frontier.counts(run.starts["L[1]/B"].visit)
    assert run.frontier.counts(run.starts["END!1"].visit)


def loop(most: int = 3, more: str = "", head: str = "", review: str = "Review") -> TypedGraph:
    return graph_of(
        box("L", f"Loop (max: {most}, until: V.result)", custom("A", more), f'V["{review}"]:::ReviewOp'),
        f'H["Custom (prompt: H{head})"]:::CustomOp',
        "PROBLEM -->|input| H",
        "H -->|input| A",
        "A -->|solution| V",
        "PROBLEM -->|problem| V",
        "V -.->|again:feedback:input| A",
        "A --> RETURN",
    )


def turn(run: Told, number: int, redo: str = "") -> list[str]:
    run.gave(f"L[{number}]/A{redo}", f"a{number}{redo}")
    start = run.starts[f"L[{number}]/V{redo}"]
    outputs = {"result": False, "feedback": f"f{number}"}
    return run.follow(run.frontier.tell(Gave(start.visit, outputs)))


def test_a_loop_that_may_make_more_turns_goes_on_after_its_last_one() -> None:
    run = Told(loop(2))
    run.gave("PROBLEM")
    run.gave("H")
    assert turn(run, 1) == ["? L[1]"]
    assert run.judged("L[1]", holds=False) == ["-L[1] of 2", "+L[2] of 2", "L[2]/A"]
    assert turn(run, 2) == ["? L[2]"]
    assert run.judged("L[2]", holds=False) == ["-L[2] of 2", "RETURN"]
    more = ["+L[1] of 3", "-L[1] of 3", "+L[2] of 3", "-L[2] of 3", "+L[3] of 3", "L[3]/A"]
    assert run.revised(loop(3)) == more


def test_a_turn_is_judged_anew_where_another_was_judged_and_an_answer_of_before_is_not_used() -> None:
    run = Told(loop())
    run.gave("PROBLEM")
    run.gave("H")
    turn(run, 1)
    assert run.revised(loop(more="temperature: 0.5")) == ["L[1]/A!1"]
    assert turn(run, 1, "!1") == ["? L[1]!1"]
    assert run.judged("L[1]", holds=True) == []
    assert run.judged("L[1]", holds=False, redo=1) == ["-L[1] of 3", "+L[2] of 3", "L[2]/A"]
    # It was judged by the same: neither asked again nor told again.
    assert run.revised(loop(more="temperature: 0.5")) == []
    assert run.revised(loop(more="temperature: 0.7")) == ["+L[1] of 3", "L[1]/A!2"]
    assert turn(run, 1, "!2") == ["? L[1]!2"]


def test_nothing_begins_and_no_turn_is_judged_in_a_run_that_something_known_has_ended() -> None:
    def two(more: str = "", first: str = "") -> TypedGraph:
        return graph_of(
            *([*box("N", "Loop ()", custom("X")), f"{first} -->|input| X", "X -->|input| END"] if first else []),
            LIST,
            box("L", f"Loop (max: 3, until: V.result{more})", custom("A"), 'V["Review"]:::ReviewOp'),
            box("M", "Map ()", custom("B")),
            custom("END"),
            "PROBLEM -->|input| A & LIST",
            "PROBLEM -->|problem| V",
            "A -->|solution| V",
            "V -.->|again:feedback:input| A",
            "LIST -->|each:input| B",
            "A & B -->|input| END",
            "END --> RETURN",
        )

    run = Told(two())
    run.gave("PROBLEM")
    assert turn(run, 1) == ["? L[1]"]
    run.gave("LIST", ["b"])
    assert run.failed("M[1]/B") == ["-M[1] of 1"]
    assert run.frontier.is_over
    assert run.revised(two()) == []
    assert run.revised(two(", best: A.response")) == []
    assert run.revised(two(first="PROBLEM")) == []
    assert run.frontier.is_over
    assert "X" not in {start.node.id for start in run.starts.values()}


def test_what_a_decision_passes_on_says_where_it_comes_from_now() -> None:
    def made(*first: str | list[str]) -> TypedGraph:
        return graph_of(
            *first,
            'V["Review"]:::ReviewOp',
            "D{Good?}:::DecisionOp",
            custom("B", "memory: all"),
            custom("C"),
            "PROBLEM -->|input| A",
            "PROBLEM -->|problem| V",
            "A -->|solution| V",
            "V -->|result:when| D",
            "A -->|value| D",
            "D -->|yes:input| B",
            "D -->|no:input| C",
            "B & C --> RETURN",
        )

    run = Told(made(box("L", "Loop ()", custom("A"))))
    run.gave("PROBLEM")
    run.gave("L[1]/A", "the same")
    run.follow(run.frontier.tell(Gave(run.starts["V"].visit, {"result": True, "feedback": "f"})))
    cases = run.frontier.graph.by_id["D"].cases
    assert cases is not None
    run.chose("D", cases.choose("true"))
    assert run.starts["B"].inputs["input"][0].path == "L[1]"
    assert run.revised(made(custom("A", "temperature: 0.5"))) == ["A"]
    run.gave("A", "the same")
    node = run.frontier.graph.by_id["B"]
    visit = run.frontier.visit(node)
    assert visit == run.starts["B"].visit
    # What reaches a node by an edge is not told to it as a memory, too.
    assert run.revised(made(custom("A", "temperature: 0.5"))) == []
    assert run.frontier.visit(node) == visit


def test_a_turn_that_is_revised_away_and_comes_again_costs_nothing() -> None:
    run = Told(loop(2))
    run.gave("PROBLEM")
    run.gave("H")
    turn(run, 1)
    run.judged("L[1]", holds=False)
    run.gave("L[2]/A", "a2")
    assert run.revised(loop(1)) == ["+L[1] of 1", "-L[1] of 1", "RETURN"]
    # It can't begin again without another revision.
    assert [str(visit) for visit in run.frontier.obsolete()] == ["L[2]/V"]
    assert not run.frontier.counts(run.starts["L[2]/V"].visit)
    back = run.revised(loop(2))
    assert back == ["+L[1] of 2", "-L[1] of 2", "+L[2] of 2"]
    assert run.frontier.counts(run.starts["L[2]/V"].visit)


def test_a_call_of_a_turn_that_may_still_come_is_awaited() -> None:
    run = Told(loop())
    run.gave("PROBLEM")
    run.gave("H")
    turn(run, 1)
    run.judged("L[1]", holds=False)
    assert str(run.starts["L[2]/A"].visit) == "L[2]/A"
    # The head is made again, and what has begun behind it may come out as it was.
    assert run.revised(loop(head=" again")) == ["H!1"]
    assert run.frontier.obsolete() == []
    assert run.frontier.counts(run.starts["L[2]/A"].visit)
    run.gave("H!1")
    assert run.frontier.counts(run.starts["L[2]/A"].visit)
    assert run.gave("L[2]/A", "a2") == ["L[2]/V"]


def test_a_call_of_a_later_turn_is_awaited_while_an_earlier_one_is_made_again() -> None:
    run = Told(loop())
    run.gave("PROBLEM")
    run.gave("H")
    turn(run, 1)
    run.judged("L[1]", holds=False)
    assert run.revised(loop(review="Review (temperature: 0.5)")) == ["+L[1] of 3", "L[1]/V!1"]
    assert run.frontier.obsolete() == []
    assert run.frontier.counts(run.starts["L[2]/A"].visit)
    start = run.starts["L[1]/V!1"]
    outputs = {"result": False, "feedback": "f1"}
    assert run.follow(run.frontier.tell(Gave(start.visit, outputs))) == ["? L[1]!1"]
    assert run.judged("L[1]", holds=False, redo=1) == ["-L[1] of 3", "+L[2] of 3"]
    assert run.gave("L[2]/A", "a2") == ["L[2]/V"]


def test_an_item_that_has_nothing_left_to_do_ends_and_does_not_begin_again() -> None:
    edges = ["PROBLEM -->|input| LIST", "LIST -->|each:input| A", "END --> RETURN"]
    long = graph_of(LIST, box("M", "Map ()", custom("A"), custom("B")), custom("END"), "A --> B --> END", *edges)
    short = graph_of(LIST, box("M", "Map ()", custom("A")), custom("END"), "A --> END", *edges)
    run = Told(long)
    run.gave("PROBLEM")
    run.gave("LIST", ["a", "b"])
    assert run.gave("M[1]/A", "1") == ["M[1]/B"]
    assert run.revised(short) == ["-M[1] of 2"]
    assert [str(visit) for visit in run.frontier.obsolete()] == ["M[1]/B"]


def test_what_failed_in_a_box_that_is_left_out_is_not_tried_again() -> None:
    graph = graph_of(
        LIST,
        box("L", "Loop (on_error: skip)", *box("M", "Map ()", custom("A")), custom("C")),
        custom("END"),
        "PROBLEM -->|input| LIST",
        "LIST -->|each:input| A",
        "A -->|input| C",
        "PROBLEM & C -->|input| END",
        "END --> RETURN",
    )
    run = Told(graph)
    run.gave("PROBLEM")
    run.gave("LIST", ["a"])
    assert run.gave("L[1]/M[1]/A", "1") == ["-L[1]/M[1] of 1", "L[1]/C"]
    assert run.failed("L[1]/C") == ["-L[1] of 1", "END"]
    assert run.revised(graph) == []


def test_an_item_that_has_failed_takes_nothing_away_from_one_that_goes_on() -> None:
    """B was done once outside of the Map; inside of it the first item would be the first to ask for that."""

    def mapped(*, inside: bool) -> TypedGraph:
        return graph_of(
            LIST,
            *([] if inside else [custom("B")]),
            box("M", "Map (on_error: skip)", custom("A"), *([custom("B"), custom("JOIN")] if inside else [])),
            custom("END"),
            "PROBLEM -->|input| LIST & B",
            "LIST -->|each:input| A",
            *(
                ["A -->|input| JOIN", "B -->|input| JOIN", "JOIN -->|input| END"]
                if inside
                else ["A & B -->|input| END"]
            ),
            "END --> RETURN",
        )

    run = Told(mapped(inside=False))
    run.gave("PROBLEM")
    run.gave("B", "of B")
    run.gave("LIST", ["a", "b"])
    assert run.failed("M[1]/A") == ["-M[1] of 2"]
    assert run.revised(mapped(inside=True)) == []
    assert run.gave("M[2]/A", "of b") == ["M[2]/JOIN"]
    assert [one.value for one in run.starts["M[2]/JOIN"].inputs["input"]] == ["of b", "of B"]
