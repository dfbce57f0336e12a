"""Answers of several fields, each scored by a metric of its own, from the command line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Status, Step, serving
from tests.server.program import in_process, write

from merrow_optimizer.evaluation.summary import summary_of
from merrow_runtime.store.evaluations import ScoreRecord
from merrow_runtime.usage import NOTHING

FLOW = """---
workflow:
  types:
    Category: [billing, technical, sales]
    Triage: {category: Category, urgent: Bool, amount: Number, reply: Text}
---
flowchart LR
  PROBLEM([Mail]):::Interface
  SORT["Custom<br/>(prompt: Sort this mail., returns: Triage)"]
  RETURN([Answer]):::Interface
  PROBLEM -->|input| SORT
  SORT --> RETURN
  classDef Interface fill:#e2e2f2
"""
MAILS = [
    ("Invoice 12 is wrong", "billing", "true", "12", "sorry"),
    ("Invoice 7 came twice", "billing", "false", "7", "sorry"),
    ("Screen is black 0", "technical", "true", "0", "we help"),
    ("Buy 40 boxes", "sales", "false", "40", "thanks"),
]
FIELDS = ("--gold", "category=kind", "--gold", "urgent=urgent", "--gold", "amount=amount")
JUDGED = ("--metric", "reply=judge", "--metric-option", "reply.rubric=Is it kind?", "--metric-option")
MAIN = ("evaluate", "flow.mmd", "--dataset", "mails.csv", "--map", "problem=text")


def answer(request: Received) -> Step:
    """All right, but for invoice 7, which is taken for sales and for urgent."""
    text = request.body["messages"][-1]["content"]
    if "judge" in request.body["messages"][0]["content"]:
        return Reply(
            json.dumps(
                {
                    "reason": "kind",
                    "score": 10 if "sorry" in text.partition("answer to score")[2] and "half" not in text else 5,
                }
            )
        )
    category = "billing" if "Invoice 12" in text else "technical" if "Screen" in text else "sales"
    amount = next((int(word) for word in text.split() if word.isdigit()), 0)
    urgent = "Buy" not in text
    return Reply(json.dumps({"category": category, "urgent": urgent, "amount": amount, "reply": "sorry"}))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        write("flow.mmd", FLOW)
        rows = [f"m{number},{','.join(mail)},tecnical" for number, mail in enumerate(MAILS)]
        write("mails.csv", "\n".join(["id,text,kind,urgent,amount,reply,near", *rows]) + "\n")
        yield server


def test_each_field_has_a_score_by_its_type(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    done = in_process(capsys, *MAIN, *FIELDS, "--format", "json")
    assert done.code == 0, done.err
    report = done.json
    fields = report["fields"]
    assert {name: (field["score"], field["n"], field["metric"]) for name, field in fields.items()} == {
        "category": (0.75, 4, "exact"),
        "urgent": (0.75, 4, "exact"),
        "amount": (1.0, 4, "numeric"),
    }
    assert fields["category"]["confusion"] == {
        "billing": {"billing": 1, "sales": 1},
        "technical": {"technical": 1},
        "sales": {"sales": 1},
    }
    assert fields["category"]["recall"] == {"billing": 0.5, "technical": 1.0, "sales": 1.0}
    assert fields["category"]["precision"] == {"billing": 1.0, "technical": 1.0, "sales": 0.5}
    assert fields["urgent"]["confusion"] == {"true": {"true": 2}, "false": {"true": 1, "false": 1}}
    assert fields["amount"]["confusion"] is None
    lower, upper = fields["category"]["interval"]
    assert 0 < lower < 0.75 < upper < 1
    assert report["score"] == 0.75
    row = next(row for row in report["rows"] if row["item"] == "m1")
    assert next(iter(row)) == "inputs"
    assert (row["status"], row["inputs"]) == ("wrong", {"PROBLEM": "Invoice 7 came twice"})
    assert row["fields"]["category"] == {
        "value": 0.0,
        "read": "sales",
        "gold": "billing",
        "reason": "differs from the right answer",
    }
    assert row["fields"]["amount"]["value"] == 1
    assert "category: differs" in row["reason"]
    assert "amount" not in row["reason"]
    assert (row["read"], row["gold"]) == (
        "category: sales, urgent: true, amount: 7",
        "category: billing, urgent: false, amount: 7",
    )


def test_reports_have_a_column_for_each_field(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    done = in_process(capsys, *MAIN, *FIELDS)
    lines = done.out.splitlines()
    assert lines[0].split()[:6] == ["inputs", "category", "urgent", "amount", "item", "status"]
    assert "sales (expected billing)" in lines[1]
    assert "category=exact, urgent=exact, amount=numeric" in done.out
    assert [line.split() for line in lines if line.strip().startswith("billing")] == [["billing", "1", "1", "0.500"]]
    asked = len(server.requests)

    table = list(csv.DictReader(io.StringIO(in_process(capsys, *MAIN, *FIELDS, "--format", "csv").out)))
    assert list(table[0])[:4] == ["inputs", "category", "category.gold", "category.value"]
    assert [(row["item"], row["category"], row["category.gold"], row["urgent.value"]) for row in table[:1]] == [
        ("m1", "sales", "billing", "0.0")
    ]
    page = in_process(capsys, *MAIN, *FIELDS, "--format", "html").out
    assert "<th>inputs</th><th>category</th><th>urgent</th><th>amount</th><th>item</th>" in page
    assert "<figcaption>category: 0.750" in page
    cases = ElementTree.fromstring(in_process(capsys, *MAIN, *FIELDS, "--format", "junit").out).iter("testcase")  # noqa: S314
    failures = [case.findtext("failure") for case in cases if case.find("failure") is not None]
    assert ["category: sales (expected billing)" in (failure or "") for failure in failures] == [True]
    log = in_process(capsys, *MAIN, *FIELDS, "--format", "inspect").json
    assert [score["name"] for score in log["results"]["scores"]][1:] == [
        "category=exact",
        "urgent=exact",
        "amount=numeric",
    ]
    assert len(server.requests) == asked


def test_gates_ask_about_fields(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    done = in_process(
        capsys, *MAIN, *FIELDS, "--fail-under", "category=.9", "--fail-under", "Amount=1", "--fail-under", ".7"
    )
    assert done.code == 1
    assert [line for line in done.err.splitlines() if "Gate failed" in line] == [
        "Gate failed: The score of category, 0.750, is under 0.9."
    ]
    asked = len(server.requests)
    gates = ("--fail-under", "category=.9", "--fail-under", "Amount=1", "--fail-under", ".75")
    shown = in_process(capsys, *MAIN, *FIELDS, *gates, "--format", "json").json
    assert shown["gates"] == [
        {"field": "category", "least": 0.9, "score": 0.75, "passed": False},
        {"field": "amount", "least": 1.0, "score": 1.0, "passed": True},
        {"field": "", "least": 0.75, "score": 0.75, "passed": True},
    ]
    lower = in_process(capsys, *MAIN, *FIELDS, "--fail-under-lower", "amount=.9", "--fail-under", "category=.75")
    assert (lower.code, "of the interval of amount" in lower.err, "score of category" in lower.err) == (1, True, False)
    wrong = in_process(capsys, *MAIN, *FIELDS, "--fail-under", "categry=.9")
    assert (wrong.code, "did you mean `category`?" in wrong.err) == (2, True)
    twice = in_process(capsys, *MAIN, *FIELDS, "--fail-under", "category=.9", "--fail-under", "category=.8")
    assert twice.code == 2
    assert len(server.requests) == asked


def test_a_judge_scores_one_field(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    given = (*MAIN, "--gold", "category=kind", "--metric", "reply=judge", "--metric-option", "reply.rubric=Is it kind?")
    dry = in_process(capsys, *given, "--dry-run", "--format", "json").json
    assert dry["calls"] == {"least": 8, "most": 12}
    assert dry["judging"] == {"least": 4, "most": 8}
    assert "4 to 8 calls come on top" in in_process(capsys, *given, "--dry-run").out
    done = in_process(capsys, *given, "--format", "json").json
    assert {name: field["score"] for name, field in done["fields"].items()} == {"category": 0.75, "reply": 1.0}
    assert len(server.requests) == 8


@pytest.mark.parametrize(("said", "status"), [(Reply("I can't say."), "invalid"), (Status(400), "unanswered")])
def test_fields_of_an_answer_without_a_verdict_have_their_scores(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], said: Step, status: str
) -> None:
    def without_verdict(request: Received) -> Step:
        asked = str(request.body["messages"])
        return said if "judge" in asked and "Screen" in asked else answer(request)

    server.answer = without_verdict
    judged = ("--metric", "reply=judge", "--metric-option", "reply.rubric=Is it kind?", "--concurrency", "1")
    done = in_process(capsys, *MAIN, *FIELDS, *judged, "--format", "json").json
    row = next(row for row in done["rows"] if row["status"] == status)
    assert "Screen" in str(row["inputs"])
    assert row["fields"]["category"]["value"] == 1
    assert {name: field["n"] for name, field in done["fields"].items()} == {
        "category": 4, "urgent": 4, "amount": 4, "reply": 3,
    }  # fmt: skip
    assert sum(answers.get("technical", 0) for answers in done["fields"]["category"]["confusion"].values()) == 1
    server.answer = answer
    before = len(server.requests)
    in_process(capsys, "resume", done["evaluation"])
    again = in_process(capsys, "show", done["evaluation"], "--format", "json").json
    now = {name: field["n"] for name, field in again["fields"].items()}
    assert (now["reply"], len(server.requests) - before) == ((4, 1) if status == "unanswered" else (3, 0))


def test_a_judge_that_can_not_be_asked_is_not_asked_for_the_other_fields_of_an_answer(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.answer = lambda request: Status(400) if "judge" in str(request.body["messages"]) else answer(request)
    judged = [part for name in ("reply", "category") for part in ("--metric", f"{name}=judge")]
    rubrics = [part for name in ("reply", "category") for part in ("--metric-option", f"{name}.rubric=Is it right?")]
    data = ("evaluate", "flow.mmd", "--dataset", "mails.csv", "--map", "problem=text", "--limit", "1")
    done = in_process(capsys, *data, *judged, *rubrics, "--format", "json").json
    assert [row["status"] for row in done["rows"]] == ["unanswered"]
    assert len([one for one in server.requests if "judge" in str(one.body["messages"])]) == 1


@pytest.mark.parametrize(("threshold", "statuses"), [("", {"wrong"}), ("5", {"right"}), ("5.5", {"wrong"})])
def test_a_threshold_says_from_which_verdict_on_a_field_is_right(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], threshold: str, statuses: set[str]
) -> None:
    given = (*MAIN, "--metric", "reply=judge", "--metric-option", "reply.rubric=Is it half right?", "--format", "json")
    more = ("--metric-option", f"reply.threshold={threshold}") if threshold else ()
    assert {row["status"] for row in in_process(capsys, *given, *more).json["rows"]} == statuses


def test_a_whole_record_is_compared_with_a_record(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    right = {"category": "billing", "urgent": True, "amount": 12, "reply": "sorry"}
    write("mails.jsonl", json.dumps({"id": "m0", "text": "Invoice 12 is wrong", "all": right}) + "\n")
    given = ("evaluate", "flow.mmd", "--dataset", "mails.jsonl", "--map", "problem=text", "--gold", "all")
    assert in_process(capsys, *given, "--format", "json").json["score"] == 1.0


def test_what_was_answered_for_one_field_is_not_asked_again(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    first = in_process(capsys, *MAIN, "--gold", "category=kind", "--format", "json").json
    second = in_process(capsys, *MAIN, *FIELDS, "--format", "json").json
    assert len(server.requests) == 4
    compared = in_process(capsys, "evaluate", "--compare", first["evaluation"], second["evaluation"])
    assert compared.code == 2  # what is right is other data

    again = in_process(capsys, *MAIN, *FIELDS, "--format", "json").json
    both = in_process(
        capsys, "evaluate", "--compare", second["evaluation"], again["evaluation"], "--format", "json"
    ).json
    assert {name: each["difference"] for name, each in both["fields"].items()} == dict.fromkeys(second["fields"], 0.0)
    text = in_process(capsys, "evaluate", "--compare", second["evaluation"], again["evaluation"]).out
    assert "  category +0.000 " in text


def test_of_fields_for_whole_answers_the_last_one_counts(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    done = in_process(
        capsys, *MAIN, "--gold", "nothing", "--gold", "reply", "--dry-run", "--metric", "judge", "--metric", "contains"
    )
    assert done.code == 0, done.err
    assert not server.requests


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--gold", "categry=kind"), "did you mean `category`?"),
        (("--gold", "category=knd"), "did you mean `kind`?"),
        (("--metric", "replly=contains"), "did you mean `reply`?"),
        (("--gold", "category=reply"), "the right answer is not of type Category"),
        (("--gold", "category=near"), '"billing", "technical", "sales". Did you mean `technical`?\n'),
        (("--gold", "kind", "--gold", "category=kind"), "name the field of each"),
        (("--gold", "category=kind", "--metric", "category=labels"), "scores whole answers"),
        (("--gold", "reply=reply", "--metric-option", "rubric=x"), "No metric of a field has this option"),
        (("--gold", "reply=reply", "--metric-option", "amount.tolerance=1"), "The field is not scored"),
        (("--metric", "reply=judge"), 'needs the option `rubric`: --metric-option "reply.rubric=..."'),
        ((*JUDGED, "reply.threshold=11"), "above 0 and up to 10"),
        ((), ": --gold urgent=urgent --gold amount=amount --gold reply=reply."),
        (("--gold", "urgent"), "can't equal; name the field that it is for: --gold urgent=urgent."),
        (("--gold", "kind"), ": --gold FIELD=kind."),
    ],
)
def test_what_can_not_be_scored_is_one_sentence(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], given: tuple[str, ...], said: str
) -> None:
    done = in_process(capsys, *MAIN, *given)
    assert (done.code, said in done.err) == (2, True), done.err
    assert not server.requests


def test_outputs_are_fields_by_their_ids(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    two = FLOW.replace("  SORT --> RETURN", "  SORT --> RETURN\n  SORT -->|category:result| KIND([Kind]):::Interface")
    write("flow.mmd", two)
    golds = ("--gold", "kind=kind", "--gold", "return.urgent=urgent", "--gold", "reply=reply")
    done = in_process(capsys, *MAIN, *golds, "--format", "json")
    assert done.code == 0, done.err
    assert {name: field["score"] for name, field in done.json["fields"].items()} == {
        "KIND": 0.75,
        "RETURN.urgent": 0.75,
        "reply": 0.5,
    }


def test_the_file_beside_the_data_may_name_fields(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["[dataset]", 'map = {problem = "text"}', 'gold = {category = "kind", reply = "reply"}']
    write("mails.toml", "\n".join([*lines, "[dataset.metrics]", 'reply = {name = "f1"}', ""]))
    done = in_process(capsys, "evaluate", "flow.mmd", "--dataset", "mails.csv", "--format", "json")
    assert done.code == 0, done.err
    assert {name: field["metric"] for name, field in done.json["fields"].items()} == {
        "category": "exact",
        "reply": "f1",
    }


def test_an_item_that_failed_has_no_right_field(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    write("flow.mmd", FLOW.replace("returns: Triage", "returns: Triage, retries: 0"))
    server.answer = lambda request: Reply("no JSON") if "Screen" in str(request.body) else answer(request)
    done = in_process(capsys, *MAIN, *FIELDS, "--format", "json")
    assert done.json["answers"]["failed"] == 1, done.err
    assert done.json["fields"]["category"]["score"] == 0.5
    assert done.json["fields"]["category"]["confusion"]["technical"] == {"": 1}
    assert done.json["fields"]["category"]["recall"]["technical"] == 0
    asked = len(server.requests)
    again = in_process(capsys, *MAIN, "--gold", "category=kind", "--format", "json").json
    assert again["fields"]["category"]["confusion"]["technical"] == {"": 1}
    assert len(server.requests) == asked


def test_a_search_goes_by_the_lowest_of_the_fields(server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"m{number},{','.join(MAILS[number % 4])}" for number in range(12)]
    write("mails.csv", "\n".join(["id,text,kind,urgent,amount,reply", *rows]) + "\n")
    given = ("--small", "--strategy", "climb", "--budget-evaluations", "48", "--format", "json")
    done = in_process(capsys, "optimize", *MAIN[1:], *FIELDS, *given)
    assert done.code == 0, done.err
    [search] = in_process(capsys, "optimizations", "--format", "json").json
    assert search["metric"] == "category=exact, urgent=exact, amount=numeric"
    lines = in_process(capsys, "show", search["search"], "--format", "json").out.splitlines()
    start = next(one for one in map(json.loads, lines) if one["event"] == "candidate")
    assert (start["candidate"], start["mean"]) == (0, 0.75)
    wrong = in_process(capsys, "optimize", *MAIN[1:], "--gold", "categry=kind", *given)
    assert (wrong.code, "did you mean `category`?" in wrong.err) == (2, True)


def test_a_field_is_averaged_over_the_repeats_of_an_item() -> None:
    def score(item: str, repeat: int, value: float) -> ScoreRecord:
        fields = {"kind": {"value": value, "read": "a" if value else "b", "gold": "a", "reason": ""}}
        status = "right" if value else "wrong"
        return ScoreRecord(item, repeat, status, value, "", "", NOTHING, 0.0, "", b"", b"", fields=fields)

    scores = [score("q", 0, 1.0), score("q", 1, 0.0), score("r", 0, 1.0), score("r", 1, 1.0)]
    field = summary_of(scores, 2, 2, {"kind": {"metric": "exact", "labels": ["a", "b"]}}).fields["kind"]
    assert (field.counted, field.score) == (2, 0.75)
    assert field.confusion == {"a": {"a": 3, "b": 1}}
    assert (field.precision, field.recall) == ({"a": 1.0, "b": 0.0}, {"a": 0.75, "b": None})
