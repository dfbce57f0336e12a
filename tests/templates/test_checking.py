"""Prompts with variables, as the checker and an editor see them, and changes of the workflow around them."""

from __future__ import annotations

import pytest
from tests.analysis.ide.cursor import marked

from merrow_analysis.check import Analyser, analyse
from merrow_analysis.definitions.provider import ResourceError
from merrow_analysis.ide.completion.completion import complete
from merrow_analysis.ide.hover import hover
from merrow_analysis.ide.names.rename import RenameRefusedError, rename
from merrow_analysis.text import Position, Range, TextEdit, apply_edits, split_lines
from merrow_optimizer.mutations.moves import changes, moves
from merrow_optimizer.mutations.operator_names import SUBSTITUTION
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.preconditions import failing

FLOW = """\
---
workflow:
  prompts:
    polish: {{text: "{polish}", template: true}}
  operators:
    Reply:
      inputs: {{letter: Text, rules?: Text}}
      outputs: {{text: Text}}
      prompt: |
        Answer this:
        {reply}
      template: true
---
flowchart LR
    PROBLEM([Letter]):::Interface
    RULES@{{ op: Custom, prompt: "Name the rules." }}
    REPLY["Reply<br/>"]
    POLISH["Custom<br/>(role: polish)"]
    CHECK@{{ op: Custom, template: true, prompt: "{check}" }}
    PROBLEM -->|letter| REPLY
    PROBLEM -->|input| RULES -->|rules| REPLY
    REPLY -->|input| POLISH -->|input| CHECK --> RETURN
    RETURN([Reply]):::Interface
    classDef Interface fill:#eee
"""
GOOD = {
    "polish": "Improve {input}. Write {{ok}}.",
    "reply": "{letter} by {rules}",
    "check": "Is {input} polite?",
}


def flow(**prompts: str) -> str:
    return FLOW.format(**(GOOD | prompts))


def told(text: str) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in analyse(text).diagnostics]


def fixed(text: str, number: int = 0) -> str:
    [finding] = [one for one in analyse(text).diagnostics if one.code in ("MW315", "MW316")]
    return apply_edits(text, list(finding.fixes[number].edits))


def test_variables_that_name_input_ports_are_right_wherever_a_template_is_written() -> None:
    assert told(flow()) == []


def test_braces_mean_nothing_where_no_template_is_asked_for() -> None:
    text = flow(polish="{nothing} { }} {{").replace(", template: true}", "}")
    assert told(text) == []


def test_an_unknown_variable_is_reported_where_it_is_written() -> None:
    text = flow(reply="{leter} by {rules} and {letter}")
    [finding] = analyse(text).diagnostics
    assert (finding.code, finding.severity.value) == ("MW315", "error")
    assert finding.message == (
        "REPLY (Reply): `{leter}` in its template is not one of its input ports; did you mean `{letter}`?"
    )
    start, end = finding.range
    assert text.splitlines()[start.line][start.column : end.column] == "{leter}"
    assert [fix.title for fix in finding.fixes] == ["Write {letter}", "Write {{leter}}", "Remove {leter}"]
    assert fixed(text) == text.replace("{leter}", "{letter}")


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize(
    "prompts",
    [
        {"polish": "Improve {input} {text}"},
        {"check": "Is {input} {a b} polite?"},
        {"reply": "{letter} by {rules} {wholly other}"},
    ],
)
def test_each_fix_of_an_unknown_variable_leaves_nothing_to_say(prompts: dict[str, str], number: int) -> None:
    text = flow(**prompts)
    [finding] = analyse(text).diagnostics
    if number < len(finding.fixes):
        assert told(fixed(text, number)) == []


def test_a_single_brace_is_doubled() -> None:
    text = flow(check="Is {input} polite? }")
    assert told(text)[0][1].endswith("a single `}` in its template is neither a variable nor a brace; double it: `}}`.")
    assert told(fixed(text)) == []


@pytest.mark.parametrize("prompts", [{"reply": "Keep to {rules}."}, {"polish": "Improve it."}, {"check": "Polite?"}])
def test_a_fed_port_that_a_template_leaves_out_is_a_warning_and_can_be_added(prompts: dict[str, str]) -> None:
    text = flow(**prompts)
    [finding] = analyse(text).diagnostics
    assert (finding.code, finding.severity.value) == ("MW316", "warning")
    assert "so the input comes before the prompt; add it where it belongs." in finding.message
    assert told(fixed(text)) == []


def test_a_port_that_nothing_feeds_may_be_left_out() -> None:
    text = flow(reply="{letter}").replace("RULES -->|rules| REPLY", "RULES -->|input| CHECK")
    assert told(text) == []


def test_a_prompt_file_may_have_templates() -> None:
    class Files:
        def exists(self, path: str) -> bool:
            return path == "prompts.yaml"

        def read(self, path: str) -> str:
            if not self.exists(path):
                raise ResourceError(path)
            return 'polish: {text: "Improve {draft}.", template: true}\n'

    text = flow().replace(
        f'prompts:\n    polish: {{text: "{GOOD["polish"]}", template: true}}', "prompts: prompts.yaml"
    )
    assert {one.code for one in analyse(text, provider=Files()).diagnostics} == {"MW315", "MW316"}


def test_a_node_says_whether_its_prompt_is_a_template() -> None:
    text = flow(polish="Improve {nothing}").replace("(role: polish)", "(role: polish, template: false)")
    assert told(text) == []
    text = flow().replace(", template: true}", "}").replace("(role: polish)", "(role: polish, template: true)")
    assert told(text) == []
    assert told(text.replace("Improve {input}", "Improve {imput}"))[0][0] in ("MW315", "MW316")


def test_findings_after_each_edit_are_those_of_a_cold_reading() -> None:
    """A template that becomes plain, and the other way round, with the same letters."""
    plain = flow(polish="Improve {nothing}").replace(", template: true}", "}")
    steps = [plain, flow(polish="Improve {nothing}"), plain, flow(), flow(check="Is {x} ok?"), flow(reply="{rules}")]
    analyser = Analyser(flow())
    for text in steps:
        analyser.analysis()
        lines = split_lines("".join(analyser.document.lines))
        new = split_lines(text)
        for number, line in enumerate(new):
            if number < len(lines) and lines[number] != line:
                place = Range(Position(number, 0), Position(number, len(lines[number].rstrip("\n"))))
                analyser.edit(TextEdit(place, line.rstrip("\n")))
        assert "".join(analyser.document.lines) == text
        assert [(one.code, one.message, one.range) for one in analyser.analysis().diagnostics] == [
            (one.code, one.message, one.range) for one in analyse(text).diagnostics
        ]


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        ({"reply": "{letter} by {ru<|>"}, ["letter", "rules"]),
        ({"reply": "{letter} by {<|>}"}, ["letter", "rules"]),
        ({"polish": "Improve {<|>"}, ["input"]),
        ({"check": "Is {in<|>} polite?"}, ["input"]),
    ],
)
def test_ports_are_offered_behind_a_brace(prompts: dict[str, str], expected: list[str]) -> None:
    here = marked(flow(**prompts))
    items = complete(here.analysis, here.position).items
    assert [item.label for item in items] == expected
    written = apply_edits(here.text, [items[-1].edit])
    assert told(written) in ([], told(flow(reply="{letter} by {rules}")))


def test_nothing_is_offered_behind_a_doubled_brace() -> None:
    here = marked(flow(check="Is {input} {{<|> polite?"))
    assert "input" not in [item.label for item in complete(here.analysis, here.position).items]


def test_a_variable_is_explained() -> None:
    for prompts in ({"reply": "{letter} by {ru<|>les}"}, {"check": "Is {inp<|>ut} polite?"}):
        here = marked(flow(**prompts))
        found = hover(here.analysis, here.position)
        assert found is not None
        assert ("rules" if "reply" in prompts else "input") in found.text.plain()


@pytest.mark.parametrize("at", ["{{le<|>tter: Text", "|le<|>tter|", "{le<|>tter} by"])
def test_a_port_is_renamed_in_declaration_edges_and_templates(at: str) -> None:
    at = at.replace("{{", "{")
    text = flow()
    here = marked(text.replace(at.replace("<|>", ""), at, 1))
    renamed = apply_edits(text, list(rename(here.analysis, here.position, "post").edits))
    assert told(renamed) == []
    assert renamed == text.replace("letter", "post")


def test_an_optional_port_keeps_its_mark() -> None:
    text = flow()
    here = marked(text.replace("|rules|", "|ru<|>les|"))
    renamed = apply_edits(text, list(rename(here.analysis, here.position, "house_rules").edits))
    assert "house_rules?: Text" in renamed
    assert told(renamed) == []


def test_a_port_is_not_renamed_to_one_that_there_is_or_where_it_breaks_another_template() -> None:
    text = flow()
    here = marked(text.replace("|rules|", "|ru<|>les|"))
    with pytest.raises(RenameRefusedError, match="already has a port letter"):
        rename(here.analysis, here.position, "letter")


def test_no_mutation_breaks_a_template() -> None:
    """Other operators have other ports: those that would break the prompt are refused, with the code of the finding."""
    text = flow()
    original = Original(analyse(text))
    refused = [failing(change) for change in changes(original) if change.operator == SUBSTITUTION]
    reasons = [one.reason for one in refused if one is not None]
    assert any("MW315" in reason or "MW316" in reason for reason in reasons)


def test_every_move_that_is_offered_leaves_templates_whole() -> None:
    text = flow()
    for move in moves(analyse(text)):
        after = apply_edits(text, list(move.edits))
        assert not {"MW315", "MW316"} & {code for code, _ in told(after)}, move.title


def test_a_position_beyond_the_text_has_nothing_to_say() -> None:
    assert hover(analyse(flow()), Position(99, 0)) is None
