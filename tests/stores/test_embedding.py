"""Documents that are found by embedding: each text is paid once, whatever happens, and what servers send is checked."""

from __future__ import annotations

import base64
import contextlib
import json
import signal
import sqlite3
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.openai_server import (
    Embedding,
    Hang,
    OpenAIServer,
    Raw,
    Received,
    Status,
    Step,
    lengths_of_words,
    serving,
)
from tests.server.program import Outcome, in_process
from tests.sizes import sized
from tests.stores.flows import asks, flow
from tests.stores.test_kills import begun
from tests.stores.test_runs import last, space, texts

from merrow_runtime.documents import nearest
from merrow_runtime.documents.nearest import VectorTable
from merrow_runtime.models.embedding_reader import of_length_one
from merrow_runtime.store.database import Store

__all__ = ["space"]

MANY = asks("many: {file: ./many.jsonl}", "store: many, k: 2, by: embedding, model: m")


def many(count: int, first: int = 0) -> str:
    return "".join(f'{{"text": "{"a" * (number + 1)} b"}}\n' for number in range(first, first + count))


@pytest.fixture
def server(space: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield server


def ran(
    capsys: pytest.CaptureFixture[str], text: str = MANY, problem: str = "aaa b", *more: str, json_: bool = True
) -> Outcome:
    Path("flow.mmd").write_text(text, "utf-8")
    arguments = ["run", "flow.mmd", "--input", f"PROBLEM={problem}", *more]
    return in_process(capsys, *arguments, *(["--json"] if json_ else []))


def embedded(server: OpenAIServer) -> Counter[str]:
    """How often each text was sent."""
    return Counter(text for request in server.requests for text in request.texts)


def test_the_embedded_model_finds_by_shared_words(space: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (space / "manual.jsonl").write_text(
        '{"text": "Opening hours of the swimming pool."}\n{"text": "How to borrow books."}\n{"text": "Rubbish and bins."}\n'
    )
    text = asks("manual: {file: ./manual.jsonl}", "store: manual, k: 1, by: embedding")
    run = last(ran(capsys, text, "when does the pool open?", "--base-url", "offline"))
    [document] = run["outputs"]["RETURN"]
    assert (document["text"], document["row"]) == ("Opening hours of the swimming pool.", 1)
    assert 0 < document["score"] < 1
    assert run["sources"] == [{"endpoint": "merrow:offline", "model": "text-embedding-3-small"}]
    assert texts(last(ran(capsys, text, "borrowing a book", "--base-url", "offline"))["outputs"]["RETURN"]) == [
        "How to borrow books."
    ]


def test_texts_are_embedded_in_batches_and_never_twice(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    (space / "many.jsonl").write_text(many(6) * 2 + many(220, 10))
    first = last(ran(capsys))
    # The same text twice is one, and equal documents come by their rows.
    assert [(one["text"], one["row"], one["score"]) for one in first["outputs"]["RETURN"]] == [
        ("aaa b", 3, 1.0),
        ("aaa b", 9, 1.0),
    ]
    assert sorted(len(request.texts) for request in server.requests) == [26, 100, 100]
    assert set(embedded(server).values()) == {1}
    assert [request.path for request in server.requests] == ["/v1/embeddings"] * 3
    assert all(request.body["model"] == "m" for request in server.requests)
    assert first["usage"]["calls"] == 3
    assert first["usage"]["prompt_tokens"] == sum(len(text.split()) for text in embedded(server))
    assert first["usage"]["completion_tokens"] == 0
    assert last(ran(capsys))["usage"]["calls"] == 0
    # Only what is new is embedded.
    with (space / "many.jsonl").open("a") as file:
        file.write(many(1, 500))
    assert last(ran(capsys))["outputs"] == first["outputs"]
    assert server.requests[-1].texts == ["a" * 501 + " b"]
    assert len(server.requests) == 4


def test_another_model_and_another_endpoint_make_vectors_of_their_own(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (space / "many.jsonl").write_text(many(3))
    last(ran(capsys))
    (space / "config").mkdir()
    (space / "config/config.toml").write_text('[models]\nembedding = "own"\n')
    unnamed = MANY.replace(", model: m", "")
    last(ran(capsys, unnamed, "aaa b", "--model", "chat"))
    assert [request.body["model"] for request in server.requests] == ["m", "own"]
    with serving() as other:
        monkeypatch.setenv("OPENAI_BASE_URL", other.base_url)
        last(ran(capsys))
        assert len(other.requests) == 1


def test_a_long_text_is_cut_and_an_empty_one_is_a_space(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    rows = [{"text": "é" * 13_000}, {"text": ""}, {"text": "half \ud83d"}]
    (space / "many.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(last(ran(capsys))["outputs"]["RETURN"]) == 2
    assert sorted(embedded(server)) == sorted(["é" * 12_000, " ", "half \ufffd", "aaa b"])


def test_batches_are_bounded_by_their_tokens(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    (space / "many.jsonl").write_text("".join(json.dumps({"text": f"{n} " + "a" * 23_990}) + "\n" for n in range(20)))
    last(ran(capsys))
    assert sorted(len(request.texts) for request in server.requests) == [5, 8, 8]


def test_what_it_costs_is_foreseen_counted_and_bounded(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    (space / "config").mkdir()
    prices = f'[prices."{server.origin}"]\nm = {{input = 1.0, output = 0}}\n'
    (space / "config/config.toml").write_text(prices)
    (space / "many.jsonl").write_text(many(150))
    foreseen = json.loads(ran(capsys, MANY, "aaa b", "--dry-run").out)
    assert foreseen["calls"] == {"least": 0, "most": 3}
    assert foreseen["nodes"][1]["embeds"] == 150
    assert foreseen["cost_usd"]["most"] == pytest.approx(foreseen["tokens"]["most"] / 1e6)
    assert not (space / "state").exists()
    assert (
        "has the query embedded, and 150 of its store's texts" in ran(capsys, MANY, "a", "--dry-run", json_=False).out
    )

    refused = ran(capsys, MANY, "aaa b", "--budget-tokens", "500")
    assert refused.code == 1
    assert "budget" in refused.out
    assert not server.requests

    run = last(ran(capsys))
    assert run["usage"]["cost_usd"] == pytest.approx(run["usage"]["prompt_tokens"] / 1e6)
    [row] = json.loads(in_process(capsys, "costs", "--by", "model", "--format", "json").out)["rows"]
    assert (row["calls"], row["usd"]) == (2, pytest.approx(run["usage"]["cost_usd"]))
    again = json.loads(ran(capsys, MANY, "aaa b", "--dry-run").out)
    assert (again["calls"]["most"], again["nodes"][1]["embeds"]) == (1, 0)


def test_an_unpriced_model_has_no_budget_in_dollars(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    (space / "many.jsonl").write_text(many(1))
    outcome = ran(capsys, MANY, "a", "--budget-usd", "1")
    assert outcome.code == 2
    assert "`m`" in outcome.err
    assert not server.requests


def test_a_server_that_is_busy_is_asked_again(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    (space / "many.jsonl").write_text(many(3))
    server.script(Status(429, headers={"Retry-After": "0"}), Status(503))
    outcome = ran(capsys)
    assert last(outcome)["usage"]["calls"] == 1
    assert [json.loads(line)["event"] for line in outcome.out.splitlines()].count("node_retrying") == 2


def test_a_node_says_how_often_and_how_long_is_tried(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    (space / "many.jsonl").write_text(many(3))
    server.script(Status(503))
    assert ran(capsys, MANY.replace("model: m", "model: m, retries: 0")).code == 1
    assert len(server.requests) == 1
    server.script(Hang())
    assert ran(capsys, MANY.replace("model: m", "model: m, retries: 0, timeout: 0.2")).code == 1
    assert last(ran(capsys))["outputs"]["RETURN"]


def test_a_form_that_a_server_does_not_take_is_put_otherwise(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    def packed(request: Received) -> Step:
        if request.body.get("encoding_format") == "float":
            return Status(400, "encoding_format: 'float' is not supported")
        vectors = [struct.pack("<8f", *lengths_of_words(text)) for text in request.texts]
        data = [{"index": n, "embedding": base64.b64encode(vector).decode()} for n, vector in enumerate(vectors)]
        return Raw(json.dumps({"data": data[::-1]}).encode())

    server.answer = packed
    (space / "many.jsonl").write_text(many(5))
    assert texts(last(ran(capsys))["outputs"]["RETURN"]) == ["aaa b", "a b"]
    assert len(server.requests) == 2


def answering(vector: Any) -> dict[str, Any]:
    return {"data": [{"index": 0, "embedding": [1.0, 2.0]}, {"index": 1, "embedding": vector}]}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "holds no vectors; check that its model embeds texts"),
        ([], "holds no vectors"),
        ({"data": "x"}, "holds no vectors"),
        ({"data": []}, "gave 0 vectors for 2 texts"),
        ({"data": [{"embedding": [1.0]}] * 3}, "gave 3 vectors for 2 texts"),
        ({"data": [{"index": 0, "embedding": [1.0]}] * 2}, "does not say which vector is of which text"),
        ({"data": [{"index": True, "embedding": [1]}, {"index": 0, "embedding": [1]}]}, "does not say which"),
        (answering([1.0]), "gave vectors of 1 and of 2 numbers"),
        (answering([]), "gave an empty vector"),
        (answering(None), "gave something that is not a vector"),
        (answering({"a": 1}), "gave something that is not a vector"),
        (answering([1.0, float("nan")]), "with something in it that is not a number"),
        (answering([1.0, float("-inf")]), "with something in it that is not a number"),
        (answering([1.0, 1e300]), "with something in it that is not a number"),
        (answering([1.0, True]), "with something in it that is not a number"),
        (answering([1.0, "2"]), "with something in it that is not a number"),
        (answering([1.0, 10**400]), "with something in it that is not a number"),
        (answering("not base64!"), "gave a text in the place of a vector"),
        (answering("QUJD"), "gave a text in the place of a vector"),
        (answering(base64.b64encode(struct.pack("<2f", 1.0, float("nan"))).decode()), "that is not a number"),
        (answering([0.5] * 20_000), "gave a vector of 20,000 numbers, and at most 16,384"),
        ({"error": {"message": "no such luck"}}, "no such luck"),
        ([[1.0], [2.0]], "holds no vectors"),
        (b'{"data": [', "broken JSON"),
        (b"[" * 100_000, "broken JSON"),
        (b"1" * (16 * 2**20 + 1), "sent more than 16 MB"),
    ],
)
def test_answers_that_are_no_vectors(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer, body: Any, said: str
) -> None:
    (space / "many.jsonl").write_text(many(1))
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    server.answer = lambda _: Raw(content)
    (space / "config").mkdir()
    outcome = ran(capsys, MANY.replace("model: m", "model: m, retries: 0"))
    assert outcome.code == 1
    error = last_error(outcome)
    assert said in error
    assert error.count(". ") <= 1
    # Nothing of it is kept.
    server.answer = lambda _: Embedding(lengths_of_words)
    assert last(ran(capsys))["outputs"]["RETURN"]


def last_error(outcome: Outcome) -> str:
    error: str = json.loads(outcome.out.splitlines()[-1])["error"]
    return error


def test_an_empty_text_and_numbers_that_are_all_zero(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    server.answer = lambda _: Embedding(lambda _: [0, 0.0])
    (space / "many.jsonl").write_text(many(3))
    found = last(ran(capsys))["outputs"]["RETURN"]
    assert [(one["row"], one["score"]) for one in found] == [(1, 0.0), (2, 0.0)]


def test_a_model_that_is_another_one_by_now(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    (space / "many.jsonl").write_text(many(3))
    last(ran(capsys))
    server.answer = lambda _: Embedding(lambda _: [1.0, 2.0])
    outcome = ran(capsys, MANY, "something else")
    assert outcome.code == 1
    assert "made vectors of 2 and of 8 numbers" in last_error(outcome)
    (space / "state/stores/vectors/vectors.sqlite").unlink()
    assert last(ran(capsys, MANY, "something else"))["outputs"]["RETURN"]


def test_a_server_without_such_a_model(space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer) -> None:
    server.answer = lambda _: Status(404, "The model `m` does not exist", code="model_not_found")
    (space / "many.jsonl").write_text(many(220))
    outcome = ran(capsys)
    assert outcome.code == 1
    assert "has no model `m`" in last_error(outcome)


def test_a_replay_asks_nobody_and_reads_nothing(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    (space / "many.jsonl").write_text(many(5))
    unnamed = MANY.replace(", model: m", "")
    run = last(ran(capsys, unnamed, "aaa b", "--record", "calls.jsonl"))
    (space / "many.jsonl").unlink()
    (space / "state/stores/vectors/vectors.sqlite").unlink()
    asked = len(server.requests)
    (space / "config").mkdir()
    (space / "config/config.toml").write_text('[models]\nembedding = "own"\n')
    replayed = last(ran(capsys, unnamed, "aaa b", "--replay", "calls.jsonl"))
    assert replayed["outputs"] == run["outputs"]
    assert replayed["usage"]["calls"] == 0
    assert last(in_process(capsys, "resume", run["run"], "--json"))["outputs"] == run["outputs"]
    assert len(server.requests) == asked


def test_items_of_an_evaluation_share_vectors(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    (space / "many.jsonl").write_text(many(150))
    (space / "flow.mmd").write_text(MANY)
    rows = [json.dumps({"id": f"i{n}", "PROBLEM": f"{'a' * (n % 2 + 1)} b", "answer": "x"}) for n in range(6)]
    (space / "data.jsonl").write_text("\n".join(rows))
    evaluate = ("evaluate", "flow.mmd", "--dataset", "data.jsonl", "--gold", "answer")
    foreseen = json.loads(in_process(capsys, *evaluate, "--dry-run", "--format", "json").out)
    assert foreseen["calls"] == {"least": 0, "most": 2 + 6}
    evaluated = json.loads(in_process(capsys, *evaluate, "--format", "json").out)
    assert set(embedded(server).values()) == {1}
    assert evaluated["usage"]["calls"] == len(server.requests)
    in_process(capsys, *evaluate, "--format", "json", "--fresh", "--no-store")
    assert set(embedded(server).values()) <= {1, 2}


def test_a_run_that_leaves_nothing_keeps_no_vectors(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    (space / "many.jsonl").write_text(many(3))
    assert texts(last(ran(capsys, MANY, "aaa b", "--no-store"))["outputs"]["RETURN"]) == ["aaa b", "a b"]
    assert not (space / "state/stores").exists()


def test_what_is_remembered_is_found_by_embedding(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    text = flow(
        "lessons: {keep: 9}",
        "KEEP@{ op: Remember, store: lessons }",
        "FIND@{ op: Retrieve, store: lessons, by: embedding }",
        "PROBLEM -->|text| KEEP",
        "KEEP -->|query| FIND",
        "FIND --> RETURN",
    )
    assert texts(last(ran(capsys, text, "a bb"))["outputs"]["RETURN"]) == ["a bb"]
    assert texts(last(ran(capsys, text, "a bb ccc"))["outputs"]["RETURN"]) == ["a bb ccc", "a bb"]
    # A text that is kept and asked for is one text.
    assert embedded(server) == {"a bb": 1, "a bb ccc": 1}


def test_a_store_without_documents_gives_none(
    space: Path, capsys: pytest.CaptureFixture[str], server: OpenAIServer
) -> None:
    text = asks("lessons: {keep: 9}", "store: lessons, by: embedding")
    assert last(ran(capsys, text))["outputs"]["RETURN"] == []


def vectors_in(folder: Path) -> int:
    path = folder / "state/stores/vectors/vectors.sqlite"
    if not path.is_file():
        return 0
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
        try:
            return int(file.execute("SELECT count(*) FROM vectors").fetchone()[0])
        except sqlite3.OperationalError:  # it is being made
            return 0


def eventually(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.mark.parametrize("seed", range(sized(1, 6)))
def test_a_run_that_is_killed_pays_no_batch_twice(space: Path, server: OpenAIServer, seed: int) -> None:
    random = Random(seed)
    (space / "many.jsonl").write_text(many(700))
    (space / "flow.mmd").write_text(MANY)
    server.answers_at_most = random.choice((1, 3, 5))
    process = begun(space, "run", "flow.mmd", "--input", "PROBLEM=aaa b", "--concurrency", "2")
    wanted = 100 * (server.answers_at_most - 1)
    eventually(lambda: vectors_in(space) >= max(100, wanted))
    process.send_signal(signal.SIGTERM if seed % 3 == 1 else signal.SIGKILL)
    process.wait(PATIENCE)
    known, sent = vectors_in(space), len(server.requests)
    assert known % 100 == 0
    server.answers_at_most = None
    store = Store.open()
    run = store.runs(1)[0].id
    store.close()
    assert begun(space, "resume", run).wait(PATIENCE) == 0
    assert sum(len(request.texts) for request in server.requests[sent:]) == 700 - known
    store = Store.open()
    record = store.run(run)
    assert record is not None
    assert (record.outputs or {})["RETURN"][0]["text"] == "aaa b"
    # What was under way at the kill may have been paid, and is counted so.
    assert record.usage.calls >= 7 + sent - known // 100
    store.close()


@pytest.mark.slow
def test_a_run_that_is_interrupted_ends_at_once(space: Path, server: OpenAIServer) -> None:
    (space / "many.jsonl").write_text(many(300))
    (space / "flow.mmd").write_text(MANY)
    server.answer = lambda _: Embedding(lengths_of_words) if len(server.requests) == 1 else Hang()
    process = begun(space, "run", "flow.mmd", "--input", "PROBLEM=aaa b")
    eventually(lambda: len(server.requests) == 3 and vectors_in(space) == 100)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130
    store = Store.open()
    assert store.runs(1)[0].status == "cancelled"
    store.close()
    assert vectors_in(space) == 100


@pytest.mark.parametrize("numbers", [3, 200])
def test_numpy_finds_the_same(numbers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numpy")
    random = Random(numbers)
    vectors = [of_length_one([random.gauss(0, 1) for _ in range(numbers)]) for _ in range(300)]
    vectors += vectors[:50]
    table = VectorTable(len(vectors), numbers, b"".join(vectors))
    plain = [table.nearest(vector, 7) for vector in vectors]
    assert all(found[0][1] >= found[-1][1] for found in plain)
    assert [found[0][0] for found in plain[:50]] == list(range(50))
    assert [found[1][0] for found in plain[:50]] == list(range(300, 350))
    monkeypatch.setattr(nearest, "_LARGE", 0)
    assert [table.nearest(vector, 7) for vector in vectors] == plain
