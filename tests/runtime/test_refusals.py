"""What a run refuses before its first call has a rule of the checker, or is about what surrounds the file: its
inputs, its options, the settings of the machine, the journal, a recording.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import merrow_runtime
from merrow_analysis.check import analyse
from merrow_analysis.rules.registry import all_rules
from merrow_runtime import UsageFailure, check_workflow, dry_run

SOURCE = Path(merrow_runtime.__file__).parent
FAILURES = {"UsageFailure", "InputError", "MissingInputs", "ForeignResults", "NodeFailure"}
PREPARATION = ("program", "running", "operators/registry.py", "workflow.py", "provenance.py")
"""What makes a run ready. Other folders refuse what is no part of a workflow file: models the machine's settings and its keys,
store names, journals and recordings, revising and compiling what their commands are told.
"""
BY_RULE = {
    "operators/registry.py operator_for": "MW104",
    "program/environment_parameters.py environment_parameters": "MW505",
    "program/fallbacks.py check_fallback_case": "MW305 MW320",
    "program/fallbacks.py fallback_of": "MW305 MW320",
    "program/fallbacks.py plain_value": "MW322",
    "program/inputs.py typed_value": "MW305",
    "program/validating.py _check_schema": "MW333",
    "program/validating.py resolve_validation": "MW322 MW333",
    "workflow.py _check_numbers": "MW305",
    "workflow.py _runnable": "MW104 MW110",
}
"""By the place of a refusal: the rules that report it. A rule may be ignored in the settings, so the run looks as well."""
AROUND = {
    "program/workflow_files.py": "the file can't be found or read",
    "program/inputs.py read_inputs": "the inputs that are given",
    "program/decision.py": "an answer, while it runs",
    "running/api.py": "another endpoint than before",
    "running/engine.py": "what a Call is brought, while it runs",
    "running/job.py": "a budget in dollars for a model without a price",
    "running/masking.py": "the options",
    "running/nodes_at_work.py": "Calls inside each other, while it runs",
    "running/revisions.py": "a revision, while it runs",
    "running/run.py": "a revision, while it runs",
    "running/scheduler.py": "nothing arrived, while it runs",
    "running/set_outputs.py": "the options",
    "running/single.py": "the options",
    "workflow.py _called": "a called file can't be read",
    "workflow.py _restored": "the journal is another version's",
}


def refusals() -> Iterator[str]:
    """Each function that makes a run ready and raises such a failure, as its file and its name."""
    for part in PREPARATION:
        where = SOURCE / part
        for file in [where] if where.is_file() else sorted(where.rglob("*.py")):
            for function in ast.walk(ast.parse(file.read_text())):
                if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(
                    map(_refuses, ast.walk(function))
                ):
                    yield f"{file.relative_to(SOURCE).as_posix()} {function.name}"


def _refuses(part: ast.AST) -> bool:
    return (
        isinstance(part, ast.Raise)
        and part.exc is not None
        and any(isinstance(name, ast.Name) and name.id in FAILURES for name in ast.walk(part.exc))
    )


def test_each_refusal_has_a_rule_or_is_about_what_surrounds_the_file() -> None:
    found = set(refusals())
    unknown = {one for one in found if one not in BY_RULE and one not in AROUND and one.split()[0] not in AROUND}
    assert not unknown, "Which rule reports what is refused here?"
    places = {*found, *(one.split()[0] for one in found)}
    assert not {one for one in (*BY_RULE, *AROUND) if one not in places}, "Nothing is refused there any more."
    codes = {rule.code for rule in all_rules()}
    assert {code for said in BY_RULE.values() for code in said.split()} <= codes


FLOW = """---
workflow:
  model: m
  types: {Route: [left, right], Idea: {title: Text, size: Number, way: Route}, Step: Idea|Note, Note: {text: Text}, Mass: Number}
  FRONT
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{ PARAMETERS }
    RETURN([Result]):::Interface
    PROBLEM -->|input| A
    A --> RETURN
    classDef Interface fill:#eee
"""
ASKING = """---
workflow:
  model: m
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A{"Is it short?"}
    A@{ PARAMETERS }
    B@{ op: Custom, prompt: "Answer." }
    RETURN([Result]):::Interface
    PROBLEM -->|input| A
    A -->|yes| B
    A -->|no| RETURN
    B --> RETURN
    classDef Interface fill:#eee
"""
ODD = st.sampled_from(
    ("25", '"25"', '"1,200"', "many", "true", '"No"', "left", '"Left."', "null", ".nan", "-.inf", "1.5", '""', "[]",
     "[1, left]", "[.inf]",
     "\n  title: a\n  size: 1\n  way: left", "\n  title: a\n  size: 1", "\n  title: a\n  size: 1\n  way: left\n  x: 1",
     "\n  title: [a]\n  size: 1\n  way: left", "\n  kind: Note\n  text: a", "\n  kind: Note\n  value:\n   text: a",
     "\n  kind: Other",
     "\n  kind: Idea", "\n  Title: a\n  SIZE: '1'\n  way: Left", "\n  kind: note\n  value: .nan",
     "\n  response: left", "\n  response: .nan", "-1", "0", "1e400", "99999999999999999999", '"def f(:"', '"print(1)"', '"x = 1"',
     '"  x = 1"', '"flowchart TD"', '"flowchart TD\\n A[a] -->"', '"flowchart TD\\n A[Answer.] --> B[Shorten.]"', "[print(1)]"),
)  # fmt: skip
TYPES = (
    "Text",
    "Number",
    "Bool",
    "Json",
    "Route",
    "Idea",
    "Step",
    "Mass",
    "list[Number]",
    "list[Idea]",
    "Code",
    "list[Code]",
)
TYPES = (*TYPES, "Workflow")
KEYS = (
    "default",
    "temperature",
    "timeout",
    "max_tokens",
    "seed",
    "retries",
    "samples",
    "memory",
    "on_error",
    "format",
    "attempts",
)
PARAMETERS = st.dictionaries(st.sampled_from(KEYS), ODD, max_size=2)
ON_ERROR = st.sampled_from(("", "on_error: default", "on_error: skip"))


def prepared(text: str) -> tuple[set[str], str | None]:
    """The errors that the checker reports, and why a run is refused for another reason."""
    errors = {one.code for one in analyse(text, as_workflow=True).errors}
    if errors:
        return errors, None
    try:
        dry_run(check_workflow(text))
    except UsageFailure as problem:
        return errors, str(problem)
    return errors, None


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(TYPES), PARAMETERS, ON_ERROR, ON_ERROR)
def test_a_node_without_errors_is_never_refused(type_: str, said: dict[str, str], own: str, of_all: str) -> None:
    written = {"op": "Custom", "prompt": '"Answer."', "returns": json.dumps(type_), **said}
    if own:
        written["on_error"] = own.split()[1]
    parameters = "".join(f"\n {key}: {value}" for key, value in written.items()) + "\n "
    _, refused = prepared(FLOW.replace("PARAMETERS", parameters).replace("FRONT", of_all))
    assert refused is None


@settings(max_examples=50, deadline=None)
@given(PARAMETERS, ON_ERROR)
def test_a_decision_without_errors_is_never_refused(said: dict[str, str], own: str) -> None:
    written = {"ask": '"Is it short?"', **said, **({"on_error": own.split()[1]} if own else {})}
    parameters = "".join(f"\n {key}: {value}" for key, value in written.items()) + "\n "
    _, refused = prepared(ASKING.replace("PARAMETERS", parameters))
    assert refused is None


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(TYPES), ODD)
def test_an_input_without_errors_is_never_refused(type_: str, default: str) -> None:
    text = FLOW.replace("  FRONT\n", "  inputs: [PROBLEM]\n").replace(
        "    PROBLEM([Problem]):::Interface",
        f'    PROBLEM@{{\n shape: stadium\n type: "{type_}"\n default: {default}\n }}\n    class PROBLEM Interface',
    )
    text = text.replace("PARAMETERS", 'op: Custom, prompt: "Answer."')
    errors, refused = prepared(text)
    assert refused is None
    assert errors <= {"MW207", "MW305"}, errors


PLANNED = 'op: Custom, prompt: p, on_error: default, default: "flowchart TD\\n {}", returns: Workflow'


def chain(length: int) -> str:
    return " --> ".join(f"N{number}[Write it]" for number in range(length))


def only(text: str, parameters: str) -> list[str]:
    return [one.code for one in analyse(text.replace("PARAMETERS", parameters).replace("FRONT", "")).errors]


@pytest.mark.parametrize(
    ("text", "parameters", "expected"),
    [
        (FLOW, "op: Custom, prompt: p, on_error: default", ["MW320"]),
        (FLOW, "op: Custom, prompt: p, on_error: default, default: none, returns: Number", ["MW305"]),
        (FLOW, "op: Custom, prompt: p, on_error: default, default: 5, returns: Number", []),
        (FLOW, "op: Custom, prompt: p, on_error: default, default: .nan", ["MW322"]),
        (FLOW, "op: Custom, prompt: p, on_error: skip, default: none, returns: Number", []),
        (FLOW, "\n op: Custom\n prompt: p\n returns: Step\n on_error: default\n default:\n  kind: Note\n  text: a\n ", []),
        (FLOW, "\n op: Custom\n prompt: p\n returns: Step\n on_error: default\n default:\n  kind: Other\n ", ["MW305"]),
        (FLOW, "op: Custom, prompt: p, on_error: default, default: 5, samples: 3, returns: Number", []),
        (FLOW, 'op: Custom, prompt: p, on_error: default, default: "def f(:", returns: Code', ["MW305"]),
        (FLOW, 'op: Custom, prompt: p, on_error: default, default: "x = 1", returns: Code', []),
        (FLOW, 'op: Custom, prompt: p, on_error: default, default: "flowchart TD", returns: Workflow', ["MW305"]),
        (FLOW, 'op: Custom, prompt: p, on_error: default, default: "flowchart TD\\n A[a] --> B[b]", returns: Workflow', []),
        (FLOW, PLANNED.format(chain(48)), []),
        (FLOW, PLANNED.format(chain(51)), ["MW305"]),
        (ASKING, 'ask: "Short?", on_error: default', ["MW320"]),
        (ASKING, 'ask: "Short?", on_error: default, default: maybe', ["MW305"]),
        (ASKING, 'ask: "Short?", on_error: default, default: "No"', []),
    ],
)  # fmt: skip
def test_defaults_that_are_refused_are_found(text: str, parameters: str, expected: list[Any]) -> None:
    assert only(text, parameters) == expected


def test_a_default_of_all_nodes_is_needed_at_each() -> None:
    text = FLOW.replace("FRONT", "on_error: default").replace("PARAMETERS", "op: Custom, prompt: p")
    assert [one.code for one in analyse(text).errors] == ["MW320"]
    assert not analyse(text.replace("prompt: p", "prompt: p, on_error: fail")).errors


@pytest.mark.parametrize("form", ["type: nosuch", "items: [type: string]", '$ref: "#/enum/0"\n    enum: [required: 5]'])
def test_a_format_that_is_no_schema_is_found(form: str) -> None:
    text = (
        "flowchart TD\nPROBLEM([P]):::Interface\nRETURN([R]):::Interface\nclassDef Interface fill:#eee\n"
        f"A@{{\n  op: Custom\n  prompt: x\n  format:\n    {form}\n}}\nPROBLEM -->|input| A --> RETURN\n"
    )
    assert [one.code for one in analyse(text).errors] == ["MW305"]


def test_a_schema_with_a_value_that_json_does_not_have_is_found() -> None:
    front = "validators: {small: {schema: {type: number, maximum: VALUE}}}"
    text = FLOW.replace("FRONT", front).replace("PARAMETERS", "op: Custom, prompt: p, validate: small")
    assert prepared(text.replace("VALUE", ".inf")) == ({"MW333"}, None)
    assert prepared(text.replace("VALUE", "3")) == (set(), None)
    assert prepared(text.replace("type: number", "type: nothing").replace("VALUE", "3")) == ({"MW333"}, None)
