"""All patterns that come with Merrow, mutated a hundred times each: what comes out is valid, has no new warning, and does nothing
more outside than the pattern does. A new pattern is found by its file.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.optimizer.files import Texts
from tests.people.kept import acting_nodes, assert_kept
from tests.sizes import sized

from merrow_analysis.check import Analysis
from merrow_analysis.diagnostics import Severity
from merrow_analysis.tools.pins import PINS_FILE
from merrow_optimizer.mutations.calls.file_set import Files
from merrow_optimizer.mutations.moves import DEFAULT, MoveFilter, random_mutants

ROOT = Path(__file__).parents[2]
PATTERNS = {path.name: path.read_text("utf-8") for path in sorted((ROOT / "examples" / "patterns").glob("*.mmd"))}
BESIDE = Texts({**PATTERNS, PINS_FILE: (ROOT / PINS_FILE).read_text("utf-8")})
ACTING = {
    "a2flow_alfworld", "a2flow_textcraft", "agent_with_tools", "form_and_letter", "plan_execute_with_tools", "react",
    "react_textcraft", "reflexion", "triage_with_approval", "web_answer", "write_approve_send",
}  # fmt: skip
"""Those that ask people, use tools, act in environments or keep something."""


@pytest.mark.parametrize("name", PATTERNS)
def test_mutants_of_a_pattern_are_sound_and_do_nothing_more_outside(name: str) -> None:
    text, files = PATTERNS[name], Files(name, BESIDE)

    def read(text: str) -> Analysis:
        analysis = files.open(text).analysis()
        found = [one.message for one in analysis.diagnostics if one.severity in (Severity.ERROR, Severity.WARNING)]
        assert found == [], text
        return analysis

    before = read(text).typed
    assert before is not None
    choice = MoveFilter(DEFAULT.operators, files=files)
    made = 0
    # Each mutant is made from the one before: ten lines of ten.
    for seed in range(sized(1, 4)):
        titles: list[str] = []
        for mutant in random_mutants(text, sized(4, 10), seed, choice):
            titles.append(mutant.move.title)
            after = read(mutant.text).typed
            assert after is not None
            if acting_nodes(before) or acting_nodes(after):
                assert_kept(before, after, f"{titles}\n{mutant.text}")
            made += 1
    assert made == sized(4, 40)


def test_those_that_act_are_known_to_act() -> None:
    acting = {
        name.removesuffix(".mmd")
        for name, text in PATTERNS.items()
        if (graph := Files(name, BESIDE).open(text).analysis().typed) is not None and acting_nodes(graph)
    }
    assert acting == ACTING
