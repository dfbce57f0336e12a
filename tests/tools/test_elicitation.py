"""Servers of tools that ask a person before they give a result."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from random import Random

import pytest
from tests.patience import PATIENCE
from tests.server.program import Outcome, in_process
from tests.sizes import sized
from tests.tools import older
from tests.tools.mails import CLASS

from merrow_analysis.tools.pins import NO_PINS, PINS_FILE, pinned
from merrow_runtime.models.tool_servers import ToolServer
from merrow_runtime.outside.sessions import Sessions
from merrow_runtime.people.answering import answer, open_questions
from merrow_runtime.store.database import Store

HERE = Path(__file__).parent
FLOW = (
    """---
workflow:
  tools: [rooms.book]
---
flowchart TD
    PROBLEM([Day]):::Interface
    RETURN([Result]):::Interface
    BOOK[["Tool<br/>(tool: rooms.book)"]]
    PROBLEM -->|day| BOOK
    BOOK --> RETURN
"""
    + CLASS
)


class Rooms:
    """A workspace with a server that books rooms."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"
        (folder / "flow.mmd").write_text(FLOW)

    def settings(self, *lines: str, script: str = "asker.py", url: str | None = None) -> None:
        """Write the user's settings."""
        (self.folder / "config").mkdir(exist_ok=True)
        how = f"command = {json.dumps([sys.executable, str(HERE / script), str(self.log)])}"
        if url is not None:
            how = f'url = "{url}"'
        text = "\n".join(("[servers.rooms]", how, "allow = true", *lines, ""))
        (self.folder / "config" / "config.toml").write_text(text)

    @property
    def lines(self) -> list[str]:
        """What the server has done."""
        return self.log.read_text().splitlines() if self.log.exists() else []

    @property
    def booked(self) -> list[str]:
        return [line for line in self.lines if not line.startswith("?")]


@pytest.fixture(scope="module")
def pins() -> str:
    """What the server says of its tool, pinned."""

    async def listed() -> str:
        server = ToolServer("rooms", (sys.executable, str(HERE / "asker.py"), "log"), timeout=PATIENCE)
        async with Sessions() as sessions:
            return NO_PINS.with_tools([pinned("rooms", tool) for tool in await sessions.tools(server)]).text()

    return asyncio.run(listed())


@pytest.fixture
def rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pins: str) -> Rooms:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    rooms = Rooms(tmp_path)
    rooms.settings()
    (tmp_path / PINS_FILE).write_text(pins)
    return rooms


@pytest.fixture
def older_rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rooms:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    rooms = Rooms(tmp_path)
    rooms.settings(f"timeout = {PATIENCE}", script="older.py")
    (tmp_path / PINS_FILE).write_text(NO_PINS.with_tools([pinned("rooms", older.BOOK)]).text())
    return rooms


class Served:
    """The same server over HTTP, which can be ended and begun again."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        rooms.settings(url=f"http://127.0.0.1:{self.port}/mcp")

    def begin(self) -> None:
        command = [sys.executable, str(HERE / "asker.py"), str(self._rooms.log), str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@pytest.fixture
def served(rooms: Rooms) -> Iterator[Served]:
    served = Served(rooms)
    served.begin()
    yield served
    served.kill()


def ran(capsys: pytest.CaptureFixture[str], day: str = "monday", *more: str) -> Outcome:
    return in_process(capsys, "run", "flow.mmd", "--input", f"PROBLEM={day}", "--json", *more)


def last(outcome: Outcome) -> dict[str, object]:
    shown: dict[str, object] = json.loads(outcome.out.splitlines()[-1])
    return shown


def told(run: str) -> Counter[str]:
    """The calls of a run by their kind."""
    with closing(Store.open()) as store:
        return Counter(call.kind for call in store.calls(run))


def asked(run: str) -> list[str]:
    with closing(Store.open()) as store:
        return [str(ask.question["ask"]) for ask in open_questions(store, run)]


def test_what_a_server_asks_waits_like_any_question_and_nobody_is_asked_twice_although_its_state_is_gone(
    rooms: Rooms, capsys: pytest.CaptureFixture[str]
) -> None:
    waiting = ran(capsys)
    assert waiting.code == 3, waiting.err
    run = str(last(waiting)["run"])
    assert asked(run) == ["rooms.book asks: Which room?"]
    assert in_process(capsys, "resume", run).code == 3
    # Each process has a server of its own, which does not know the state of another's.
    second = in_process(capsys, "answer", run, "BOOK", "--form", '{"room": "red"}')
    assert second.code == 3, second.err
    assert asked(run) == ["rooms.book asks: Take red?"]
    assert rooms.booked == []
    done = in_process(capsys, "answer", run, "BOOK", "--form", '{"sure": true}')
    assert (done.code, done.out) == (0, "red on monday\n"), done.err
    assert rooms.booked == ["monday red"]
    assert told(run)["person"] == 2
    assert told(run)["tool"] == 1


@pytest.mark.slow
def test_a_server_that_is_still_there_continues_where_it_asked(
    served: Served, rooms: Rooms, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(last(ran(capsys))["run"])
    assert in_process(capsys, "answer", run, "BOOK", "--form", '{"room": "blue"}').code == 3
    assert told(run)["leg"] == 2
    done = in_process(capsys, "answer", run, "BOOK", "--form", '{"sure": true}')
    assert (done.code, done.out) == (0, "blue on monday\n"), done.err
    assert told(run) == {"leg": 2, "person": 2, "tool": 1, "intent": 3}


@pytest.mark.slow
def test_a_server_that_was_killed_in_between_is_told_what_is_known(
    served: Served, rooms: Rooms, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(last(ran(capsys))["run"])
    assert in_process(capsys, "answer", run, "BOOK", "--form", '{"room": "red"}').code == 3
    served.kill()
    served.begin()
    done = in_process(capsys, "answer", run, "BOOK", "--form", '{"sure": true}')
    assert done.code == 0, done.err
    assert rooms.booked == ["monday red"]
    assert told(run)["person"] == 2


@pytest.mark.slow
def test_a_person_may_decline(rooms: Rooms, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(last(ran(capsys))["run"])
    declined = in_process(capsys, "answer", run, "BOOK", "--decline")
    assert declined.code == 1, declined.out
    assert rooms.booked == []


@pytest.mark.slow
def test_a_leg_that_was_cut_off_is_asked_about_and_not_made_again(
    rooms: Rooms, capsys: pytest.CaptureFixture[str]
) -> None:
    run = str(last(ran(capsys, "die"))["run"])
    assert in_process(capsys, "answer", run, "BOOK", "--form", '{"room": "red"}').code == 3
    assert in_process(capsys, "answer", run, "BOOK", "--form", '{"sure": true}').code == 3
    assert "it is not known what came of it" in asked(run)[0]
    assert in_process(capsys, "resume", run).code == 3
    assert rooms.booked == ["die red"]
    done = in_process(capsys, "answer", run, "BOOK", "done", "--note", "it is there")
    assert (done.code, done.out) == (0, "it is there\n"), done.err
    assert rooms.booked == ["die red"]


@pytest.mark.slow
def test_a_recording_has_the_result_and_asks_nobody(rooms: Rooms, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(last(ran(capsys))["run"])
    in_process(capsys, "answer", run, "BOOK", "--form", '{"room": "red"}', "--later")
    assert in_process(capsys, "resume", run, "--record", "all.jsonl").code == 3
    done = in_process(capsys, "answer", run, "BOOK", "--form", '{"sure": true}', "--record", "all.jsonl")
    assert done.code == 0, done.err
    before = rooms.lines
    replayed = ran(capsys, "monday", "--replay", "all.jsonl")
    assert replayed.code == 0, replayed.err
    assert rooms.lines == before


@pytest.mark.slow
def test_nobody_is_asked_by_an_evaluation(rooms: Rooms, capsys: pytest.CaptureFixture[str]) -> None:
    rooms.settings("repeatable = true")
    (rooms.folder / "items.jsonl").write_text('{"problem": "monday", "answer": "red"}\n')
    data = ("--dataset", "items.jsonl", "--gold", "answer", "--metric", "contains", "--base-url", "offline")
    outcome = in_process(capsys, "evaluate", "flow.mmd", *data, "--format", "json")
    (row,) = outcome.json["rows"]
    assert row["status"] == "failed", outcome.err
    assert rooms.booked == []


# Servers that ask within a call


def begun(day: str = "monday") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "merrow_server", "run", "flow.mmd", "--input", f"PROBLEM={day}", "--json"]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def put() -> str:
    """The run that asks, once it does."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with closing(Store.open()) as store:
            for run in store.runs(1):
                if open_questions(store, run.id):
                    return run.id
        time.sleep(0.05)
    raise AssertionError


def test_an_older_server_is_answered_within_its_call(older_rooms: Rooms, capsys: pytest.CaptureFixture[str]) -> None:
    process = begun()
    run = put()
    assert asked(run) == ["rooms.book asks: Which room?"]
    assert in_process(capsys, "answer", run, "BOOK", "--form", '{"room": "blue"}').code == 0
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err.decode()
    assert json.loads(out.splitlines()[-1])["outputs"] == {"RETURN": 'monday accept {"room": "blue"}'}


@pytest.mark.slow
def test_an_older_server_is_declined_in_time(older_rooms: Rooms, capsys: pytest.CaptureFixture[str]) -> None:
    for seconds in (2, 20, PATIENCE):  # A busy machine may need longer only to start it.
        older_rooms.settings(f"timeout = {seconds}", script="older.py")
        outcome = ran(capsys)
        if outcome.code == 0:
            break
    assert last(outcome)["outputs"] == {"RETURN": "monday decline null"}
    assert asked(str(last(outcome)["run"])) == []


@pytest.mark.slow
def test_a_page_is_shown_with_its_place_and_opened_by_the_person(
    older_rooms: Rooms, capsys: pytest.CaptureFixture[str]
) -> None:
    process = begun("page")
    run = put()
    with closing(Store.open()) as store:
        (ask,) = open_questions(store, run)
    assert ask.question["shown"] == [
        {"title": "Page", "text": "rooms.example/login"},
        {"title": "Address", "text": "https://rooms.example/login?once=7"},
    ]
    assert in_process(capsys, "answer", run, "BOOK", "opened").code == 0
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert older_rooms.booked == ["page accept null"]


@pytest.mark.parametrize("day", ["deep", "script"])
def test_what_no_form_or_page_is_gets_declined(
    older_rooms: Rooms, capsys: pytest.CaptureFixture[str], day: str
) -> None:
    outcome = ran(capsys, day)
    assert outcome.code == 0, outcome.out
    assert last(outcome)["outputs"] == {"RETURN": f"{day} decline null"}
    assert "node_asked" not in outcome.out


TWO = FLOW.replace(
    "    BOOK --> RETURN\n",
    '    OTHER[["Tool<br/>(tool: rooms.bookWITH)"]]\n    LAST([Other]):::Interface\n    BOOK --> RETURN\n'
    "    PROBLEM -->|PORT| OTHER\n    OTHER --> LAST\n",
)


def test_a_question_waits_until_it_is_known_which_call_it_belongs_to(
    older_rooms: Rooms, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TWO.replace("WITH", ", with: 'day: late'").replace("PORT", "after")
    (older_rooms.folder / "flow.mmd").write_text(text)
    process = begun("both")
    run = put()
    assert asked(run) == ["rooms.book asks: Which room?"]
    assert in_process(capsys, "answer", run, "BOOK", "--form", '{"room": "blue"}').code == 0
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err.decode()
    given = json.loads(out.splitlines()[-1])["outputs"]
    assert given == {"RETURN": 'both accept {"room": "blue"}', "LAST": "late"}


def test_where_all_calls_ask_at_once_one_question_is_put_and_the_others_are_declined(
    older_rooms: Rooms, capsys: pytest.CaptureFixture[str]
) -> None:
    (older_rooms.folder / "flow.mmd").write_text(TWO.replace("WITH", "").replace("PORT", "day"))
    process = begun("both")
    run = put()
    with closing(Store.open()) as store:
        (ask,) = open_questions(store, run)
    assert in_process(capsys, "answer", run, ask.visit.name, "--form", '{"room": "red"}').code == 0
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err.decode()
    assert older_rooms.booked == ["both decline null", 'both accept {"room": "red"}']
    given = json.loads(out.splitlines()[-1])["outputs"]
    assert given["RETURN" if ask.visit.name == "BOOK" else "LAST"] == 'both accept {"room": "red"}'


def test_a_server_that_has_asked_gets_one_call_at_a_time(
    older_rooms: Rooms, capsys: pytest.CaptureFixture[str]
) -> None:
    """All three calls would ask at once, but the first one is known to ask."""
    text = TWO.replace("WITH", "").replace("PORT", "day").replace("PROBLEM -->|day| BOOK", "PROBLEM -->|day| FIRST")
    text = text.replace(
        "    BOOK --> RETURN\n",
        '    FIRST[["Tool<br/>(tool: rooms.book)"]]\n    FIRST -->|day| BOOK\n    BOOK --> RETURN\n',
    ).replace("PROBLEM -->|day| OTHER", "FIRST -->|day| OTHER")
    (older_rooms.folder / "flow.mmd").write_text(text)
    process = begun()
    for number in range(3):
        run = put()
        with closing(Store.open()) as store:
            (ask,) = open_questions(store, run)
        answered = in_process(capsys, "answer", run, ask.visit.name, "--form", '{"room": "red"}')
        assert answered.code == 0, (number, answered.err)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert len(older_rooms.booked) == 3
    assert all("accept" in one for one in older_rooms.booked)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked for in /proc")
@pytest.mark.slow
def test_a_question_goes_with_the_server_that_asked_it(older_rooms: Rooms, capsys: pytest.CaptureFixture[str]) -> None:
    process = begun()
    run = put()
    servers = [int(place.parent.name) for place in Path("/proc").glob("[0-9]*/cmdline") if b"older.py" in read(place)]
    for server in servers:
        with suppress(ProcessLookupError):
            os.kill(server, signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 3
    (left,) = asked(run)
    assert "it is not known what came of it" in left


def read(place: Path) -> bytes:
    try:
        return place.read_bytes() if str(Path.cwd()).encode() in place.read_bytes() else b""
    except OSError:
        return b""


# Kills


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked for in /proc")
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(sized(1, 2)))
def test_whatever_is_killed_books_once_and_asks_nobody_twice(rooms: Rooms, seed: int) -> None:
    random = Random(seed)
    arguments = ["run", "flow.mmd", "--input", "PROBLEM=monday"]
    answers = {"Which room?": {"room": "red"}, "Take red?": {"sure": True}}
    put: Counter[str] = Counter()
    kills = 0
    while True:
        process = subprocess.Popen(
            [sys.executable, "-m", "merrow_server", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        if kills < 5:
            with suppress(subprocess.TimeoutExpired):
                process.wait(random.uniform(1.0, 5.0))
            if process.poll() is None:
                process.kill()
                kills += 1
        code = process.wait(PATIENCE)
        with closing(Store.open()) as store:
            runs = store.runs(1)
            if not runs:
                continue
            run = runs[0].id
            if code == 0:
                break
            assert code in (3, -signal.SIGKILL)
            for ask in open_questions(store, run):
                said = str(ask.question["ask"])
                question = said.removeprefix("rooms.book asks: ")
                put[question] += question in answers
                booked = {"answer": "done" if rooms.booked else "not done"}
                answer(store, run, ask.visit.name, answers.get(question, booked))
        arguments = ["resume", run]
    assert rooms.booked == ["monday red"]
    assert put == dict.fromkeys(answers, 1)
