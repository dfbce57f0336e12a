"""What the repository shows to its readers is true: examples, README and documents."""

import json
import re
import runpy
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from scripts.make_replays import Script, place_of, scripts
from tests.server.program import in_process

from merrow_analysis.rules.configuration import parse_configuration

ROOT = Path(__file__).parents[2]
BROKEN = ROOT / "examples" / "broken.mmd"
EXAMPLES = sorted(path for path in (ROOT / "examples").iterdir() if path.suffix in (".mmd", ".md") and path != BROKEN)
PATTERNS = sorted((ROOT / "examples" / "patterns").glob("*.mmd"))
PLANS = sorted((ROOT / "examples" / "plan").glob("*.mmd"))
BASELINES = sorted((ROOT / "examples" / "baselines").glob("*.mmd"))
SCRIPTS = scripts()
DOCUMENTS = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md"))]

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("path", EXAMPLES + PATTERNS + PLANS + BASELINES, ids=lambda path: path.name)
def test_an_example_has_no_finding_and_is_formatted(path: Path, capsys: Capture) -> None:
    outcome = in_process(capsys, "check", "--format", "json", str(path))
    assert (outcome.json, outcome.code) == ([], 0)
    assert in_process(capsys, "fmt", "--check", str(path)).code == 0


@pytest.mark.parametrize("path", BASELINES, ids=lambda path: path.name)
def test_a_baseline_answers_a_problem(path: Path, capsys: Capture) -> None:
    """They take the problem of a data set and give one text: `merrow evaluate` runs them as they are."""
    outcome = in_process(
        capsys, "run", str(path), "--base-url", "offline", "--input", "problem=What is 6 * 7?", "--json"
    )
    last = json.loads(outcome.out.splitlines()[-1])
    assert (last["event"], list(last["outputs"]), outcome.code) == ("run_finished", ["RETURN"], 0)
    assert isinstance(last["outputs"]["RETURN"], str)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_an_example_runs_from_its_recording_to_the_output_that_was_written_for_it(
    script: Script, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    outcome = in_process(capsys, *script.command[1:])
    assert (outcome.out, outcome.code) == (f"{script.output}\n", 0), outcome.err
    assert "0 calls" in outcome.err
    assert "Note: The recording says: The answers in this recording were written by hand" in outcome.err


@pytest.mark.parametrize("script", SCRIPTS[::8], ids=lambda script: script.name)
def test_it_does_so_whatever_model_the_user_has_set(
    script: Script, capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.toml").write_text('model = "mine"\n')
    monkeypatch.chdir(ROOT)
    outcome = in_process(capsys, *script.command[1:])
    assert (outcome.out, outcome.code) == (f"{script.output}\n", 0), outcome.err


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_recording_says_that_it_was_written_by_hand_and_has_nothing_of_the_machine_that_made_it(
    script: Script,
) -> None:
    lines = [json.loads(line) for line in script.replay.read_text("utf-8").splitlines()]
    assert lines[0]["written_by_hand"] is True
    assert "by hand" in lines[0]["note"]
    assert lines[0]["workflow"] == f"examples/{script.workflow}"
    said = {one.place: one.says.rstrip("\n") for one in script.answers}
    assert {place_of(one): one["result"]["text"] for one in lines[1:] if one["kind"] == "model"} == said
    assert not re.search(r"127\.0\.0\.1|/tmp/|/home/|/root/", json.dumps(lines))


def test_the_planned_example_is_what_its_plan_gives(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples" / "plan")
    planned = in_process(capsys, "plan", "@task.txt", "--from", "plan.json", "--no-judge", "--base-url", "offline")
    assert planned.out == Path("street_party.mmd").read_text("utf-8")


def test_every_example_that_can_run_has_a_recording() -> None:
    runnable = {path.relative_to(ROOT / "examples").as_posix() for path in EXAMPLES + PATTERNS + PLANS}
    assert {script.workflow for script in SCRIPTS} == runnable
    assert {script.replay for script in SCRIPTS} == set((ROOT / "examples" / "replays").rglob("*.jsonl"))


def test_the_gallery_has_the_command_that_replays_each_pattern() -> None:
    gallery = (ROOT / "docs" / "patterns-gallery.md").read_text("utf-8")
    commands = [shlex.split(block) for block in re.findall(r"^```sh\n(.*?)^```", gallery, re.M | re.S)]
    assert sorted(commands) == sorted(script.command for script in SCRIPTS if script.workflow.startswith("patterns/"))


@pytest.mark.slow
def test_the_demo_shows_a_fix_a_mutation_and_a_memory(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["demo.py"])
    monkeypatch.setattr(sys.stdout, "reconfigure", lambda **_: None, raising=False)
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(ROOT / "scripts" / "demo.py"), run_name="__main__")
    assert end.value.code == 0
    mistake, mutation, run = re.split(r"^\d\. ", capsys.readouterr().out, flags=re.MULTILINE)[1:]
    assert re.search(r"^flow\.mmd:\d+:\d+ MW301 ", mistake, re.MULTILINE)
    assert re.search(r"^Chosen: .*\n +-.*slove.*\n +\+.*solve", mistake, re.MULTILINE)
    assert re.search(r"^Chosen: Plan before SOLVE\n( +[-+].*\n)+\nFindings now: 0\n", mutation, re.MULTILINE)
    remembered = run.partition("What CHECK remembered")[2]
    assert len(re.findall(r"^    memory of \w+", remembered, re.MULTILINE)) >= 2
    assert "What is 6 times 7?" in remembered


def test_the_drawing_of_the_readme_runs(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    drawing = re.search(r"^```mermaid\n(.*?)^```\n+    merrow (run letter\.mmd [^\n]*)$", readme, re.M | re.S)
    assert drawing is not None
    monkeypatch.chdir(tmp_path)
    Path("letter.mmd").write_text(drawing[1], "utf-8")
    outcome = in_process(capsys, *shlex.split(drawing[2]))
    assert outcome.code == 0, outcome.err
    assert "torn sleeve" in outcome.out
    assert len(readme.splitlines()) <= 100


def test_the_broken_example_is_broken_and_can_be_repaired(capsys: Capture) -> None:
    assert in_process(capsys, "check", str(BROKEN)).code == 1
    copy = Path("flow.mmd")
    copy.write_bytes(BROKEN.read_bytes())
    assert in_process(capsys, "check", "--fix", "--unsafe-fixes", "flow.mmd").code == 0
    assert in_process(capsys, "check", "--format", "json", "flow.mmd").json == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_diagrams_of_a_document_have_no_error(path: Path, capsys: Capture) -> None:
    assert in_process(capsys, "check", str(path)).code == 0


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_the_settings_in_a_document_mean_something(path: Path) -> None:
    for text in re.findall(r"^```toml\n(.*?)^```", path.read_text("utf-8"), re.M | re.S):
        assert parse_configuration(text).problems == ()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_what_a_document_links_to_is_there(path: Path) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)", path.read_text("utf-8")):
        if "://" not in link:
            assert (path.parent / link).exists(), link


@pytest.mark.slow
def test_the_commands_of_the_guide_work_one_after_another(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    guide = (ROOT / "docs" / "running.md").read_text("utf-8")
    commands = [line for block in re.findall(r"^```sh\n(.*?)^```", guide, re.M | re.S) for line in block.splitlines()]
    assert len(commands) > 10
    run = ""
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "merrow"
        if arguments[0] == "view":  # serves until it is stopped
            continue
        outcome = in_process(capsys, *[run if argument == "RUN" else argument for argument in arguments])
        assert outcome.code == 0, f"{command}: {outcome.err}"
        made = re.search(r"merrow show (\S+)", outcome.err)
        if made is not None and "vote.mmd" in command and "--only" not in command:
            run = made[1]


def test_the_guide_names_every_example_and_every_input() -> None:
    guide = (ROOT / "docs" / "running.md").read_text("utf-8")
    names = [f"`examples/{path.name}`" for path in EXAMPLES]
    names += [f"`{path.name}`" for path in (ROOT / "examples" / "inputs").iterdir()]
    assert [name for name in names if name not in guide] == []
