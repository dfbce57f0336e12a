"""What calls cost over all runs: added up, capped by the month, and no more a minute than the user's settings allow."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.postgres import IN_A_FILE
from tests.runtime.openai_server import Hang, Received, Reply, Status, Step, serving
from tests.runtime.workflows import CHAIN
from tests.server.program import in_process, write

from merrow_runtime.spending.ledger import FILE

Capture = pytest.CaptureFixture[str]
COUNTED = {"prompt_tokens": 100, "completion_tokens": 10}
SHORT_ANSWERS = "[models]\nmax_tokens = 1000\n"
NOW = f"{datetime.now(UTC):%Y-%m}"


@pytest.fixture(autouse=True)
def state(tmp_path: Path) -> Path:
    write("flow.mmd", CHAIN)
    return tmp_path / "state"


def settings(origin: str, limits: str, price: float | None = 1000.0) -> None:
    """The user's settings, with a price of dollars a million tokens."""
    priced = "" if price is None else f'[prices."{origin}"."*"]\ninput = {price}\noutput = {price}\n'
    write("config/config.toml", f"{limits.replace('ORIGIN', origin)}\n{priced}")


def answers(_: Received) -> Step:
    return Reply("forty-two", usage=COUNTED)


def run(capsys: Capture, url: str, *more: str) -> tuple[int, str]:
    done = in_process(capsys, "run", "flow.mmd", "--base-url", url, "--input", "problem=x", *more)
    return done.code, done.err


def test_costs_by_day_workflow_and_model(capsys: Capture, state: Path) -> None:
    with serving(answers) as server:
        settings(server.origin, "")
        assert run(capsys, server.base_url, "--no-store")[0] == 0
        assert not (state / "spending.sqlite").exists()
        settings(server.origin, "[limits]\nmonth_usd = 100")
        assert run(capsys, server.base_url)[0] == 0
        assert run(capsys, server.base_url, "--model", "other", "--no-store", "--fresh")[0] == 0
        in_process(capsys, "runs", "--prune", "0")
    by_model = in_process(capsys, "costs", "--by", "model", "--format", "json").json
    (row,) = [row for row in by_model["rows"] if row["model"] == "test-model"]
    assert (row["calls"], row["prompt_tokens"], row["completion_tokens"]) == (2, 200, 20)
    assert row["usd"] == pytest.approx(0.22)
    assert len(server.requests) == 6
    assert row["endpoint"] == server.origin
    by_workflow = in_process(capsys, "costs", "--by", "workflow", "--format", "json").json["rows"]
    assert {Path(row["workflow"]).name: row["calls"] for row in by_workflow} == {"flow.mmd": 2, "": 2}
    (day,) = in_process(capsys, "costs", "--format", "json").json["rows"]
    assert day["day"].startswith(NOW)
    assert in_process(capsys, "costs", "--all", "--format", "json").json["rows"] == [day]
    shown = in_process(capsys, "costs", "--by", "workflow").out
    assert "flow.mmd" in shown
    assert "(runs that keep nothing)" in shown
    assert shown.splitlines()[-2].split() == ["in", "all", "4", "440", "0.4400"]


def test_a_run_and_an_evaluation_of_a_file_are_one_row(capsys: Capture) -> None:
    write("items.jsonl", '{"id": "1", "problem": "y", "answer": "forty-two"}\n')
    with serving(answers) as server:
        settings(server.origin, "")
        assert run(capsys, server.base_url)[0] == 0
        args = ("--dataset", "items.jsonl", "--gold", "answer", "--metric", "exact", "--base-url", server.base_url)
        assert in_process(capsys, "evaluate", "flow.mmd", *args).code == 0
    (row,) = in_process(capsys, "costs", "--by", "workflow", "--format", "json").json["rows"]
    assert row["workflow"] == str(Path("flow.mmd").absolute())
    assert row["calls"] == len(server.requests)


@pytest.mark.parametrize("dear", ["test-model", "other"])
def test_what_cost_most_comes_first(capsys: Capture, dear: str) -> None:
    with serving(answers) as server:
        settings(server.origin, "")
        for model in ("other", dear, "test-model"):
            assert run(capsys, server.base_url, "--model", model, "--fresh")[0] == 0
    rows = in_process(capsys, "costs", "--by", "model", "--format", "json").json["rows"]
    assert rows[0]["model"] == dear
    assert [row["calls"] for row in rows] == [4, 2]


def test_nothing_was_spent_in_another_month_and_the_embedded_model_costs_nothing(capsys: Capture) -> None:
    assert in_process(capsys, "run", "flow.mmd", "--base-url", "offline", "--input", "problem=x").code == 0
    assert "Nothing was spent" in in_process(capsys, "costs").err
    assert "Nothing was spent in 2020-02." in in_process(capsys, "costs", "--month", "2020-02").err
    for wrong in (("--month", "february"), ("--month", "2020-02", "--all")):
        assert in_process(capsys, "costs", *wrong).code == 2


def test_calls_without_a_price_are_counted_beside(capsys: Capture) -> None:
    with serving(answers) as server:
        settings(server.origin, "", price=None)
        assert run(capsys, server.base_url)[0] == 0
    shown = in_process(capsys, "costs").out
    assert "0.0000+" in shown
    assert "2 calls have no known price" in shown


def test_a_failed_try_that_was_paid_is_counted(capsys: Capture) -> None:
    with serving(lambda _: Reply("cut", finish="length", usage=COUNTED)) as server:
        settings(server.origin, "")
        assert run(capsys, server.base_url)[0] == 1
    (day,) = in_process(capsys, "costs", "--format", "json").json["rows"]
    assert day["calls"] == len(server.requests)


def test_the_months_cap_refuses_before_the_first_call(capsys: Capture) -> None:
    with serving(answers) as server:
        settings(server.origin, "[limits]\nmonth_usd = 0.2")
        assert run(capsys, server.base_url)[0] == 0
        made = len(server.requests)
        code, error = run(capsys, server.base_url, "--fresh")
        assert code != 0
        assert "Your settings allow 0.2 US dollars a month, and 0.2200 are spent" in error
        assert "Traceback" not in error
        assert len(server.requests) == made
        assert in_process(capsys, "runs", "--format", "json").json[0]["status"] == "finished"
        assert "allow 0.2 US dollars a month; 0.0000 are left" in in_process(capsys, "costs").out
        settings(server.origin, "[limits]\nmonth_usd = 1")
        assert run(capsys, server.base_url, "--fresh")[0] == 0


@IN_A_FILE
@pytest.mark.parametrize("is_database", [False, True], ids=["no database", "other columns"])
@pytest.mark.parametrize(
    ("limits", "stops"),
    [("", False), ("[limits]\nmonth_usd = 5", True), ('[limits."ORIGIN"]\nrequests_per_minute = 5', True)],
    ids=["no limit", "month", "minute"],
)
def test_costs_that_can_not_be_kept_stop_only_what_has_a_limit(
    capsys: Capture, state: Path, limits: str, stops: bool, is_database: bool
) -> None:
    state.mkdir()
    if is_database:
        with closing(sqlite3.connect(state / FILE)) as database:
            database.executescript("CREATE TABLE spent (other); CREATE TABLE paced (origin, at, other)")
    else:
        (state / FILE).write_bytes(b"x" * 5000)
    with serving(answers) as server:
        settings(server.origin, limits)
        code, error = run(capsys, server.base_url)
        assert (code != 0, bool(server.requests)) == (stops, not stops)
    assert ("What calls cost can't be kept in" in error) is stops
    assert "Traceback" not in error
    shown = in_process(capsys, "costs")
    assert (shown.code != 0, "What calls cost can't be kept in" in shown.err) == (True, True)


def test_the_months_cap_stops_a_run_between_two_calls_and_resume_goes_on(capsys: Capture) -> None:
    with serving(answers) as server:
        settings(server.origin, "[limits]\nmonth_usd = 0.1")
        code, error = run(capsys, server.base_url)
        assert code == 1
        assert "raise `month_usd` under `[limits]`" in error
        assert len(server.requests) == 1
        settings(server.origin, "[limits]\nmonth_usd = 1")
        assert in_process(capsys, "resume").code == 0
        assert len(server.requests) == 2


@pytest.mark.thinned(16)
@pytest.mark.parametrize("limit", ["requests_per_minute = 3", "tokens_per_minute = 3_400"])
def test_two_processes_share_what_a_minute_allows(limit: str) -> None:
    with serving(lambda _: Reply("forty-two", usage={"prompt_tokens": 100, "completion_tokens": 1000})) as server:
        settings(server.origin, f'{SHORT_ANSWERS}[limits."ORIGIN"]\n{limit}')
        command = [sys.executable, "-m", "merrow_server", "run", "flow.mmd", "--base-url", server.base_url, "--fresh"]
        both = [
            subprocess.Popen([*command, "--input", "problem=x"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for _ in range(2)
        ]
        # Each makes two calls: the one that gets two of the three ends, and the other waits.
        while all(process.poll() is None for process in both):
            time.sleep(0.05)
        (waiting,) = [process for process in both if process.poll() is None]
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.communicate(timeout=2)
        waiting.send_signal(signal.SIGINT)
        ends = [process.communicate()[1].decode() for process in both]
        assert sorted(process.returncode for process in both) == [0, 130], ends
        assert len(server.requests) == 3
        assert all("Calls to " in err for err in ends)


def test_a_refusal_of_one_process_holds_up_another() -> None:
    """Without any limits of the user's own."""
    came: list[float] = []

    def refuses_the_first(_: Received) -> Step:
        came.append(time.monotonic())
        return Status(429, headers={"Retry-After": "4"}) if len(came) == 1 else Reply("forty-two", usage=COUNTED)

    with serving(refuses_the_first) as server:
        settings(server.origin, "")
        command = [sys.executable, "-m", "merrow_server", "run", "flow.mmd", "--base-url", server.base_url, "--fresh"]
        command += ["--input", "problem=x", "--json"]
        first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert first.stdout is not None
        while '"node_retrying"' not in first.stdout.readline():
            pass
        second = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        first.communicate()
    assert first.returncode == 0
    # Both wait until the pause is over, and the other one did not try for itself.
    assert "node_retrying" not in second.stdout
    assert came[1] - came[0] >= 3.9
    assert len(came) == 5


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        ("requests_per_minute = 30", "30 requests a minute"),
        ("tokens_per_minute = 90_000", "90000 tokens a minute"),
        ("requests_per_minute = 30\ntokens_per_minute = 90_000", "30 requests and 90000 tokens a minute"),
    ],
)
def test_a_run_says_what_calls_may_wait_for(limit: str, says: str, capsys: Capture) -> None:
    with serving(answers) as server:
        settings(server.origin, f'[limits."ORIGIN"]\n{limit}')
        code, error = run(capsys, server.base_url)
        assert code == 0
        assert f"Calls to {server.origin} wait where they would be more than {says}, as" in error


@pytest.mark.slow
def test_a_try_that_failed_gives_its_tokens_back(capsys: Capture) -> None:
    steps = iter([Status(500), Status(500)])
    with serving(lambda _: next(steps, Reply("forty-two", usage=COUNTED))) as server:
        settings(server.origin, f'{SHORT_ANSWERS}[limits."ORIGIN"]\ntokens_per_minute = 2_000')
        assert run(capsys, server.base_url, "--budget-seconds", "30")[0] == 0
        assert len(server.requests) == 4


@pytest.mark.slow
def test_a_call_that_is_given_up_while_it_waits_was_never_made(capsys: Capture) -> None:
    with serving(lambda _: Hang()) as server:
        settings(server.origin, '[limits."ORIGIN"]\nrequests_per_minute = 1')
        assert run(capsys, server.base_url, "--budget-seconds", "1")[0] == 1
        assert run(capsys, server.base_url, "--budget-seconds", "1")[0] == 1
        assert len(server.requests) == 1
    (day,) = in_process(capsys, "costs", "--format", "json").json["rows"]
    assert day["calls"] == 1


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ("[limits]\nmonth_usd = -1", "`limits.month_usd` is not a number of US dollars"),
        ("[limits]\nmonth_usd = true", "`limits.month_usd` is not a number of US dollars"),
        ("[limits]\nmonth_eur = 1", "`limits` has no `month_eur`"),
        ('[limits."ORIGIN"]\nrequests = 1', "has no `requests`"),
        ('[limits."ORIGIN"]\nrequests_per_minute = 0', "requests_per_minute` is not a whole number, 1 or more"),
        ('[limits."ORIGIN"]\ntokens_per_minute = 1.5', "tokens_per_minute` is not a whole number, 1 or more"),
        ("limits = 3", "`[limits]` is a table"),
        ('[limits."nowhere"]\nrequests_per_minute = 1', "origin in `limits`"),
    ],
)
def test_limits_that_are_none_are_refused_with_their_place(capsys: Capture, limits: str, says: str) -> None:
    with serving(answers) as server:
        settings(server.origin, limits)
        code, error = run(capsys, server.base_url)
        assert code == 2
        assert says in error
        assert server.requests == []
