"""Evaluations, searches and cases of workflows with tools, where nobody is there to be asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.server.program import Outcome, in_process
from tests.tools.mails import CLASS, ONE, Workspace

LETTERS = (
    """---
workflow:
  tools: [mail.count]
---
flowchart TD
    PROBLEM([Text]):::Interface
    RETURN([Number]):::Interface
    COUNT[["Tool<br/>(tool: mail.count)"]]
    PROBLEM -->|text| COUNT
    COUNT -->|letters:result| RETURN
"""
    + CLASS
)
ITEMS = [{"id": name, "problem": name, "answer": len(name)} for name in ("ann", "berta", "cecilia")]
MAY = ('allow = ["count"]', 'repeatable = ["count"]')
FAKES = """
def mail_count(text, loud=False):
    if text == "ann":
        raise ValueError("no ann here")
    return {"letters": len(text), "first": text[:1]}
"""


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    space = Workspace(tmp_path, tmp_path / "config")
    space.settings(*MAY)
    space.write(LETTERS)
    (tmp_path / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in ITEMS))
    return space


def evaluated(capsys: pytest.CaptureFixture[str], *more: str, file: str = "flow.mmd") -> Outcome:
    data = ("--dataset", "items.jsonl", "--gold", "answer", "--metric", "numeric", "--base-url", "offline")
    return in_process(capsys, "evaluate", file, *data, *more, "--format", "json")


def statuses(outcome: Outcome) -> dict[str, str]:
    return {row["item"]: row["status"] for row in outcome.json["rows"]}


def test_an_evaluation_calls_tools_of_one_session_for_all_items(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    outcome = evaluated(capsys)
    assert outcome.code == 0, outcome.err
    assert set(statuses(outcome).values()) == {"right"}
    assert "tools" not in outcome.json
    assert space.starts == 1


@pytest.mark.parametrize(
    ("lines", "missing"),
    [((MAY[0],), "`repeatable`"), ((MAY[1],), "`allow`"), ((), "`allow` and `repeatable`")],
)
def test_a_tool_that_may_not_run_unattended_is_named_before_the_first_call(
    space: Workspace, capsys: pytest.CaptureFixture[str], lines: tuple[str, ...], missing: str
) -> None:
    space.settings(*lines)
    outcome = evaluated(capsys)
    assert outcome.code == 2
    assert "Node COUNT calls the tool mail.count" in outcome.err
    assert f"add count to {missing} in [servers.mail]" in outcome.err
    assert space.starts == 0


def test_what_is_replayed_is_what_earlier_runs_have_and_no_server_is_started(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    for known in ("ann", "berta"):
        assert in_process(capsys, "run", "flow.mmd", "--input", f"PROBLEM={known}").code == 0
    space.settings()  # Nothing may be called, and nothing is.
    before = space.starts
    outcome = evaluated(capsys, "--tools", "replay")
    assert outcome.code == 0, outcome.err
    assert statuses(outcome) == {"ann": "right", "berta": "right", "cecilia": "unanswered"}
    reason = next(row["reason"] for row in outcome.json["rows"] if row["item"] == "cecilia")
    assert "mail.count" in reason
    assert outcome.json["tools"] == {"replayed": True}
    assert space.starts == before
    # What is known by then is not missing any more.
    space.settings(*MAY)
    assert in_process(capsys, "run", "flow.mmd", "--input", "PROBLEM=cecilia").code == 0
    assert set(statuses(evaluated(capsys, "--tools", "replay")).values()) == {"right"}


def test_what_a_fake_gave_or_failed_at_is_no_known_result(space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    (space.folder / "fakes.py").write_text(FAKES)
    assert evaluated(capsys, "--fake-tools", "fakes.py").code == 0
    assert set(statuses(evaluated(capsys, "--tools", "replay")).values()) == {"unanswered"}


def test_functions_stand_for_tools_in_the_sandbox_and_may_fail(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    (space.folder / "fakes.py").write_text(FAKES)
    space.settings()
    outcome = evaluated(capsys, "--fake-tools", "fakes.py")
    assert outcome.code == 0, outcome.err
    assert statuses(outcome) == {"ann": "failed", "berta": "right", "cecilia": "right"}
    assert "no ann here" in next(row["reason"] for row in outcome.json["rows"] if row["item"] == "ann")
    assert outcome.json["tools"]["fake"] == "fakes.py"
    assert space.starts == 0


def test_answers_with_other_functions_are_other_answers(space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    fakes = space.folder / "fakes.py"
    fakes.write_text(FAKES)
    assert statuses(evaluated(capsys, "--fake-tools", "fakes.py"))["berta"] == "right"
    fakes.write_text(FAKES.replace("len(text)", "len(text) + 1"))
    assert statuses(evaluated(capsys, "--fake-tools", "fakes.py"))["berta"] == "wrong"
    assert statuses(evaluated(capsys))["berta"] == "right"


def test_a_mapping_names_functions_freely_and_text_tools_may_be_async(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    space.write(
        LETTERS.replace("mail.count", "mail.echo")
        .replace("(tool: mail.echo)", "(tool: mail.echo, with: 'size: 2')")
        .replace("letters:result", "result")
    )
    (space.folder / "fakes.py").write_text(
        'async def said(*, text: str, size: float = 1, **more):\n    return str(len(text))\n\nTOOLS = {"mail.echo": said}\n'
    )
    outcome = evaluated(capsys, "--fake-tools", "fakes.py")
    assert outcome.code == 0, outcome.err
    assert set(statuses(outcome).values()) == {"right"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def mail_cound(text): ...", "Did you mean `mail_count`?".replace("count", "cound")),
        ("def other(text): ...", "def mail_count(text, loud=None):"),
        ("def mail_count(text): ...", "does not take loud"),
        ("def mail_count(text, loud): ...", "loud may be left out"),
        ("def mail_count(text, where, loud=None): ...", "no parameter where"),
        ("def mail_count(text, /, loud=None): ...", "by its name"),
        ("def mail_count(text: int, loud=None): ...", "text is of the type `string`, not int"),
        ("def mail_count(text, loud=None):", "line 1"),
        ("TOOLS = dict()", "must be written out"),
        ("TOOLS = {'mail.count': lambda text: 1}", "names of tools and functions"),
    ],
)
def test_functions_that_do_not_fit_are_said_before_the_first_call(
    space: Workspace, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    (space.folder / "fakes.py").write_text(text)
    outcome = evaluated(capsys, "--fake-tools", "fakes.py")
    assert outcome.code == 2
    assert said in outcome.err
    assert not (space.folder / "state" / "evaluations").exists()


@pytest.mark.parametrize(
    "given",
    [("--fake-tools", "fakes.py", "--tools", "replay"), ("--fake-tools", "missing.py")],
    ids=["both", "missing"],
)
def test_options_that_can_not_be_followed_are_said(
    space: Workspace, capsys: pytest.CaptureFixture[str], given: tuple[str, ...]
) -> None:
    (space.folder / "fakes.py").write_text(FAKES)
    outcome = evaluated(capsys, *given)
    assert outcome.code == 2
    assert given[-1].removesuffix("replay") in outcome.err


@pytest.mark.parametrize(
    ("given", "said"),
    [("{'letters': text, 'first': ''}", "`outputSchema` at letters"), ("None", "gave no structured result")],
)
def test_a_fake_that_gives_something_else_than_is_pinned_fails_its_node(
    space: Workspace, capsys: pytest.CaptureFixture[str], given: str, said: str
) -> None:
    (space.folder / "fakes.py").write_text(f"def mail_count(text, loud=None):\n    return {given}\n")
    outcome = evaluated(capsys, "--fake-tools", "fakes.py", "--limit", "1")
    (row,) = outcome.json["rows"]
    assert row["status"] == "failed"
    assert said in row["reason"]


def test_a_server_that_can_not_be_reached_is_no_fault_of_the_workflow(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    space.settings(*MAY, "timeout = 5", program="/does/not/exist")
    assert set(statuses(evaluated(capsys)).values()) == {"unanswered"}
    space.settings(*MAY)
    assert set(statuses(evaluated(capsys)).values()) == {"right"}


def test_answers_with_another_pin_are_not_reused(space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert set(statuses(evaluated(capsys)).values()) == {"right"}
    space.pin(description="It counts.")
    outcome = evaluated(capsys)
    assert set(statuses(outcome).values()) == {"unanswered"}
    assert "is not as it was pinned" in outcome.json["rows"][0]["reason"]


def test_a_search_evaluates_its_candidates_with_tools(space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    text = LETTERS.replace(
        "    PROBLEM -->|text| COUNT\n    COUNT -->|letters:result| RETURN\n",
        '    SAY[["Custom<br/>(role: say_it)"]]\n    PROBLEM --> SAY\n    SAY -->|text| COUNT\n'
        "    COUNT -->|letters:result| RETURN\n",
    )
    space.write(text)
    data = ("--dataset", "items.jsonl", "--gold", "answer", "--metric", "numeric", "--base-url", "offline", "--small")
    outcome = in_process(capsys, "optimize", "flow.mmd", *data, "--budget-evaluations", "12", "--format", "json")
    assert outcome.code == 0, outcome.err
    assert space.starts == 1
    ended = json.loads(outcome.out.splitlines()[-1])
    assert ended["usage"]["calls"] == 12


def test_cases_call_tools_record_what_they_gave_and_replay_it(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    (space.folder / "flow.cases.yaml").write_text(
        "cases:\n  - id: ann\n    inputs: {PROBLEM: ann}\n    expect:\n      - numeric: 3\n"
    )
    space.settings()
    refused = in_process(capsys, "test", "flow.cases.yaml")
    assert refused.code == 2
    assert "`allow` and `repeatable`" in refused.err
    (space.folder / "fakes.py").write_text("def mail_count(text, loud=None):\n    return {'letters': 3, 'first': ''}\n")
    faked = in_process(capsys, "test", "flow.cases.yaml", "--fake-tools", "fakes.py")
    assert faked.code == 0, faked.out + faked.err
    assert space.starts == 0
    space.settings(*MAY)
    recorded = in_process(capsys, "test", "flow.cases.yaml", "--record", "--base-url", "offline")
    assert recorded.code == 0, recorded.out + recorded.err
    assert space.starts == 1
    space.settings()
    replayed = in_process(capsys, "test", "flow.cases.yaml")
    assert replayed.code == 0, replayed.out + replayed.err
    assert space.starts == 1


def test_a_tool_that_may_act_is_never_called_by_an_evaluation(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    space.write(
        ONE.replace("    BODY([Body]):::Interface\n", "")
        .replace("    BODY -->|body| SEND\n", "")
        .replace("'copies: 3'", "'copies: 3, body: hello'")
    )
    assert evaluated(capsys).code == 2
    assert space.mails == []


LOCAL = """
def letters(text: str) -> int:
    \"\"\"Counts the letters of a text.\"\"\"
    return len(text)
"""


def test_a_local_tool_runs_unattended_once_its_file_is_trusted_and_the_settings_say_so(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    (space.folder / "tools").mkdir()
    (space.folder / "tools" / "letters.py").write_text(LOCAL)
    assert in_process(capsys, "tools", "pull", "local", "letters").code == 0
    space.write(LETTERS.replace("mail.count", "local.letters").replace("letters:result", "result"))
    config = space.folder / "config" / "config.toml"
    config.write_text("[servers.local]\n" + "\n".join(MAY).replace("count", "letters"))
    refused = evaluated(capsys)
    assert refused.code == 2
    assert "merrow tools trust local.letters" in refused.err
    assert in_process(capsys, "tools", "trust", "local.letters", "--yes").code == 0
    assert set(statuses(evaluated(capsys)).values()) == {"right"}
    config.write_text("[servers.local]\n" + MAY[0].replace("count", "letters"))
    assert "`repeatable` in [servers.local]" in evaluated(capsys).err
    config.write_text('[servers.local]\ncommand = ["python"]\n')
    assert "has no setting `command`" in evaluated(capsys).err


def test_a_result_that_failed_is_not_what_is_known(space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    space.settings("allow = true")
    space.write(
        ONE.replace("    BODY([Body]):::Interface\n", "")
        .replace("    BODY -->|body| SEND\n", "")
        .replace("'copies: 3'", "'copies: 3, body: fail'")
    )
    assert in_process(capsys, "run", "flow.mmd", "--input", "PROBLEM=ann").code == 1
    assert set(statuses(evaluated(capsys, "--tools", "replay")).values()) == {"unanswered"}


def test_a_resume_with_other_functions_is_refused(space: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    fakes = space.folder / "fakes.py"
    fakes.write_text(FAKES)
    evaluation = str(evaluated(capsys, "--fake-tools", "fakes.py", "--budget-seconds", "0.001").json["evaluation"])
    fakes.write_text(FAKES.replace("len(text)", "7"))
    changed = in_process(capsys, "resume", evaluation, "--budget-seconds", "300")
    assert changed.code == 2
    assert "fakes.py" in changed.err
    fakes.write_text(FAKES)
    assert in_process(capsys, "resume", evaluation, "--budget-seconds", "300").code == 0
