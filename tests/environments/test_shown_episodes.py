"""The episodes of a run as `merrow show` and reports have them: turns, rewards, a curve."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.environments.play import CLASSES, ENDS, REACT, player, solution
from tests.runtime.openai_server import Received, Reply, serving
from tests.server.program import Outcome, in_process

from merrow_runtime.store.contract import NodeRecord
from merrow_server.cli.texts.episode_lines import curve
from merrow_server.reports.episodes import episodes_of

TASK = {"seed": 3, "depth": 3}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    return tmp_path


def run(
    capsys: pytest.CaptureFixture[str], home: Path, text: str, answer: Any, task: object = TASK, *more: str
) -> Outcome:
    (home / "game.mmd").write_text(text)
    with serving(answer) as server:
        given = ["run", "game.mmd", "--input", f"problem={json.dumps(task)}", "--base-url", server.base_url, *more]
        return in_process(capsys, *given)


def episodes(capsys: pytest.CaptureFixture[str], *more: str) -> list[dict[str, Any]]:
    shown = in_process(capsys, "show", *more, "--format", "json")
    found: list[dict[str, Any]] = json.loads(shown.out).get("episodes", [])
    return found


def table(out: str) -> list[list[str]]:
    """The rows of the last table, cell by cell."""
    lines = out[out.rindex("turn  ") :].splitlines()
    return [re.split(r" {2,}", line.strip()) for line in lines[: lines.index("") if "" in lines else None]]


def test_a_run_shows_its_episode_turn_by_turn(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, home, REACT, player(TASK))
    commands = solution(TASK)
    shows, played = episodes(capsys)
    assert (shows["episode"], shows["steps"], shows["done"]) == ("SHOW", 0, False)
    assert (played["episode"], played["env"], played["steps"]) == ("EPISODE", "textcraft", len(commands))
    assert (played["reward"], played["done"], json.loads(played["task"])) == (1.0, True, TASK)
    turns = played["turns"]
    assert [turn["turn"] for turn in turns] == list(range(1, len(commands) + 2))
    assert [turn["node"] for turn in turns] == [f"EPISODE[{number}]/GAME" for number in range(1, len(commands) + 2)]
    assert turns[0]["action"] is None
    assert [turn["action"].splitlines()[-1] for turn in turns[1:]] == [f"> {command}" for command in commands]
    assert turns[0]["observation"].startswith("Crafting commands:\n")
    assert [turn["reward"] for turn in turns] == [0.0] * len(commands) + [1.0]
    assert [turn["done"] for turn in turns] == [False] * len(commands) + [True]

    out = in_process(capsys, "show").out
    assert out.count("Episode ") == 1
    assert f"Episode EPISODE in textcraft  {len(commands)} actions, reward 1, over" in out
    assert "▁" * len(commands) + "█" in out
    rows = table(out)
    assert rows[0] == ["turn", "reward", "action", "observation"]
    assert rows[1][:2] == ["1", "(begins)"]
    assert [row[2].removesuffix("...") for row in rows[2:]] == [f"> {command}"[:45] for command in commands]
    assert [row[:2] for row in rows[2:]] == [
        [str(number), "1" if number == len(commands) + 1 else "0"] for number in range(2, len(commands) + 2)
    ]


def test_a_node_or_a_loop_shows_its_own_episode(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, home, REACT, player(TASK))
    for name in ("GAME", "EPISODE[3]/GAME", "EPISODE"):
        assert [episode["episode"] for episode in episodes(capsys, "--node", name)] == ["EPISODE"], name
    assert [episode["episode"] for episode in episodes(capsys, "--node", "SHOW")] == ["SHOW"]
    assert episodes(capsys, "--node", "ACT") == []
    marked = [row for row in table(in_process(capsys, "show", "--node", "EPISODE[3]/GAME").out) if row[0][0] == ">"]
    assert [row[0] for row in marked] == ["> 3"]
    assert table(in_process(capsys, "show", "--node", "EPISODE").out)[1][0] == "1"
    assert in_process(capsys, "show", "--node", "EPISODES").code == 2


EACH = (
    "---\nworkflow:\n  prompts: {act: Act., split: Split.}\n---\n"
    + ENDS
    + """    SPLIT["Custom<br/>(role: split, returns: 'list[Json]')"]
    subgraph EACH["Map (max: 5)"]
        subgraph EPISODE["Loop (max: 3)"]
            GAME[/"Environment<br/>(env: textcraft)"/]
            ACT["Custom<br/>(role: act)"]
        end
    end
    JOIN["Assemble<br/>(how: concat)"]
    PROBLEM -->|input| SPLIT
    SPLIT -->|each:task| GAME
    GAME -->|input| ACT
    ACT -.->|again:action| GAME
    ACT --> JOIN
    JOIN --> RETURN
"""
    + CLASSES
)


def test_each_visit_of_a_loop_is_an_episode_of_its_own(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def answer(asked: Received) -> Reply:
        return Reply(json.dumps({"response": [{"seed": 3}, {"seed": 5}]}) if "Split." in asked.prompt else "inventory")

    ran = run(capsys, home, EACH, answer)
    assert ran.code == 0, ran.err
    found = episodes(capsys)
    assert sorted(episode["episode"] for episode in found) == ["EACH[1]/EPISODE", "EACH[2]/EPISODE"]
    for episode in found:
        assert [turn["node"] for turn in episode["turns"]] == [f"{episode['episode']}[{n}]/GAME" for n in (1, 2, 3)]
        assert (episode["steps"], episode["done"]) == (2, False)
    assert len(episodes(capsys, "--node", "EPISODE")) == 2
    assert [one["episode"] for one in episodes(capsys, "--node", "EACH[2]/EPISODE")] == ["EACH[2]/EPISODE"]
    assert in_process(capsys, "show").out.count("\nEpisode ") == 2


def test_a_reset_within_a_loop_begins_another_episode(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        ENDS
        + """    subgraph TURNS["Loop (max: 3)"]
        GAME[/"Environment<br/>(env: textcraft)"/]
        ACT["Custom"]
    end
    PROBLEM -->|task| GAME
    GAME -->|input| ACT
    ACT -.->|again:task| GAME
    ACT --> RETURN
"""
        + CLASSES
    )
    ran = run(capsys, home, text, lambda _: Reply('{"seed": 4}'), {"seed": 1})
    assert ran.code == 0, ran.err
    assert [episode["episode"] for episode in episodes(capsys)] == [f"TURNS[{n}]/GAME" for n in (1, 2, 3)]


def test_a_long_episode_is_cut_for_people_and_hostile_texts_are_harmless(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = REACT.replace("max: 60", "max: 90").replace("last: 60", "last: 1")
    said = "go\x1b[31m\u202e " + "x" * 5000
    run(capsys, home, text, lambda _: Reply(f"I think.\n{said}"))
    episode = episodes(capsys)[1]
    assert len(episode["turns"]) == 90
    assert len(episode["turns"][5]["action"]) == 2000
    assert episode["turns"][5]["action"].endswith("x…")
    out = in_process(capsys, "show", "--node", "EPISODE").out
    rows = table(out)
    assert [row[0] for row in rows[20:23]] == ["20", "...", "51"]
    assert rows[21][1] == "30 turns are left out here"
    assert rows[-1][0] == "90"
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert max(len(line) for line in out.splitlines()) < 140
    assert "> 30" in in_process(capsys, "show", "--node", "EPISODE[30]/GAME").out


def test_a_failed_act_says_so(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, home, REACT, player(TASK), {"seed": -1}).code == 1
    failed = episodes(capsys)[0]
    assert "seed" in failed["turns"][0]["error"]
    assert table(in_process(capsys, "show", "--node", failed["turns"][0]["node"]).out)[1][2].startswith("failed: ")


def test_the_page_of_a_run_has_its_episode(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = "look <script>alert(1)</script>\u202e"
    run(capsys, home, REACT.replace("max: 60", "max: 3"), lambda _: Reply(said))
    page = in_process(capsys, "show", "--format", "html").out
    section = page[page.index("<h2>Episode EPISODE in textcraft</h2>") : page.index("<h2>Steps</h2>")]
    assert "<p>2 actions, reward 0, not over</p>" in section
    assert "Reward so far: 0 after 3 turns" in section
    assert [re.sub(r"<[^>]*>", "|", row).split("|")[1] for row in section.split("<tr>")[2:]] == ["1", "2", "3"]
    assert "<td>look &lt;script&gt;" in section
    assert 'd="M0 58.0V58.0H120.0V58.0H240.0V58.0H360.0"' in section
    assert "<script" not in section
    assert "\u202e" not in section


def test_the_reward_of_an_episode_is_the_sum_of_its_turns() -> None:
    definition = {"operator": "Environment", "parameters": {"env": "house"}}
    ended = {}
    for turn, reward in enumerate((0, 0.5, -2, True, float("nan"), 4), 1):
        outputs = {"observation": "seen", "reward": reward, "done": turn == 6}
        inputs = {"task": []} if turn == 1 else {"action": [{"node": "ACT", "value": "go"}]}
        record = NodeRecord(
            "GAME", "finished", None, outputs, definition=definition, inputs=inputs, path=f"EPISODE[{turn}]"
        )
        ended[record.visit.name] = record
    (episode,) = episodes_of(ended)
    assert (episode["reward"], episode["steps"], episode["done"]) == (3.5, 5, True)
    assert [turn["reward"] for turn in episode["turns"]] == [0.0, 0.5, -2.0, 1.0, 0.0, 4.0]
    assert curve([turn["reward"] for turn in episode["turns"]]) == "▃▄▁▂▂█"
    assert curve([1.0] * 1000, 4) == "▃▅▆█"
