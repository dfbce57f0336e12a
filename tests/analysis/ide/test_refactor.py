"""Refactorings keep what a workflow means: on the corpus, on generated workflows, with any text as a prompt or value."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.analysis.ide.cursor import marked
from tests.analysis.ide.meaning import errors, meaning
from tests.shared import SHARED
from tests.workflows import workflows

from merrow_analysis.check import Analysis, analyse
from merrow_analysis.definitions.provider import Provider, ResourceError
from merrow_analysis.ide.actions.actions import EXTRACT_PROMPT, INLINE_PROMPT, MOVE_PARAMETERS, SPELLING, Action
from merrow_analysis.ide.actions.code_actions import actions
from merrow_analysis.text import Range, apply_edits

CORPUS = SHARED / "corpus"


class Files:
    """A provider that has the given files."""

    def __init__(self, **files: str) -> None:
        self.files = {name.replace("__", "."): text for name, text in files.items()}

    def read(self, path: str) -> str:
        if path not in self.files:
            raise ResourceError(f"{path} can't be read.")
        return self.files[path]

    def exists(self, path: str) -> bool:
        return path in self.files


def refactorings(analysis: Analysis, kind: str = "refactor") -> Iterator[Action]:
    """Every refactoring that is offered at any declaration or class of the file."""
    places = [mention.range for node in analysis.flow.nodes.values() for mention in node.mentions if mention.declares]
    places += [use.range for node in analysis.flow.nodes.values() for use in node.classes]
    for place in places:
        yield from actions(analysis, Range(place.start, place.start), (), lambda offered: offered.startswith(kind))


def do(text: str, kind: str, title: str = "", provider: Provider | None = None) -> str:
    """The text after the refactoring at its cursor; it must be offered once, and keep the meaning."""
    before = marked(text, provider)
    offered = [one for one in actions(before.analysis, before.range, (), kind.__eq__) if title in one.title]
    assert len(offered) == 1, [one.title for one in offered]
    after, _ = keeps_meaning(before.text, before.analysis, offered[0], provider)
    return after


def keeps_meaning(
    text: str, before: Analysis, action: Action, provider: Provider | None = None
) -> tuple[str, Analysis]:
    edits = action.edits()
    assert edits is not None, f"{action.title} is offered, but can't be done"
    after_text = apply_edits(text, edits)
    after = analyse(after_text, provider=provider)
    assert meaning(after) == meaning(before), f"{action.title} gives\n{after_text}"
    assert not errors(after) - errors(before), after_text
    return after_text, after


FRAME = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Return]):::Interface
    PROBLEM --> A --> RETURN
"""


def test_a_prompt_moves_to_a_new_front_matter() -> None:
    assert do(FRAME + '    A<|>@{ op: Custom, prompt: "Solve it.\\nThen stop.\\n" }\n', EXTRACT_PROMPT) == (
        "---\nworkflow:\n  prompts:\n    a: |\n      Solve it.\n      Then stop.\n---\n"
        + FRAME
        + "    A@{ op: Custom, role: a }\n"
    )


@pytest.mark.parametrize(
    ("front", "after"),
    [
        ("workflow:\n  model: m\n", 'workflow:\n  prompts:\n    a: "Go."\n  model: m\n'),
        ("workflow:\n  prompts:\n    b: x\n", 'workflow:\n  prompts:\n    a: "Go."\n    b: x\n'),
        ("workflow: {prompts: {b: x}}\n", 'workflow: {prompts: {a: "Go.", b: x}}\n'),
        ("workflow: {model: m}\n", 'workflow: {prompts: {a: "Go."}, model: m}\n'),
        ("workflow:\n  prompts:\n", 'workflow:\n  prompts:\n    a: "Go."\n'),
        ("workflow:\n", 'workflow:\n  prompts:\n    a: "Go."\n'),
        ("title: t\n", 'workflow:\n  prompts:\n    a: "Go."\ntitle: t\n'),
        ("{title: t}\n", '{workflow: {prompts: {a: "Go."}}, title: t}\n'),
    ],
)
def test_a_prompt_moves_into_the_front_matter_that_is_there(front: str, after: str) -> None:
    node = '    A<|>@{ op: Custom, prompt: "Go." }\n'
    assert do(f"---\n{front}---\n{FRAME}{node}", EXTRACT_PROMPT).startswith(f"---\n{after}---\n")


def test_no_prompt_moves_where_other_roles_would_miss_theirs() -> None:
    text = (
        FRAME + '    A<|>@{ op: Custom, prompt: "Go." }\n    B["Custom<br/>(role: b)"]\n    PROBLEM --> B --> RETURN\n'
    )
    assert not actions(marked(text).analysis, marked(text).range, (), EXTRACT_PROMPT.__eq__)


def test_a_prompt_comes_back_from_the_front_matter() -> None:
    text = "---\nworkflow:\n  prompts:\n    go: |\n      Go.\n      On.\n---\n" + FRAME
    assert do(text + '    A<|>["Custom<br/>(role: go)"]\n', INLINE_PROMPT) == (
        "---\nworkflow:\n---\n" + FRAME + '    A["Custom<br/>"]@{ prompt: "Go.\\nOn.\\n" }\n'
    )


def test_a_prompt_that_others_use_stays() -> None:
    text = (
        "---\nworkflow:\n  prompts:\n    go: Go.\n---\n"
        + FRAME
        + "    B@{ op: Custom, role: go }\n    PROBLEM --> B --> RETURN\n"
    )
    after = do(text + "    A<|>@{ op: Custom, role: go }\n", INLINE_PROMPT)
    assert "    go: Go.\n" in after
    assert '    A@{ op: Custom, prompt: "Go." }\n' in after


def test_a_prompt_of_a_file_is_written_at_the_node() -> None:
    provider = Files(prompt__py='GO = "Go #1; 100%%{x}."\n')
    after = do(FRAME + "    A<|>@{ op: Custom, role: go }\n", INLINE_PROMPT, provider=provider)
    assert after.endswith('    A@{ op: Custom, prompt: "Go \\x231; 100\\x25%\\x7bx}." }\n')


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('A<|>["Custom<br/>(role: a, temperature: 0.5)"]', 'A["Custom<br/>"]@{ role: a, temperature: 0.5 }'),
        ('A<|>["Custom<br/>(role: a)"]:::CustomOp', 'A["Custom<br/>"]:::CustomOp@{ role: a }'),
        ('A<|>["Custom<br/>(role: a)"]@{ op: Custom }', 'A["Custom<br/>"]@{ op: Custom, role: a }'),
        ('A<|>["Custom<br/>(role: a)"]@{\n  op: Custom\n}', 'A["Custom<br/>"]@{\n  op: Custom\n  role: a\n}'),
        ('A<|>["Custom<br/>(role: a, seed: 1)"]@{ role: b }', 'A["Custom<br/>"]@{ role: b, seed: 1 }'),
        ("A<|>[\"Custom<br/>(role: 'a, b')\"]", 'A["Custom<br/>"]@{ role: "a, b" }'),
    ],
)
def test_parameters_move_to_the_metadata(before: str, after: str) -> None:
    assert do(f"{FRAME}    {before}\n", MOVE_PARAMETERS, "to its metadata") == f"{FRAME}    {after}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('A<|>["Custom<br/>"]@{ role: a, temperature: 0.5 }', 'A["Custom<br/>(role: a, temperature: 0.5)"]'),
        ('A<|>["Custom<br/>"]@{ op: Custom, role: a }', 'A["Custom<br/>(role: a)"]@{ op: Custom }'),
        ('A<|>["Custom"]@{ role: "a, (b)", shape: rect }', "A[\"Custom<br/>(role: 'a, (b)')\"]@{ shape: rect }"),
        ("A<|>[Custom]@{ role: a }", 'A["Custom<br/>(role: a)"]'),
        ('A<|>["Custom"]@{ prompt: "say \\x22x\\x22" }', "A[\"Custom<br/>(prompt: 'say #quot;x#quot;')\"]"),
        ('A<|>["Custom"]@{\n  op: Custom\n  seed: 3\n}', 'A["Custom<br/>(seed: 3)"]@{\n  op: Custom\n}'),
    ],
)
def test_parameters_move_to_the_label(before: str, after: str) -> None:
    assert do(f"{FRAME}    {before}\n", MOVE_PARAMETERS, "to its label") == f"{FRAME}    {after}\n"


def test_spellings_become_one() -> None:
    text = FRAME.replace("A", "X").replace("X", "A")
    text += '    A["Programmer"]\n    B["programmer"]:::programop\n    classDef ProgramOp fill:#eee\n'
    text += "    PROBLEM -->|problem| B --> RETURN\n"
    after = do(text + "    class A Program<|>Op\n", SPELLING)
    assert "ProgramOp" not in after
    assert "programop" not in after
    assert "classDef ProgrammerOp" in after
    assert 'B["Programmer"]:::ProgrammerOp' in after
    assert "class A ProgrammerOp" in after


@given(workflows())
@settings(max_examples=10, deadline=None)
def test_on_generated_workflows(text: str) -> None:
    before = analyse(text)
    for action in refactorings(before):
        keeps_meaning(text, before, action)


PROMPTS = """---
workflow:
  prompts:
    critic: Judge it.
    SIMPLE_SOLVER_1: |
      Solve it.
    planner: "Plan: first, \\x22then\\x22."
    Über: Über
    merger: Merge.
    fixer: >
      Fix
      it.
---
"""


@given(workflows(), st.booleans())
@settings(max_examples=10, deadline=None)
def test_prompts_of_generated_workflows(text: str, in_brackets: bool) -> None:
    header = text.index("flowchart") if "flowchart" in text else text.index("graph")
    front = "---\nworkflow: {prompts: {critic: a, simple_solver_1: b, planner: c, Über: d, merger: e, fixer: f}}\n---\n"
    text = (front if in_brackets else PROMPTS) + text[header:].replace("role: solver", "prompt: Solve it")
    before = analyse(text)
    for action in refactorings(before):
        keeps_meaning(text, before, action)


@pytest.mark.shared("corpus")
def test_on_the_corpus() -> None:
    files = [*CORPUS.glob("mermaidflow/**/*.mmd"), *CORPUS.glob("mmd/**/*.mmd")]
    for file in files:
        text = file.read_text("utf-8")
        before = analyse(text)
        if before.typed is None:
            continue
        for action in refactorings(before):
            keeps_meaning(text, before, action)


TEXTS = st.text(
    st.one_of(
        st.sampled_from("ab {}[]()<>|:;,#&%\"'`\\\n\n \t-@!*?~^$=/é😀"),
        st.characters(codec="utf-8", exclude_characters="\r\0"),
    ),
    min_size=1,
    max_size=60,
).filter(lambda text: text.strip() != "")


def _yaml(text: str) -> str:
    from merrow_analysis.edits.yaml_write import quoted

    return quoted(text, in_statement=True)


@given(TEXTS, st.sampled_from(["", "---\nworkflow:\n  model: m\n---\n", "---\nworkflow: {prompts: {z: z}}\n---\n"]))
@settings(max_examples=38, deadline=None)
def test_extracting_then_inlining_keeps_any_prompt(prompt: str, front: str) -> None:
    text = f"{front}{FRAME}    A@{{ op: Custom, prompt: {_yaml(prompt)} }}\n"
    first = analyse(text)
    assert first.typed is not None
    assert first.typed.by_id["A"].resolution.parameters["prompt"].value == prompt
    place = first.flow.nodes["A"].range
    (extract,) = actions(first, place, (), EXTRACT_PROMPT.__eq__)
    extracted, second = keeps_meaning(text, first, extract)
    (inline,) = actions(second, second.flow.nodes["A"].range, (), INLINE_PROMPT.__eq__)
    inlined, third = keeps_meaning(extracted, second, inline)
    assert meaning(third) == meaning(first)
    assert inlined.endswith(text[len(front) :])


VALUES = st.one_of(TEXTS, st.booleans(), st.integers(-5, 10**6), st.floats(0, 2, allow_nan=False))


@given(st.dictionaries(st.sampled_from(["role", "prompt", "model", "default", "seed"]), VALUES, min_size=1))
@settings(max_examples=38, deadline=None)
def test_parameters_of_any_value_move_there_and_back(values: dict[str, object]) -> None:
    from merrow_analysis.edits.yaml_write import word

    entries = ", ".join(f"{key}: {word(value)}" for key, value in values.items())
    text = f'{FRAME}    A["Custom<br/>"]@{{ {entries} }}\n'
    before = analyse(text)
    for action in refactorings(before, MOVE_PARAMETERS):
        moved, after = keeps_meaning(text, before, action)
        for back in refactorings(after, MOVE_PARAMETERS):
            keeps_meaning(moved, after, back)
