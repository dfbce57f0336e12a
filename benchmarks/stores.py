"""How long a store of many documents takes to be indexed, and searched by 12 words or by a vector: CPU time, in this process.

.venv/bin/python -m benchmarks.stores [DOCUMENTS [NUMBERS OF A VECTOR]]
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from merrow_analysis.definitions.stores import StoreSettings
from merrow_runtime.documents.by_embedding import search_by_embedding
from merrow_runtime.documents.file_store import FileStore
from merrow_runtime.documents.vectors import VectorFile, vector_key
from merrow_runtime.models.embedding_reader import of_length_one

WORDS = 12
QUERIES = 400
ROUNDS = 2
_VOCABULARY = 40_000


def vocabulary(random: Random) -> list[str]:
    """Words that can be said, the common ones first."""
    made = (
        "".join(random.choice("bcdfglmnprst") + random.choice("aeiou") for _ in range(random.randint(1, 4)))
        for _ in itertools.count()
    )
    words: dict[str, None] = {}
    for word in made:
        words[word] = None
        if len(words) == _VOCABULARY:
            return list(words)
    raise AssertionError


def main(documents: int, numbers: int) -> None:
    """Print what it takes, after as many rounds as there are."""
    random = Random(7)  # noqa: S311 (no secret)
    words = vocabulary(random)
    # As in texts of people, the second word is half as common as the first, the third a third.
    weights = list(itertools.accumulate(1 / (place + 2) for place in range(len(words))))
    drawn: Callable[[int], str] = lambda count: " ".join(random.choices(words, cum_weights=weights, k=count))  # noqa: E731
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        with (folder / "documents.jsonl").open("w") as file:
            file.writelines(json.dumps({"text": drawn(40), "source": f"page {n}"}) + "\n" for n in range(documents))
        queries = [drawn(WORDS) for _ in range(QUERIES)]
        for number in range(1, ROUNDS + 1):
            store = FileStore(StoreSettings("all", file="documents.jsonl"), folder, folder, folder / f"indexes{number}")
            index = _seconds(store.refreshed)
            taken = sorted(_seconds(partial(store.search, query, 5)) for query in queries)
            with (folder / "documents.jsonl").open("a") as file:
                file.write(json.dumps({"text": drawn(40)}) + "\n")
            more = _seconds(store.refreshed)
            print(
                f"round {number}: {documents:,} documents indexed in {index:.2f} s, one more in {more * 1000:.0f} ms; a query of"
                f" {WORDS} words {taken[QUERIES // 2] * 1000:.1f} ms (p50), {taken[QUERIES * 95 // 100] * 1000:.1f} ms (p95)",
                flush=True,
            )
            _by_vectors(store, folder / f"vectors{number}.sqlite", numbers, random)
            store.close()


def _by_vectors(store: FileStore, path: Path, numbers: int, random: Random) -> None:
    """Search by vectors that are drawn: which ones they are changes nothing of the time."""
    vectors = VectorFile(path)
    texts = list(dict.fromkeys(text for _, text in store.texts()))
    for start in range(0, len(texts), 1_000):
        drawn = {text: [one - 127.5 for one in random.randbytes(numbers)] for text in texts[start : start + 1_000]}
        vectors.put({vector_key("m", text): of_length_one(vector) for text, vector in drawn.items()})

    def search(query: str) -> None:
        search_by_embedding(store, "all", vectors, "m", query, 5)

    first = _seconds(partial(search, texts[0]))
    taken = sorted(_seconds(partial(search, text)) for text in texts[:20])
    by = "numpy" if importlib.util.find_spec("numpy") else "Python alone"
    print(
        f"         {len(texts):,} vectors of {numbers:,} numbers: the first search {first:.2f} s, another"
        f" {taken[10] * 1000:.0f} ms (p50), {taken[19] * 1000:.0f} ms (the longest of 20), by {by}",
        flush=True,
    )
    vectors.close()


def _seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


if __name__ == "__main__":
    given = [int(argument) for argument in sys.argv[1:]]
    main(*given, *(100_000, 256)[len(given) :])
