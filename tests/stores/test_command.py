"""`merrow stores`: what runs have kept, listed, shown, added, forgotten and exported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.server.program import Outcome, in_process
from tests.stores.flows import LESSONS
from tests.stores.test_runs import kept, last, ran, space

from merrow_runtime.documents.kept_store import KeptStore

__all__ = ["space"]

Capture = pytest.CaptureFixture[str]


def stores(capsys: Capture, *arguments: str) -> Outcome:
    outcome = in_process(capsys, "stores", *arguments)
    assert outcome.code == 0, outcome.err
    return outcome


def test_what_runs_have_kept_is_listed_and_shown(space: Path, capsys: Capture) -> None:
    assert "No run has kept anything" in stores(capsys, "list").err
    for text in ("look left", "look right"):
        last(ran(capsys, LESSONS, text))
    assert stores(capsys, "list").out.startswith("lessons  2 texts, the latest of ")
    [listed] = stores(capsys, "list", "--json").json["stores"]
    assert (listed["name"], listed["texts"]) == ("lessons", 2)
    shown = stores(capsys, "show", "lessons", "--limit", "1")
    assert "look right" in shown.out
    assert "flow.mmd, node KEEP" in shown.out
    assert "look left" not in shown.out
    assert "1 older text not shown" in shown.err
    [found] = stores(capsys, "show", "lessons", "--query", "LEFT", "--json").json["rows"]
    assert (found["row"], found["text"]) == (1, "look left")
    assert "No text has these words" in stores(capsys, "show", "lessons", "--query", "zebra").err


def test_texts_are_added_exported_and_forgotten(space: Path, capsys: Capture) -> None:
    assert stores(capsys, "add", "lessons", "one \x1b[31m").out == "1 text added to lessons.\n"
    assert stores(capsys, "add", "lessons", "one \x1b[31m").out == "0 texts added to lessons; 1 known already.\n"
    assert "\x1b" not in stores(capsys, "show", "lessons").out
    stores(capsys, "add", "lessons", "two")
    stores(capsys, "export", "lessons", "-o", "out.jsonl")
    lines = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert [line["text"] for line in lines] == ["one \x1b[31m", "two"]
    assert stores(capsys, "export", "lessons").out == Path("out.jsonl").read_text()
    assert stores(capsys, "add", "copy", "--file", "out.jsonl").out == "2 texts added to copy.\n"
    assert kept(space, "copy") == kept(space)
    assert stores(capsys, "forget", "lessons", "1").out == "1 text forgotten.\n"
    assert kept(space) == ["two"]
    assert stores(capsys, "forget", "lessons", "--all", "--yes").out == "1 text forgotten.\n"
    assert kept(space) == []
    last(ran(capsys, LESSONS, "three"))
    assert stores(capsys, "show", "lessons", "--json").json["rows"][0]["row"] == 3


def test_a_visit_adds_its_text_once_whatever_became_of_it(space: Path) -> None:
    store = KeptStore("lessons", space / "state/stores")
    assert store.add("run, node", "one", 1)
    assert not store.add("run, node", "one", 1)
    assert store.add("run, other", "two", 1)
    assert not store.add("run, node", "one", 1), "it was forgotten since it was the oldest"
    assert [one.text for one in store.listed()] == ["two"]
    store.close()


def test_what_was_forgotten_is_not_added_again_by_a_resume(space: Path, capsys: Capture) -> None:
    run = last(ran(capsys, LESSONS, "look left"))["run"]
    stores(capsys, "forget", "lessons", "--all", "--yes")
    assert in_process(capsys, "resume", run).code == 0
    assert kept(space) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "lesson"), "There is no kept store lesson; did you mean lessons?"),
        (("show", "other"), "merrow stores list shows those that there are"),
        (("show", "../x"), "can't name a store"),
        (("show",), "Name the store"),
        (("list", "lessons"), "takes no name"),
        (("show", "lessons", "x"), "takes one name"),
        (("list", "--yes"), "does not take --yes"),
        (("forget", "lessons"), "Give the ROWs"),
        (("forget", "lessons", "x"), "A ROW is a number"),
        (("forget", "lessons", "9"), "0 texts forgotten; the store has no other of these rows"),
        (("forget", "lessons", "--all"), "add --yes"),
        (("add", "lessons"), "Give one TEXT in quotes, or --file F"),
        (("add", "lessons", "--file", "none.jsonl"), "There is no file none.jsonl"),
    ],
)
def test_mistakes(space: Path, capsys: Capture, arguments: tuple[str, ...], said: str) -> None:
    stores(capsys, "add", "lessons", "one")
    outcome = in_process(capsys, "stores", *arguments)
    assert outcome.code == 2
    assert said in outcome.err
    assert kept(space) == ["one"]
