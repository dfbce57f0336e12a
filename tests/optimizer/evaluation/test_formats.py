"""Files of records: what is read from each format, and what is said of one that is broken."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.optimizer.evaluation.data_files import lines_of, problems_in, written

from merrow_optimizer.evaluation.data import read_items
from merrow_optimizer.evaluation.data.formats import DataRecord, read_records
from merrow_optimizer.evaluation.data.problems import Collector

ONE, TWO = {"question": "1 + 1?", "answer": "2"}, {"question": "2 + 2?", "answer": "4"}


def records(folder: Path, text: str | bytes, name: str = "data.jsonl") -> list[DataRecord]:
    problems = Collector(written(folder, text, name))
    found = list(read_records(problems))
    assert not problems.found
    return found


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (lines_of(ONE, TWO), [1, 2]),
        (f"\n\n{json.dumps(ONE)}\n  \n{json.dumps(TWO)}", [3, 5]),
        ("\ufeff" + lines_of(ONE, TWO), [1, 2]),
        (lines_of(ONE, TWO).replace("\n", "\r\n"), [1, 2]),
        (f"{json.dumps(ONE)}\n{json.dumps(TWO)}".replace("1 + 1", "1 +\u2028 1"), [1, 2]),
    ],
    ids=["plain", "blank lines, no last newline", "byte order mark", "CRLF", "a line separator inside a text"],
)
def test_json_lines(tmp_path: Path, text: str, lines: list[int]) -> None:
    found = records(tmp_path, text)
    assert [record.line for record in found] == lines
    assert [record.fields["answer"] for record in found] == ["2", "4"]


def test_a_line_of_five_megabytes(tmp_path: Path) -> None:
    text = "x" * 5_000_000
    assert records(tmp_path, lines_of({"question": text}))[0].fields["question"] == text
    assert records(tmp_path, f"question\n{text}\n", "data.csv")[0].fields["question"] == text


def test_csv(tmp_path: Path) -> None:
    text = '\ufeffquestion,answer\r\n"a, ""b""\r\nc",1\r\n\r\nd,2'
    found = records(tmp_path, text, "data.csv")
    assert [(record.line, record.fields) for record in found] == [
        (2, {"question": 'a, "b"\r\nc', "answer": "1"}),
        (5, {"question": "d", "answer": "2"}),
    ]


BROKEN = [
    ("data.jsonl", "", None, "The file has no records."),
    ("data.jsonl", "\ufeff \n\n", None, "The file has no records."),
    ("data.json", "[]", None, "The file has no records."),
    ("data.json", " ", None, "The file has no records."),
    ("data.csv", "question,answer\n", None, "The file has no records."),
    ("data.jsonl", b'{"a": 1}\n{"a": "\xff"}\n', 2, "The file isn't UTF-8 text here; save it as UTF-8."),
    ("data.jsonl", '{"a": 1}\n{"a": 1', 2, "This isn't valid JSON: Expecting ',' delimiter (column 8)."),
    ("data.jsonl", '{"a": 1}\n[1]\n', 2, "A record must be an object with fields; this is a list."),
    ("data.jsonl", "null", 1, "A record must be an object with fields; this is null."),
    ("data.jsonl", '{"a": NaN}', 1, "This isn't valid JSON: JSON has no NaN; write null or a number."),
    ("data.jsonl", '{"a": -Infinity}', 1, "This isn't valid JSON: JSON has no -Infinity; write null or a number."),
    ("data.jsonl", '{"a": 1e999}', 1, "This isn't valid JSON: 1e999 is too large for a number."),
    (
        "data.jsonl",
        f'{{"a": {"9" * 5000}}}',
        1,
        f"This isn't valid JSON: {'9' * 30}… has 5,000 digits; write it as text.",
    ),
    ("data.jsonl", f'{{"a": {"[" * 200_000}{"]" * 200_000}}}', 1, "nested too deeply"),
    ("data.jsonl", '{"a": "\\ud83d"}', 1, "half of a surrogate pair"),
    ("data.json", '[\n{"a": 1}\n{"a": 2}]', 3, "a comma or `]` is missing here"),
    ("data.json", '[{"a": 1},\n]', 2, "This isn't valid JSON"),
    ("data.json", '[{"a": 1}]\n[]', 2, "Nothing may follow the array."),
    ("data.json", '{"a": 1}', 1, "The file must be a JSON array of objects"),
    ("data.json", '[{"a": 1},\n 3]', 2, "A record must be an object with fields; this is a number."),
    ("data.csv", "a,b\n1,2\n1\n", 3, "The row has 1 cell, the header has 2."),
    ("data.csv", "a,b,a\n1,2,3\n", 1, "The header has `a` more than once"),
    ("data.json", '[{"a": 1}\n]\n\n[]', 4, "Nothing may follow the array."),
    ("data.csv", 'a,b\n1,"2\n', 2, "The row isn't valid CSV"),
    ("data.txt", "a", None, "Files named *.txt can't be read as data"),
    ("data", "a", None, "The file's name has no suffix"),
]


@pytest.mark.parametrize(("name", "text", "line", "sentence"), BROKEN)
def test_what_is_broken_is_said_with_its_line(
    tmp_path: Path, name: str, text: str | bytes, line: int | None, sentence: str
) -> None:
    [(at, _, said)] = problems_in(written(tmp_path, text, name))
    assert at == line
    assert sentence in said


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    [(line, _, said)] = problems_in(tmp_path / "none.jsonl")
    assert (line, said) == (None, "The file can't be read: No such file or directory.")


def test_a_name_that_no_set_has_is_answered_with_those_that_there_are(tmp_path: Path) -> None:
    [(_, _, said)] = problems_in(tmp_path / "arithmatic")
    assert said.endswith("The sets that come with Merrow are arithmetic, flow-tasks, handbook, mails and textcraft.")


def test_all_broken_lines_are_said_at_once(tmp_path: Path) -> None:
    found = problems_in(written(tmp_path, f'{{"a"\n{lines_of(ONE)}[]\n{{"a": NaN}}\n'))
    assert [line for line, _, _ in found] == [1, 3, 4]


texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
tables = st.lists(
    st.fixed_dictionaries({"id": st.integers(), "q": texts, "a": texts.filter(bool)}), min_size=1, max_size=8
)


@given(tables)
def test_the_formats_say_the_same(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]]) -> None:
    rows = list({row["id"]: row for row in rows}.values())
    folder = tmp_path_factory.mktemp("formats")
    table = io.StringIO(newline="")
    writer = csv.DictWriter(table, ["id", "q", "a"])
    writer.writeheader()
    writer.writerows(rows)
    files = [
        written(folder, "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)),
        written(folder, json.dumps(rows, indent=1), "data.json"),
        written(folder, table.getvalue(), "data.csv"),
    ]
    found = [{(item.id, item.inputs["q"], item.gold) for item in read_items(file, gold="a").items} for file in files]
    assert found[0] == found[1] == found[2] == {(str(row["id"]), row["q"], row["a"]) for row in rows}
