"""A request's canonical text is that of its plain data, and the journal gives back any request as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from merrow_runtime.requests import AnswerSchema, AskedCall, CallKey, Message, ModelReply, ModelRequest, OwnFields
from merrow_runtime.store.contract import CallRecord, RunRecord
from merrow_runtime.store.database import Store
from merrow_runtime.store.rows import storable_json
from merrow_runtime.usage import Usage
from merrow_runtime.values import canonical

TEXT = st.text(st.characters(codec=None), max_size=20)
CALLS = st.lists(st.builds(AskedCall, TEXT, TEXT, TEXT), max_size=2).map(tuple)
OWN = st.none() | st.builds(OwnFields, TEXT, TEXT)
MESSAGES = st.builds(
    Message, st.sampled_from(["system", "user", "assistant", "tool"]), TEXT, CALLS, st.none() | TEXT, OWN
)
REQUESTS = st.builds(
    ModelRequest,
    TEXT,
    st.lists(MESSAGES, max_size=3).map(tuple),
    st.one_of(st.floats(0, 2), st.integers(0, 2)),
    st.one_of(st.none(), st.integers()),
    st.one_of(st.none(), st.integers()),
    st.one_of(st.none(), st.builds(AnswerSchema, TEXT, st.dictionaries(TEXT, st.one_of(TEXT, st.floats(0, 9))))),
    st.one_of(st.none(), st.floats(1, 9)),
)


@given(REQUESTS)
def test_canonical_text_is_that_of_the_plain_data(request: ModelRequest) -> None:
    assert request.canonical_text() == canonical(request.to_json())


@given(
    st.builds(
        ModelReply,
        TEXT,
        st.sampled_from(["stop", "length", "refusal"]),
        st.builds(Usage, st.integers(0), st.integers(0), st.integers(0), st.none() | st.floats(0, 9), st.booleans()),
        TEXT,
        st.floats(0, 9),
        TEXT,
        CALLS,
        OWN,
    )
)
def test_a_replys_text_is_that_of_its_plain_data(reply: ModelReply) -> None:
    text = reply.json_text()
    assert text == json.dumps(reply.to_json(), separators=(",", ":"))
    assert ModelReply.from_json(json.loads(text)) == reply


class Seconds(float):
    """A kind of float that writes itself otherwise, as those of number libraries do."""

    def __repr__(self) -> str:
        return f"Seconds({float(self)})"


@pytest.mark.parametrize("number", [1.5, Seconds(1.5), 2, float("inf")])
def test_a_replys_text_can_be_read_whatever_kind_its_numbers_are(number: float) -> None:
    reply = ModelReply("4", usage=Usage(1, 1, 1, number), seconds=number)
    assert ModelReply.from_json(json.loads(reply.json_text())) == reply


@pytest.mark.parametrize("temperature", [float("nan"), float("inf")])
def test_a_number_that_is_none_has_no_text(temperature: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        ModelRequest("m", (), temperature).canonical_text()


@pytest.mark.parametrize("said", ["plain", 'quoted "\\ \n', "Grüße \u2028", "half \ud800"])
async def test_the_journal_gives_back_any_request(tmp_path: Path, said: str) -> None:
    request = ModelRequest("m", (Message("user", said),))
    reply = ModelReply(said, model=said, thinking=said)
    call = CallRecord(
        CallKey("A", 0, "answer"),
        "model",
        request.hash,
        storable_json(request.canonical_text()),
        reply.json_text(),
    )
    store = Store.open(tmp_path / "runs.sqlite")
    try:
        journal = store.begin(RunRecord("run", "w.mmd", "running", 1.0))
        await journal.record_call(call, b"key")
        await journal.close()
        [kept] = store.calls("run")
        assert (kept.request, kept.result) == (request.to_json(), reply.to_json())
        assert ModelReply.from_json(kept.result) == reply
        assert await store.cache.get(b"key") == reply.to_json()
    finally:
        store.close()
