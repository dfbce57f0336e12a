"""`merrow rate` of several systems: products ranked blind, on a terminal and by ballots; points, places, agreement."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step, serving
from tests.server.program import merrow, write
from tests.server.test_rate_command import Person

from merrow_optimizer.evaluation.statistics.concordance import concordance, places_of, points_of

SYSTEMS = ("one", "two", "three")
FLOW = """\
---
workflow: {model: m-1}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "NAME"}
    RETURN([Answer]):::Interface
    PROBLEM --> A --> RETURN
"""


def answer(request: Received) -> Step:
    """Which system has answered what; a file in a block, as products are."""
    who = str(request.body["messages"][0]["content"]).split("\n")[0]
    item = re.findall(r"item \d", request.prompt)[-1]
    return Reply(f"```text note.txt\nThis is the product of {who} for {item}.\n```")


@pytest.fixture
def systems(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, ...]]:
    """Three evaluations of two items, and a file with the products of a fourth system."""
    with serving(answer) as server:
        server_url: OpenAIServer = server
        monkeypatch.setenv("OPENAI_BASE_URL", server_url.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("NO_COLOR", "1")
        items = ({"id": f"i{n}", "problem": f"item {n}", "answer": "x"} for n in range(2))
        write("own.jsonl", "".join(json.dumps(one) + "\n" for one in items))
        found = []
        for name in SYSTEMS:
            write(f"{name}.mmd", FLOW.replace("NAME", name))
            asked = ("--dataset", "own.jsonl", "--gold", "answer", "--metric", "contains", "--format", "json")
            found.append(merrow("evaluate", f"{name}.mmd", *asked).json["evaluation"])
        lines = (json.dumps({"item": f"i{n}", "output": f"The product of four for item {n}"}) for n in range(2))
        write("four.jsonl", "\n".join(lines))
        yield (*found, "four.jsonl")


def letters_of(systems: tuple[str, ...], folder: str = "votes") -> dict[str, dict[str, str]]:
    """By item and system the letter of its product, as a rater can find out by opening all."""
    assert merrow("rate", *systems, "--ballot", folder).code == 0
    found: dict[str, dict[str, str]] = {}
    for item in ("i0", "i1"):
        found[item] = {}
        for file in Path(folder, item).glob("*/*"):
            (who,) = re.findall(r"product of (\w+)", file.read_text("utf-8"))
            found[item][who] = file.parent.name
    return found


def test_ballots_are_blind_and_come_to_points_places_and_agreement(systems: tuple[str, ...]) -> None:
    letters = letters_of(systems)
    assert all(sorted(by.values()) == ["A", "B", "C", "D"] for by in letters.values())
    # The same seed gives the same letters, whatever the order of the systems; another seed gives others for some item.
    assert letters_of(systems[::-1], "again") == letters
    rows = list(csv.DictReader(Path("votes/ballot.csv").read_text("utf-8").splitlines()))
    assert [(row["rater"], row["item"], row["ranking"]) for row in rows] == [("", "i0", ""), ("", "i1", "")]
    told = [(rater, item, " ".join(letters[item][who] for who in order))
            for rater, order in (("ann", ["four", "one", "two", "three"]), ("bob", ["four", "two", "one", "three"]))
            for item in ("i0", "i1")]  # fmt: skip
    write("filled.csv", "rater,item,ranking\n" + "".join(f"{','.join(row)}\n" for row in told) + "eve,i0,\n")
    done = merrow("rate", *systems, "--from", "filled.csv", "--format", "json")
    assert done.code == 0, done.err
    assert "4 rankings read" in done.err
    points = {one["system"]: (one["points"], one["ranks"]) for one in done.json["systems"]}
    assert points == {
        systems[0]: (2.5, {"2": 2, "3": 2}),
        systems[1]: (2.5, {"2": 2, "3": 2}),
        systems[2]: (1.0, {"4": 4}),
        "four": (4.0, {"1": 4}),
    }
    # By hand: sums of places 2, 5, 5, 8 around 5, so S = 18, and W = 12 x 18 / (4 x 60).
    assert done.json["agreement"] == {"coefficient": "Kendall's W", "value": pytest.approx(0.9), "items": 2}
    text = merrow("rate", *systems, "--report").out
    assert [line.split()[:2] for line in text.splitlines()[:2]] == [["SYSTEM", "POINTS"], ["four", "4.00"]]
    assert "Kendall's W 0.900" in text
    assert merrow("rate", *systems, "--report", "--format", "html", "-o", "r.html").code == 0
    page = Path("r.html").read_text("utf-8")
    assert "<td>four</td><td>4.00</td>" in page
    assert "<script" not in page


def test_files_name_systems_and_ties_and_wrong_ones_change_nothing(systems: tuple[str, ...]) -> None:
    good = [{"rater": "ann", "item": "i0", "ranking": ["four", [systems[0], systems[1][:6]], systems[2]]}]
    wrong = [
        ({"rater": "", "item": "i0", "ranking": "A B C D"}, "needs `rater`"),
        ({"rater": "x", "item": "i9", "ranking": "A B C D"}, "one of those that are ranked"),
        ({"rater": "x", "item": "i0", "ranking": "A B C"}, "D is missing"),
        ({"rater": "x", "item": "i0", "ranking": "A B C D A"}, "ranked twice"),
        ({"rater": "x", "item": "i0", "ranking": "A B C E"}, "is none of"),
        ({"rater": "x", "item": "i0", "ranking": 4}, "must be a text or a list"),
    ]
    for line, why in wrong:
        write("votes.jsonl", "\n".join(map(json.dumps, [*good, line])))
        done = merrow("rate", *systems, "--from", "votes.jsonl")
        assert (done.code, why in done.err, "votes.jsonl:2" in done.err) == (2, True, True), done.err
    assert merrow("rate", *systems, "--report", "--format", "json").json["rankings"] == 0
    write("votes.jsonl", json.dumps(good[0]))
    report = merrow("rate", *systems, "--from", "votes.jsonl", "--format", "json").json
    assert report["rows"][0]["rankings"]["ann"] == {"four": 1.0, systems[0]: 2.5, systems[1]: 2.5, systems[2]: 4.0}
    assert report["agreement"]["value"] is None
    assert merrow("rate", systems[0], "--report").code == 2
    assert merrow("rate", *systems[:2], "--report", "--format", "json").json["systems"][0]["points"] is None


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_a_person_ranks_on_a_terminal_and_continues_later(systems: tuple[str, ...]) -> None:
    def shown_by(text: str) -> dict[str, str]:
        return {who: letter for letter, who in re.findall(r"product ([A-D])\s.*?product of (\w+)", text, re.DOTALL)}

    def at_terminal(*said: str) -> str:
        person = Person("rate", *systems, "--rater", "ann")
        text = ""
        for word in said:
            text = person.question()
            letters = shown_by(text)
            person.say(" ".join(letters[who] for who in ("one", "two", "three", "four")) if word == "rank" else word)
        rest = person.question()
        assert person.leave() == 0
        return rest

    at_terminal("rank", "q")
    first = merrow("rate", *systems, "--report", "--format", "json").json
    assert (first["rankings"], first["raters"]) == (1, ["ann"])
    end = at_terminal("rank")
    assert "2 rankings of 2 items by 1 rater." in end
    assert {
        one["system"]: one["points"] for one in merrow("rate", *systems, "--report", "--format", "json").json["systems"]
    } == {
        systems[0]: 4.0,
        systems[1]: 3.0,
        systems[2]: 2.0,
        "four": 1.0,
    }


def test_the_coefficient_is_kendalls() -> None:
    """Values worked out by hand; with ties after Kendall 1948."""
    alike = places_of([["a"], ["b"], ["c"]])
    assert concordance([alike] * 5) == 1.0
    assert concordance([places_of([[one] for one in order]) for order in permutations("abc")]) == pytest.approx(0)
    tied = places_of([["a", "b"], ["c"]])
    # Sums 2.5, 3.5, 6 around 4: S = 6.5; m^2 (n^3 - n) = 96; ties take 2 x 6.
    assert concordance([alike, tied]) == pytest.approx(12 * 6.5 / (96 - 12))
    assert concordance([alike]) is None
    assert concordance([places_of([["a", "b"]])] * 2) is None
    assert [points_of(place, 4) for place in (1, 2.5, 4)] == [4, 2.5, 1]


@given(orders=some.lists(some.permutations("abcd"), min_size=2, max_size=8), cut=some.integers(0, 3))
def test_it_is_always_between_nothing_and_all_and_names_do_not_matter(orders: list[list[str]], cut: int) -> None:
    rankings = [
        places_of([order[:cut], *([one] for one in order[cut:])] if cut else [[one] for one in order])
        for order in orders
    ]
    found = concordance(rankings)
    assert found is not None
    assert -1e-9 <= found <= 1 + 1e-9
    assert concordance([{f"x{name}": place for name, place in one.items()} for one in rankings]) == pytest.approx(found)
    assert all(sum(one.values()) == 10 for one in rankings)
