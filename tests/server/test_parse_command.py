"""``merrow parse --jsonl``: an answer for each line, in order, as they come."""

import json
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE
from tests.server.program import in_process, merrow


def ask(*questions: object) -> list[dict[str, object]]:
    outcome = merrow("parse", "--jsonl", stdin="".join(json.dumps(question) + "\n" for question in questions))
    assert (outcome.code, outcome.err) == (0, "")
    return [json.loads(line) for line in outcome.out.split("\n")[:-1]]


def test_each_text_is_answered_in_order() -> None:
    good, bad = ask({"id": "a", "text": "flowchart LR\n  A --> B"}, {"id": 7, "text": "flowchart TD\n  A[x\n"})
    assert set(good) == {"id", "ok", "line", "error", "structure"}
    assert (good["id"], good["ok"], good["line"], good["error"]) == ("a", True, None, None)
    assert good["structure"]["direction"] == "LR"  # type: ignore[index]
    assert (bad["id"], bad["ok"], bad["structure"]) == (7, False, None)
    assert isinstance(bad["error"], str)


def test_only_line_feeds_end_a_question() -> None:
    texts = ["flowchart TD\r\nA", "flowchart TD\u2028A", "flowchart TD\n A[\x85]", "flowchart TD\n A[\ud800]"]
    raw = "".join(json.dumps({"id": text, "text": text}) + "\n" for text in texts)
    unescaped = json.dumps({"id": 4, "text": "flowchart TD\n A[\u2028\x85]"}, ensure_ascii=False) + "\n"
    outcome = merrow("parse", "--jsonl", stdin=raw + unescaped)
    answers = [json.loads(line) for line in outcome.out.split("\n")[:-1]]
    assert [answer["id"] for answer in answers] == [*texts, 4]
    assert outcome.out.isascii()


@pytest.mark.parametrize(
    "line", ["nonsense", "[]", "5", "null", '{"id": 1}', '{"text": "x"}', '{"id": 2, "text": 5}', "[" * 100_000]
)
def test_a_line_that_asks_nothing_is_answered_and_the_code_is_2(line: str) -> None:
    good = json.dumps({"id": 1, "text": "flowchart TD\n A"})
    outcome = merrow("parse", "--jsonl", stdin=f"{good}\n{line}\n{good}\n")
    assert outcome.code == 2
    answers = [json.loads(each) for each in outcome.out.splitlines()]
    assert [answer["ok"] for answer in answers] == [True, False, True]
    assert set(answers[1]) == {"id", "ok", "line", "error", "structure"}
    assert answers[1]["error"].startswith("Line 2 ")


def test_a_last_line_without_line_feed_and_bytes_that_are_no_text() -> None:
    assert json.loads(merrow("parse", "--jsonl", stdin='{"id": 1, "text": "flowchart TD"}').out)["ok"]
    assert merrow("parse", "--jsonl", stdin=b'{"id": 1, "text": "\xff"}\n').code == 2
    assert merrow("parse", "--jsonl").out == ""


def test_an_answer_comes_before_the_next_question_is_asked() -> None:
    program = subprocess.Popen(
        [sys.executable, "-m", "merrow_server", "parse", "--jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert program.stdin is not None
    assert program.stdout is not None
    for number in range(3):
        program.stdin.write(json.dumps({"id": number, "text": "flowchart TD\n A --> B"}).encode() + b"\n")
        program.stdin.flush()
        assert json.loads(program.stdout.readline())["id"] == number
    program.stdin.close()
    assert program.wait(PATIENCE) == 0
    program.stdout.close()


def test_without_jsonl_it_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert "add --jsonl" in in_process(capsys, "parse").err


@settings(max_examples=5, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=20))
def test_any_texts_are_answered(texts: list[str]) -> None:
    answers = ask(*({"id": number, "text": "flowchart TD\n" + text} for number, text in enumerate(texts)))
    assert [answer["id"] for answer in answers] == list(range(len(texts)))
