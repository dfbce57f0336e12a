"""People's verdicts: given on a terminal, kept, gold of a metric, and beside what a metric says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.patience import PATIENCE
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step, serving
from tests.server.program import in_process, write
from tests.server.terminal import Terminal, terminals
from tests.server.test_evaluate_command import FLOW, data

from merrow_optimizer.evaluation.statistics.agreement import agreement
from merrow_runtime.store.database import Store
from merrow_runtime.store.evaluations import output_text
from merrow_server.evaluations.known_items import KnownItems
from merrow_server.evaluations.tables import people_text

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
OWN = ("--dataset", "own.jsonl", "--gold", "answer")


def answer(request: Received) -> Step:
    """The sum, wrongly for item 1; the workflow ``other`` says it in words that tell who wrote them."""
    text = request.body["messages"][-1]["content"]
    number = next(int(word) for word in text.replace("?", " ").split() if word.isdigit())
    said = "0" if number == 1 else str(2 * number)
    system = request.body["messages"][0]["content"]
    if system.startswith("same"):
        return Reply(f"What is {number} = {said}" if number in (0, 3) else f"What is {number} the same says {said}")
    return Reply(
        f"What is {number} the other says {said}" if system.startswith("other") else f"What is {number} = {said}"
    )


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("NO_COLOR", "1")
        write("flow.mmd", FLOW)
        write("other.mmd", FLOW.replace('"second"', '"other"'))
        data(4)
        yield server


def evaluated(capsys: pytest.CaptureFixture[str], flow: str, *more: str) -> str:
    done = in_process(capsys, "evaluate", flow, *OWN, "--format", "json", *more)
    assert done.code == 0, done.err
    identity: str = done.json["evaluation"]
    return identity


class Person:
    """Sits before a terminal on which the program runs, and answers each question by what is shown above it."""

    def __init__(self, *arguments: str, stdout: int | None = None) -> None:
        self._here, there = os.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "merrow_server", *arguments],
            stdin=there,
            stdout=there if stdout is None else stdout,
            stderr=there,
        )
        os.close(there)

    def question(self) -> str:
        """What is shown up to the next question, or to the end."""
        shown, end = "", time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                piece = os.read(self._here, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece.decode()
            if re.search(r"(quit \([^)]*\)|or quit|for none): $", shown):
                break
        return shown

    def say(self, word: str) -> None:
        os.write(self._here, f"{word}\n".encode())

    def leave(self) -> int:
        os.close(self._here)
        return self._process.wait(PATIENCE)


@pytest.mark.slow
def test_good_and_bad_are_gold_and_are_compared_with_a_metric(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    identity = evaluated(capsys, "flow.mmd", "--metric", "numeric")
    person = Person("rate", identity[:6])
    for _ in range(3):
        shown = person.question()
        assert "wrong" not in shown
        number = int(re.findall(r"What is (\d)", shown)[-1])
        person.say("g" if number != 2 else "b")
    person.question()
    person.say("q")
    assert person.question().endswith("q\r\n3 rated, 1 left.\r\n")
    assert person.leave() == 0
    # A second look asks about the rest alone.
    person = Person("rate", identity, "--notes")
    number = int(re.findall(r"What is (\d)", person.question())[-1])
    person.say("b" if number == 2 else "g")
    assert "a note" in person.question()
    person.say("the last \x1b[31mone")
    assert "1 rated, 0 left." in person.question()
    person.leave()
    shown_json = in_process(capsys, "show", identity, "--format", "json").json
    people = shown_json["people"]
    assert all(row["verdict"] == ("bad" if row["item"] == "q2" else "good") for row in shown_json["rows"])
    [noted] = [row for row in shown_json["rows"] if "note" in row]
    assert (noted["item"], noted["note"]) == (f"q{number}", "the last \x1b[31mone")
    one = in_process(capsys, "show", identity, "--item", noted["item"]).out
    assert f"people\n{noted['verdict']}: the last " in one
    assert "\x1b" not in one
    # Items 0 and 3 are right and good; 1 is wrong and good; 2 is right and bad.
    assert (people["items"], people["share"], people["kappa"]) == (4, 0.5, pytest.approx(-1 / 3))
    assert "People agree with it on 0.500" in in_process(capsys, "show", identity).out
    calls = len(server.requests)
    gold = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--metric", "labels", "--format", "json")
    assert gold.code == 0, gold.err
    assert {row["item"]: row["status"] for row in gold.json["rows"]} == {
        "q0": "right",
        "q1": "right",
        "q2": "wrong",
        "q3": "right",
    }
    assert len(server.requests) == calls


@pytest.mark.slow
def test_questions_are_for_the_person_and_not_for_a_file(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard output goes elsewhere; what is asked is shown on the terminal all the same."""
    identity = evaluated(capsys, "flow.mmd", "--metric", "numeric")
    with Path("out").open("w") as out:
        person = Person("rate", identity, "--notes", stdout=out.fileno())
        assert re.search(r"quit \([^)]*\): $", person.question())
        person.say("g")
        assert person.question().endswith("a note, or Enter for none: ")
        person.say("")
        person.question()
        person.say("q")
        assert person.question() == "q\r\n"
        assert person.leave() == 0
    assert Path("out").read_text().endswith("\n1 rated, 3 left.\n")
    assert "a note" not in Path("out").read_text()


@pytest.mark.slow
def test_two_side_by_side_without_a_word_about_whose_is_whose(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    first = evaluated(capsys, "flow.mmd", "--metric", "numeric")
    second = evaluated(capsys, "other.mmd", "--metric", "numeric")
    person = Person("rate", first, second)
    for _ in range(4):
        shown = person.question()
        assert "flow.mmd" not in shown
        assert "other.mmd" not in shown
        assert first not in shown
        one, two = re.split(r"answer 2", shown.partition("answer 1")[2])
        person.say("1" if "the other says" in one else "2")
        assert ("the other says" in one) is not ("the other says" in two)
    said = person.question()
    assert f"{first} is better on 0, {second} on 4, equal on 0, 0 left; p = 0.125 (exact)." in said
    assert person.leave() == 0


@pytest.fixture(scope="module")
def terminal() -> Iterator[Terminal]:
    with terminals() as opened:
        yield opened


@pytest.mark.slow
def test_what_was_rated_is_asked_about_with_again_alone(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], terminal: Terminal
) -> None:
    identity = evaluated(capsys, "flow.mmd", "--metric", "numeric", "--limit", "2")
    items = [
        f"\nPROBLEM\nWhat is {number} plus {number}?\n\nanswer\nWhat is {number} = 0\n\n"
        "good, bad, skip or quit (g, b, s, q): "
        for number in (0, 1)
    ]
    again = "Error: 'x' is not one of 'g', 'b', 's', 'q'.\n\ngood, bad, skip or quit (g, b, s, q): "
    note = "a note, or Enter for none: "
    shown = terminal("rate", identity, typed="s\nx\ng\n")
    assert shown in [f"{one}{two}{again}1 rated, 1 left.\n" for one, two in (items, items[::-1])]
    # What was skipped is asked about at the next time; where the typing ends, that is the end.
    left = items[0] if shown.startswith(items[0]) else items[1]
    assert terminal("rate", identity, typed="\x04") == f"{left}0 rated, 1 left.\n"
    shown = terminal("rate", identity, "--again", "--notes", typed="b\n\x04g\n\n")
    assert shown in [f"{one}{note}{two}{note}2 rated, 0 left.\n" for one, two in (items, items[::-1])]
    rows = in_process(capsys, "show", identity, "--format", "json").json["rows"]
    verdicts = ["bad", "good"] if shown.startswith(items[0]) else ["good", "bad"]
    assert {row["item"]: row["verdict"] for row in rows} == dict(zip(("q0", "q1"), verdicts, strict=True))
    assert not any("note" in row for row in rows)
    assert terminal("rate", identity, typed="q\n") == "0 rated, 0 left.\n"


def test_pairs_are_compared_once_unless_their_answers_are_the_same(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], terminal: Terminal
) -> None:
    write("same.mmd", FLOW.replace('"second"', '"same"'))
    first = evaluated(capsys, "flow.mmd", "--metric", "numeric")
    second = evaluated(capsys, "same.mmd", "--metric", "numeric")
    said = {1: "0", 2: "4"}

    def compared(typed: str, *more: str) -> tuple[list[tuple[int, bool]], str]:
        """The items that were asked about, each with whether the answer of the first workflow was above, and the last line."""
        *questions, last = re.split(
            r"which is better: 1, 2, = \(equal\), skip or quit \(1, 2, =, s, q\): (?:a note, or Enter for none: )?",
            terminal("rate", first, second, *more, typed=typed),
        )
        asked = []
        for one in questions:
            number = int(one.split()[3])
            answers = f"What is {number} = {said[number]}", f"What is {number} the same says {said[number]}"
            turned = one.endswith(f"answer 2\n{answers[0]}\n\n")
            above, below = answers[::-1] if turned else answers
            assert one == (f"\nPROBLEM\nWhat is {number} plus {number}?\n\nanswer 1\n{above}\n\nanswer 2\n{below}\n\n")
            asked.append((number, not turned))
        return asked, last

    def sentence(better: int, worse: int, equal: int, left: int, p: str = "1.000") -> str:
        counts = f"{first} is better on {better}, {second} on {worse}, equal on {equal}, {left} left"
        return f"{counts}; p = {p} (exact).\n"

    assert compared("q\n")[1] == sentence(0, 0, 0, 2)
    [(skipped, _), (_, above)], last = compared("s\n1\n")
    assert last == sentence(int(above), int(not above), 0, 1)
    [(number, second_above)], last = compared("2\n mine \n", "--notes")
    assert number == skipped
    better = int(above) + int(not second_above)
    assert last == sentence(better, 2 - better, 0, 0, "1.000" if better == 1 else "0.500")
    assert compared("q\n") == ([], last)
    with closing(Store.open()) as store:
        label = store.labels.label(
            KnownItems.of(store.evaluations.get(first).plan).hash(f"q{number}") or "",
            output_text(f"What is {number} = {said[number]}"),
            output_text(f"What is {number} the same says {said[number]}"),
        )
    assert label == ("worse" if second_above else "better", "mine")
    both, last = compared("=\n=\n", "--again")
    assert {number for number, _ in both} == {1, 2}
    assert last == sentence(0, 0, 2, 0)


def test_nobody_is_asked_without_a_terminal_and_unrated_answers_are_invalid(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    identity = evaluated(capsys, "flow.mmd", "--metric", "numeric")
    refused = in_process(capsys, "rate", identity)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == "merrow: merrow rate asks a person; start it on a terminal.\n"
    unrated = in_process(capsys, "evaluate", "flow.mmd", *OWN, "--metric", "labels", "--format", "json").json
    assert unrated["answers"]["invalid"] == 4
    assert "merrow rate" in unrated["rows"][0]["reason"]
    assert json.loads(in_process(capsys, "show", identity, "--format", "json").out).get("people") is None


def test_kappa_of_a_table_worked_by_hand() -> None:
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    found = agreement(pairs)
    assert found is not None
    assert (found.items, found.share, found.kappa) == (50, 0.7, pytest.approx(0.4))
    # sqrt(.7 * .3 / 50) / (1 - .5) = .1296
    assert found.kappa_interval == pytest.approx((0.4 - 1.96 * 0.1296, 0.4 + 1.96 * 0.1296), abs=1e-3)
    assert agreement([]) is None


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ([(True, True)], "of 1 answer that they rated; Cohen's kappa needs both verdicts."),
        ([(False, False)] * 3, "of 3 answers that they rated; Cohen's kappa needs both verdicts."),
        ([(True, True), (False, False)], "of 2 answers that they rated, Cohen's kappa 1.000 [1.000, 1.000]."),
    ],
)
def test_how_far_people_agree_is_a_sentence(pairs: list[tuple[bool, bool]], said: str) -> None:
    found = agreement(pairs)
    assert found is not None
    lower, upper = found.interval
    assert people_text(asdict(found)) == f"People agree with it on 1.000 [{lower:.3f}, {upper:.3f}] {said}"


@given(some.lists(some.tuples(some.booleans(), some.booleans()), min_size=1, max_size=60))
def test_kappa_is_never_beyond_its_scale_and_takes_either_side_for_the_first(pairs: list[tuple[bool, bool]]) -> None:
    found, turned = agreement(pairs), agreement([(two, one) for one, two in pairs])
    assert found == turned
    assert found is not None
    if found.kappa is not None and found.kappa_interval is not None:
        assert -1 <= found.kappa_interval.lower <= found.kappa + 1e-12
        assert found.kappa - 1e-12 <= found.kappa_interval.upper <= 1
        assert found.kappa <= found.share + 1e-12
