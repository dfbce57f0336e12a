"""What is found by words, in which order, and that an index which follows its files finds what a new one finds."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from merrow_analysis.definitions.stores import StoreSettings
from merrow_runtime.documents.file_store import FileStore
from merrow_runtime.documents.passages import LONGEST, passages
from merrow_runtime.documents.places import StorePlace
from merrow_runtime.documents.run_stores import RunStores
from merrow_runtime.documents.words import chosen, words_of
from merrow_runtime.errors import InputError
from merrow_runtime.visit import Visit

NOTES = StoreSettings("notes", file="notes.jsonl")


def written(folder: Path, texts: list[str]) -> None:
    (folder / "notes.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")


def found(folder: Path, texts: list[str], query: str, wanted: int = 5) -> list[str]:
    written(folder, texts)
    store = FileStore(NOTES, folder, folder, None)
    try:
        return [document.text for document in store.search(query, wanted)]
    finally:
        store.close()


def test_the_rarer_words_decide_and_equal_documents_come_by_row(tmp_path: Path) -> None:
    texts = ["the red door", "the green door", "the door", "green green paint on the door", "the red door"]
    assert found(tmp_path, texts, "Where is the GREEN paint?", 2) == ["green green paint on the door", "the green door"]
    assert found(tmp_path, ["b same", "a same", "c same"], "same", 2) == ["b same", "a same"]
    assert found(tmp_path, texts, "nothing of this", 3) == []
    assert found(tmp_path, texts, "... !", 3) == []
    assert found(tmp_path, [], "door", 3) == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Über die Brücke", "UBER"),
        ("the cafe\u0301 is open", "café"),
        ("非常口は緑のボタンで開きます", "緑のボタンはどこですか"),
        ("按绿色按钮", "绿色"),
        ("กดปุ่มสีเขียว", "สีเขียว"),
        ("हरा बटन दबाएँ", "बटन"),
        ("초록 버튼을 누르세요", "버튼을"),
        ('Press NEAR(a) AND "OR" *', 'near "or"'),
        ("ΓΡΑΦΕΙΟ", "γραφειο"),
        ("Straße", "strasse"),
    ],
)
def test_words_of_any_script_are_found(tmp_path: Path, text: str, query: str) -> None:
    assert found(tmp_path, ["something else", text, "もう一つ"], query, 1) == [text]


def test_a_word_that_nearly_all_have_is_left_out_where_there_are_rarer_ones() -> None:
    assert chosen({"the": 90_000, "green": 5_000, "door": 5_001, "paint": 3, "none": 0}, 100_000, 5) == [
        "paint",
        "green",
    ]
    assert chosen({"the": 90_000, "paint": 3}, 100_000, 5) == ["paint", "the"]
    assert chosen({"the": 900, "paint": 3}, 1_000, 1) == ["paint", "the"]
    assert len(chosen({f"w{number}": 1 for number in range(100)}, 100, 5)) == 64
    assert words_of("a a b") == ["a", "b"]
    assert words_of("按绿色") == ["按绿", "绿色", "按绿色"]
    assert words_of("naïve Ünïcode") == ["naive", "unicode"]


LINES = st.lists(
    st.text("ab é緑の\n#", max_size=6).filter(lambda text: not text.isspace())
    | st.sampled_from(["a b", "b c a", "c c"]),
    max_size=7,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(LINES, min_size=2, max_size=4), st.sampled_from(["a", "b c", "緑の a", "é"]))
def test_an_index_that_follows_its_file_finds_what_a_new_one_finds(
    tmp_path_factory: pytest.TempPathFactory, versions: list[list[str]], query: str
) -> None:
    folder = tmp_path_factory.mktemp("notes")
    followed = FileStore(NOTES, folder, folder, folder / "indexes")
    try:
        for texts in versions:
            written(folder, texts)
            fresh = FileStore(NOTES, folder, folder, None)
            for wanted in (1, 2, 9):
                assert [one._replace(added=0) for one in followed.search(query, wanted)] == [
                    one._replace(added=0) for one in fresh.search(query, wanted)
                ]
            assert followed.version() == fresh.version()
            fresh.close()
    finally:
        followed.close()


def test_rows_that_are_written_behind_the_others_are_found_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    store = FileStore(NOTES, tmp_path, tmp_path, tmp_path / "indexes")

    def places(query: str) -> list[tuple[int, str]]:
        return sorted((one.row, one.place) for one in store.search(query, 9))

    file.write_text('{"text": "one green"}\n\n')
    assert places("green") == [(1, "line 1")]
    file.write_text(file.read_text() + '{"text": "two green"}\n{"text": "three"}')
    assert places("green") == [(1, "line 1"), (2, "line 3")]
    file.write_text(file.read_text()[:-2] + ' green"}\n')
    assert places("green") == [(1, "line 1"), (2, "line 3"), (3, "line 4")]
    file.write_text(file.read_text() + "broken\n")
    with pytest.raises(InputError, match=r"line 5 of notes.jsonl is not JSON"):
        store.search("green", 9)
    file.write_text(file.read_text().replace("broken", '{"text": "green"}').replace("two", "second"))
    assert places("green") == [(1, "line 1"), (2, "line 3"), (3, "line 4"), (4, "line 5")]
    assert places("two") == []
    assert places("second") == [(2, "line 3")]
    file.write_text('{"text": "green"}')
    assert places("green") == [(1, "line 1")]
    file.write_text('{"text": "green"} {"text": "green"}\n')
    with pytest.raises(InputError, match=r"line 1 of notes.jsonl is not JSON"):
        store.search("green", 9)
    store.close()


def test_a_file_that_was_written_a_moment_ago_is_read_again(tmp_path: Path) -> None:
    """Two versions may have the same size and time."""
    written(tmp_path, ["green"])
    file = tmp_path / "notes.jsonl"
    changed = file.stat().st_mtime_ns
    store = FileStore(NOTES, tmp_path, tmp_path, None)
    assert len(store.search("green", 1)) == 1
    written(tmp_path, ["brown"])
    os.utime(file, ns=(changed, changed))
    assert len(store.search("brown", 1)) == 1
    store.close()


def test_which_of_equal_documents_are_found_does_not_depend_on_when_they_were_written(tmp_path: Path) -> None:
    store = FileStore(NOTES, tmp_path, tmp_path, tmp_path / "indexes")
    written(tmp_path, ["b same", "a same"])
    assert [one.text for one in store.search("same", 1)] == ["b same"]
    written(tmp_path, ["c same", "b same", "a same"])
    assert [(one.row, one.text) for one in store.search("same", 2)] == [(1, "c same"), (2, "b same")]
    assert [one.text for one in store.search("same", 3)] == ["c same", "b same", "a same"]
    store.close()


def test_a_folder_is_followed_too(tmp_path: Path) -> None:
    store = FileStore(StoreSettings("docs", folder="docs"), tmp_path, tmp_path, tmp_path / "indexes")
    docs = tmp_path / "docs"
    (docs / "more").mkdir(parents=True)
    (docs / "a.md").write_text("# Doors\n\nPress the green button.\n")
    (docs / "more/b.txt").write_text("A green door.\n")
    (docs / "c.py").write_text("green\n")
    (docs / ".d.md").write_text("green\n")
    first = store.version()
    assert [(one.source, one.place) for one in store.search("green", 9)] == [
        ("more/b.txt", "line 1"),
        ("a.md", "Doors (lines 1-3)"),
    ]
    (docs / "more/b.txt").unlink()
    (docs / "e.md").write_text("green\n")
    assert sorted(one.source for one in store.search("green", 9)) == ["a.md", "e.md"]
    assert store.version() != first
    store.close()


def test_links_in_a_folder_lead_nowhere_else(tmp_path: Path) -> None:
    docs = tmp_path / "workspace/docs"
    docs.mkdir(parents=True)
    (tmp_path / "more").mkdir()
    (tmp_path / "secret.md").write_text("green")
    (tmp_path / "more/secret.md").write_text("green")
    (docs / "own.md").write_text("green")
    (docs / "same.md").symlink_to(docs / "own.md")
    (docs / "link.md").symlink_to(tmp_path / "secret.md")
    (docs / "more").symlink_to(tmp_path / "more")
    (docs / "gone.md").symlink_to(tmp_path / "gone.md")
    store = FileStore(StoreSettings("docs", folder="docs"), tmp_path / "workspace", tmp_path / "workspace", None)
    assert [one.source for one in store.search("green", 9)] == ["own.md", "same.md"]
    store.close()


def test_an_index_that_is_damaged_is_made_again(tmp_path: Path) -> None:
    written(tmp_path, ["green"])
    for _ in range(2):
        store = FileStore(NOTES, tmp_path, tmp_path, tmp_path / "indexes")
        assert len(store.search("green", 1)) == 1
        store.close()
        for file in (tmp_path / "indexes").iterdir():
            file.write_bytes(b"nothing of the kind" * 100)


def test_passages_keep_all_of_a_text_and_say_where_it_is() -> None:
    text = (
        "intro\n\n# One #\n\nfirst\n\n```\n# no heading\n```\n## Two\nsecond\n\n# Three\n"
        + "word " * 1_000
        + "\n\nlast\n"
    )
    pieces = list(passages(text, markdown=True))
    assert [piece.place for piece in pieces[:3]] == ["line 1", "One (lines 3-9)", "One > Two (lines 10-11)"]
    assert pieces[3].place.startswith("Three (lines 13-14)")
    assert "".join("".join(piece.text for piece in pieces).split()) == "".join(text.split())
    assert all(len(piece.text) <= 2 * LONGEST for piece in pieces)
    plain = list(passages("# a\n\nb\n", markdown=False))
    assert [(piece.text, piece.place) for piece in plain] == [("# a\n\nb", "lines 1-3")]


def test_a_visit_keeps_the_version_that_it_began_with(tmp_path: Path) -> None:
    """A revision looks at the keys of visits again."""
    written(tmp_path, ["green"])
    stores = RunStores(tmp_path, leaves_nothing=True)
    place = StorePlace(NOTES, tmp_path, tmp_path)
    first = stores.version_for(place, Visit("FIND"))
    assert first == stores.version(place)
    written(tmp_path, ["green", "brown"])
    assert stores.version_for(place, Visit("FIND")) == first
    assert stores.version_for(place, Visit("FIND", "TURNS[2]")) == stores.version(place) != first
    (tmp_path / "notes.jsonl").unlink()
    assert stores.version_for(place, Visit("OTHER")) == ""
    stores.close()
