"""What the checker says of nodes that ask people, and when they run."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.people.flows import CLASSES, ENDS

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.definitions.durations import LONGEST_SECONDS, read_duration
from merrow_analysis.definitions.provider import ResourceError
from merrow_analysis.graph.measures.call_bounds import call_bounds
from merrow_analysis.graph.measures.kept_effects import acting
from merrow_analysis.text import apply_edits
from merrow_runtime.errors import AnswerFailure
from merrow_runtime.operators.formats.planned import load_planned

TYPES = """---
workflow:
  types:
    Size: [small, large]
    Address: {street: Text, town: Text}
    Order: {article: Text, size: Size, to: Address, notes: "list[Text]"}
    Flat: {article: Text, count: Number, express: Bool, size: Size, also: "list[Size]"}
    Either: Address | Flat
  prompts: {say: Say what it is.}
  validators: {short: {if: len(output) < 20}}
---
"""


def flow(node: str, *edges: str) -> str:
    drawn = edges or ("PROBLEM -->|input| ASK", "ASK -->|input| SAY", "SAY --> RETURN")
    lines = [node, 'SAY["Custom<br/>(role: say, validate: short)"]', *drawn]
    return TYPES + ENDS + "".join(f"    {line}\n" for line in lines) + CLASSES


def human(parameters: str) -> str:
    return flow(f"ASK@{{ op: Human, {parameters} }}")


def found(text: str) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in analyse(text).diagnostics]


@pytest.mark.parametrize(
    "parameters",
    [
        "ask: What?",
        "ask: What?, returns: Bool",
        "ask: What?, returns: Size, deadline: 2d",
        'ask: What?, returns: "list[Size]", deadline: 90m',
        "ask: What?, returns: Flat, deadline: 90",
        "ask: What?, returns: Address, on_error: skip, deadline: 1w",
        "ask: What?, on_error: default, default: expired, deadline: 2h",
        "ask: What?, returns: Bool, default: yes",
        'ask: "Is {input} right?", template: true',
        "ask: What?, validate: short, on_invalid: accept",
        "returns: Bool",
    ],
)
def test_what_a_person_can_be_asked_is_clean(parameters: str) -> None:
    codes = [code for code, _ in found(human(parameters)) if code != "MW404"]
    assert codes in ([], ["MW310"]), found(human(parameters))


@pytest.mark.parametrize(
    ("parameters", "code", "said"),
    [
        ("ask: What?, samples: 3", "MW319", "ASK (Human): `samples` can't be used at Human, since a person would be asked"),
        ("ask: What?, retries: 1", "MW319", "ASK (Human): `retries` can't"),
        ("ask: What?, validate: short, attempts: 2", "MW319", "ASK (Human): `attempts` can't"),
        ("ask: What?, attempts: 2", "MW319", "ASK (Human): `attempts` can't"),
        ("ask: What?, returns: Order", "MW229", "ASK (Human): a person can't answer with Order in a form, since its field to is"),
        ("ask: What?, returns: Json", "MW229", "since Json can be anything."),
        ("ask: What?, returns: Either", "MW229", "since Either is a union."),
        ('ask: What?, returns: "list[Text]"', "MW229", "since list[Text] is a list, and Text is not an enumeration."),
        ("ask: What?, deadline: soon", "MW305", "at most 3162240000 (100 years) or a length of time such as 90m"),
        ("ask: What?, deadline: 0", "MW305", "`deadline` must be"),
        ("ask: What?, deadline: -5", "MW305", "`deadline` must be"),
        ("ask: What?, deadline: 0d", "MW305", "`deadline` must be"),
        ("ask: What?, deadline: 2 months", "MW305", "`deadline` must be"),
        ("ask: What?, returns: Size, default: huge", "MW305", "for its output answer must be of type Size, but it is none of"),
        ("ask: What?, returns: Bool, on_error: default, default: expired", "MW305", "it is neither true nor false"),
        ("ask: What?, on_error: default", "MW320", "needs a `default:`"),
        ('ask: "Is {input} or {inputs} right?", template: true', "MW315", "`{inputs}` in its template is not one of"),
        ("ask: What?, temperature: 1", "MW406", "`temperature` changes nothing: Human asks no model; remove it."),
        ("ask: What?, role: say", "MW406", "`role` changes nothing: Human asks no model; remove it."),
    ],
)  # fmt: skip
def test_what_a_person_can_not_be_asked_is_reported_once(parameters: str, code: str, said: str) -> None:
    here = [one for one in found(human(parameters)) if one[0] not in ("MW404", "MW310")]
    assert [one for one, _ in here] == [code], here
    assert said in here[0][1]


@pytest.mark.parametrize("key", ["samples: 3", "retries: 1"])
@pytest.mark.parametrize("written", ["ASK@{{ op: Human, ask: What?, {key} }}", 'ASK["Human<br/>(ask: What?, {key})"]'])
def test_the_fix_removes_the_key(key: str, written: str) -> None:
    text = flow(written.format(key=key))
    (finding,) = analyse(text).errors
    (fix,) = finding.fixes
    assert fix.title == f"Remove {key.split(':')[0]}"
    after = apply_edits(text, fix.edits)
    assert after == flow(written.format(key=key).replace(f", {key}", ""))
    assert not analyse(after).errors


@pytest.mark.parametrize(
    ("returns", "fields"),
    [
        ("Order", "OrderForm: {article: Text, size: Size, to_street: Text, to_town: Text, notes: Text}"),
        ("Json", "AskForm: {answer: Text}"),
    ],
)
def test_a_flat_record_is_offered(returns: str, fields: str) -> None:
    text = human(f"ask: What?, returns: {returns}")
    (finding,) = analyse(text).errors
    (fix,) = finding.fixes
    after = apply_edits(text, fix.edits)
    assert fix.title == f"Use a flat record: returns: {fields.split(':')[0]}"
    assert fields in after
    assert not analyse(after).errors


def test_no_flat_record_is_offered_where_an_edge_reads_a_field_of_the_other() -> None:
    text = flow(
        "ASK@{ op: Human, ask: What?, returns: Order }",
        "PROBLEM -->|input| ASK",
        "ASK -->|to.street:input| SAY",
        "SAY --> RETURN",
    )
    (finding,) = analyse(text).errors
    assert not list(finding.fixes)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("90m", 5400), ("2d", 172_800), (" 1 w ", 604_800), ("5s", 5), (90, 90), (0.5, 0.5), ("99999w", LONGEST_SECONDS)),
        *((0, None), (-1, None), ("0d", None), ("d", None), ("1.5h", None), ("", None), (None, None), (True, None)),
        *((float("nan"), None), (float("inf"), None), (10**12, None), ("2D", None), ("100000m", None)),
    ],
)  # fmt: skip
def test_a_length_of_time_is_read(text: object, seconds: float | None) -> None:
    assert read_duration(text) == seconds


BRANCHES = (
    "PROBLEM -->|input| SORT",
    "SORT -->|when| WHICH",
    "WHICH -->|small:after| SMALL",
    "WHICH -->|large:after| LARGE",
    "PROBLEM -->|input| SMALL & LARGE",
    "SMALL --> RETURN",
    "LARGE -->|PORT| ASK",
    "ASK --> RETURN",
)
NODES = (
    'SORT["Custom<br/>(role: say, returns: Size)"]',
    "WHICH{Which?}:::DecisionOp",
    'SMALL["Custom<br/>(role: say)"]',
    'LARGE["Custom<br/>(role: say)"]',
    "ASK@{ op: Human, ask: What? }",
)


def branches(port: str, *more: str) -> str:
    lines = (*NODES, *(edge.replace("PORT", port) for edge in BRANCHES), *more)
    return TYPES + ENDS + "".join(f"    {line}\n" for line in lines) + CLASSES


@pytest.mark.parametrize("port", ["input", "draft"])
def test_nobody_is_asked_in_a_branch_that_is_not_taken(port: str) -> None:
    assert not analyse(branches(port)).errors


def test_a_connected_draft_must_arrive_and_other_inputs_need_not() -> None:
    assert not analyse(branches("draft", "PROBLEM -->|input| ASK")).errors
    assert [one.code for one in analyse(branches("input", "PROBLEM -->|input| ASK")).errors] == ["MW205"]


def test_a_person_whose_answer_is_validated_may_be_asked_several_times() -> None:
    bounds = {}
    for parameters in ("ask: What?", "ask: What?, validate: short"):
        graph = analyse(human(parameters)).typed
        assert graph is not None
        bounds[parameters] = call_bounds(graph).most
    assert list(bounds.values()) == [4, 6]


class Files:
    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = files

    def read(self, path: str) -> str:
        if path not in self.files:
            raise ResourceError(f"{path} can't be read.")
        return self.files[path]

    def exists(self, path: str) -> bool:
        return path in self.files


CALLS = ENDS + "    PART@{{ op: Call, workflow: ./{} }}\n    PROBLEM --> PART --> RETURN\n" + CLASSES


def called(start: str, **files: str) -> Analysis:
    by_path = {f"{name}.mmd": text for name, text in files.items()}
    return analyse(by_path[f"{start}.mmd"], path=f"{start}.mmd", provider=Files(by_path))


def test_a_call_of_a_file_that_asks_people_has_their_effect() -> None:
    asks, silent = human("ask: What?"), flow("", "PROBLEM -->|input| SAY", "SAY --> RETURN")
    for inner, expected in ((asks, ["PART"]), (silent, [])):
        outer = called("a", a=CALLS.format("b.mmd"), b=CALLS.format("c.mmd"), c=inner)
        assert outer.typed is not None
        assert not outer.errors
        assert [node.id for node in acting(outer.typed)] == expected


@pytest.mark.parametrize("extra", ["", ":::HumanOp"])
def test_a_planned_workflow_asks_nobody(extra: str) -> None:
    planned = (
        ENDS
        + f"    A[\"Human<br/>(ask: 'Your password?')\"]{extra}\n    PROBLEM -->|input| A\n    A --> RETURN\n"
        + CLASSES
    )
    with pytest.raises(AnswerFailure, match="A is a Human, and a planned workflow can only ask models; leave it out"):
        load_planned(planned + "    classDef HumanOp fill:#eee\n")
