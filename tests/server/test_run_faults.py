"""``merrow run`` with a server that behaves badly: the run recovers, or says which node, which endpoint and why."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from tests.runtime.openai_server import Cut, Hang, Raw, Received, Reply, Status, Step, serving
from tests.runtime.workflows import CHAIN, layers
from tests.server.program import in_process, write

pytestmark = pytest.mark.thinned(8, "robustness")

Capture = pytest.CaptureFixture[str]

SOON = {"Retry-After": "0"}
PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in.</body></html>"
REFUSAL = Reply(None, finish="stop", message={"refusal": "I can't help with that."})
FAULTS: dict[str, tuple[Step, str]] = {
    "429": (Status(429, "Slow down", headers=SOON), "HTTP 429: Slow down"),
    "500": (Status(500, "Oh dear", headers=SOON), "HTTP 500: Oh dear"),
    "503 with a page": (Raw(PAGE, "text/html", 503, SOON), "HTTP 503"),
    "no answer in time": (Hang(), "within 0.5 seconds"),
    "cut before the answer": (Cut(), "cut the connection"),
    "cut in the answer": (Cut("body"), "cut the connection"),
    "broken JSON": (Raw(b'{"choices": [{"message": '), "JSON"),
    "JSON of another kind": (Raw(b'{"result": "42"}'), "answer"),
    "a list": (Raw(b"[1, 2]"), "answer"),
    "a number without end": (Raw(b'{"choices": ' + b"9" * 5_000 + b"}"), "JSON"),
    "null content": (Reply(None), "empty"),
    "empty content": (Reply(""), "empty"),
    "blank content": (Reply(" \n "), "empty"),
    "refused": (REFUSAL, "refused"),
    "filtered": (Reply("I", finish="content_filter"), "refused"),
    "cut at its length": (Reply("The answer is fort", finish="length"), "max_tokens"),
}
"""What a server may do for a while, and a word of the reason that is given for it."""

LASTING: dict[str, tuple[Step, str]] = {
    **FAULTS,
    "a web page": (Raw(PAGE, "text/html"), "web page"),
    "401": (Status(401, "No such key"), "refused the key"),
    "404": (Status(404, "Not here"), "HTTP 404"),
    "an unknown model": (Status(404, "The model does not exist", code="model_not_found"), "no model `test-model`"),
    "a redirect": (Raw(b"", status=302, headers={"Location": "http://127.0.0.1:9/v1"}), "redirect"),
    "asks to wait for hours": (Status(429, "Quota", headers={"Retry-After": "7200"}), "asks to wait 7200 seconds"),
}
"""What it may go on to do."""

OUTPUT = pytest.mark.parametrize("arguments", [(), ("--json",)], ids=["whole", "streamed"])


def name_of(number: int) -> str:
    return f"N{number}"


def limit(fault: Step) -> str:
    """A node's time limit, short only where no answer ever comes: any other may be slow on a busy machine."""
    return ", timeout: 0.5" if isinstance(fault, Hang) else ""


def side_by_side(faults: list[Step]) -> str:
    """A workflow whose nodes all ask at the same time, and one that joins what they say."""
    lines = ["---", "workflow: {model: test-model}", "---", "flowchart TD"]
    lines += ["    PROBLEM([Problem]):::Interface", "    RETURN([Answer]):::Interface"]
    for number, fault in enumerate(faults):
        node, more = name_of(number), f"{limit(fault)}, retries: 20" if limit(fault) else ""
        lines.append(f'    {node}@{{ op: Custom, prompt: "This is {node}."{more}, shape: rect }}')
        lines += [f"    PROBLEM -->|input| {node}", f"    {node} -->|input| JOIN"]
    return "\n".join(
        [*lines, '    JOIN@{ op: Custom, prompt: "Join.", shape: rect }', "    JOIN --> RETURN",
         "    classDef Interface fill:#eee", ""]
    )  # fmt: skip


@OUTPUT
def test_a_run_recovers_from_faults_that_pass(capsys: Capture, arguments: tuple[str, ...]) -> None:
    faults = [fault for fault, _ in FAULTS.values()]
    asked: Counter[int] = Counter()

    def answer(request: Received) -> Step:
        node = next((n for n in range(len(faults)) if f"This is {name_of(n)}." in request.prompt), None)
        if node is None:
            return Reply("all " + str(request.prompt.count("well")))
        asked[node] += 1
        return faults[node] if asked[node] == 1 else Reply(f"{name_of(node)} is well")

    write("flow.mmd", side_by_side(faults))
    with serving(answer) as server:
        outcome = in_process(
            capsys, "run", "flow.mmd", "--input", "problem=1", "--base-url", server.base_url, *arguments
        )
    assert outcome.code == 0, outcome.err
    assert f"all {len(faults)}" in outcome.out
    # On a busy machine an answer may take longer than the short time limit.
    assert [count for node, count in asked.items() if count != 2 and not (count > 2 and limit(faults[node]))] == []
    if not arguments:
        assert all(f"{name_of(node)} tries again" in outcome.err for node in asked)


@OUTPUT
@pytest.mark.parametrize("fault", list(LASTING))
def test_a_fault_that_lasts_is_told_with_node_endpoint_and_reason(
    capsys: Capture, fault: str, arguments: tuple[str, ...]
) -> None:
    step, reason = LASTING[fault]
    retries = 1 if fault == "asks to wait for hours" else 0
    flow = CHAIN.replace("model: test-model", f"model: test-model\n  retries: {retries}")
    node = f"B@{{ op: Custom, role: second{limit(step)}, shape: rect }}"
    write("flow.mmd", flow.replace('B["Custom<br/>(role: second)"]:::CustomOp', node))

    def answer(request: Received) -> Step:
        return Reply("Forty-two.") if "Answer the question." in request.prompt else step

    with serving(answer) as server:
        outcome = in_process(
            capsys, "run", "flow.mmd", "--input", "problem=1", "--base-url", server.base_url, *arguments
        )
        shown = in_process(capsys, "runs", "--format", "json").json[0]
    error = sentence(outcome.out, outcome.err, arguments)
    assert outcome.code == 1
    assert error.startswith("Node B: ")
    assert server.origin in error
    assert reason in error
    assert "<html" not in error
    assert arguments or "B failed: " in outcome.err
    assert "failed: Node" not in outcome.err, "the name is said once"
    assert "Traceback" not in outcome.err
    assert (shown["status"], shown["error"]) == ("failed", error)


def sentence(out: str, err: str, arguments: tuple[str, ...]) -> str:
    """What a failed run says for a reason."""
    if arguments:
        last: dict[str, Any] = json.loads(out.splitlines()[-1])
        return str(last["error"])
    return next(line.partition("merrow: ")[2] for line in err.splitlines() if line.startswith("merrow: "))


def test_a_server_that_is_not_there_is_told(capsys: Capture) -> None:
    write("flow.mmd", CHAIN)
    with serving() as server:
        base_url = server.base_url
    outcome = in_process(capsys, "run", "flow.mmd", "--input", "problem=1", "--base-url", base_url)
    assert outcome.code == 1
    assert f"Node A: The endpoint {base_url.removesuffix('/v1')} refuses connections" in outcome.err


@pytest.mark.parametrize(
    "arguments", [(), ("--json",), ("--budget-tokens", "1000000")], ids=["whole", "streamed", "budget"]
)
@pytest.mark.parametrize("nowhere", ["refused", "unresolved", "no TLS"])
def test_what_was_never_sent_is_not_counted(nowhere: str, arguments: tuple[str, ...], capsys: Capture) -> None:
    write("flow.mmd", layers(2, 6))
    with serving() as server:
        base_url = server.base_url.replace("http:", "https:")
        if nowhere == "no TLS":
            outcome = in_process(capsys, "run", "flow.mmd", "--base-url", base_url, "--input", "PROBLEM=x", *arguments)
    if nowhere != "no TLS":
        base_url = server.base_url if nowhere == "refused" else "http://merrow-nowhere.invalid/v1"
        outcome = in_process(capsys, "run", "flow.mmd", "--base-url", base_url, "--input", "PROBLEM=x", *arguments)
    assert outcome.code == 1
    [run] = in_process(capsys, "runs", "--format", "json").json
    assert (run["status"], run["usage"]["calls"], run["usage"]["prompt_tokens"]) == ("failed", 0, 0)
    assert run["usage"]["cost_usd"] == 0
    assert in_process(capsys, "show", run["run"], "--format", "json").json["lost"] == []


def test_what_was_sent_is_counted_though_the_server_has_gone_since(capsys: Capture) -> None:
    """A node that asks after the server has gone stops the others, whose requests it had taken."""
    write("flow.mmd", side_by_side([Hang(), Reply("x")]).replace(", timeout: 0.5", ""))
    steps: list[Received] = []

    def answer(request: Received) -> Step:
        steps.append(request)
        if "Join" in request.prompt or "N0" in request.prompt:
            return Hang()
        return Status(401, "No such key")

    with serving(answer) as server:
        outcome = in_process(capsys, "run", "flow.mmd", "--base-url", server.base_url, "--input", "PROBLEM=x")
    assert outcome.code == 1
    [run] = in_process(capsys, "runs", "--format", "json").json
    assert run["usage"]["calls"] == len(steps) - 1
