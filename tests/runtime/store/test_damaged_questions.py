"""`merrow journal check` finds questions to people that can't be as the journal has them, each in a sentence."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.runtime.composites.loops import custom, flow
from tests.runtime.engine.fakes import FakeEndpoint
from tests.runtime.people.asking import Asking, by_name, person
from tests.server.program import in_process

import merrow_runtime
from merrow_runtime.store.database import Store

FORM = "{types: {Mood: [good, bad]}}"
DAMAGE = {
    "state = 'odd'": "has a state that there is none of",
    "state = 'answered', answer = NULL": "is answered, but its answer is missing",
    "answer = '{'": "has an answer that is not a JSON object",
    "answer = '[1]'": "has an answer that is not a JSON object",
    """answer = '{"answer": "ugly"}'""": "has an answer that does not fit its form",
    """answer = '{"answer": "good", "more": 1}'""": "has an answer that does not fit its form",
    """answer = '{}'""": "has an answer that does not fit its form",
    "question = '5'": "has no form that can be read",
    """question = '{"schema": {"type": "array"}}'""": "has no form that can be read",
}
RESTORE = "UPDATE asks SET state = ?, answer = ?, question = ? WHERE node = 'A'"


@pytest.fixture
def store(configured: str) -> Iterator[Store]:
    with closing(Store.open()) as opened:
        yield opened


async def answered(store: Store) -> str:
    """A run that has asked two people, and both have answered, one with a note."""
    run = Asking(
        store,
        flow(
            person("A", "returns: Mood"),
            person("B", "returns: Mood"),
            custom("END"),
            "PROBLEM --> A & B --> END --> RETURN",
            front=FORM,
        ),
    )
    await run.begin()
    run.answer("A", "good")
    run.answer("B", {"answer": "bad", "note": "why"})
    return run.run


async def test_each_kind_of_damage_is_a_sentence(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    run = await answered(store)
    sound = in_process(capsys, "journal", "check")
    assert (sound.code, sound.out) == (0, "All of it can be read.\n")
    (whole,) = store._database.execute("SELECT state, answer, question FROM asks WHERE node = 'A'").fetchall()
    for change, says in DAMAGE.items():
        store._database.transaction(
            lambda database, change=change: database.execute(f"UPDATE asks SET {change} WHERE node = 'A'")  # type: ignore[misc] # noqa: S608
        )
        found = in_process(capsys, "journal", "check")
        sentence = f"The question of A in run {run} {says}. To remove the run, use: merrow runs --delete {run}"
        assert (found.code, found.out) == (1, f"{sentence}\n1 record can't be read.\n"), change
        assert in_process(capsys, "show", run).code == 0
        store._database.transaction(lambda database: database.execute(RESTORE, tuple(whole)))
    assert in_process(capsys, "journal", "check").code == 0


@pytest.mark.parametrize("change", list(DAMAGE)[:4])
async def test_a_run_ends_in_a_sentence_where_an_answer_is_damaged(store: Store, change: str) -> None:
    run = await answered(store)
    store._database.transaction(lambda database: database.execute(f"UPDATE asks SET {change} WHERE node = 'A'"))  # noqa: S608
    result = await merrow_runtime.resume(run, endpoint=FakeEndpoint(by_name), store=store).result()
    assert result.status == "failed"
    assert result.error == "Node A: the answer that a person gave is damaged in the journal."
    assert [call.key.node for call in store.calls(run) if call.kind == "person"] in ([], ["B"])


async def test_open_declined_and_expired_questions_are_sound(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    run = Asking(
        store,
        flow(
            *(person(name, "deadline: 1h") for name in "ABC"), custom("END"), "PROBLEM --> A & B & C --> END --> RETURN"
        ),
    )
    await run.begin()
    run.answer("A", None)
    store._database.transaction(lambda database: database.execute("UPDATE asks SET state = 'expired' WHERE node = 'B'"))
    assert sorted(ask.state for ask in store.asks(run.run)) == ["asked", "declined", "expired"]
    assert in_process(capsys, "journal", "check").code == 0


async def test_a_question_without_its_run_is_found_and_left_out_of_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("MERROW_JOURNAL", raising=False)
    with closing(Store.open()) as store:
        await answered(store)
        path = store.path
    assert path is not None
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE asks SET run = 99 WHERE node = 'B'")
        database.commit()
    found = in_process(capsys, "journal", "check")
    sentence = "A question of B is of a run that is not in the journal; merrow journal copy leaves it out."
    assert (found.code, found.out) == (1, f"{sentence}\n1 record can't be read.\n")
    assert in_process(capsys, "journal", "copy", str(path), str(tmp_path / "copy.sqlite")).code == 0
    with closing(Store.open(tmp_path / "copy.sqlite")) as copied:
        assert [row[0] for row in copied._database.execute("SELECT node FROM asks").fetchall()] == ["A"]
