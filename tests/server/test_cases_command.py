"""``merrow test``: cases from a recording, by an endpoint on loopback, or skipped; the program in a process of its own."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.runtime.openai_server import Hang, OpenAIServer, Received, Reply, Status, Step
from tests.runtime.workflows import CHAIN
from tests.server.program import Outcome
from tests.server.program import merrow as program

CASES = """\
# My cases
cases:
  - id: spider
    inputs: {PROBLEM: How many legs has a spider?}
    expect: [{contains: eight}, {not-contains: six}]
    tags: [smoke]

  - id: ant
    inputs: {PROBLEM: How many legs has an ant?}
    expect: {numeric: 6}
"""
_OURS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "MERROW_MODEL")


def legs(request: Received) -> Step:
    """What knows spiders and ants; the second node is given the first one's answer."""
    if "spider" in request.prompt or "eight" in request.prompt:
        return Reply("It has eight legs.")
    return Reply("It has 6 legs.")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a workflow and its cases, in which the program runs with a journal of its own, and no endpoint."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERROW_STATE_DIR", str(tmp_path / ".state"))
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / ".config"))
    for name in _OURS:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "flow.mmd").write_text(CHAIN)
    (tmp_path / "flow.cases.yaml").write_text(CASES)
    return tmp_path


async def merrow(*arguments: str, server: OpenAIServer | None = None) -> Outcome:
    own = {} if server is None else {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"}
    done = await asyncio.to_thread(program, *arguments, env=own)
    assert "Traceback" not in done.err
    return done


def statuses(outcome: Outcome) -> dict[str, str]:
    return {one["id"]: one["status"] for one in outcome.json["results"]}


async def recorded(answers: Callable[[Received], Step] = legs) -> Outcome:
    async with OpenAIServer(answers) as server:
        return await merrow("test", "--record", server=server)


async def test_without_recording_and_endpoint_cases_are_skipped(folder: Path) -> None:
    done = await merrow("test")
    assert done.code == 0
    assert done.out.count("skipped  flow.cases.yaml::") == 2
    assert "set OPENAI_API_KEY" in done.out
    asked = await merrow("test", "--base-url", "offline", "--format", "json")
    assert set(statuses(asked).values()) == {"failed"}  # it was asked for by name
    assert asked.code == 1
    refused = await merrow("test", "--record")
    assert refused.code == 2
    assert "There is no endpoint to record" in refused.err
    assert not (folder / "flow.replay.jsonl").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flow.mmd", "flow.mermaid", "flow.md", "flow.markdown"])
async def test_cases_are_of_the_workflow_of_their_name_whatever_its_ending(folder: Path, name: str) -> None:
    text = f"# Legs\n\n```mermaid\n{CHAIN}```\n" if name.endswith((".md", ".markdown")) else CHAIN
    (folder / "flow.mmd").unlink()
    (folder / name).write_text(text)
    async with OpenAIServer(legs) as server:
        for asked in ((), ("flow.cases.yaml",), (name,)):
            done = await merrow("test", *asked, "--format", "json", server=server)
            assert done.code == 0, done.err
            assert statuses(done) == {"spider": "passed", "ant": "passed"}
    (folder / name).unlink()
    alone = await merrow("test", "flow.cases.yaml")
    assert alone.code == 2
    assert "flow.cases.yaml" in alone.err


async def test_an_endpoint_answers_and_nothing_is_paid_twice() -> None:
    async with OpenAIServer(legs) as server:
        done = await merrow("test", server=server)
        assert done.code == 0
        assert "passed   flow.cases.yaml::spider" in done.out
        assert "2 cases: 2 passed" in done.out
        asked = len(server.requests)
        assert (await merrow("test", server=server)).code == 0
        assert len(server.requests) == asked


async def test_a_failed_case_says_what_was_expected_and_read_and_where() -> None:
    async with OpenAIServer(lambda _: Reply("It has six legs.")) as server:
        done = await merrow("test", "--junit", "report.xml", server=server)
    assert done.code == 1
    assert "flow.cases.yaml:5: failed: spider" in done.out
    assert "contains `eight`: doesn't contain the right answer" in done.out
    assert "expected  contains: eight" in done.out
    assert "actual    It has six legs." in done.out
    root = ET.fromstring(Path("report.xml").read_text())  # noqa: S314 (our own)
    failure = root.find("./testsuite/testcase[@name='spider']/failure")
    assert (root.get("tests"), root.get("failures")) == ("2", "2")
    assert failure is not None
    assert "actual: It has six legs." in (failure.text or "")
    assert (failure.text or "").startswith("input PROBLEM: ")


@pytest.mark.slow
@pytest.mark.parametrize(("length", "cut"), [(200, False), (201, True)])
@pytest.mark.parametrize(("count", "more"), [(12, ""), (13, "… (1 more line)"), (20, "… (8 more lines)")])
async def test_long_answers_are_cut_to_some_lines_and_columns(length: int, cut: bool, count: int, more: str) -> None:
    answer = "\n".join(["x" * length, *(f"line {number}" for number in range(1, count))])
    async with OpenAIServer(lambda _: Reply(answer)) as server:
        done = await merrow("test", "flow.cases.yaml", "-k", "spider", server=server)
    assert done.code == 1
    lines = [line.strip() for line in done.out.splitlines()]
    first = lines.index(next(line for line in lines if line.startswith("actual")))
    assert lines[first].removeprefix("actual").strip() == ("x" * 199 + "…" if cut else "x" * length)
    shown = lines[first + 1 :][: min(count, 12) - 1 + bool(more)]
    assert shown == [*(f"line {number}" for number in range(1, min(count, 12))), *([more] if more else [])]
    assert not lines[first + 1 + len(shown)].startswith(("line", "…"))


async def test_a_recording_answers_without_an_endpoint(folder: Path) -> None:
    done = await recorded()
    assert done.code == 0
    first = (folder / "flow.replay.jsonl").read_bytes()
    again = await merrow("test", "--format", "json")
    assert (again.code, statuses(again)) == (0, {"spider": "passed", "ant": "passed"})
    assert {one["source"] for one in again.json["results"]} == {"recording"}
    assert again.json["cost_usd"] == 0
    # What is recorded is not asked again, and stays as it was written.
    async with OpenAIServer(lambda _: Status(500, "nobody asks")) as server:
        assert (await merrow("test", "--record", server=server)).code == 0
        assert server.requests == []
    assert (folder / "flow.replay.jsonl").read_bytes() == first


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
@pytest.mark.parametrize("there", [True, False])
async def test_a_recording_takes_the_place_of_a_link(folder: Path, there: bool) -> None:
    """Whoever wrote the folder may have laid it, to have another file written over, or made."""
    before = None
    if there:
        await recorded()
        (folder / "flow.replay.jsonl").rename(folder / "mine")
        before = (folder / "mine").read_bytes()
        (folder / "flow.mmd").write_text(CHAIN.replace("Shorten the answer.", "Say the number alone."))
    (folder / "flow.replay.jsonl").symlink_to("mine")
    assert (await recorded()).code == 0
    assert (folder / "mine").exists() is there
    assert not there or (folder / "mine").read_bytes() == before
    assert not (folder / "flow.replay.jsonl").is_symlink()
    assert statuses(await merrow("test", "--format", "json")) == {"spider": "passed", "ant": "passed"}


async def test_a_recording_answers_for_the_model_that_it_was_made_with(folder: Path) -> None:
    (folder / "flow.mmd").write_text(CHAIN.replace("  model: test-model\n", ""))
    (folder / ".config").mkdir()
    for model in ("small", "large", None):
        (folder / ".config" / "config.toml").write_text("" if model is None else f'model = "{model}"\n')
        if model == "small":
            assert (await recorded()).code == 0
        assert statuses(await merrow("test", "--format", "json")) == {"spider": "passed", "ant": "passed"}


async def test_known_answers_are_asked_again_where_fresh_ones_are_wanted(folder: Path) -> None:
    """By the recording, by the cache, and into a recording that keeps the other cases."""
    await recorded()
    first = (folder / "flow.replay.jsonl").read_text()
    assert "no endpoint to ask again" in (await merrow("test", "--fresh")).err

    def answer(request: Received) -> Step:
        return Reply("none of the ant" if "ant" in request.prompt else "none")

    async with OpenAIServer(answer) as server:
        for times in (1, 2):
            done = await merrow("test", "--fresh", "--format", "json", server=server)
            assert statuses(done) == {"spider": "failed", "ant": "failed"}
            assert len(server.requests) == 4 * times
        assert (folder / "flow.replay.jsonl").read_text() == first
        assert (await merrow("test", "--record", "--fresh", "-k", "ant", server=server)).code == 1
        assert len(server.requests) == 10
    again = await merrow("test", "--format", "json")
    assert statuses(again) == {"spider": "passed", "ant": "failed"}


async def test_a_change_makes_cases_stale_until_what_is_missing_is_recorded(folder: Path) -> None:
    await recorded()
    (folder / "flow.mmd").write_text(CHAIN.replace("Shorten the answer.", "Say the number alone."))
    stale = await merrow("test")
    assert stale.code == 1
    assert "stale    flow.cases.yaml::ant" in stale.out
    assert "at node B" in stale.out
    assert "merrow test --record" in stale.out
    assert (await merrow("test", "--allow-stale")).code == 0

    def answer(request: Received) -> Step:
        assert "Say the number alone." in request.prompt
        return Reply("eight" if "eight" in request.prompt else "6")

    async with OpenAIServer(answer) as server:
        done = await merrow("test", "--record", server=server)
        assert len(server.requests) == 2  # node A is as it was recorded
    assert done.code == 0
    assert "changed: flow.cases.yaml::spider" in done.out
    assert "before    It has eight legs." in done.out
    assert "after     eight" in done.out
    assert (await merrow("test")).code == 0


@pytest.mark.slow
async def test_cases_are_chosen_by_path_text_tag_and_last_failure(folder: Path) -> None:
    await recorded()
    for arguments, wanted in {
        ("flow.mmd::ant",): {"ant"},
        ("flow.cases.yaml::ant", "flow.cases.yaml::spider"): {"ant", "spider"},
        ("-k", "SPI"): {"spider"},
        ("--tag", "smoke"): {"spider"},
        (".", "flow.mmd::ant"): {"ant", "spider"},
    }.items():
        assert set(statuses(await merrow("test", *arguments, "--format", "json"))) == wanted, arguments
    nothing = await merrow("test", "--last-failed")
    assert (nothing.code, nothing.err.strip()) == (0, "No case failed when it was last tested.")
    (folder / "flow.cases.yaml").write_text(CASES.replace("numeric: 6", "numeric: 7"))
    assert (await merrow("test")).code == 1
    assert statuses(await merrow("test", "--last-failed", "--format", "json")) == {"ant": "failed"}
    (folder / "flow.cases.yaml").write_text(CASES.replace("eight", "nine"))
    first = await merrow("test", "-x", "--format", "json")
    assert statuses(first) == {"spider": "failed"}


async def test_after_the_first_case_that_fails_no_other_is_begun_where_that_is_asked(folder: Path) -> None:
    third = "  - {id: bee, inputs: {PROBLEM: How many legs has a bee?}}\n"
    (folder / "flow.cases.yaml").write_text(CASES.replace("numeric: 6", "numeric: 7") + third)
    async with OpenAIServer(legs) as server:
        done = await merrow("test", "-x", "--format", "json", server=server)
        assert statuses(done) == {"spider": "passed", "ant": "failed"}
        assert not [one for one in server.requests if "bee" in one.prompt]


async def test_cases_are_checked_beside_the_one_workflow_of_a_markdown_file(folder: Path) -> None:
    """What its inputs are is known where it has one diagram without errors, and else nothing is said of them."""
    (folder / "flow.cases.yaml").write_text(CASES.replace("PROBLEM: How many legs has an ant?", "PROBLM: What?"))
    fence = f"```mermaid\n{CHAIN}```\n"
    (folder / "flow.mmd").unlink()
    for text, is_known in (
        (f"# Legs\n\n{fence}", True),
        (fence * 2, False),
        ("# Legs\n", False),
        (fence.replace("A -->", "A -->|nowhere|"), False),
    ):
        (folder / "flow.md").write_text(text)
        checked = await merrow("check", "flow.cases.yaml", "--format", "json")
        assert ("did you mean PROBLEM" in checked.out or "PROBLM" in checked.out) is is_known, text
    (folder / "flow.md").write_bytes(b"\xff")
    checked = await merrow("check", "flow.cases.yaml", "--format", "json")
    assert "PROBLM" not in checked.out


@pytest.mark.slow
async def test_what_is_not_there_or_wrong_exits_with_2(folder: Path) -> None:
    await recorded()
    for arguments, words in {
        ("-k", "nobody"): "No case was found: of 2, none has what -k and --tag ask for.",
        ("flow.mmd::spidr",): "Did you mean flow.cases.yaml::spider?",
        ("flw.mmd",): "Did you mean flow.mmd?",
        ("--record", "--model", "x", "--base-url", "http://127.0.0.1:9"): "don't go together",
    }.items():
        done = await merrow("test", *arguments)
        assert (done.code, words in done.err) == (2, True), (arguments, done)
        assert "0 cases" not in done.out
    (folder / "flow.cases.yaml").write_text(CASES.replace("numeric", "numerc"))
    done = await merrow("test")
    assert done.code == 2
    assert "error[MW521]" in done.err
    assert "flow.cases.yaml:10:14" in done.err
    checked = await merrow("check", ".")
    assert (checked.code, "error[MW521]" in checked.out) == (1, True)
    fixed = await merrow("check", "--fix", "--unsafe-fixes", "flow.cases.yaml")
    assert fixed.code == 0
    assert (folder / "flow.cases.yaml").read_text() == CASES
    (folder / "flow.replay.jsonl").write_text("nonsense\n")
    assert "is not a JSON object" in (await merrow("test")).err
    (folder / "flow.replay.jsonl").write_text('{"a": ' + "9" * 5_000 + "}")
    assert "is not a JSON object" in (await merrow("test")).err
    (folder / "flow.mmd").unlink()
    assert "There is no workflow beside this file" in (await merrow("test")).err


async def test_expected_failures_repeats_and_limits(folder: Path) -> None:
    (folder / "flow.cases.yaml").write_text(
        "defaults: {inputs: {PROBLEM: legs?}}\n"
        "cases:\n"
        "- {id: known, xfail: 'see 41', expect: {exact: 9}}\n"
        "- {id: cured, xfail: true, expect: {contains: legs}}\n"
        "- {id: mostly, repeat: 3, min_pass: 2, expect: {contains: legs}}\n"
        "- {id: never, repeat: 3, min_pass: 2, expect: {not-contains: legs}}\n"
        "- {id: slow, max_seconds: 0.001, expect: {contains: legs}}\n"
        "- {id: finishes}\n"
    )
    async with OpenAIServer(legs) as server:
        done = await merrow("test", "--format", "json", server=server)
    found = statuses(done)
    assert found == {
        "known": "xfailed",
        "cured": "xpassed",
        "mostly": "passed",
        "never": "failed",
        "slow": "failed",
        "finishes": "passed",
    }
    by = {one["id"]: one for one in done.json["results"]}
    assert (by["mostly"]["passed"], by["mostly"]["repeat"], by["mostly"]["min_pass"]) == (3, 3, 2)
    assert by["never"]["message"].startswith("0 of 3 repeats passed, 2 must.")
    assert "max_seconds: 0.001" in by["slow"]["message"]


def plainly(text: str) -> str:
    """The text without what differs from run to run."""
    return re.sub(r"show [0-9a-z]{13}", "show RUN", re.sub(r"\d+\.\d s", "T", text))


@pytest.mark.slow
async def test_what_came_of_cases_is_said_to_the_word(folder: Path) -> None:
    (folder / "flow.cases.yaml").write_text(
        "defaults: {inputs: {PROBLEM: legs?}}\n"
        "cases:\n"
        "- {id: known, xfail: 'see 41', expect: {exact: 9}}\n"
        "- {id: cured, xfail: true, expect: {contains: legs}}\n"
        "- {id: mostly, repeat: 3, min_pass: 2, expect: {contains: legs}}\n"
        "- {id: never, repeat: 3, min_pass: 2, expect: {not-contains: legs}}\n"
        "- {id: finishes}\n"
    )
    async with OpenAIServer(legs) as server:
        await merrow("test", "-k", "finishes", server=server)  # so that the answers are known, and cost nothing
        done = await merrow("test", server=server)
        assert (done.code, done.err) == (1, "")
        assert (
            plainly(done.out)
            == """\
xfailed  flow.cases.yaml::known  T, $0
xpassed  flow.cases.yaml::cured  T, $0
passed   flow.cases.yaml::mostly  3 of 3 passed, T, $0
failed   flow.cases.yaml::never  0 of 3 passed, T, $0
passed   flow.cases.yaml::finishes  T, $0

flow.cases.yaml:4: xpassed: cured
    It passes, against its `xfail` (known to fail); remove that.

flow.cases.yaml:6: failed: never
    0 of 3 repeats passed, 2 must. not-contains `legs`: it must not be so, but contains 'legs'
    expected  not-contains: legs
    actual    It has 6 legs.
    merrow show RUN

5 cases: 2 passed, 1 failed, 1 xfailed, 1 xpassed, in T
"""
        )
        failed = await merrow("test", "--last-failed", "-x", server=server)
        assert plainly(failed.out).splitlines()[-1] == "1 case: 1 failed, in T"
        one = await merrow("test", "-k", "finishes", "-x", server=server)
        assert plainly(one.out) == "passed   flow.cases.yaml::finishes  T, $0\n\n1 case: 1 passed, in T\n"
        only = await merrow("test", "--record", "-k", "mostly", server=server)
        assert plainly(only.out).startswith("passed   flow.cases.yaml::mostly  3 of 3 passed, T, $0\n")
    stale = await merrow("test", "-k", "es")
    assert (stale.code, stale.err) == (1, "")
    missing = (
        "    Its recording does not have what is asked at node A: the workflow, its inputs, its model or a prompt changed since,"
        " or the case was never recorded. Record what is missing with: merrow test --record"
    )
    assert plainly(stale.out).splitlines() == [
        "stale    flow.cases.yaml::finishes",
        "",
        "flow.cases.yaml:7: stale: finishes",
        missing,
        "",
        "1 case: 1 stale, in T",
    ]
    allowed = await merrow("test", "-k", "es", "--allow-stale")
    assert (allowed.code, allowed.err) == (0, "")
    assert plainly(allowed.out).splitlines()[-2:] == [
        "1 case: 1 stale, in T",
        "Stale cases are allowed, and say nothing of the workflow.",
    ]


async def test_each_file_of_cases_that_can_not_be_carried_out_is_told(folder: Path) -> None:
    (folder / "a.mmd").write_text(CHAIN)
    (folder / "a.cases.yaml").write_text(CASES.replace("ant", "bee"))
    sentence = "merrow: There is no endpoint to record: set OPENAI_API_KEY or name one with --base-url.\n"
    # One without a case that is asked for has nothing to be carried out.
    for chosen, count in (((), 2), (("-k", "spider"), 2), (("-k", "ant"), 1), (("-k", "bee"), 1)):
        done = await merrow("test", "--record", *chosen)
        assert (done.code, done.out, done.err) == (2, "", sentence * count), chosen


@pytest.mark.slow
async def test_several_files_of_cases_are_tested_one_after_the_other(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / f"{name}.mmd").write_text(CHAIN)
        (folder / f"{name}.cases.yaml").write_text(CASES.replace("eight", "nine"))
    (folder / "empty").mkdir()
    for arguments, sentence in (
        (("--save", "abc", "a", "b"), "--save writes one cases file; name one PATH, or none."),
        (
            ("empty",),
            "No case was found. Write cases in NAME.cases.yaml beside NAME.mmd (docs/testing.md), or make one of a run: merrow"
            " test --save RUN",
        ),
        (("-k", "nobody"), "No case was found: of 6, none has what -k and --tag ask for."),
    ):
        done = await merrow("test", *arguments)
        assert (done.code, done.out, done.err) == (2, "", f"merrow: {sentence}\n")
    async with OpenAIServer(legs) as server:
        done = await merrow("test", "flow.mmd::ant", "a.mmd", "b.mmd", server=server)
        assert (done.code, done.err) == (1, "")
        assert plainly(done.out).splitlines()[:5] == [
            "passed   flow.cases.yaml::ant  T, cost unknown",
            "failed   a.cases.yaml::spider  T, cost unknown",
            "passed   a.cases.yaml::ant  T, $0",
            "failed   b.cases.yaml::spider  T, $0",
            "passed   b.cases.yaml::ant  T, $0",
        ]
        assert plainly(done.out).splitlines()[5:] == [
            line
            for name in ("a", "b")
            for line in (
                "",
                f"{name}.cases.yaml:5: failed: spider",
                "    contains `nine`: doesn't contain the right answer",
                "    expected  contains: nine",
                "    actual    It has eight legs.",
                "    merrow show RUN",
            )
        ] + ["", "5 cases: 3 passed, 2 failed, in T, cost unknown"]
        done = await merrow("test", "a.mmd", "b.mmd", "-x", "--format", "json", server=server)
        assert (done.code, done.json["ok"], done.json["counts"]) == (1, False, {"failed": 1})
        assert [one["file"] for one in done.json["results"]] == ["a.cases.yaml"]
        # What can't be read hides no other, and all is not well.
        (folder / "a.replay.jsonl").write_text("nonsense\n")
        (folder / "b.cases.yaml").write_text("cases: []\n")
        nonsense = "merrow: Line 1 of the recording a.replay.jsonl is not a JSON object: 'nonsense'.\n"
        done = await merrow("test", "a.mmd", "flow.mmd", "b.mmd", server=server)
        assert (done.code, done.err) == (2, nonsense)
        assert plainly(done.out).splitlines()[-1] == "2 cases: 2 passed, in T"
        done = await merrow("test", "a.mmd", "flow.mmd", "--format", "json", server=server)
        assert (done.code, done.json["ok"], done.json["counts"], done.err) == (2, False, {"passed": 2}, nonsense)
        done = await merrow("test", "flow.mmd", "--format", "json", server=server)
        assert (done.code, done.json["ok"], done.json["counts"], done.err) == (0, True, {"passed": 2}, "")


async def test_an_endpoint_that_fails_is_not_a_failed_case() -> None:
    async with OpenAIServer(lambda _: Status(401, "no such key")) as server:
        done = await merrow("test", "--format", "json", server=server)
    assert done.code == 1
    assert set(statuses(done).values()) == {"error"}


async def test_a_judge_is_recorded_like_any_call(folder: Path) -> None:
    (folder / "flow.cases.yaml").write_text(CASES.replace("{numeric: 6}", "{judge: names a number of legs}"))

    def answer(request: Received) -> Step:
        if "strict and fair judge" in request.prompt:
            return Reply('{"reason": "It names six.", "score": 9}')
        return legs(request)

    assert (await recorded(answer)).code == 0
    again = await merrow("test")
    assert again.code == 0
    (folder / "flow.cases.yaml").write_text(
        CASES.replace("{numeric: 6}", "{judge: names a number of legs, at_least: 0.95}")
    )
    strict = await merrow("test", "flow.mmd::ant", "--format", "json")
    (result,) = strict.json["results"]
    assert result["status"] == "failed"
    assert "9 of 10: It names six." in result["message"]
    (folder / "flow.cases.yaml").write_text(CASES.replace("{numeric: 6}", "{judge: rhymes}"))
    assert statuses(await merrow("test", "--format", "json"))["ant"] == "stale"


async def test_a_judge_without_a_recording_is_asked_once_and_its_cost_counts(folder: Path) -> None:
    """Calls of the workflow cost 0.02 US dollars here, those of the judge 3."""
    cases = CASES.replace("{numeric: 6}", "{judge: names a number of legs}")

    def answer(request: Received) -> Step:
        if "strict and fair judge" in request.prompt:
            usage = {"prompt_tokens": 3_000_000, "completion_tokens": 0}
            return Reply('{"reason": "It names six.", "score": 9}', usage=usage)
        usage = {"prompt_tokens": 20_000, "completion_tokens": 0}
        return Reply("It has six legs.", usage=usage)

    async with OpenAIServer(answer) as server:
        (folder / ".config").mkdir()
        prices = f'[prices."{server.base_url.removesuffix("/v1")}"."*"]\ninput = 1\noutput = 1\n'
        (folder / ".config" / "config.toml").write_text(prices)
        by_limit = {}
        for limit in (1, 4):
            (folder / "flow.cases.yaml").write_text(f"{cases}    max_cost: {limit}\n")
            done = await merrow("test", "flow.mmd::ant", "--format", "json", server=server)
            (by_limit[limit],) = done.json["results"]
        judged = [request for request in server.requests if "strict and fair judge" in request.prompt]
    assert by_limit[1]["status"] == "failed"
    assert by_limit[1]["message"] == "With its judge it costs 3.0400 US dollars, more than `max_cost: 1`."
    assert by_limit[1]["cost_usd"] == pytest.approx(3.04)
    assert (by_limit[4]["status"], by_limit[4]["cost_usd"]) == ("passed", 0)
    assert len(judged) == 1
    (row,) = (await merrow("costs", "--by", "workflow", "--format", "json")).json["rows"]
    assert (row["workflow"], row["usd"]) == (str(folder / "flow.mmd"), pytest.approx(3.04))


async def test_a_run_becomes_a_case_that_passes(folder: Path) -> None:
    async with OpenAIServer(legs) as server:
        run = await merrow("run", "flow.mmd", "--input", "problem=How many legs\nhas a spider: 8?", server=server)
        assert run.code == 0
        saved = await merrow("test", "--save", "flow.mmd")
        assert saved.code == 0
        assert "flow.cases.yaml:12 has the new case how-many-legs-has-a-spider" in saved.out
        text = (folder / "flow.cases.yaml").read_text()
        assert text.startswith(CASES)
        assert (await merrow("test", "-k", "how-many", server=server)).code == 0
    (folder / "flow.cases.yaml").unlink()
    assert (await merrow("test", "--save", "flow.mmd", "other.cases.yaml")).code == 0
    assert (folder / "other.cases.yaml").read_text().startswith("cases:\n  - id: how-many")


async def test_the_line_of_a_new_case_is_its_own_and_not_that_of_one_whose_id_begins_alike(folder: Path) -> None:
    (folder / "flow.cases.yaml").write_text("cases:\n  - id: ant-eater\n    expect: {contains: 4}\n")
    await merrow("run", "flow.mmd", "--input", "problem=Ant", "--base-url", "offline")
    saved = await merrow("test", "--save", "flow.mmd")
    assert "flow.cases.yaml:4 has the new case ant, " in saved.out, saved
    assert (folder / "flow.cases.yaml").read_text().splitlines()[3] == "  - id: ant"


async def test_a_run_that_gives_no_case_is_refused_and_the_file_stays(folder: Path) -> None:
    async with OpenAIServer(lambda _: Status(400, "no")) as server:
        await merrow("run", "flow.mmd", "--input", "problem=x", server=server)
    saved = await merrow("test", "--save", "flow.mmd")
    assert (saved.code, "did not finish, so there is no output to expect" in saved.err) == (2, True), saved
    assert (await merrow("run", "flow.mmd", "--input", "problem=x", "--base-url", "offline")).code == 0
    for text, why in {
        "cases: [": "it is not valid YAML",
        "[1, 2]": "it has no list `cases:`",
        "cases: 1": "it has no list `cases:`",
        "cases: []": "its `cases:` has no item to put another one behind; write the first one by hand",
        "cases: [{id: ant}]": "its cases are not a list with a line for each `- id:`",
    }.items():
        (folder / "flow.cases.yaml").write_text(text)
        saved = await merrow("test", "--save", "flow.mmd")
        assert (saved.code, saved.err) == (
            2,
            f"merrow: {folder / 'flow.cases.yaml'} can't take another case: {why}.\n",
        ), text
        assert (folder / "flow.cases.yaml").read_text() == text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flow.mmd", "flow.md", "a#b.mmd"])
async def test_without_a_path_the_case_goes_beside_the_workflow_of_the_run(folder: Path, name: str) -> None:
    """Of a diagram of a Markdown file, too, which the journal names with its number; where the file has gone this is said."""
    (folder / "flow.mmd").unlink()
    (folder / name).write_text(f"```mermaid\n{CHAIN}```\n" * 2 if name.endswith(".md") else CHAIN)
    asked = f"{name}#2" if name.endswith(".md") else name
    run = await merrow("run", asked, "--input", "problem=bee", "--base-url", "offline", "--json")
    assert run.code == 0, run.err
    identity = json.loads(run.out.splitlines()[-1])["run"]
    saved = await merrow("test", "--save", identity)
    assert saved.code == 0, saved.err
    assert f"{name.rpartition('.')[0]}.cases.yaml:" in saved.out
    (folder / name).unlink()
    gone = await merrow("test", "--save", identity)
    assert gone.code == 2
    assert f"The workflow of run {identity} is not at {folder / name} any more; name the cases file: PATH." in gone.err
    assert (await merrow("test", "--save", identity, "other.mmd")).code == 0
    assert (folder / "other.cases.yaml").is_file()


async def test_hostile_texts_drive_neither_terminal_nor_xml(folder: Path) -> None:
    evil = "\x1b[31m<b>&\x07 ]]> \u202e\x00"
    (folder / "flow.cases.yaml").write_text(
        'cases:\n- id: "\\e[2J<x>&\\u0007"\n  inputs: {PROBLEM: x}\n  expect: {exact: "\\e]0;t\\a"}\n'
    )
    async with OpenAIServer(lambda _: Reply(evil)) as server:
        done = await merrow("test", "--junit", "r.xml", server=server)
        shown = await merrow("test", "--format", "json", server=server)
    assert done.code == 1
    assert "\x1b[2J" not in done.out
    assert "\x07" not in done.out
    assert "\x1b]" not in done.out
    report = ET.fromstring(Path("r.xml").read_text())  # noqa: S314 (our own)
    assert report.get("failures") == "1"
    assert json.loads(shown.out)["results"][0]["id"] == "\x1b[2J<x>&\x07"


@pytest.mark.slow
async def test_ctrl_c_keeps_what_was_recorded(folder: Path) -> None:
    def answer(request: Received) -> Step:
        return Hang() if "ant" in request.prompt else legs(request)

    async with OpenAIServer(answer) as server:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "merrow_server", "test", "--record"),
            env={**os.environ, "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "none"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(PATIENCE):
            while not (folder / "flow.replay.jsonl").exists():
                await asyncio.sleep(0.05)
        process.send_signal(signal.SIGINT)
        await asyncio.wait_for(process.communicate(), PATIENCE)
    assert process.returncode == 130
    assert statuses(await merrow("test", "flow.mmd::spider", "--format", "json")) == {"spider": "passed"}


async def test_what_no_case_can_be_found_by_is_a_sentence(folder: Path) -> None:
    (folder / "flow.txt").write_text("")
    (folder / "lone.mmd").write_text(CHAIN)
    (folder / "none.mmd").write_text(CHAIN)
    (folder / "none.cases.yaml").write_text("cases: []\n")
    many = "".join(f"- {{id: number-{number}, inputs: {{PROBLEM: x}}}}\n" for number in range(21))
    (folder / "many.cases.yaml").write_text("cases:\n" + many)
    (folder / "many.mmd").write_text(CHAIN)
    (folder / "empty").mkdir()
    listed = ", ".join(f"number-{number}" for number in range(20))
    for arguments, said in (
        (["flow.txt"], ["flow.txt is neither a workflow nor a cases file (NAME.cases.yaml)."]),
        (
            ["lone.mmd"],
            ["lone.mmd has no cases; write them in lone.cases.yaml, or make one of a run: merrow test --save RUN"],
        ),
        (
            ["zzzz", "gone.cases.yaml::x"],
            [
                "There is no file or folder named zzzz.",
                "There is no file or folder named gone.cases.yaml. Did you mean none.cases.yaml?",
            ],
        ),
        (["flow.mmd::zzzz"], ["flow.cases.yaml has no case zzzz. It has: spider, ant."]),
        (
            ["flow.mmd::spidr", "flow.mmd::an"],
            [
                "flow.cases.yaml has no case an. Did you mean flow.cases.yaml::ant?",
                "flow.cases.yaml has no case spidr. Did you mean flow.cases.yaml::spider?",
            ],
        ),
        (["none.mmd::x"], ["none.cases.yaml has no case x. It has: none."]),
        (["many.mmd::x"], [f"many.cases.yaml has no case x. It has: {listed}."]),
        (
            ["empty"],
            [
                "No case was found. Write cases in NAME.cases.yaml beside NAME.mmd (docs/testing.md), or make one of a run:"
                " merrow test --save RUN"
            ],
        ),
    ):
        done = await merrow("test", *arguments)
        assert (done.code, done.out, done.err.splitlines()) == (2, "", [f"merrow: {one}" for one in said]), arguments


@pytest.mark.slow
async def test_cases_that_are_named_are_tested_beside_what_is_wrong(folder: Path) -> None:
    await recorded()
    (folder / "other").mkdir()
    (folder / "other/flow.mmd").write_text(CHAIN)
    (folder / "other/flow.cases.yaml").write_text(
        "cases: [{id: ANT-eater, tags: [big, smoke], inputs: {PROBLEM: x}}]\n"
    )
    for arguments, wanted in (
        (["::ant"], ["ant"]),
        (["flow.mmd::ant", "flow.mmd"], ["spider", "ant"]),
        (["flow.mmd", "flow.mmd::ant"], ["spider", "ant"]),
        (["flow.mmd::ant", "flow.mmd::spider"], ["spider", "ant"]),
        ([".", "-k", "AnT"], ["ant", "ANT-eater"]),
        ([".", "--tag", "smoke", "--tag", "none"], ["spider", "ANT-eater"]),
        ([".", "--tag", "big", "-k", "ant"], ["ANT-eater"]),
    ):
        done = await merrow("test", *arguments, "--format", "json")
        assert [one["id"] for one in done.json["results"]] == wanted, arguments
        assert done.code == (2 if arguments == ["::ant"] else 0), done.err
    wrong = await merrow("test", "zzzz", "flow.mmd::ant", "--format", "json")
    assert (wrong.code, statuses(wrong)) == (2, {"ant": "passed"})
    assert wrong.err == "merrow: There is no file or folder named zzzz.\n"


@pytest.mark.slow
async def test_cases_that_failed_stay_known_until_they_are_well(folder: Path) -> None:
    await recorded()
    kept = folder / ".state" / "failed-cases.json"
    file = str(folder / "flow.cases.yaml")

    async def failed(*arguments: str) -> dict[str, list[str]]:
        await merrow("test", *arguments)
        known: dict[str, list[str]] = json.loads(kept.read_text())
        return known

    assert await failed() == {}
    (folder / "flow.cases.yaml").write_text(CASES.replace("eight", "nine").replace("numeric: 6", "numeric: 7"))
    assert await failed("flow.mmd::spider") == {file: ["spider"]}
    assert await failed("flow.mmd::ant") == {file: ["spider", "ant"]}
    assert await failed("flow.mmd::spider") == {file: ["ant", "spider"]}
    assert statuses(await merrow("test", "--last-failed", "-k", "ant", "--format", "json")) == {"ant": "failed"}
    (folder / "flow.cases.yaml").write_text(CASES.replace("eight", "nine"))
    assert await failed("--last-failed") == {file: ["spider"]}
    for damaged in ("[]", "{", '{"x": 1}', "[" * 5000):
        kept.write_text(damaged)
        nothing = await merrow("test", "--last-failed")
        assert (nothing.code, nothing.out, nothing.err) == (0, "", "No case failed when it was last tested.\n"), damaged
    kept.write_text(json.dumps({file: ["ant", 1], "x": 2}))
    assert statuses(await merrow("test", "--last-failed", "--format", "json")) == {"ant": "passed"}
    assert await failed() == {file: ["1", "spider"]}


async def test_programs_get_all_results_of_all_files(folder: Path) -> None:
    known = "  - {id: known, xfail: see 41, inputs: {PROBLEM: How many legs has an ant?}, expect: {exact: '9'}}\n"
    (folder / "flow.cases.yaml").write_text(CASES + known)
    await recorded()
    changed = CASES.replace("numeric: 6", "exact: '<7>'") + known + "  - id: new\n    inputs: {PROBLEM: new}\n"
    (folder / "flow.cases.yaml").write_text(changed)
    (folder / "other").mkdir()
    (folder / "other/b.mmd").write_text(CHAIN)
    (folder / "other/b.cases.yaml").write_text("cases: [{id: <one>, tags: [x, y], inputs: {PROBLEM: x}}]\n")
    done = await merrow("test", "--junit", "r.xml", "--format", "json")
    assert done.code == 1
    shown = done.json
    seconds = [f"{one.pop('seconds'):.3f}" for one in shown["results"]]
    stale = (
        "Its recording does not have what is asked at node A: the workflow, its inputs, its model or a prompt changed since, or"
        " the case was never recorded. Record what is missing with: merrow test --record"
    )
    skipped = (
        "There is no recording beside the workflow and no endpoint to ask: set OPENAI_API_KEY (see docs/models.md), or record the"
        " cases where there is one, with: merrow test --record"
    )
    xfailed = "Expected to fail (see 41): exact `9`: differs from the right answer"
    usual = {
        "file": "flow.cases.yaml",
        "workflow": "flow.mmd",
        "tags": [],
        "message": "",
        "expected": None,
        "actual": None,
        "node": None,
        "run": None,
        "source": "recording",
        "passed": 0,
        "repeat": 1,
        "min_pass": 1,
        "changed": [],
        "cost_usd": 0.0,
    }
    wrong = {"message": "exact `<7>`: differs from the right answer", "expected": "<7>", "actual": "It has 6 legs."}
    other = {"file": "other/b.cases.yaml", "workflow": "other/b.mmd", "tags": ["x", "y"], "source": None}
    total = f"{shown.pop('seconds'):.3f}"
    assert shown == {
        "ok": False,
        "counts": {"passed": 1, "failed": 1, "stale": 1, "skipped": 1, "xfailed": 1},
        "cost_usd": 0.0,
        "results": [
            {**usual, "line": 3, "id": "spider", "status": "passed", "tags": ["smoke"], "passed": 1},
            {**usual, "line": 10, "id": "ant", "status": "failed", **wrong},
            {**usual, "line": 11, "id": "known", "status": "xfailed", **wrong, "message": xfailed, "expected": "9"},
            {**usual, "line": 12, "id": "new", "status": "stale", "message": stale, "node": "A"},
            {**usual, "line": 1, "id": "<one>", "status": "skipped", "message": skipped, **other},
        ],
    }
    lines = (folder / "r.xml").read_text().splitlines()
    of_file = re.sub(r".*time=", "", lines[2])

    def case(name: str, file: str, line: int, number: int) -> str:
        return f'    <testcase name="{name}" classname="{file}" file="{file}" line="{line}" time="{seconds[number]}"'

    assert lines == [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuites tests="5" failures="1" errors="1" skipped="2" time="{total}">',
        f'  <testsuite name="flow.cases.yaml" tests="4" failures="1" errors="1" skipped="1" time={of_file}',
        case("spider", "flow.cases.yaml", 3, 0) + "/>",
        case("ant", "flow.cases.yaml", 10, 1)
        + '><failure type="failed" message="exact `&lt;7&gt;`: differs from the right answer">'
        "input PROBLEM: How many legs has an ant?",
        "expected: &lt;7&gt;",
        "actual: It has 6 legs.</failure></testcase>",
        case("known", "flow.cases.yaml", 11, 2) + f'><skipped message="{xfailed}"/></testcase>',
        case("new", "flow.cases.yaml", 12, 3)
        + f'><error type="stale" message="{stale}">input PROBLEM: new</error></testcase>',
        "  </testsuite>",
        '  <testsuite name="other/b.cases.yaml" tests="1" failures="0" errors="0" skipped="1" time="0.000">',
        case("&lt;one&gt;", "other/b.cases.yaml", 1, 4) + f'><skipped message="{skipped}"/></testcase>',
        "  </testsuite>",
        "</testsuites>",
    ]
    assert float(of_file[1:6]) == pytest.approx(sum(map(float, seconds)), abs=0.003)
    assert (await merrow("test", "flow.mmd::spider", "--format", "json")).json["ok"] is True
