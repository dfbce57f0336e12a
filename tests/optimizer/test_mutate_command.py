"""``merrow mutate``."""

from __future__ import annotations

import difflib
import json
from pathlib import Path

import pytest
from tests.optimizer.test_mutation_preconditions import CODE, VOTE
from tests.server.program import Outcome, in_process, markdown, merrow, write

from merrow_analysis.check import analyse
from merrow_analysis.markdown import find_fences
from merrow_analysis.text import TextEdit, apply_edits, split_lines
from merrow_server.positions import range_from_wire

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def lines(outcome: Outcome) -> list[dict[str, object]]:
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_the_list_has_edits_that_make_the_mutant_that_apply_prints(capsys: Capture) -> None:
    write("flow.mmd", VOTE)
    listed = lines(in_process(capsys, "mutate", "flow.mmd", "--list", "--format", "json"))
    assert {"substitution", "addition"} <= {entry["operator"] for entry in listed}
    for entry in listed[::6]:
        assert [key for key in entry if key != "created"] == ["id", "operator", "title", "target", "edits"]
        here = split_lines(VOTE)
        edits = [TextEdit(range_from_wire(here, edit["range"]), edit["newText"]) for edit in entry["edits"]]  # type: ignore[attr-defined]
        applied = in_process(capsys, "mutate", "flow.mmd", "--apply", str(entry["id"]))
        assert applied.code == 0
        assert applied.out == apply_edits(VOTE, edits)
        assert Path("flow.mmd").read_text() == VOTE


def test_random_mutants_follow_each_other(capsys: Capture) -> None:
    write("flow.mmd", CODE)
    outcome = in_process(capsys, "mutate", "flow.mmd", "--random", "6", "--seed", "3", "--format", "json")
    assert outcome.code == 0
    mutants = lines(outcome)
    assert len(mutants) == 6
    assert all(list(mutant) == ["id", "operator", "title", "target", "text"] for mutant in mutants)
    assert all(analyse(str(mutant["text"])).is_valid for mutant in mutants)
    again = in_process(capsys, "mutate", "flow.mmd", "--random", "6", "--seed", "3", "--format", "json")
    assert again.out == outcome.out


def test_text_is_for_reading(capsys: Capture) -> None:
    write("flow.mmd", VOTE)
    assert "Replace Custom A by AnswerGenerate" in in_process(capsys, "mutate", "flow.mmd", "--list").out
    done = in_process(capsys, "mutate", "flow.mmd", "--random", "2")
    assert (done.code, done.err) == (0, "")
    shown = done.out
    assert "--- a/flow.mmd" in shown


@pytest.mark.slow
def test_all_forms_say_the_same_of_a_mutation(capsys: Capture) -> None:
    """Lists, applied mutations and random ones, as text and as objects, of a file and of the block of a Markdown file."""
    write("flow.mmd", VOTE)
    write("flow.md", "# Title\n\n" + markdown(VOTE))
    for name, below in (("flow.mmd", 0), ("flow.md", 5)):
        text = Path(name).read_text()
        listed = lines(in_process(capsys, "mutate", name, "--list", "--format", "json"))
        shown = in_process(capsys, "mutate", name, "--list")
        assert (shown.code, shown.err) == (0, "")
        assert shown.out.splitlines() == [f"{one['id']}  {one['operator']:<12}  {one['title']}" for one in listed]
        first = listed[0]
        said = {"id": first["id"], "operator": "substitution", "title": "Replace Custom A by AnswerGenerate"}
        said["target"] = {"start": {"line": 9 + below, "character": 4}, "end": {"line": 9 + below, "character": 5}}
        assert {key: first[key] for key in said} == said
        assert "created" not in first
        given = ("mutate", name, "--apply", str(first["id"]))
        printed = in_process(capsys, *given)
        assert (printed.code, printed.err) == (0, "")
        assert printed.out == text.replace('A["Custom<', 'A["AnswerGenerate<', 1).replace(
            'one)"]:::CustomOp', 'one)"]:::AnswerGenerateOp'
        ).replace(
            "    classDef DecisionOp fill:#d0e1f9\n",
            "    classDef DecisionOp fill:#d0e1f9\n    classDef AnswerGenerateOp fill:#d0e1f9,stroke:#4378a2\n",
        )
        assert in_process(capsys, *given, "--format", "json").json == {**said, "text": printed.out}
        written = in_process(capsys, *given, "--write")
        assert (written.code, written.out, written.err) == (0, "", f"{name} is written.\n")
        assert Path(name).read_text() == printed.out
        write(name, text)
        written = in_process(capsys, *given, "--write", "--format", "json")
        assert (written.json, written.err) == ({**said, "text": printed.out}, f"{name} is written.\n")
        write(name, text)
        # Each random one is made from the one before.
        made = lines(in_process(capsys, "mutate", name, "--random", "3", "--seed", "3", "--format", "json"))
        steps, before = "", text
        for one in made:
            after = str(one["text"])
            pair = (before.splitlines(keepends=True), after.splitlines(keepends=True))
            steps += f"{one['id']}  {one['title']}\n" + "".join(difflib.unified_diff(*pair, f"a/{name}", f"b/{name}"))
            before = after
        assert in_process(capsys, "mutate", name, "--random", "3", "--seed", "3").out == steps
        assert made[0]["target"] == {
            "start": {"line": 14 + below, "character": 6},
            "end": {"line": 14 + below, "character": 9},
        }
        assert in_process(capsys, "mutate", name, "--random", "0") == Outcome(0, "", "")
        gone = in_process(capsys, "mutate", name, "--apply", "0")
        assert gone == Outcome(2, "", f"merrow: {name} has no mutation 0; merrow mutate {name} --list shows all.\n")
        large = next(one for one in listed if str(one["title"]) == "Insert Custom on PROBLEM -> A")
        refused = ("mutate", name, "--apply", str(large["id"]), "--max-nodes", "5")
        found = in_process(capsys, *refused, "--format", "json")
        reason = found.json.pop("message")
        assert found.json == {"id": large["id"], "title": large["title"], "precondition": "growth", "message": reason}
        sentence = f"merrow: {large['title']} is not safe (growth): {reason}\n"
        assert (found.code, found.err) == (1, sentence)
        assert in_process(capsys, *refused, "--write") == Outcome(1, "", sentence)
        assert Path(name).read_text() == text


def test_a_block_of_markdown_is_changed_in_its_file(capsys: Capture) -> None:
    write("two.md", markdown(CODE, VOTE))
    outcome = in_process(capsys, "mutate", "two.md#2", "--random", "3", "--format", "json")
    for mutant in lines(outcome):
        first, second = find_fences(str(mutant["text"]))
        assert first.text == CODE
        assert second.text != VOTE
        assert analyse(second.text).is_valid


@pytest.mark.slow
def test_what_is_not_safe_says_why(capsys: Capture) -> None:
    write("flow.mmd", VOTE)
    ids = [str(entry["id"]) for entry in lines(in_process(capsys, "mutate", "flow.mmd", "--list", "--format", "json"))]
    bigger = [
        name for name in ids if in_process(capsys, "mutate", "flow.mmd", "--apply", name, "--max-nodes", "5").code
    ]
    assert bigger
    outcome = in_process(capsys, "mutate", "flow.mmd", "--apply", bigger[0], "--max-nodes", "5", "--format", "json")
    assert outcome.code == 1
    assert outcome.json["precondition"] == "growth"
    assert "is not safe (growth)" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["flow.mmd"], "Say one of --list, --apply ID and --random N."),
        (["flow.mmd", "--list", "--random", "1"], "Say one of --list, --apply ID and --random N."),
        (["flow.mmd", "--apply", "0"], "flow.mmd has no mutation 0"),
        (["plain.mmd", "--list"], "plain.mmd is not a workflow"),
        (["missing.mmd", "--list"], "missing.mmd"),
    ],
)
def test_wrong_use(capsys: Capture, arguments: list[str], sentence: str) -> None:
    write("flow.mmd", VOTE)
    write("plain.mmd", "flowchart TD\n    A --> B\n")
    outcome = in_process(capsys, "mutate", *arguments)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert "Traceback" not in outcome.err


def test_what_mermaid_refuses_is_not_changed(capsys: Capture) -> None:
    write("flow.md", markdown(VOTE + "    end[End]\n"))
    outcome = in_process(capsys, "mutate", "flow.md", "--list")
    line = 1 + Path("flow.md").read_text().splitlines().index("    end[End]")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"merrow: flow.md can't be changed: Mermaid refuses it on line {line}. Fix that first.\n"


@pytest.mark.slow
def test_standard_input_is_not_written(capsys: Capture) -> None:
    write("flow.mmd", VOTE)
    first, *_ = lines(in_process(capsys, "mutate", "flow.mmd", "--list", "--format", "json"))
    given = ("mutate", "-", "--apply", str(first["id"]))
    refused = merrow(*given, "--write", stdin=VOTE)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == "merrow: Standard input can't be written; name a file.\n"
    applied = in_process(capsys, "mutate", "flow.mmd", "--apply", str(first["id"]), "--format", "json").json
    assert merrow(*given, stdin=VOTE).out == applied["text"] != VOTE
    assert applied["id"] == first["id"]


def test_a_chain_that_can_go_no_further_says_so(capsys: Capture) -> None:
    write(
        "flow.mmd", "flowchart TD\n    PROBLEM([P]):::Interface\n    RETURN([R]):::Interface\n    PROBLEM --> RETURN\n"
    )
    outcome = in_process(capsys, "mutate", "flow.mmd", "--random", "3", "--max-nodes", "2")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == "merrow: No safe mutation is left after 0 of 3; --max-nodes may leave no room.\n"


def test_patterns_that_the_settings_name(capsys: Capture, tmp_path: Path) -> None:
    from merrow_optimizer.mutations import patterns

    source = (Path(patterns.__file__).parent / "step_back.mmd").read_text(encoding="utf-8")
    work = tmp_path / "work"
    (work / "team").mkdir(parents=True)
    write("work/flow.mmd", VOTE)
    write("work/one.mmd", source.replace("Step back", "Stand back"))
    write("work/team/two.mmd", source.replace("Step back", "Look back"))
    write("outside.mmd", source.replace("Step back", "Climb back"))
    write("work/merrow.toml", 'patterns = ["one.mmd", "team", "gone.mmd", "../outside.mmd"]\n')
    outcome = in_process(capsys, "mutate", "work/flow.mmd", "--list", "--format", "json")
    assert outcome.code == 0
    titles = " ".join(str(entry["title"]) for entry in lines(outcome))
    assert "Stand back before" in titles
    assert "Look back before" in titles
    assert "Climb back" not in titles
    assert "There is no such file or folder of patterns. (gone.mmd)" in outcome.err
    assert "Patterns must lie in the workspace." in outcome.err


SPLIT = """flowchart TD
    PROBLEM([Problem]):::Interface
    RETURN([Result]):::Interface
    SOLVE["Custom<br/>(role: solver)"]
    CHECK["Custom<br/>(role: checker)"]
    PROBLEM -->|input| SOLVE
    SOLVE --> CHECK
    CHECK --> RETURN
    classDef Interface fill:#e2e2f2
"""


def of_title(capsys: Capture, start: str) -> dict[str, object]:
    listed = lines(in_process(capsys, "mutate", "flow.mmd", "--list", "--format", "json"))
    return next(entry for entry in listed if str(entry["title"]).startswith(start))


def test_an_extraction_is_printed_or_both_files_are_written(capsys: Capture) -> None:
    write("flow.mmd", SPLIT)
    move = of_title(capsys, "Extract SOLVE and CHECK")
    (file,) = move["created"]  # type: ignore[misc]
    printed = in_process(capsys, "mutate", "flow.mmd", "--apply", str(move["id"]))
    assert "(workflow: check.mmd)" in printed.out
    assert printed.err == "merrow: The mutant calls check.mmd, which is not written yet: --write writes both files.\n"
    shown = in_process(capsys, "mutate", "flow.mmd", "--apply", str(move["id"]), "--format", "json")
    del move["edits"]
    assert (shown.json, shown.err) == ({**move, "text": printed.out}, "")
    assert not Path("check.mmd").exists()
    assert Path("flow.mmd").read_text() == SPLIT
    done = in_process(capsys, "mutate", "flow.mmd", "--apply", str(move["id"]), "--write")
    assert (done.code, done.out, done.err) == (0, "", "check.mmd is written.\nflow.mmd is written.\n")
    assert Path("flow.mmd").read_text() == printed.out
    assert Path("check.mmd").read_text() == file["text"]
    assert in_process(capsys, "check", ".").code == 0
    back = of_title(capsys, "Inline RUN_CHECK")
    assert in_process(capsys, "mutate", "flow.mmd", "--apply", str(back["id"]), "--write").code == 0
    assert "Call" not in Path("flow.mmd").read_text().replace("CallOp", "")


def test_nothing_is_written_over_or_half_done(capsys: Capture) -> None:
    write("flow.mmd", SPLIT)
    move = of_title(capsys, "Extract SOLVE and CHECK")
    Path("check.mmd").mkdir()
    refused = in_process(capsys, "mutate", "flow.mmd", "--apply", str(move["id"]), "--write")
    assert refused.code == 2
    assert "check.mmd" in refused.err
    assert Path("flow.mmd").read_text() == SPLIT
    assert in_process(capsys, "mutate", "flow.mmd", "--list", "--write").code == 2
