"""``merrow.toml``: what it selects, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.rules.configuration import (
    SETTINGS,
    Config,
    parse_configuration,
    path_matches,
    settings_table,
)
from merrow_analysis.rules.declared.configuration_rules import check_configuration
from merrow_analysis.rules.key_rules import CONFLICT, UNKNOWN_KEY
from merrow_analysis.text import Position, Range

PLACE = Range(Position(0, 0), Position(0, 1))
FOUND = [Diagnostic(rule.code, rule.name, rule.severity, "x", PLACE) for rule in (UNKNOWN_KEY, CONFLICT)]


def levels(text: str, path: str | None = None) -> list[tuple[str, str]]:
    config = parse_configuration(text)
    assert config.problems == ()
    return [(diagnostic.code, diagnostic.severity.value) for diagnostic in config.apply(FOUND, path)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [("MW304", "error"), ("MW306", "warning")]),
        ('select = ["MW304"]', [("MW304", "error")]),
        ('select = ["MW3"]\nignore = ["parameter-conflict"]', [("MW304", "error")]),
        ('ignore = ["MW"]', []),
        ('ignore = ["ALL"]', []),
        ("select = []", []),
        ('[severity]\nMW304 = "hint"\nMW3 = "error"', [("MW304", "hint"), ("MW306", "error")]),
        ('[severity]\nparameter-conflict = "off"', [("MW304", "error")]),
    ],
)
def test_rules_are_chosen(text: str, expected: list[tuple[str, str]]) -> None:
    assert levels(text) == expected


def test_rules_are_ignored_by_path() -> None:
    text = '[per-path]\n"drafts/**" = ["MW304"]\n'
    assert [code for code, _ in levels(text, "drafts/a/b.mmd")] == ["MW306"]
    assert [code for code, _ in levels(text, "other/a.mmd")] == ["MW304", "MW306"]


def test_the_command_line_goes_before_the_file() -> None:
    config = parse_configuration('select = ["MW1"]').with_selection(["MW306"], ["MW101"])
    assert [d.code for d in config.apply(FOUND)] == ["MW306"]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('selct = ["MW3"]', 0, "did you mean `select`"),
        ('\n\nignore = "MW3"', 2, "must be a list"),
        ('ignore = [\n  "MW3",\n  "MW999"\n]', 2, "selects no rule"),
        ('select = ["unknown-paramter"]', 0, "did you mean `unknown-parameter`"),
        ('[severity]\nMW304 = "bad"', 1, "error, warning, hint or off"),
        ('base_url = "http://x"', 0, "ignored in a file that can be shared"),
        ("a = ", 0, "not valid TOML"),
        ("[severity\n", 0, "not valid TOML"),
    ],
)
def test_mistakes_are_told_with_their_line(text: str, line: int, words: str) -> None:
    [problem] = parse_configuration(text).problems
    assert problem.line == line
    assert words in problem.message


def test_mistakes_become_diagnostics_of_the_settings_file() -> None:
    [diagnostic] = check_configuration(parse_configuration("\nselct = 1"))
    assert (diagnostic.code, diagnostic.range.start.line, diagnostic.severity) == ("MW520", 1, Severity.WARNING)


def test_a_mistake_leaves_the_rest_in_force() -> None:
    config = parse_configuration('ignore = ["MW304"]\nnothing = 1\n[severity]\nMW306 = "x"\nMW304 = "hint"')
    assert len(config.problems) == 2
    assert [d.code for d in config.apply(FOUND)] == ["MW306"]


def test_a_selection_of_nothing_known_selects_all() -> None:
    assert parse_configuration('select = ["MW999"]').select == ("ALL",)


def test_pyproject_counts_below_tool_merrow() -> None:
    text = '[project]\nname = "x"\n[tool.merrow]\nignore = ["MW304"]\nlibraries = ["lib.yaml"]\n'
    config = parse_configuration(text, in_pyproject=True)
    assert (config.ignore, config.libraries, config.problems) == (("MW304",), ("lib.yaml",), ())
    assert parse_configuration("[tool]\nmerrow = 1", in_pyproject=True).problems
    assert parse_configuration("[project]\n", in_pyproject=True) == Config()


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("drafts/**", "drafts/a/b.mmd", True),
        ("*.mmd", "x/y.mmd", True),
        ("*.mmd", "x/y.md", False),
        ("old/", "a/old/b.mmd", True),
        ("/old", "a/old/b.mmd", False),
        ("/old", "old/b.mmd", True),
        ("a/**/b.mmd", "a/b.mmd", True),
        ("a/**/b.mmd", "a/x/y/b.mmd", True),
        ("**/b.mmd", "b.mmd", True),
        ("a/*.mmd", "a/b/c.mmd", False),
        ("a?.mmd", "ab.mmd", True),
        ("a.mmd", "axmmd", False),
    ],
)
def test_patterns(pattern: str, path: str, matches: bool) -> None:
    assert path_matches(pattern, path) is matches


@given(
    st.one_of(
        st.text(max_size=60),
        st.sampled_from(["[" * 5_000, "a=" + "[" * 5_000, "a." * 50_000 + "b=1"]),
    )
)
def test_any_text_is_survived(text: str) -> None:
    parse_configuration(text)
    parse_configuration(text, in_pyproject=True)


def test_the_documentation_has_the_settings_as_they_are() -> None:
    page = Path(__file__).parents[2] / "docs" / "settings.md"
    assert settings_table() in page.read_text("utf-8"), "put the output of settings_table() into docs/settings.md"
    assert all(f"`{setting.name}`" in settings_table() for setting in SETTINGS)
