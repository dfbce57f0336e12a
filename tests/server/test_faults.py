"""Merrow itself fails in one rule, one fix, one file or one request: that is this item's finding, and everything else goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.server.lsp.editor import MODERN, Editor, ServerError
from tests.server.program import GOOD, ONE_VOICE, in_process
from tests.server.test_sarif import check as valid_sarif

from merrow_analysis import faults
from merrow_analysis.check import Analyser, Analysis, analyse
from merrow_analysis.rules import registry
from merrow_analysis.rules.fixes import fix_context
from merrow_optimizer.mutations.base import Move
from merrow_optimizer.mutations.change import Mutation
from merrow_optimizer.mutations.moves import OPERATORS, MoveFilter
from merrow_server.cli.check import fmt
from merrow_server.features import code_action

SECRET = "sk-never-shown"  # noqa: S105 (nobody's)
BAD = GOOD.replace("A --> RETURN", "A --> RETURN\n    B[BOOM]")
WITH_FIXES = GOOD.replace(
    "    A --> RETURN\n", "    A --> RETURN\n    B@{ op: Custom, prompt: b }\n    PROBLEM --> B\n"
)


@pytest.fixture(autouse=True)
def told() -> Iterator[None]:
    """As users have it."""
    with faults.raising(wanted=False):
        yield


def boom(*_: Any, **__: Any) -> Any:
    raise KeyError(SECRET)


def failing_at_the_bad_one(monkeypatch: pytest.MonkeyPatch) -> None:
    good: Callable[[Analyser], Analysis] = Analyser.analysis

    def analysis(self: Analyser) -> Analysis:
        return boom() if "BOOM" in self.document.text else good(self)

    monkeypatch.setattr(Analyser, "analysis", analysis)


@pytest.mark.parametrize("code", sorted({"MW001", "MW102", "MW105", "MW201", "MW313", "MW401"}))
def test_a_rule_that_fails_is_a_finding_and_the_others_are_checked(code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = ONE_VOICE + "    C@{ op: Custom, nonsense: 1 }\n    D --> RETURN\n"
    rule = registry.find_rule(code)
    assert rule is not None
    own = {one.code for one in registry.rules_of(rule.check)} if rule.check is not None else set()
    before = [one for one in analyse(text).diagnostics if one.code not in own]
    monkeypatch.setattr(rule.family, "check", boom)
    registry.checks_of.cache_clear()
    try:
        found = analyse(text).diagnostics
    finally:
        monkeypatch.undo()
        registry.checks_of.cache_clear()
    fault = [one for one in found if one.code == "MW590"]
    hides = any(one.severity.value == "error" for one in registry.all_rules() if one.code in own)
    assert [one.severity.value for one in fault] == ["error" if hides else "warning"]
    assert "KeyError at test_faults.py" in fault[0].message
    assert SECRET not in fault[0].message
    rest = [(one.code, one.range) for one in found if one.code != "MW590"]
    # What the failed rule explained is told for itself.
    assert {(one.code, one.range) for one in before} <= set(rest)


@pytest.mark.parametrize(("options", "code"), [(("--select", "MW102"), 1), (("--ignore", "MW590"), 0)])
def test_a_fault_counts_whatever_is_selected_unless_it_is_ignored(
    options: tuple[str, str],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "a.mmd").write_text(GOOD)
    rule = registry.find_rule("MW102")
    assert rule is not None
    monkeypatch.setattr(rule.family, "check", boom)
    registry.checks_of.cache_clear()
    try:
        outcome = in_process(capsys, "check", *options, str(tmp_path / "a.mmd"))
    finally:
        monkeypatch.undo()
        registry.checks_of.cache_clear()
    assert (outcome.code, "MW590" in outcome.out) == (code, bool(code))


def test_what_a_rule_had_found_before_it_failed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = registry.find_rule("MW102")
    assert rule is not None
    good = rule.check
    assert good is not None

    def half(context: Any) -> Iterator[Any]:
        yield from good(context)
        boom()

    monkeypatch.setattr(rule.family, "check", half)
    registry.checks_of.cache_clear()
    try:
        codes = {one.code for one in analyse(WITH_FIXES).diagnostics}
    finally:
        monkeypatch.undo()
        registry.checks_of.cache_clear()
    assert {"MW102", "MW590"} <= codes


@pytest.mark.parametrize("output", ["text", "json", "sarif", "github"])
def test_a_fix_that_fails_is_a_note_of_its_finding(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mmd").write_text(WITH_FIXES)
    (tmp_path / "b.mmd").write_text(ONE_VOICE)
    monkeypatch.setattr(fix_context, "graph_after", boom)
    outcome = in_process(capsys, "check", "--format", output, "a.mmd", "b.mmd")
    assert outcome.code == 1
    assert "MW102" in outcome.out
    assert "MW105" in outcome.out
    assert SECRET not in outcome.out + outcome.err
    if output == "text":
        assert "Merrow failed here (KeyError at test_faults.py" in outcome.out
    if output == "json":
        assert any("KeyError" in one.get("fault", "") for one in outcome.json)
    if output == "sarif":
        valid_sarif(outcome.json)
        invocation = outcome.json["runs"][0]["invocations"][0]
        assert not invocation["executionSuccessful"]
        assert any("KeyError" in one["message"]["text"] for one in invocation["toolExecutionNotifications"])


def test_safe_fixes_of_other_findings_are_applied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mmd").write_text(WITH_FIXES.replace("classDef CustomOp fill:#ddd\n", ""))
    monkeypatch.setattr(fix_context, "graph_after", boom)
    outcome = in_process(capsys, "check", "--fix", "--unsafe-fixes", "a.mmd")
    assert outcome.code == 1
    assert "Merrow failed here" in outcome.out
    assert "classDef CustomOp" in (tmp_path / "a.mmd").read_text()


@pytest.mark.parametrize("output", ["text", "json", "sarif", "github"])
def test_a_file_that_fails_is_a_finding_and_the_others_are_checked(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.mmd").write_text(BAD)
    (tmp_path / "b.mmd").write_text(ONE_VOICE)
    (tmp_path / "c.md").write_text(f"# C\n```mermaid\n{BAD}```\n```mermaid\n{ONE_VOICE}```\n")
    failing_at_the_bad_one(monkeypatch)
    outcome = in_process(capsys, "check", "--format", output, ".")
    assert outcome.code == 1
    assert outcome.err == ""
    assert SECRET not in outcome.out
    if output == "json":
        found = {(one["file"], one["code"]) for one in outcome.json}
        assert {("a.mmd", "MW590"), ("b.mmd", "MW105"), ("c.md", "MW590"), ("c.md", "MW105")} <= found
    elif output == "sarif":
        valid_sarif(outcome.json)
        assert not outcome.json["runs"][0]["invocations"][0]["executionSuccessful"]
    else:
        assert outcome.out.count("MW590") == 2
        assert outcome.out.count("MW105") == 2


def test_fmt_and_repair_leave_a_file_at_which_they_fail_and_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    untidy = GOOD.replace("    A -->", "  A   -->")
    (tmp_path / "a.mmd").write_text(BAD)
    (tmp_path / "b.mmd").write_text(untidy)
    good = fmt.format_edits
    monkeypatch.setattr(fmt, "format_edits", lambda text, options: boom() if "BOOM" in text else good(text, options))
    outcome = in_process(capsys, "fmt", ".")
    assert outcome.code == 2
    assert "a.mmd: Merrow failed here (KeyError" in outcome.err
    assert ((tmp_path / "a.mmd").read_text(), (tmp_path / "b.mmd").read_text()) == (BAD, GOOD)

    (tmp_path / "b.mmd").write_text(ONE_VOICE)
    failing_at_the_bad_one(monkeypatch)
    outcome = in_process(capsys, "repair", "--apply", ".")
    assert outcome.code == 2
    assert "a.mmd: Merrow failed here (KeyError" in outcome.err
    assert "b.mmd" in outcome.err
    assert (tmp_path / "a.mmd").read_text() == BAD


@pytest.mark.parametrize("where", ["in one mutation", "between mutations"])
def test_a_mutation_that_fails_is_told_and_the_others_are_listed(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.mmd").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    before = in_process(capsys, "mutate", "--list", "a.mmd").out.splitlines()
    number = len(before) // 2

    if where == "in one mutation":
        broken = before[number].split()[0]
        good = MoveFilter.make_if_safe

        def make(self: MoveFilter, change: Mutation) -> Move | None:
            made = good(self, change)
            return boom() if made is not None and made.id == broken else made

        monkeypatch.setattr(MoveFilter, "make_if_safe", make)
        left = [line for line in before if not line.startswith(broken)]
    else:
        operator = before[number].split()[1]
        monkeypatch.setitem(OPERATORS, operator, boom)  # type: ignore[arg-type]
        left = [line for line in before if line.split()[1] != operator]
    outcome = in_process(capsys, "mutate", "--list", "a.mmd")
    assert outcome.out.splitlines() == left
    assert outcome.code == 1
    assert outcome.err.count("Merrow failed here (KeyError") == 1
    assert SECRET not in outcome.err
    with pytest.raises(KeyError):
        in_process(capsys, "--debug", "mutate", "--list", "a.mmd")


def test_debug_shows_where_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.mmd").write_text(BAD)
    failing_at_the_bad_one(monkeypatch)
    with pytest.raises(KeyError):
        in_process(capsys, "--debug", "check", str(tmp_path / "a.mmd"))
    assert not faults.are_raised()


def test_a_request_that_fails_is_answered_and_the_next_one_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing_at_the_bad_one(monkeypatch)
    editor = Editor(MODERN, tmp_path)
    try:
        bad = editor.open(BAD, "a.mmd")
        good = editor.open(ONE_VOICE, "b.mmd")
        assert editor.codes(bad) == ["MW590"]
        assert "MW105" in editor.codes(good)
        place = {"line": 2, "character": 5}
        with pytest.raises(ServerError, match="failed inside Merrow"):
            editor.request("textDocument/hover", {"textDocument": {"uri": bad}, "position": place})
        assert editor.request("textDocument/hover", {"textDocument": {"uri": good}, "position": place}) is not None
        editor.change(bad, {"text": ONE_VOICE})
        assert "MW105" in editor.codes(bad)
        monkeypatch.setattr(code_action, "offers_at", boom)
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
        asked = {"textDocument": {"uri": good}, "range": whole, "context": {"diagnostics": [], "triggerKind": 1}}
        assert editor.request("textDocument/codeAction", asked)
    finally:
        editor.close()
