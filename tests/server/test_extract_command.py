"""``merrow extract`` against an endpoint on loopback with scripted answers."""

from __future__ import annotations

import html
import json
import os
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.optimizer.extraction.harness import MARKS, rows_file
from tests.optimizer.extraction.planted import World, identity, shown_parts
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step, serving
from tests.server.program import Outcome, merrow
from tests.shared import SHARED

MODELS = ("--model", "m", "--optimizer-model", "g")
WORLD = World(5, operators=4, cases=12, weak=0.2)


PLAIN = """flowchart TD
    PROBLEM([Problem]):::Interface
    A["AnswerGenerate<br/>"]
    RETURN([Answer]):::Interface
    PROBLEM --> A --> RETURN
    classDef Interface fill:#eee
"""


def answer(request: Received) -> Step:
    return Reply(WORLD.answer(request.body), delay=0.005)


def is_run(request: Received) -> bool:
    """Whether a step of a case is carried out, and nothing is asked of the model that extracts."""
    said = request.body["messages"][0]["content"]
    return not any(mark in said for mark in MARKS.values())


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        rows_file(tmp_path, WORLD.rows())
        yield server


def extract(*more: str, out: str = "out") -> Outcome:
    Path(out).mkdir(exist_ok=True)
    return merrow("extract", "math_validate.jsonl", *MODELS, "-o", f"{out}/operators.yaml", *more)


def written(folder: str) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in sorted(Path(folder).rglob("*")) if one.is_file()}


@pytest.mark.slow
def test_from_cases_to_files_that_check_and_run(server: OpenAIServer) -> None:
    done = extract("--format", "json", "--record", "answers.jsonl")
    assert done.code == 0, done.err
    shown = done.json
    report = json.loads(Path("out/operators.report.json").read_text(encoding="utf-8"))
    assert report == shown["report"]
    assert {"operators.yaml", "operators.report.html", "operators.report.json"} <= written("out").keys()
    checked = merrow("check", "out/cases", "out/start", "out/operators.yaml", "--format", "json")
    assert checked.json == []
    assert len(list(Path("out/cases").glob("*.mmd"))) == 12
    # The first lines say what it may cost, by stage.
    assert "Stage 1, initial steps: 12 to 36 calls" in done.err
    stages = merrow("extract", "math_validate.jsonl", *MODELS, "--dry-run", "--format", "json").json["stages"]
    asked = Counter("run" if is_run(one) else "asked" for one in server.requests)
    assert [one["stage"] for one in stages] == [1, 2, 3, 4, 5]
    bound = sum(one["calls"]["most"] for one in stages[:4])
    assert asked["asked"] <= bound
    assert shown["usage"]["calls"] == len(server.requests) <= bound + stages[4]["calls"]["most"]
    # It is in the journal.
    listed = merrow("runs", "--kind", "extraction", "--format", "json").json
    assert [one["extraction"] for one in listed] == [shown["extraction"]]
    again = merrow("show", shown["extraction"])
    assert again.code == 0
    assert "The set covers" in again.out
    assert sentences_of_the_page() == again.out.partition("\n\n")[2].splitlines()
    # A rewritten case runs.
    case = sorted(Path("out/cases").glob("*.mmd"))[0]
    ran = merrow("run", str(case), "--input", "PROBLEM=Problem 3: what?", "--model", "m")
    assert ran.code == 0, ran.err
    assert "1003" in ran.out
    # The recording gives the same bytes without the endpoint, and so does a resume of what has ended.
    before, calls = written("out"), len(server.requests)
    replayed = extract("--replay", "answers.jsonl", out="replayed")
    assert replayed.code == 0, replayed.err
    new = merrow("runs", "--kind", "extraction", "--format", "json").json[0]["extraction"]
    assert replayed.out.splitlines() == merrow("show", new).out.splitlines()[1:]
    assert re.fullmatch(
        r"The recording gave all \d+ answers: no call was made, and nothing was paid\.", replayed.err.splitlines()[-3]
    )
    assert replayed.err.splitlines()[-2:] == [
        "replayed/operators.yaml is written, with its report, cases/ and start/ beside it.",
        f"Extraction {new}: see it again with: merrow show {new}",
    ]
    bare = {name: text for name, text in before.items() if ".report." not in name}  # which has what was paid
    assert {name: text for name, text in written("replayed").items() if name in bare} == bare
    assert merrow("resume", shown["extraction"]).code == 0
    assert written("out") == before
    assert len(server.requests) == calls
    # Another one finds all answers known, and says so.
    known = extract("--format", "json", out="known")
    assert (known.json["usage"]["calls"], len(server.requests)) == (0, calls)
    assert {name: text for name, text in written("known").items() if name in bare} == bare
    # The order of cases has no influence.
    lines = Path("math_validate.jsonl").read_text(encoding="utf-8").splitlines()
    Path("math_validate.jsonl").write_text("\n".join(reversed(lines)), encoding="utf-8")
    assert extract("--replay", "answers.jsonl", out="other").code == 0
    assert written("other") == written("replayed")


@pytest.mark.slow
def test_a_damaged_extraction_hides_no_other_and_can_be_deleted(server: OpenAIServer) -> None:
    for out in ("one", "other"):
        assert extract(out=out).code == 0
    whole, hurt = (one["extraction"] for one in merrow("runs", "--kind", "extraction", "--format", "json").json)
    with closing(sqlite3.connect(Path("state") / "runs.sqlite")) as database, database:
        sql = "UPDATE extracted SET said = '[]' WHERE extraction = (SELECT number FROM extractions WHERE id = ?)"
        assert database.execute(sql, (hurt,)).rowcount > 0
    sentence = (
        f"merrow: The record of extraction {hurt} is damaged in the journal; begin another extraction."
        f" To remove it, use: merrow runs --kind extraction --delete {hurt}\n"
    )
    shown = merrow("runs", "--kind", "extraction", "--format", "json")
    assert (shown.code, [one["extraction"] for one in shown.json], shown.err) == (0, [whole], sentence)
    for command in ("show", "resume"):
        assert (merrow(command, hurt).code != 0, merrow(command, hurt).err) == (True, sentence)
    assert merrow("runs", "--kind", "extraction", "--delete", hurt).code == 0
    assert merrow("runs", "--kind", "extraction", "--format", "json").err == ""


@pytest.mark.slow
def test_what_a_budget_does_not_cover_is_refused_before_the_first_call(server: OpenAIServer) -> None:
    refused = extract("--budget-tokens", "100")
    assert refused.code == 2
    assert "The budget of 100 tokens does not cover stage 1, a question about each of 12 cases, which" in refused.err
    assert re.search(r"uses at least \d\d,\d{3} \(--budget-tokens\)", refused.err), refused.err
    unpriced = extract("--budget-usd", "1")
    assert unpriced.code == 2
    assert server.requests == []


@pytest.mark.slow
def test_a_budget_that_ends_on_the_way_can_be_raised(server: OpenAIServer) -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 100, "total_tokens": 1000}
    server.answer = lambda request: Reply(WORLD.answer(request.body), usage=usage)
    stopped = extract("--budget-tokens", "30000")
    identity_ = merrow("runs", "--kind", "extraction", "--format", "json").json[0]["extraction"]
    assert (stopped.code, stopped.out) == (1, "")
    *_, why, how = stopped.err.splitlines()
    assert why.startswith("merrow: The budget of 30000 tokens is used up (")
    continued = f"Stopped before its end; what is finished is kept. Continue it with: merrow resume {identity_}"
    assert how == continued
    more = merrow("resume", identity_, "--budget-tokens", "45000", "--json")
    assert (more.code, more.json["extraction"], more.json["status"], more.json["report"]) == (
        1,
        identity_,
        "stopped",
        None,
    )
    assert more.err.splitlines()[-1] == continued
    shown = merrow("show", identity_)
    assert shown.code == 0
    head, why, _ = shown.out.splitlines()
    assert re.fullmatch(rf"{identity_}  stopped  [0-9.]+ s ago  math_validate\.jsonl \(part validate, (\w+)\)", head), (
        head
    )
    assert why.startswith("The budget of 45000 tokens is used up (")
    assert shown.out.endswith(f" so far. Continue it with: merrow resume {identity_}\n")
    listed = merrow("runs", "--kind", "extraction")
    [row] = listed.out.splitlines()
    assert re.fullmatch(
        rf"{identity_}  stopped  [0-9.]+ s ago  no operators  cost unknown  math_validate\.jsonl \(validate\)", row
    ), row
    assert listed.err == ""
    cancelled = merrow("cancel", identity_)
    sentence = f"merrow: No process works on extraction {identity_}: it is stopped.\n"
    assert (cancelled.code, cancelled.err) == (1, sentence)
    asked = len(server.requests)
    whole = "An extraction is shown as a whole, as text, json or html."
    for arguments, told in (
        (("resume", identity_, "--verbose"), f"--verbose goes with a run; {identity_} is an extraction."),
        (("resume", identity_, "--record", "x"), f"--record goes with a run; {identity_} is an extraction."),
        (("resume", identity_, "--jobs", "2"), f"--jobs goes with a search; {identity_} is an extraction."),
        (
            ("resume", identity_, "--fail-under", "1"),
            f"Gates such as --fail-under go with an evaluation; {identity_} is an extraction.",
        ),
        (
            ("resume", identity_, "--reuse", "same"),
            f"Extraction {identity_} goes by the answers that it has; choose --reuse any to keep them, or begin another "
            "extraction.",
        ),
        (("show", identity_, "--revision", "1"), f"--revision goes with a run; {identity_} is an extraction."),
        (
            ("show", identity_, "--format", "html"),
            f"Extraction {identity_} has no operators yet, so there is no page of it.",
        ),
        (("show", identity_, "--item", "1"), whole),
    ):
        refused = merrow(*arguments)
        assert (refused.code, refused.out, refused.err) == (2, "", f"merrow: {told}\n")
    assert len(server.requests) == asked
    resumed = merrow("resume", identity_, "--budget-tokens", "9000000")
    assert resumed.code == 0, resumed.err
    bodies = [json.dumps(one.body, sort_keys=True) for one in server.requests]
    assert set(bodies[:asked]).isdisjoint(bodies[asked:])
    assert re.search(r"  \d operators?  ", merrow("runs", "--kind", "extraction").out)
    deleted = merrow("runs", "--kind", "extraction", "--delete", identity_[:8])
    assert (deleted.code, deleted.out) == (0, ""), deleted.err
    gone = merrow("runs", "--kind", "extraction")
    assert (gone.out, gone.err) == ("", "No extractions yet; make one with: merrow extract CASES\n")


@pytest.mark.slow
def test_an_empty_answer_goes_back_as_any_other_that_can_not_be_used(server: OpenAIServer) -> None:
    """The endpoint gives no text: it is asked again with what is wrong, at most twice; a recording has it, too."""
    always = server.answer

    def now_and_then(request: Received) -> Step:
        if "Problem 3:" in request.prompt and not is_run(request):
            return Reply("")
        first = is_run(request) or any("can't be used" in one["content"] for one in request.body["messages"])
        return always(request) if first or "Problem 4:" not in request.prompt else Reply(" ")

    server.answer = now_and_then
    done = extract("--format", "json", "--paths", "1", "--record", "answers.jsonl")
    assert done.code == 0, done.err
    report = done.json["report"]
    assert report["cases"]["unusable"] == ["c3"]
    assert (report["answers"]["1"]["valid_after_repair"], report["answers"]["1"]["never_valid"]) == (1, 1)
    assert sum("Problem 3:" in one.prompt and not is_run(one) for one in server.requests) <= 3
    calls = len(server.requests)
    assert extract("--paths", "1", "--replay", "answers.jsonl", out="replayed").code == 0
    assert len(server.requests) == calls
    assert written("replayed")["operators.yaml"] == written("out")["operators.yaml"]


def sentences_of_the_page() -> list[str]:
    """What the report says first: sentences, before any heading."""
    page = Path("out/operators.report.html").read_text(encoding="utf-8")
    return [html.unescape(one) for one in re.findall(r"<p>(.*?)</p>", page.partition("<h2>")[0])]


@pytest.mark.slow
def test_a_dry_run_says_in_words_what_each_stage_may_cost(server: OpenAIServer) -> None:
    stages = {
        "Stage 1, initial steps: 12 to 36 calls, 14,113 to 343,878 tokens": "$0.0282 to $0.6878",
        "Stage 2, groups: 1 to 570 calls, 3,400 to 7,980,000 tokens": "$0.0068 to $15.9600",
        "Stage 3, deepening: 6 to 54 calls, 20,400 to 756,000 tokens": "$0.0408 to $1.5120",
        "Stage 4, choice: 1 to 288 calls, 3,400 to 4,032,000 tokens": "$0.0068 to $8.0640",
        "Stage 5, runs of cases: 24 to 172,800 calls, 220,800 to 1,589,760,000 tokens": "$0.4416 to $3179.5200",
    }
    first = (
        "12 cases of math_validate.jsonl (part validate): 8 to extract from, 4 to probe the set with. g names operators, m"
        " carries them out."
    )
    for price in (None, 0, 2):
        if price is not None:
            (path := Path("config/config.toml")).parent.mkdir(exist_ok=True)
            path.write_text(f'[prices."{server.origin}"."*"]\ninput = {price}\noutput = {price}\n', encoding="utf-8")
        told = extract("--dry-run")
        assert (told.code, told.err, server.requests) == (0, "", [])
        said = [
            f"{stage}, {'price unknown' if price is None else cost if price else '$0'}."
            for stage, cost in stages.items()
        ]
        assert told.out.splitlines() == [first, *said, "No call was made."]
    lean = extract("--dry-run", "--without", "clustering")
    assert "\nStage 2, groups: left out.\n" in lean.out


@pytest.mark.slow
def test_a_model_puts_paths_together_or_they_are_left_out(server: OpenAIServer) -> None:
    """Each alone, but not both."""
    combined, left_out = ("--aggregate", "model"), ("--without", "deep")
    both = extract("--dry-run", *combined, *left_out)
    assert (both.code, both.out) == (2, "")
    assert both.err == (
        "merrow: --aggregate model puts paths together, and --without deep leaves them out; choose one of them.\n"
    )
    assert [extract("--dry-run", *one).code for one in (combined, left_out)] == [0, 0]


@pytest.mark.slow
def test_the_embedded_model_names_nothing_useful(server: OpenAIServer) -> None:
    done = extract("--base-url", "offline")
    assert (done.code, done.out) == (1, "")
    *_, paid, why = done.err.splitlines()
    assert paid.startswith("Paid by this extraction: ")
    assert why.startswith("merrow: ")
    assert "names nothing useful" in why
    assert list(Path("out").iterdir()) == []
    again = extract("--base-url", "offline", "--format", "json")
    assert (again.code, again.json["status"], again.json["report"]["why_nothing"]) == (
        1,
        "finished",
        why.removeprefix("merrow: "),
    )
    assert again.err.splitlines()[-1] == why
    assert "Paid by" not in again.err


def test_files_that_no_extraction_wrote_stay(server: OpenAIServer) -> None:
    Path("out").mkdir()
    Path("out/operators.yaml").write_text("operators: {}\n", encoding="utf-8")
    refused = extract()
    assert refused.code == 2
    assert "no extraction wrote it" in refused.err
    if os.name == "posix":
        Path("out/operators.yaml").unlink()
        Path("elsewhere").mkdir()
        Path("out/cases").symlink_to("../elsewhere")
        refused = extract()
        assert (refused.code, "out/cases is a link to another place" in refused.err) == (2, True), refused.err
        Path("out/cases").unlink()
        Path("out/operators.yaml").write_text("operators: {}\n", encoding="utf-8")
    Path("out/operators.yaml").unlink()
    Path("out/cases").mkdir()
    Path("out/cases/mine.mmd").write_text("flowchart TD\n", encoding="utf-8")
    assert extract().code == 2
    assert server.requests == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "The file has no records."),
        ('{"problem": "x"\n', ".jsonl:1:"),
        ('{"problem": "x", "solution": 7}\n', "solution"),
        ('{"problem": "x"}\n{"problem": "y"}\n', "solution"),
        (
            '{"problem": "x", "solution": ""}\n{"problem": "y"}\n{"problem": "z", "solution": "1"}\n',
            "2 of 3 cases have no solution",
        ),
    ],
)
def test_data_that_can_not_be_used(server: OpenAIServer, text: str, told: str) -> None:
    Path("math_validate.jsonl").write_text(text, encoding="utf-8")
    refused = extract()
    assert refused.code == 2
    assert told in refused.err
    assert server.requests == []


def test_a_file_that_is_not_there(server: OpenAIServer) -> None:
    refused = merrow("extract", "nobody.jsonl")
    assert refused.code == 2
    assert refused.err.splitlines() == ["merrow: nobody.jsonl: The file can't be read: No such file or directory."]


def solved(number: int, **more: Any) -> dict[str, Any]:
    return {"problem": f"Add 1 to {number}.", "solution": f"It is \\boxed{{{number + 1}}}.", **more}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "more", "first", "note"),
    [
        ([solved(number) for number in range(49)], (), "49 cases of math.jsonl (part all): ", None),
        ([solved(number) for number in range(50)], (), "10 cases of math.jsonl (part validate): ", None),
        (
            [solved(number) for number in range(50)],
            ("--part", "test"),
            "40 cases of math.jsonl (part test): ",
            "The part test is held out, for final figures only; what is extracted from it can't be tested with it.",
        ),
        ([solved(1, id=1), solved(1, id=2)], (), "2 cases of", "All cases are the same."),
        ([solved(1, id=1), solved(1, id=2), solved(2)], (), "3 cases of", None),
        (
            [solved(1), solved(2), {"problem": "x"}, {"problem": "y"}],
            (),
            "2 cases of math.jsonl (part all): ",
            "2 cases have no solution and are left out.",
        ),
    ],
    ids=["few", "enough for parts", "held out", "equal", "two equal", "half"],
)
def test_which_cases_it_takes_is_said_before_the_first_call(
    server: OpenAIServer, rows: list[dict[str, Any]], more: tuple[str, ...], first: str, note: str | None
) -> None:
    rows_file(Path(), rows, "math.jsonl")
    told = merrow("extract", "math.jsonl", *MODELS, "--dry-run", *more)
    assert told.code == 0, told.err
    assert told.out.startswith(first)
    assert [line for line in told.out.splitlines() if line.startswith("Note: ")] == ([f"Note: {note}"] if note else [])


@pytest.mark.slow
def test_cases_without_a_solution_are_left_out_and_counted(server: OpenAIServer) -> None:
    rows = WORLD.rows()
    rows[0]["solution"] = " "
    rows_file(Path(), rows)
    done = extract("--format", "json")
    assert done.code == 0, done.err
    assert "1 case has no solution and is left out" in done.err
    cases = done.json["report"]["cases"]
    assert cases["without_solution"] == 1
    # A search, with other ids and other items beside them: the cases that operators were drawn from score nobody.
    drawn = len(cases["extracted_from"])
    for more, told in (
        (20, f"{drawn} items that the operators were drawn from score nobody"),
        (10, "fewer than 20 others"),
    ):
        others = [*(one["problem"] for one in rows), *(f"Is {number} odd?" for number in range(more))]
        rows_file(Path(), [{"question": one, "answer": "yes"} for one in others], "other.jsonl")
        own = ("--dataset", "other.jsonl", "--map", "PROBLEM=question", "--gold", "answer", "--part", "all")
        asked = merrow("optimize", "--operators", "out/operators.yaml", *own, "--model", "m", "--dry-run")
        assert asked.code == 0, asked.err
        assert told in asked.out + asked.err


@pytest.mark.slow
def test_data_of_ones_own_by_the_mapping_of_evaluations(server: OpenAIServer) -> None:
    rows = [{"question": one["problem"], "worked": one["solution"], "gold": one["solution"]} for one in WORLD.rows()]
    rows_file(Path(), rows, "own.jsonl")
    Path("out").mkdir()
    done = merrow(
        *(
            "extract",
            "own.jsonl",
            "--map",
            "problem=question",
            "--gold",
            "gold",
            "--solution",
            "worked",
            "--metric",
            "math",
        ),
        *(*MODELS, "-o", "out/operators.yaml", "--format", "json"),
    )
    assert done.code == 0, done.err
    assert done.json["report"]["coverage"]["probe"]["share"] > 0


def plain_answer(request: Received) -> Step:
    """Two steps for any data: an analysis and an answer, or a function that is tested."""
    messages = request.body["messages"]
    said: Any = "Nothing is known."
    if len(messages) > 1:
        system, shown = messages[0]["content"], shown_parts(messages[1]["content"])
        if "The problem" in shown:
            first = {
                "name": "look",
                "does": "Looks.",
                "reads": ["PROBLEM"],
                "gives": "Analysis",
                "prompt": "Say what is asked for.",
                "built_in": None,
            }
            last = {
                "name": "say",
                "does": "Answers.",
                "reads": ["PROBLEM", "look"],
                "gives": "Text",
                "prompt": "Answer it.",
                "built_in": None,
            }
            test = {
                "name": "check",
                "does": "Tests.",
                "reads": ["say"],
                "gives": "Code",
                "prompt": None,
                "built_in": "Test",
            }
            is_code = "ENTRY_POINT" in shown["The inputs of the workflow, by their names"]
            said = {"steps": [first, last, test] if is_code else [first, last]}
        elif "become one operator" in system:
            said = {
                "name": "Look" if shown["The operator"]["gives"] == "Analysis" else "Say",
                "prompt": "Do it for any problem.",
            }
        elif "The operators" in shown:
            said = identity([one["name"] for one in shown["The operators"]])
        elif "The operator" in shown:
            said = {"prompt": "Do the work of these steps."}
    return Reply(said if isinstance(said, str) else json.dumps(said))


@pytest.mark.slow
@pytest.mark.shared("datasets")
@pytest.mark.parametrize("name", ["math", "gsm8k", "drop", "humaneval"])
def test_published_data(name: str, server: OpenAIServer) -> None:
    """20 cases each; whatever the answers score, all of it goes through."""
    server.answer = plain_answer
    Path("out").mkdir()
    file = str(SHARED / "datasets" / f"{name}_validate.jsonl")
    done = merrow("extract", file, "--limit", "20", *MODELS, "-o", "out/operators.yaml", "--format", "json")
    assert done.code == 0, done.err
    report = done.json["report"]
    assert report["cases"]["extraction"] + report["cases"]["probe"] == 20
    assert report["cases"]["unusable"] == []
    assert [one["gives"] for one in report["operators"]] == ["Code" if name == "humaneval" else "Answer", "Analysis"]
    assert merrow("check", "out/cases", "out/start", "--format", "json").json == []


@pytest.mark.slow
@pytest.mark.parametrize(("wrong", "share"), [("Do the work of", 0.0), ("Do the work of Op0 ", 0.5)])
def test_the_set_with_the_best_coverage_is_written_where_none_covers_enough(
    wrong: str, share: float, server: OpenAIServer
) -> None:
    """Operators, all or one, answer worse than the steps whose place they take."""
    answered = server.answer

    def worse(request: Received) -> Step:
        return Reply("\\boxed{0}") if is_run(request) and wrong in request.prompt else answered(request)

    server.answer = worse
    done = extract("--format", "json")
    assert done.code == 1, done.err
    assert done.err.splitlines()[-3:] == [
        "out/operators.yaml is written, with its report, cases/ and start/ beside it.",
        f"Extraction {done.json['extraction']}: see it again with: merrow show {done.json['extraction']}",
        f"merrow: The set covers {share:.3f} of the cases, less than the 0.95 that was asked for; it is the set with the best"
        " coverage.",
    ]
    report = done.json["report"]
    assert (report["coverage"]["extraction"]["share"], report["is_enough"]) == (share, False)
    assert bool(report["operators"]) == bool(share)
    assert len(list(Path("out/cases").glob("*.mmd"))) == 12
    assert merrow("check", "out/cases", "--format", "json").json == []
    library = "---\nworkflow: {libraries: [./operators.yaml]}\n---\n"
    Path("out/own.mmd").write_text(library + PLAIN, encoding="utf-8")
    assert merrow("check", "out/own.mmd", "--format", "json").json == []
    told = merrow("show", done.json["extraction"]).out
    assert ("No operator answers a case as well" in told) == (not share)
    assert sentences_of_the_page() == told.partition("\n\n" if share else "\n")[2].splitlines()
