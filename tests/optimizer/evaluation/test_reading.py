"""Data sets: ids, parts, order, fields that are mapped, settings beside the file, and all that is refused."""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.optimizer.evaluation.data_files import lines_of, problems_in, written

from merrow_analysis.check import analyse
from merrow_optimizer.evaluation.data import DataError, DataSet, fitted, kept_items, read_items
from merrow_optimizer.evaluation.items import Item, RecordLocation, hash_of


def questions(count: int) -> list[dict[str, Any]]:
    return [{"id": f"q{number}", "question": f"{number} + 1?", "answer": number + 1} for number in range(count)]


def ids(data: DataSet) -> list[str]:
    return [item.id for item in data.items]


def test_a_record_without_an_id_has_its_hash(tmp_path: Path) -> None:
    rows = [{"question": "a", "answer": "b"}, {"question": "a", "answer": "c"}]
    first = read_items(written(tmp_path, lines_of(*rows)), gold="answer")
    second = read_items(written(tmp_path, lines_of(*reversed(rows))), gold="answer", mapping={"problem": "question"})
    assert sorted(ids(first)) == sorted(ids(second))
    assert all(len(each) == 12 for each in ids(first))


@given(st.integers(1, 60), st.randoms(use_true_random=False), st.integers(1, 60))
def test_neither_parts_nor_order_nor_hash_depend_on_the_file_s_order(
    tmp_path_factory: pytest.TempPathFactory, count: int, chance: random.Random, limit: int
) -> None:
    folder = tmp_path_factory.mktemp("order")
    rows = questions(count)
    before = written(folder, lines_of(*rows), "before.jsonl")
    chance.shuffle(rows)
    after = written(folder, lines_of(*rows), "after.jsonl")
    for part in ("validate", "test", "all") if count > 1 else ("validate", "all"):
        one, other = (read_items(file, gold="answer", part=part, limit=limit) for file in (before, after))
        assert (ids(one), one.hash, one.total) == (ids(other), other.hash, other.total)
        assert len(one.items) == min(limit, one.total)


@given(st.integers(2, 300))
def test_a_fifth_is_for_validation(tmp_path_factory: pytest.TempPathFactory, count: int) -> None:
    file = written(tmp_path_factory.mktemp("parts"), lines_of(*questions(count)))
    validate, test, everything = (read_items(file, gold="answer", part=part) for part in ("validate", "test", "all"))
    assert set(ids(validate)) | set(ids(test)) == set(ids(everything))
    assert not set(ids(validate)) & set(ids(test))
    assert len(validate.items) == max(1, round(count / 5))
    assert (validate.held_out, test.held_out, everything.held_out) == (False, True, False)


def test_the_parts_of_a_data_set_never_change() -> None:
    # A change of the split would turn items that a search has seen into held-out ones.
    from merrow_optimizer.evaluation.data.parts import split

    found = split([f"q{number}" for number in range(20)])
    assert found["validate"] == ["q6", "q1", "q5", "q11"]


def test_a_file_s_name_says_its_part(tmp_path: Path) -> None:
    text = lines_of(*questions(5))
    for name, part in (("x_validate.jsonl", "validate"), ("x-test.jsonl", "test"), ("latest.jsonl", "all")):
        data = read_items(written(tmp_path, text, name), gold="answer")
        assert (data.part, data.held_out, len(data.items)) == (part, part == "test", 5)
    assert read_items(tmp_path / "x-test.jsonl", gold="answer", part="all").part == "test"
    [(_, _, said)] = problems_in(tmp_path / "x-test.jsonl", gold="answer", part="validate")
    assert said.startswith("The file is the part `test` by its name")


def test_published_data_is_validated_on_a_fifth_by_default(tmp_path: Path) -> None:
    rows = [{"question": f"{number}?", "answer": str(number), "id": str(number)} for number in range(10)]
    data = read_items(written(tmp_path, lines_of(*rows), "gsm8k.jsonl"))
    assert (data.reader, data.part, len(data.items)) == ("gsm8k", "validate", 2)


def test_items_are_chosen_by_id_and_by_a_file_of_ids(tmp_path: Path) -> None:
    file = written(tmp_path, lines_of(*questions(9)))
    chosen = written(tmp_path, "\ufeffq3\r\n\r\nq4\n", "ids.txt")
    assert set(ids(read_items(file, gold="answer", items=["q1", f"@{chosen}"]))) == {"q1", "q3", "q4"}
    assert set(ids(read_items(file, gold="answer", items=["q1, q4", "q2"]))) == {"q1", "q4", "q2"}
    commas = written(
        tmp_path, lines_of({"id": "a,b", "q": "1"}, {"id": "a", "q": "2"}, {"id": "b", "q": "3"}), "c.jsonl"
    )
    assert ids(read_items(commas, items=["a,b"])) == ["a,b"]
    found = problems_in(file, gold="answer", items=["q1", "q44", "nothing at all"])
    assert [said for _, _, said in found] == [
        "There is no item `q44`; did you mean `q4`?",
        "There is no item `nothing at all`.",
    ]
    validate = {item.id for item in read_items(file, gold="answer", part="validate").items}
    [(_, _, said)] = problems_in(file, gold="answer", part="test", items=sorted(validate)[:1])
    assert "is not in the part `test`; read the part all" in said
    [(_, _, said)] = problems_in(file, gold="answer", items=["@none.txt"])
    assert said.startswith("The file of ids can't be read")


def test_settings_beside_the_data(tmp_path: Path) -> None:
    file = written(tmp_path, lines_of({"nr": 7, "q": "1 + 1?", "a": 2}))
    written(
        tmp_path,
        '[dataset]\nmap = {problem = "q"}\ngold = "a"\nid = "nr"\nmetric = {name = "numeric", tolerance = 0.5}\n',
        "data.toml",
    )
    data = read_items(file)
    assert (ids(data), data.items[0].inputs["problem"], data.items[0].gold) == (["7"], "1 + 1?", 2)
    assert (data.metric_name, data.metric_options) == ("numeric", {"tolerance": 0.5})
    assert read_items(file, mapping={"task": "q"}).items[0].inputs["task"] == "1 + 1?"


SETTINGS = [
    ("[dataset]\ngolds = 'a'", "dataset.golds", "did you mean `gold`?"),
    ("[dataset]\ngold = 3", "dataset.gold", "The value must be a text."),
    ("[dataset]\nmap = 'a'", "dataset.map", "must be a table of texts"),
    ("[dataset]\nmap = {a = 1}", "dataset.map", "must be a table of texts"),
    ("[dataset]\nmetric = {tolerance = 1}", "dataset.metric", "must be a name, or a table with a name"),
    ("dataset = 3", "dataset", "The value must be a table."),
    ("[dataset", None, "can't be read as TOML"),
]


@pytest.mark.parametrize(("text", "field", "sentence"), SETTINGS)
def test_wrong_settings(tmp_path: Path, text: str, field: str | None, sentence: str) -> None:
    written(tmp_path, text, "data.toml")
    [(_, at, said)] = problems_in(written(tmp_path, lines_of({"a": 1})))
    assert at == field
    assert sentence in said


WRONG: list[tuple[list[Any], dict[str, Any], list[tuple[int | None, str | None, str]]]] = [
    ([{"q": "a", "a": "b"}, {"q": "c"}], {"gold": "a"}, [(2, None, "The record has no field `a`")]),
    ([{"q": "a", "a": "b"}, {"q": "c", "a": None}], {"gold": "a"}, [(2, "a", "The value is null")]),
    (
        [{"q": "a", "a": "b"}] * 2,
        {"gold": "answer"},
        [(None, "answer", "No record has this field; the fields are `q`, `a`.")],
    ),
    ([{"q": "a", "answer": "b"}], {"gold": "anser"}, [(None, "anser", "did you mean `answer`?")]),
    ([{"q": "a", "a": "b"}], {"gold": "a", "mapping": {"p": "qq"}}, [(None, "qq", "which the input p is mapped to")]),
    (
        [{"q": "a", "a": "b"}, {"a": "c"}],
        {"gold": "a", "mapping": {"p": "q"}},
        [(2, None, "The record has no field `q`, which the input p is mapped to.")],
    ),
    (
        [{"id": 1, "q": "a"}, {"id": "1", "q": "b"}],
        {},
        [(2, None, "the same id `1` as the one in line 1; ids must be unique")],
    ),
    ([{"q": "a"}, {"q": "a"}], {}, [(2, None, "it has none of its own, and the records are equal")]),
    (
        [{"id": 1.5}, {"id": True}, {"id": ""}, {"id": []}],
        {},
        [(n, None, "An id must be a text or a whole") for n in (1, 2, 3, 4)],
    ),
    ([{"q": "a"}], {"part": "tests"}, [(None, None, "There is no part `tests`; did you mean `test`?")]),
    ([{"q": "a"}], {"part": "test"}, [(None, None, "The part `test` has no items")]),
    ([{"q": "a"}], {"limit": 0}, [(None, "limit", "The limit must be at least 1.")]),
    ([{"q": "a"}], {"reader": "gsm8"}, [(None, None, "There is no reader `gsm8`; did you mean `gsm8k`?")]),
    ([{"q": "a"}], {"reader": "gsm8k", "gold": "a"}, [(None, None, "The reader gsm8k knows its fields")]),
    ([{"question": "a", "answer": 3}], {"reader": "gsm8k"}, [(1, "answer", "The value must be a text, not a number.")]),
    ([{"question": "a"}], {"reader": "gsm8k"}, [(None, "answer", "No record has this field")]),
    (
        [{"question": "a", "answer": "b", "context": [["title", "text"]]}],
        {"reader": "hotpotqa"},
        [(1, "context", "Each paragraph must be a title and a list of sentences")],
    ),
]


@pytest.mark.parametrize(("rows", "options", "wanted"), WRONG)
def test_every_mistake_is_said_with_its_line_and_field(
    tmp_path: Path, rows: list[Any], options: dict[str, Any], wanted: list[tuple[int | None, str | None, str]]
) -> None:
    found = problems_in(written(tmp_path, lines_of(*rows)), **options)
    assert [(line, field) for line, field, _ in found] == [(line, field) for line, field, _ in wanted]
    for (_, _, said), (_, _, sentence) in zip(found, wanted, strict=True):
        assert sentence in said


def test_an_empty_cell_is_no_right_answer(tmp_path: Path) -> None:
    file = written(tmp_path, "q,a\nx,1\ny,\n,2\n", "data.csv")
    assert problems_in(file, gold="a") == [(3, "a", "The cell is empty; give a value, or remove the row.")]


def test_an_error_shows_its_first_problems_and_counts_the_others(tmp_path: Path) -> None:
    file = written(tmp_path, lines_of({"q": "a", "a": "b"}, *({"q": str(number)} for number in range(30))))
    with pytest.raises(DataError) as raised:
        read_items(file, gold="a")
    shown = str(raised.value).split("\n")
    assert shown[0] == f"{file}:2: The record has no field `a`, which the reader own needs."
    assert (len(shown), shown[-1]) == (21, "(10 more problems.)")


def test_what_an_item_s_hash_depends_on(tmp_path: Path) -> None:
    def only(**changed: Any) -> str:
        row = {"id": "1", "question": "a", "answer": "b"} | changed
        return hash_of(read_items(written(tmp_path, lines_of(row)), gold="answer").items[0])

    assert only() == only(id="2")
    assert len({only(), only(question="c"), only(answer="c"), only(more=1)}) == 4


ONE_INPUT = """\
flowchart TD
    PROBLEM([problem])
    SOLVE["Custom<br/>(prompt: 'Solve it.')"]
    RETURN([Return response & cost])
    class PROBLEM Interface
    class SOLVE CustomOp
    class RETURN Interface
    PROBLEM -->|input| SOLVE
    SOLVE --> RETURN
"""


def graph_of(text: str) -> Any:
    typed = analyse(text).typed
    assert typed is not None
    return typed


def test_items_are_fitted_to_the_inputs_of_a_workflow(tmp_path: Path) -> None:
    graph = graph_of(ONE_INPUT)
    file = written(tmp_path, lines_of({"id": 1, "Problem": 3}, {"id": 2, "Problem": "x"}))
    data = read_items(file)
    assert dict(fitted(data, graph)) == {
        "1": {"PROBLEM": "3"},
        "2": {"PROBLEM": "x"},
    }


@pytest.mark.parametrize("in_memory", [0, 1 << 20])
def test_items_stay_as_they_were_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_memory: int) -> None:
    monkeypatch.setattr(kept_items, "_IN_MEMORY", in_memory)
    rows = [{"id": n, "problem": f"ä {n} \u2028", "more": [1.5, None, {"a": True}], "answer": n} for n in range(600)]
    file = written(tmp_path, lines_of(*rows))
    data = read_items(file, gold="answer")
    before = list(data.items)
    file.write_text("something else")
    assert sorted(data.items, key=lambda item: int(item.id)) == [
        Item(str(n), {"problem": f"ä {n} \u2028", "more": [1.5, None, {"a": True}]}, n, {}, RecordLocation(file, n + 1))
        for n in range(600)
    ]
    assert list(data.items) == before
    assert (data.items[-1], data.items[3:5]) == (before[-1], before[3:5])
    with pytest.raises(IndexError):
        data.items[600]
    assert [values["PROBLEM"] for values in fitted(data, graph_of(ONE_INPUT)).values()] == [
        item.inputs["problem"] for item in before
    ]


def test_items_that_there_is_no_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_items, "_IN_MEMORY", 1)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    file = written(tmp_path, lines_of(*questions(3)))
    with pytest.raises(DataError) as raised:
        read_items(file)
    assert str(raised.value) == (
        f"{file}: The items can't be kept in {tmp_path / 'gone'}: No such file or directory. Make room there, or set TMPDIR to"
        " another folder."
    )


def test_inputs_that_no_field_feeds(tmp_path: Path) -> None:
    data = read_items(written(tmp_path, lines_of({"question": "x"})))
    with pytest.raises(
        DataError, match=r"No field feeds the input PROBLEM; map one, for example --map problem=question"
    ):
        fitted(data, graph_of(ONE_INPUT))


def test_values_that_an_input_does_not_take(tmp_path: Path) -> None:
    rows = [{"id": 1, "problem": ["x"]}, {"id": 2, "problem": None}, {"id": 3, "problem": {"a": 1}}, {"id": 4}]
    data = read_items(written(tmp_path, lines_of(*rows)))
    with pytest.raises(DataError) as raised:
        fitted(data, graph_of(ONE_INPUT))
    assert [(problem.line, problem.field) for problem in raised.value.problems] == [
        (n, "problem") for n in (1, 2, 3, 4)
    ]
    assert "The value is null; the input PROBLEM needs one." in str(raised.value)
    assert "The value is missing; the input PROBLEM needs one." in str(raised.value)
    assert "The value is a list; the input PROBLEM takes a text." in str(raised.value)


def test_five_thousand_records_are_read_in_time_linear_in_them(tmp_path: Path) -> None:
    rows = [{"id": number, "question": "x" * 500, "answer": number} for number in range(5000)]
    data = read_items(written(tmp_path, json.dumps(rows), "data.json"), gold="answer")
    assert data.total == 5000
