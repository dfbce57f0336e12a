"""Repairs: valid, the smallest there are, at the lines concerned and nowhere else, the same each time, and in time."""

from __future__ import annotations

import heapq
from collections import Counter
from itertools import count
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.breakage import broken
from tests.optimizer.seeded import KINDS, seeded

from merrow_analysis.check import analyse
from merrow_analysis.diagnostics import NO_FIXES, Diagnostic, Severity
from merrow_analysis.difference import line_edits
from merrow_analysis.text import Position, Range, TextEdit, apply_edits
from merrow_optimizer.repair.meaning import meaning_of
from merrow_optimizer.repair.remedies import MOST_OFFERED, remedies
from merrow_optimizer.repair.search import Repair, RepairSearch, repair
from merrow_optimizer.repair.weights import (
    BACK_EDGE_GOES,
    BOX_CHANGES,
    EDGE_COMES,
    EDGE_GOES,
    EDGE_MOVES,
    FIRST_AT_ITS_NODE,
    LONELY_GOES,
    MADE_UP,
    NODE_COMES,
    NODE_GOES,
    OPERATOR,
    UNLIKE_OTHERS,
    UNREAD,
    WORDS,
    size_of,
    weight_of_difference,
)

PLAN = """flowchart TD
    PROBLEM([Problem]):::Interface
    PLAN["Custom<br/>(role: planner)"]:::CustomOp
    PY["Programmer"]:::ProgrammerOp
    RETURN([Return]):::Interface
    PROBLEM -->|input| PLAN
    PROBLEM -->|problem| PY
    PLAN -->|analysis| PY
    PY --> RETURN
    classDef Interface fill:#eee
    classDef CustomOp fill:#d0e1f9
    classDef ProgrammerOp fill:#f9c2c2
"""
VOTE = """flowchart TD
    PROBLEM([Problem]):::Interface
    A["Custom<br/>(role: one)"]:::CustomOp
    B["Custom<br/>(role: two)"]:::CustomOp
    V["ScEnsemble"]:::ScEnsembleOp
    RETURN([Return]):::Interface
    PROBLEM -->|input| A & B
    A --> V
    B --> V
    V --> RETURN
    classDef Interface fill:#eee
    classDef CustomOp fill:#d0e1f9
    classDef ScEnsembleOp fill:#f9d0e1
"""
LOOP = """flowchart TD
    PROBLEM([Problem]):::Interface
    subgraph TWICE["Loop (max: 2)"]
    A["Custom<br/>(role: one)"]:::CustomOp
    end
    CHECK{ok?}:::DecisionOp
    B["Custom<br/>(role: two)"]:::CustomOp
    RETURN([Return]):::Interface
    PROBLEM -->|input| A & B
    A -.->|again| A
    A --> CHECK
    CHECK --> B
    B --> RETURN
    classDef Interface fill:#eee
    classDef CustomOp fill:#d0e1f9
    classDef DecisionOp fill:#fff
"""


def searched(text: str) -> Repair:
    """The repair that no time limit ends: a search ends by what it reads, and so gives the same each time."""
    return repair(text, clock=lambda: 0.0)


def without(text: str, line: str) -> str:
    assert line in text
    return text.replace(line, "", 1)


def worse(before: str, after: str) -> set[str]:
    """The codes of errors in a text, and of warnings that it has more of than another one."""
    old, new = analyse(before).diagnostics, analyse(after)
    warnings = [one.code for one in new.diagnostics if one.severity is Severity.WARNING]
    known = [one.code for one in old if one.severity is Severity.WARNING]
    return {one.code for one in new.errors} | {code for code in warnings if warnings.count(code) > known.count(code)}


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        (PLAN, 0),
        (PLAN.replace("|analysis|", "|analyse|"), WORDS),
        (without(PLAN, "    PROBLEM -->|problem| PY\n"), EDGE_COMES),
        (
            PLAN.replace("    PY --> RETURN\n", "    PY --> RETURN\n    PY -->|input| PLAN\n"),
            NODE_COMES,
        ),
        (without(VOTE, "    B --> V\n"), EDGE_COMES),
        (PLAN.replace("flowchart TD\n", 'flowchart TD\n    SPARE["Custom<br/>(role: spare)"]\n'), LONELY_GOES),
    ],
    ids=["nothing", "label", "edge", "cycle", "voice", "lonely"],
)
def test_what_a_repair_weighs(text: str, weight: int) -> None:
    done = searched(text)
    assert done.is_valid
    assert done.is_smallest
    assert weight <= done.weight < weight + WORDS
    assert sum(step.weight for step in done.steps) == done.weight
    assert apply_edits(text, done.edits) == done.text


def test_meaning_is_without_ids_order_of_lines_and_layout() -> None:
    same = [VOTE.replace("A", "FIRST"), VOTE.replace("    A --> V\n    B --> V\n", "    B  --->  V\n    A --> V\n")]
    other = [VOTE.replace("role: one", "role: three"), PLAN, without(VOTE, "    V --> RETURN\n")]
    assert {meaning_of(analyse(text)) for text in same} == {meaning_of(analyse(VOTE))}
    assert meaning_of(analyse(VOTE)) not in {meaning_of(analyse(text)) for text in other}


@pytest.mark.shared("corpus")
@settings(max_examples=8, deadline=None)
@given(st.sampled_from([PLAN, VOTE]), st.sampled_from(sorted(KINDS)), st.integers(0, 99), st.booleans(), st.booleans())
def test_a_repair_is_valid_local_and_keeps_line_endings(text: str, kind: str, seed: int, crlf: bool, end: bool) -> None:
    defective = seeded(text, kind, Random(seed))
    assume(defective is not None and not analyse(defective).is_valid)
    assert defective is not None
    defective = defective if end else defective.removesuffix("\n")
    done = searched(defective)
    if done.is_valid:
        assert not worse(defective, done.text)
    changed = sum(edit.range.end.line - edit.range.start.line for edit in done.edits)
    assert changed <= 2 * len(defective.splitlines()) * (done.weight >= NODE_GOES or len(done.steps) > 1) + 8
    if crlf:
        windows = searched(defective.replace("\n", "\r\n"))
        assert windows.text == done.text.replace("\n", "\r\n")
        assert windows.weight == done.weight or abs(windows.weight - done.weight) < WORDS
    assert searched(defective) == done


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000))
def test_any_text_is_survived_and_never_made_worse(seed: int) -> None:
    text = broken(VOTE if seed % 2 else PLAN, Random(seed))
    done = searched(text)
    before, after = analyse(text), analyse(done.text)
    assert apply_edits(text, done.edits) == done.text
    assert len(after.errors) <= len(before.errors)
    assert done.is_valid == (not worse(text, done.text))
    if before.is_valid:
        assert not done.edits


THREE = VOTE.replace("A & B", "A & B & C").replace("    B --> V\n", "    B --> V\n    C --> V\n")
THREE = THREE.replace("    V[", '    C["Custom<br/>(role: three)"]:::CustomOp\n    V[')
PROMPTS = "---\nworkflow:\n  prompts:\n    one: Do it in one way.\n    two: Do it in another way.\n---\n"
SPLIT = """flowchart TD
    PROBLEM([Problem]):::Interface
    SPLIT["Custom<br/>(role: split, returns: 'list[Text]')"]:::CustomOp
    subgraph EACH["Map (max: 9)"]
        A["Custom<br/>(role: one)"]:::CustomOp
    end
    B["Custom<br/>(role: two)"]:::CustomOp
    RETURN([Return]):::Interface
    PROBLEM -->|input| SPLIT & B
    SPLIT -->|each:input| A
    A -->|input| B
    B --> RETURN
    classDef Interface fill:#eee
    classDef CustomOp fill:#d0e1f9
"""


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        # The steps beside it say where an edge comes from, and where it leads.
        (THREE, "A & B & C", "A & B"),
        (THREE, "    C --> V\n", ""),
        # A step that takes no part is not drawn in to have a voice.
        (VOTE, "flowchart TD\n", 'flowchart TD\n    SPARE["Custom<br/>(role: spare)"]:::CustomOp\n'),
        # A misspelled name is renamed, and a prompt stays that still has its node.
        (PROMPTS + VOTE, 'Custom<br/>(role: one)"]:::CustomOp', 'Debate<br/>(role: one)"]:::DebateOp'),
        (PROMPTS + VOTE, 'Custom<br/>(role: one)"]:::CustomOp', 'Debate<br/>(role: ones)"]:::DebateOp'),
        (
            PROMPTS + VOTE,
            'A["Custom<br/>(role: one)"]',
            'A["Custom<br/>(role: three)"]:::CustomOp\n    A["Custom<br/>(role: ones)"]',
        ),
        (PLAN, "PLAN -->|analysis|", "PLNA -->|analysis|"),
        # A Map stays one.
        (SPLIT, "each:input", "eech:input"),
    ],
    ids=["source", "target", "spare", "operator", "operator and role", "declared twice", "id", "map"],
)
def test_what_somebody_wrote_is_meant_again(text: str, old: str, new: str) -> None:
    assert old in text
    slip = text.replace(old, new, 1)
    assert not analyse(slip).is_valid
    done = searched(slip)
    assert done.is_valid
    assert meaning_of(analyse(done.text)) == meaning_of(analyse(text)), done.text


class _Plain(RepairSearch):
    """The same steps without any order, bound or memory but the weight: the smallest repair by trying all of them."""

    def smallest(self, most: int) -> int:
        first, number = self._best, count()
        waiting = [(0, next(number), first)]
        least: dict[str, int] = {}
        while waiting:
            weight, _, state = heapq.heappop(waiting)
            if state.reading.is_done:
                return weight
            if least.setdefault(state.reading.text, weight) < weight:
                continue
            reached: list = []  # type: ignore[type-arg]
            self._reached = reached.append  # type: ignore[method-assign]
            self._texts, self._queue = {}, []
            self._expand(state)
            while self._queue:
                what = heapq.heappop(self._queue)[3]
                if callable(what):
                    what()
                else:
                    self._texts = {}
                    self._try(state, what)
            for one in reached:
                if one.weight <= most:
                    heapq.heappush(waiting, (one.weight, next(number), one))
        return most + 1


@pytest.mark.shared("corpus")
@settings(max_examples=4, deadline=None)
@given(
    st.sampled_from([PLAN, VOTE]), st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=1), st.integers(0, 9)
)
def test_the_smallest_repair_is_found_where_all_can_be_tried(text: str, kinds: list[str], seed: int) -> None:
    for kind in kinds:
        text = seeded(text, kind, Random(seed)) or text
    assume(not analyse(text).is_valid)
    done = searched(text)
    assume(done.is_valid and done.is_smallest and done.weight <= EDGE_GOES)
    assert _Plain(text, clock=lambda: 0.0).smallest(done.weight) == done.weight


class Clock:
    """A clock that runs by itself: each look takes some seconds."""

    def __init__(self, step: float) -> None:
        self.step, self.now = step, 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def hostile(lines: int) -> list[str]:
    nodes = "".join(f'    N{number} -->|nothing| N{number + 1}\n    N{number}["Custom\n' for number in range(lines))
    many = "".join(f'    M{number}["Custom<br/>(role: r)"]:::CustomOp\n' for number in range(lines))
    return [PLAN + nodes, PLAN + many, PLAN + "    A --> \n" * lines, "---\n" * lines, "flowchart TD\n" + "[" * lines]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(5))
def test_a_hostile_text_ends_at_the_limit_with_the_best_so_far(number: int) -> None:
    text = hostile(150)[number]
    clock = Clock(0.05)
    done = repair(text, 1.0, clock=clock)
    # The limit is looked at before each step, which may itself take as long as the slowest one before.
    assert clock.now < 2.0
    assert len(analyse(done.text).errors) <= len(analyse(text).errors)


def test_no_time_changes_nothing() -> None:
    text = without(PLAN, "    PROBLEM -->|problem| PY\n")
    done = repair(text, 0)
    assert (done.text, done.edits, done.is_valid, done.is_smallest) == (text, (), False, False)


def test_many_findings_are_repaired_by_all_fixes_at_once() -> None:
    voters = "".join(
        f'    A{number}["Custom<br/>(role: one)"]:::CustomOp\n    PROBLEM -->|inptu| A{number}\n    A{number} --> V\n'
        for number in range(40)
    )
    text = VOTE.replace("    V --> RETURN\n", voters + "    V --> RETURN\n")
    assert len(analyse(text).errors) == 40
    done = repair(text, 1.0, clock=Clock(0.02))
    assert done.is_valid
    assert [step.codes for step in done.steps] == [("MW201",)]


@pytest.mark.parametrize(
    ("old", "new", "weight"),
    [
        ("    B --> V\n", "", EDGE_GOES),
        ("    B --> V\n", "    B --> V\n    A --> B\n", EDGE_COMES + UNLIKE_OTHERS),
        ("    B --> V\n", "    B --> A\n", EDGE_MOVES),
        ('    B["Custom<br/>(role: two)"]:::CustomOp\n', '    C["Custom<br/>(role: two)"]:::CustomOp\n', NODE_COMES),
        (" & B\n", "\n", EDGE_GOES),
        ("    V --> RETURN\n", "    V --> RETURN\n    V --> B\n    B --> RETURN\n", 2 * (EDGE_COMES + UNLIKE_OTHERS)),
        ("    A --> V\n", "    A -->|input| V\n", WORDS),
        ("    A --> V\n", "    A -->|input| V\n    PROBLEM -->|problem| V\n", EDGE_COMES + WORDS),
    ],
)
def test_what_edits_weigh_whose_outcome_is_known(old: str, new: str, weight: int) -> None:
    assert old in VOTE
    after = VOTE.replace(old, new)
    assert weight_of_difference(analyse(VOTE), analyse(after), line_edits(VOTE, after)) == weight


@pytest.mark.parametrize(
    ("text", "old", "new", "weight"),
    [
        # A step that no edge led to or from takes part at last; a cycle is broken where it runs back, or elsewhere.
        (
            without(PLAN, "    PLAN -->|analysis| PY\n").replace("PROBLEM -->|input| PLAN", "%% nothing"),
            "%% nothing",
            "PLAN --> PY",
            EDGE_COMES + FIRST_AT_ITS_NODE,
        ),
        (PLAN.replace("PY --> RETURN", "PY --> PLAN"), "    PY --> PLAN\n", "", BACK_EDGE_GOES),
        (PLAN.replace("PY --> RETURN", "PY --> PLAN"), "    PLAN -->|analysis| PY\n", "", EDGE_GOES),
        (LOOP, "    CHECK --> B\n", "    CHECK --> B\n    CHECK -->|yes| B\n", EDGE_COMES + UNLIKE_OTHERS),
        (LOOP, "Loop (max: 2)", "two", OPERATOR),
        (LOOP, "    end\n", "    B\n    end\n", BOX_CHANGES),
    ],
    ids=["first edge", "edge back", "edge on", "same target", "box", "member"],
)
def test_what_edits_of_other_texts_weigh(text: str, old: str, new: str, weight: int) -> None:
    assert old in text
    after = text.replace(old, new)
    assert weight_of_difference(analyse(text), analyse(after), line_edits(text, after)) == weight


def test_what_an_edit_only_writes_again_has_no_size() -> None:
    (edit,) = line_edits(
        "    classDef CustmOp fill:#d0e1f9,stroke:#4378a2\n", "    classDef CustomOp fill:#d0e1f9,stroke:#4378a2\n"
    )
    assert size_of("    classDef CustmOp fill:#d0e1f9,stroke:#4378a2\n", [edit]) == 0
    assert size_of("", [TextEdit(Range(Position(0, 0), Position(0, 0)), "x" * 16)]) == 2


def test_edges_of_a_node_that_goes_are_part_of_it() -> None:
    after = VOTE.replace('    B["Custom<br/>(role: two)"]:::CustomOp\n', "").replace(" & B\n", "\n")
    after = after.replace("    B --> V\n", "")
    assert weight_of_difference(analyse(VOTE), analyse(after), line_edits(VOTE, after)) == NODE_GOES
    back = weight_of_difference(analyse(after), analyse(VOTE), line_edits(after, VOTE))
    assert back == NODE_COMES + 2 * EDGE_COMES


def finding_of(text: str, code: str) -> Diagnostic:
    return next(one for one in analyse(text).diagnostics if one.code == code)


def test_remedies_take_their_finding_away_and_bring_nothing() -> None:
    text = PLAN.replace("    PLAN -->|analysis| PY\n", "    PY -->|input| PLAN\n")
    finding = finding_of(text, "MW102")._replace(fixes=NO_FIXES)
    found = remedies(text, finding, 9)
    assert 0 < len(found) <= MOST_OFFERED
    for remedy in found:
        after = apply_edits(text, remedy.edits)
        assert "MW102" not in {one.code for one in analyse(after).diagnostics}
        assert not worse(text, after)
    assert len({meaning_of(analyse(apply_edits(text, one.edits))) for one in found}) == len(found)


def serious(text: str) -> Counter[str]:
    return Counter(one.code for one in analyse(text).diagnostics if one.severity is not Severity.HINT)


def test_no_remedy_of_any_defect_brings_another_finding() -> None:
    random, offered = Random(5), 0
    for kind in KINDS:
        for text in (VOTE, PLAN):
            defective = seeded(text, kind, random)
            if defective is None:
                continue
            for finding in analyse(defective).errors:
                for remedy in remedies(defective, finding._replace(fixes=NO_FIXES), 9, clock=lambda: 0.0):
                    after = apply_edits(defective, remedy.edits)
                    assert not serious(after) - serious(defective), (kind, remedy.title)
                    offered += 1
    assert offered >= 20


def test_no_remedies_where_a_fix_is_enough_or_time_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    text = PLAN.replace("|analysis|", "|analyse|")
    with monkeypatch.context() as patched:
        # Not even made up: that takes most of the time in a large workflow.
        patched.delattr("merrow_optimizer.repair.remedies._steps")
        assert remedies(text, finding_of(text, "MW201"), 9) == []
    cycle = PLAN.replace("    PLAN -->|analysis| PY\n", "    PY -->|input| PLAN\n")
    assert remedies(cycle, finding_of(cycle, "MW102"), 0) == []


@pytest.mark.parametrize("lines", ["{a} --> {b}\n", "{a}\n    A --> {b}\n"])
def test_labels_that_need_quotes_are_no_reason_for_a_comment(lines: str) -> None:
    text = "flowchart TD\n    PROBLEM([Problem]):::Interface\n    RETURN([Answer]):::Interface\n"
    text += "    classDef Interface fill:#eee\n    PROBLEM --> "
    text += lines.format(a="A[Write (it)]", b="B[Check (it)]") + "    B --> RETURN\n"
    done = repair(text)
    assert done.text == text.replace("Write (it)", '"Write (it)"').replace("Check (it)", '"Check (it)"')
    assert {step.title for step in done.steps} <= {"Put the labels in quotes", "Put the label in quotes"}


@pytest.mark.parametrize(("line", "drawn"), [("?! )( ?!", 0), ('A[Read "x"]', 1), ('A[Read "x"] --> B', 3)])
def test_a_comment_weighs_what_its_line_draws_where_a_fix_can_read_it(line: str, drawn: int) -> None:
    text = f"flowchart TD\n    C --> D\n    {line}\n"
    [step] = repair(text, clock=lambda: 0.0, allows=lambda step: step.gives_up).steps
    assert step.gives_up
    least = UNREAD + MADE_UP + NODE_GOES * drawn
    assert least <= step.weight < least + WORDS


@pytest.mark.parametrize("looked_at", [1, 3])
def test_a_repair_is_the_smallest_only_where_every_finding_was_looked_at(
    looked_at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("merrow_optimizer.repair.search.MANY", looked_at)
    nodes = "".join(
        f'    N{n}@{{ op: Custm, prompt: "p" }}\n    PROBLEM -->|input| N{n}\n    N{n} --> R{n}([R]):::Interface\n'
        for n in range(2)
    )
    done = repair(f"flowchart TD\n    PROBLEM([Problem]):::Interface\n{nodes}", 1.0, clock=lambda: 0.0)
    assert done.is_valid
    assert done.is_smallest == (looked_at == 3)
