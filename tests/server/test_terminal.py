"""Nothing from outside drives a terminal: every command, on a real one, with hostile texts at every place it may show."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.optimizer.suggestions.scripted import candidate, is_judging, prompt, said, verdicts
from tests.runtime.openai_server import OpenAIServer, Raw, Received, Reply, Status, Step, serving
from tests.server.program import GOOD, ONE_VOICE, merrow, write
from tests.server.terminal import Terminal, terminals
from tests.server.test_texts_for_people import ROUTED
from tests.server.test_texts_for_people import answer as ordinary

from merrow_server.cli import COMMANDS
from merrow_server.rendering.snippet import plain
from merrow_server.rendering.terminal import guard

HOSTILE = {
    "the window's title": "\x1b]0;t\x07",
    "a clipboard": "\x1b]52;c;aGk=\x1b\\",
    "a link": "\x1b]8;;http://evil.invalid\x1b\\here",
    "a device string": "\x1bPq#0\x1b\\",
    "a cleared screen": "\x1b[2J",
    "a moved cursor": "\x1b[7;7H",
    "colours": "\x1b[38;5;123;8m",
    "a reset": "\x1bc",
    "eight-bit sequences": "\x9b31m\x9d0;t\x9c\x90\x85",
    "a bell": "\x07",
    "a backspace": "\x08",
    "a return": "a\rb",
    "another font": "\x0e",
    "a form feed": "\x0b\x0c",
    "text from right to left": "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c",
    "hidden text": "\u200b\u2060\ufeff\U000e0041",
}
TEXT = "owned " + " ".join(HOSTILE.values()) + " owned"
NAME = TEXT.replace("/", "").replace("\x00", "")[:60]
"""As a file's name, which may have 255 bytes."""

_OURS = re.compile(
    r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|(?:\r|\x1b\[2K|\x1b\[1A)+|\x1b\]8;(?:id=\d+)?;(?:https?://[\w./#-]*)?\x1b\\"
)
"""Colours, and what tables and bars move the cursor with."""
_DRIVES = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)

pytestmark = pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")


def harmless(shown: str) -> bool:
    for what, text in HOSTILE.items():
        assert text not in shown, what
    rest = _OURS.sub("", shown)
    found = _DRIVES.search(rest)
    assert found is None, repr(rest[max(0, found.start() - 60) : found.end() + 60])
    return True


@dataclass(frozen=True)
class Case:
    """One call of a command; ``shows`` says that the hostile text has to appear, as text."""

    arguments: tuple[str, ...]
    stdin: str = ""
    shows: bool = True
    typed: str = ""


def case(*arguments: str, stdin: str = "", shows: bool = True, typed: str = "") -> Case:
    return Case(arguments, stdin, shows, typed)


PROMPT = json.dumps(TEXT)
"""As YAML and JSON write it, with escapes."""
FLOW = f"""\
---
title: {PROMPT}
workflow:
  model: test-model
  prompts: {{first: {PROMPT}}}
  validators: {{v: {{rubric: {PROMPT}}}}}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A["Custom<br/>(role: first, validate: v, attempts: 2, on_invalid: accept)"]:::CustomOp
    CODE["Programmer<br/>"]:::ProgrammerOp
    RETURN([Answer]):::Interface
    PROBLEM -->|input| A
    PROBLEM -->|problem| CODE
    A -->|analysis| CODE
    CODE --> RETURN
    classDef Interface fill:#eee
    classDef CustomOp fill:#ddd
    classDef ProgrammerOp fill:#dcc
"""
CHAIN = f"""\
---
title: {PROMPT}
workflow:
  model: test-model
  prompts: {{first: {PROMPT}}}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A["Custom<br/>(role: first)"]:::CustomOp
    RETURN([Answer]):::Interface
    PROBLEM -->|input| A
    A --> RETURN
    classDef Interface fill:#eee
    classDef CustomOp fill:#ddd
"""
ASKING = f"""\
---
title: {PROMPT}
workflow:
  model: test-model
  prompts: {{first: {PROMPT}}}
---
flowchart TD
    PROBLEM([Problem])
    ASK@{{op: Human, ask: {PROMPT}, returns: Bool}}
    A["Custom<br/>(role: first)"]
    RETURN([Answer])
    PROBLEM -->|input| ASK
    PROBLEM -->|input| A
    ASK -->|note:input| A
    A --> RETURN
"""
VISIBLE_ONLY = "".join(mark for mark in TEXT if mark not in "\r\n\x0b\x0c\x85\u2028\u2029\x1c\x1d\x1e")
BROKEN = GOOD.replace("classDef Interface fill:#eee", f'B["{VISIBLE_ONLY}"]:::{"X"}\n    A --> {VISIBLE_ONLY} ]]')

DATA = json.dumps({"id": TEXT, "PROBLEM": TEXT, "gold": TEXT + "!"}) + "\n"
MAPPED = ("--gold", "gold", "--metric", "contains", "--part", "all", "--base-url", "SERVER")
SEARCHED = (
    *("--dataset", "data.jsonl", *MAPPED),
    *("--small", "--strategy", "random", "--max-nodes", "6", "--budget-evaluations", "20"),
)
TASKS = {
    "overall_task": TEXT,
    "agents": [{"id": TEXT, "role": TEXT, "prompt": TEXT}],
    "tasks": [
        {"id": TEXT, "objective": TEXT, "agent": TEXT, "output_format": TEXT, "after": []},
        {"id": "b", "objective": TEXT, "agent": TEXT, "after": [TEXT, None]},
    ],
}
TESTED = f"""\
cases:
  - id: {PROMPT}
    inputs: {{PROBLEM: {PROMPT}}}
    expect: [{{contains: {json.dumps(TEXT + "!")}}}]
  - id: other
    inputs: {{PROBLEM: {{file: {PROMPT}}}}}
    expect: [{{contains: x}}]
"""

CASES: dict[str, list[Case]] = {
    "answer": [
        case("answer", "WAITING", TEXT, TEXT),
        case("answer", "WAITING", "ASK", TEXT, shows=False),
        case("answer", "WAITING", "ASK", "--form", json.dumps({TEXT: TEXT})),
        case("answer", "WAITING", "ASK", typed=f"{TEXT}\nyes\n\n"),
        case("answer", "WAITING", "ASK", "yes", shows=False),
        case("answer", TEXT, "ASK", "yes"),
    ],
    "batch": [
        case("batch", "chain.mmd", "--dataset", "data.jsonl", "-o", f"{NAME}.csv", "--base-url", "SERVER"),
        case("batch", "chain.mmd", "--dataset", "data.jsonl", "-o", TEXT, "--base-url", "SERVER"),
        case("batch", "chain.mmd", "--dataset", TEXT, "-o", "out.csv"),
        case("batch", TEXT, "--dataset", "data.jsonl", "-o", "out.csv"),
        case("runs", "--kind", "batch", shows=False),
    ],
    "cancel": [case("cancel", TEXT)],
    "check": [
        case("check", "broken.mmd"),
        case("check", NAME + ".mmd"),
        case("check", TEXT),
        case("check", "--format", "github", "broken.mmd", shows=False),
        case("check", "--format", "json", "broken.mmd", shows=False),
        case("check", "--format", "sarif", "broken.mmd", shows=False),
        case("check", "--diff", "repairable.mmd"),
        case("check", "--fix", "-", "--stdin-filename", NAME, stdin=f"{ONE_VOICE}%% {TEXT}\n"),
        case("check", "--select", TEXT, "broken.mmd"),
        case("check", "--config", NAME + ".toml", "broken.mmd"),
        case("check", "many"),
    ],
    "compile": [
        case("compile", "broken.mmd", shows=False),
        case("compile", NAME + ".mmd", shows=False),
        case("compile", TEXT),
        case("compile", "--check", NAME + ".mmd", shows=False),
    ],
    "completion": [case("completion", TEXT), case("completion", "fish", shows=False)],
    "costs": [
        case("costs", "--by", "workflow", shows=False),
        case("costs", "--by", "model", shows=False),
        case("costs", "--month", TEXT),
    ],
    "crossover": [
        case("crossover", "chain.mmd", "chain2.mmd", "--all", shows=False),
        case("crossover", TEXT, "chain.mmd"),
        case("crossover", "broken.mmd", "chain.mmd", shows=False),
    ],
    "diff": [
        case("diff", "chain.mmd", "broken.mmd", shows=False),
        case("diff", "chain.mmd", "chain2.mmd", "--finished", TEXT),
        case("diff", "chain.mmd", "chain2.mmd", shows=False),
        case("diff", "chain.mmd", "chain2.mmd", "--format", "json", shows=False),
    ],
    "models": [case("models", "--no-discovery", shows=False), case("models", "use", f"http://{TEXT}/", shows=False)],
    "doctor": [
        case("doctor", "--base-url", "SERVER", shows=False),
        case("doctor", "--base-url", f"http://{TEXT}/", shows=False),
    ],
    "evaluate": [
        case("evaluate", "chain.mmd", "--dataset", "data.jsonl", *MAPPED),
        case("evaluate", "chain.mmd", "--dataset", "refused.jsonl", *MAPPED),
        case("evaluate", "chain.mmd", "--dataset", NAME + ".jsonl", *MAPPED, shows=False),
        case("evaluate", "chain.mmd", "--dataset", "data.jsonl", "--dry-run", *MAPPED, shows=False),
        case("evaluate", "chain.mmd", "--dataset", "data.jsonl", "--format", "json", *MAPPED, shows=False),
        case("evaluate", "chain.mmd", "--dataset", "data.jsonl", "--format", "csv", *MAPPED, shows=False),
        case("evaluate", "chain.mmd", "--dataset", "data.jsonl", "--format", "github", *MAPPED, shows=False),
        case("evaluate", "chain.mmd", "--dataset", "data.jsonl", "--format", "junit", *MAPPED, shows=False),
        case("evaluate", "chain.mmd", "--dataset", "data.jsonl", "--format", "html", *MAPPED, shows=False),
        case("evaluate", "chain.mmd", "--dataset", "data.jsonl", "--map", f"{TEXT}=x", *MAPPED),
        case("evaluate", "chain.mmd", "--dataset", "data.jsonl", *MAPPED, "--gold", TEXT),
        case("evaluate", "chain.mmd", "--dataset", "data.jsonl", *MAPPED, "--metric", TEXT),
        case("evaluate", "chain.mmd", "--dataset", "data.jsonl", *MAPPED, "--items", TEXT),
        case("evaluate", "chain.mmd", "--dataset", "broken.mmd", *MAPPED, shows=False),
        case("evaluate", "chain.mmd", "--dataset", TEXT, *MAPPED),
        case("evaluate", "--compare", "EVAL", TEXT),
        case("evaluate", TEXT, "--dataset", "data.jsonl"),
    ],
    "evaluations": [
        case("evaluations", shows=False),
        case("evaluations", "--workflow", TEXT, shows=False),
        case("evaluations", "--delete", TEXT),
        case("show", "EVAL"),
        case("show", "EVAL", "--format", "json", shows=False),
        case("resume", "EVAL"),
        case("cancel", "EVAL", shows=False),
        case("evaluations", "--limit", TEXT),
    ],
    "explain": [case("explain", TEXT), case("explain", "MW105", shows=False)],
    "extract": [
        case("extract", NAME + ".jsonl", "--gold", "gold", "--base-url", "offline"),
        case("extract", NAME + ".jsonl", "--gold", "gold", "--base-url", "offline", "--dry-run"),
        case("extract", NAME + ".jsonl", "--gold", TEXT),
        case("extract", "refused.jsonl", "--gold", "gold", shows=False),
        case("extract", TEXT),
        case("runs", "--kind", "extraction", shows=False),
    ],
    "datasets": [case("datasets", "--data", TEXT, shows=False), case("datasets", TEXT)],
    "reproduce": [
        case("reproduce", "flow", "--data", TEXT, shows=False),
        case("reproduce", "flow", "--rows", TEXT),
        case("reproduce", TEXT),
    ],
    "fmt": [
        case("fmt", "-", stdin=f"{GOOD}%% {TEXT}\n"),
        case("fmt", "--diff", "repairable.mmd"),
        case("fmt", "--check", NAME + ".mmd"),
        case("fmt", TEXT),
    ],
    "graph": [case("graph", NAME + ".mmd", shows=False), case("graph", "broken.mmd", shows=False), case("graph", TEXT)],
    "import": [
        case("import", "broken.mmd", shows=False),
        case("import", NAME + ".mmd", shows=False),
        case("import", TEXT),
        case("import", "plan.json"),
        case("import", "twisted.json"),
    ],
    "metrics": [
        case("metrics", "chain.mmd", shows=False),
        case("metrics", TEXT),
        case("metrics", "plan.json"),
        case("metrics", "twisted.json"),
    ],
    "mutate": [
        case("mutate", "chain.mmd", "--list", shows=False),
        case("mutate", "chain.mmd", "--random", "2"),
        case("mutate", "chain.mmd", "--apply", TEXT),
        case("mutate", TEXT, "--list"),
    ],
    "new": [case("new", NAME), case("new", "--template", TEXT, "flow"), case("new", "--list", shows=False)],
    "optimizations": [
        case("optimizations", "--delete", TEXT),
        case("optimizations", "--workflow", TEXT, shows=False),
        case("optimizations", "--limit", TEXT),
        case("show", "OPT"),
        case("show", "OPT", "--format", "json", shows=False),
        case("resume", "OPT"),
        case("cancel", "OPT", shows=False),
        case("optimizations"),
        case("runs", "--kind", "optimization"),
    ],
    "optimize": [
        case("optimize", NAME + " chain.mmd", *SEARCHED),
        case("optimize", "chain.mmd", *SEARCHED, "--format", "json", shows=False),
        case("optimize", "chain.mmd", *SEARCHED, "--out", NAME),
        case("optimize", "chain.mmd", *SEARCHED, "--out", "broken.mmd", shows=False),
        case("optimize", "chain.mmd", *SEARCHED, "--dry-run", shows=False),
        case("optimize", "chain.mmd", *SEARCHED, "--dataset", NAME + ".jsonl", "--dry-run"),
        case("optimize", "chain.mmd", *SEARCHED, "--dataset", "refused.jsonl"),
        case("optimize", "chain.mmd", *SEARCHED, "--from", TEXT),
        case("optimize", "chain.mmd", *SEARCHED, "--strategy", TEXT),
        case("optimize", "broken.mmd", *SEARCHED, shows=False),
        case("optimize", TEXT, *SEARCHED),
    ],
    "parse": [case("parse", "--jsonl", stdin=f'{TEXT}\n{{"id": {PROMPT}, "text": {PROMPT}}}\n', shows=False)],
    "plan": [
        case("plan", TEXT, "-n", "1", "--base-url", "SERVER", shows=False),
        case("plan", TEXT, "--dry-run", "--base-url", "SERVER"),
        case("plan", "--from", "plan.json", "--base-url", "SERVER"),
        case("plan", TEXT, "--from", "twisted.json", "--no-judge", "--base-url", "SERVER"),
        case(
            "plan", TEXT, "--from", "plan.json", "--no-judge", "--format", "json", "--base-url", "SERVER", shows=False
        ),
        case("plan", TEXT, "--from", "plan.json", "--roles", TEXT, "--no-judge", "--base-url", "SERVER"),
        case("plan", f"@{TEXT}", "--base-url", "SERVER"),
        case("plan", "x", "-o", f"{TEXT}/x", "--base-url", "SERVER"),
    ],
    "rate": [
        case("rate", TEXT, typed="q\n"),
        case("rate", "EVAL", typed="g\n"),
        case("rate", "EVAL", "--again", typed=f"{TEXT}\nq\n"),
    ],
    "render": [
        case("render", "broken.mmd", "-o", "x.svg", shows=False),
        case("render", "chain.mmd", "-o", f"missing/{NAME}.svg"),
        case("render", "chain.mmd", "-o", NAME),
        case("render", TEXT, "-o", "x.svg"),
    ],
    "repair": [case("repair", "repairable.mmd"), case("repair", "broken.mmd", shows=False), case("repair", TEXT)],
    "resume": [case("resume", TEXT), case("resume", "RUN", "--verbose")],
    "revise": [case("revise", TEXT, "chain.mmd"), case("revise", "RUN", "broken.mmd", shows=False)],
    "rules": [case("rules", shows=False), case("rules", TEXT)],
    "run": [
        case("run", "chain.mmd", "--base-url", "SERVER", "--input", "PROBLEM=x"),
        case("run", "chain.mmd", "--base-url", "SERVER", "--input", "PROBLEM=x", "--verbose", "--fresh"),
        case("run", "chain.mmd", "--base-url", "SERVER", "--input", "PROBLEM=x", "--json", shows=False),
        case("run", "flow.mmd", "--base-url", "SERVER", "--input", f"PROBLEM={TEXT}"),
        case("run", "flow.mmd", "--base-url", "SERVER", "--input", "PROBLEM=refuse"),
        case("run", "chain.mmd", "--dry-run", "--input", "PROBLEM=x"),
        case("run", "chain.mmd", "--input", f"{TEXT}=x"),
        case("run", "chain.mmd", "--input", f"PROBLEM=@{TEXT}"),
        case("run", "broken.mmd", shows=False),
        case("run", TEXT),
    ],
    "runs": [
        case("runs", shows=False),
        case("runs", "--workflow", TEXT, shows=False),
        case("runs", "--delete", TEXT),
        case("runs", "--limit", TEXT),
    ],
    "journal": [
        case("journal", "info", shows=False),
        case("journal", "copy", NAME, f"postgresql://{TEXT}/x", shows=False),
        case("journal", TEXT),
    ],
    "stores": [
        case("stores", "add", "kept", TEXT, shows=False),
        case("stores", "show", "kept"),
        case("stores", "show", "kept", "--query", TEXT),
        case("stores", "show", TEXT),
        case("stores", "add", "kept", "--file", TEXT),
        case("stores", "export", "kept", "-o", f"{NAME}.jsonl"),
        case("stores", "list", shows=False),
        case("stores", TEXT),
    ],
    "env": [case("env", shows=False), case("env", TEXT), case("env", "alfworld", "--data", TEXT, shows=False)],
    "tools": [
        case("tools", "add", NAME, "--", "program"),
        case("tools", "pull", TEXT),
        case("tools", "trust", TEXT),
        case("tools", "forget", TEXT),
        case("tools", "new", TEXT, shows=False),
        case("tools", "list", shows=False),
        case("tools", "check", shows=False),
    ],
    "serve": [
        case("serve", "--log-file", f"missing/{NAME}"),
        case("serve", "--tcp", TEXT),
        case("serve", stdin=f"Content-Length: {TEXT}\r\n\r\n{TEXT}", shows=False),
    ],
    "up": [
        case("up", "broken.mmd", shows=False),
        case("up", TEXT),
        case("up", "chain.mmd", "--port", TEXT),
    ],
    "suggest": [
        case("suggest", "chain.mmd", "--base-url", "SERVER", "--yes"),
        case("suggest", "chain.mmd", "--base-url", "SERVER", "--yes", "--format", "json", shows=False),
        case("suggest", "chain.mmd", "--base-url", "SERVER", "--yes", "--fresh", "--node", "A", "--goal", TEXT),
        case("suggest", "chain.mmd", "--base-url", "SERVER", "--dry-run", "--optimizer-model", TEXT),
        case("suggest", "chain.mmd", "--node", TEXT),
        case("suggest", "chain.mmd", "--dataset", TEXT),
        case("suggest", "broken.mmd", shows=False),
        case("suggest", TEXT),
    ],
    "view": [
        case("view", TEXT),
        case("view", f"missing/{NAME}.mmd"),
        case("view", "chain.mmd", "--port", TEXT),
    ],
    "share": [case("share", TEXT, "-o", "x.html"), case("share", "RUN", "-o", f"missing/{NAME}.html")],
    "show": [
        case("show", "RUN"),
        case("show", "RUN", "--node", "A"),
        case("show", "RUN", "--node", "CODE"),
        case("show", "RUN", "--format", "json", shows=False),
        case("show", "RUN", "--node", TEXT),
        case("show", TEXT),
    ],
    "test": [
        case("test", "tested.mmd", "--base-url", "SERVER"),
        case("test", "tested.mmd", "--base-url", "SERVER", "--record"),
        case("test", "tested.mmd", "--base-url", "SERVER", "--format", "json", shows=False),
        case("test", f"tested.mmd::{TEXT}", "--base-url", "SERVER"),
        case("test", "-k", TEXT),
        case("test", "--save", TEXT),
        case("test", "wrong.mmd"),
        case("test", TEXT),
    ],
}


def answer(request: Received) -> Step:
    if request.method == "GET":
        return Raw(json.dumps({"data": [{"id": TEXT}]}).encode())
    if "refuse" in request.prompt:
        return Status(400, TEXT)
    if '"candidates"' in request.prompt or "verdicts" in request.prompt:
        return Reply(suggested(request))
    if "merrow_verdict" in json.dumps(request.body.get("response_format", {})):
        return Reply(json.dumps({"pass": False, "reasons": [TEXT], "feedback": TEXT}))
    if request.body.get("response_format") or "def " in request.prompt or "Python" in request.prompt:
        return Reply(f"```python\ndef solve():\n    raise ValueError({TEXT!r})\n```")
    return Reply(TEXT)


def suggested(request: Received) -> str:
    if is_judging(request):
        return verdicts(request).replace('"Because."', PROMPT)
    refused = candidate({"apply": TEXT}, title=TEXT, reason=TEXT)
    return said(candidate(prompt(f"{TEXT} well", "A"), title=TEXT, reason=TEXT), refused)


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with serving(answer) as running:
        yield running


@pytest.fixture(scope="module")
def terminal() -> Iterator[Terminal]:
    with terminals() as running:
        yield running


@pytest.fixture(autouse=True)
def _workspace() -> None:
    write("flow.mmd", FLOW)
    write("chain.mmd", CHAIN)
    write(f"{NAME} chain.mmd", CHAIN)
    write("chain2.mmd", CHAIN.replace("first", "other"))
    write("broken.mmd", BROKEN)
    write("data.jsonl", DATA)
    write(NAME + ".jsonl", DATA)
    write("refused.jsonl", DATA.replace('"PROBLEM": "', '"PROBLEM": "refuse '))
    write("asking.mmd", ASKING)
    write("tested.mmd", CHAIN)
    write("tested.cases.yaml", TESTED)
    write("plan.json", json.dumps(TASKS))
    write("twisted.json", json.dumps({**TASKS, "tasks": [{"id": TEXT, "objective": TEXT, "after": ["x" + TEXT]}]}))
    write("wrong.mmd", CHAIN)
    write("wrong.cases.yaml", f"cases: [{{id: {PROMPT}, {PROMPT}: 1}}]\n")
    write("repairable.mmd", f"{ONE_VOICE}  %% {TEXT}\n    A-->RETURN\n" + UNTIDY)
    write(f"{NAME}.mmd", GOOD.replace("    A -->", "  A -->"))
    write(f"{NAME}.toml", f"[check]\nselect = [{PROMPT}]\n{PROMPT} = 1\n")


UNTIDY = """\
    CODE["Programmer<br/>"]:::ProgrammerOp
    PROBLEM --> CODE
    CODE --> RETURN
    classDef ProgrammerOp fill:#ddd
"""


def test_every_command_has_cases() -> None:
    assert CASES.keys() == COMMANDS.keys()


@pytest.mark.parametrize("command", sorted(COMMANDS))
@pytest.mark.thinned(16)
def test_no_text_drives_the_terminal(command: str, server: OpenAIServer, terminal: Terminal) -> None:
    run = evaluation = search = waiting = ""
    for each in CASES[command]:
        arguments = [server.base_url if word == "SERVER" else word for word in each.arguments]
        if "many" in arguments:
            for number in range(60):
                write(f"many/{number} {NAME}.mmd", BROKEN)
        if "RUN" in arguments:
            run = run or _failed_run(server)
            arguments = [run if word == "RUN" else word for word in arguments]
        if "EVAL" in arguments:
            evaluation = evaluation or _evaluation(server)
            arguments = [evaluation if word == "EVAL" else word for word in arguments]
        if "WAITING" in arguments:
            waiting = waiting or _waiting_run(server)
            arguments = [waiting if word == "WAITING" else word for word in arguments]
        if "OPT" in arguments:
            search = search or _search(server)
            arguments = [search if word == "OPT" else word for word in arguments]
        shown = terminal(*arguments, stdin=each.stdin, typed=each.typed)
        assert harmless(shown), each.arguments
        if each.shows:
            assert "owned" in shown, (each.arguments, shown[-900:])
        assert "/merrow_server/" not in shown


@pytest.mark.slow
def test_the_question_of_the_cost_is_seen_before_anything_is_asked(server: OpenAIServer, terminal: Terminal) -> None:
    count = len(server.requests)
    shown = terminal("suggest", "chain.mmd", "--base-url", server.base_url, typed="n\n")
    question, _, rest = shown.partition("This may cost more than $0.05. Go on? [y/N]:")
    assert "Nothing was asked." in rest
    assert "\x1b[2K" not in shown
    assert "asking for candidates" not in shown
    assert len(server.requests) == count
    shown = terminal("suggest", "chain.mmd", "--base-url", server.base_url, typed="y\n")
    before, _, rest = shown.partition("Go on? [y/N]:")
    assert before.startswith(question)
    assert " of at most 5 steps)" in rest
    assert len(server.requests) > count
    # What is known is not asked for.
    shown = terminal("suggest", "chain.mmd", "--base-url", server.base_url)
    assert "All answers are known already" in shown
    assert "asking for candidates" not in shown


def _failed_run(server: OpenAIServer) -> str:
    outcome = merrow("run", "flow.mmd", "--base-url", server.base_url, "--input", f"PROBLEM={TEXT}", "--json")
    return str(json.loads(outcome.out.splitlines()[0])["run"])


def _waiting_run(server: OpenAIServer) -> str:
    outcome = merrow("run", "asking.mmd", "--base-url", server.base_url, "--input", f"PROBLEM={TEXT}", "--json")
    assert outcome.code == 3, outcome.err
    return str(json.loads(outcome.out.splitlines()[0])["run"])


def _evaluation(server: OpenAIServer) -> str:
    mapped = [server.base_url if word == "SERVER" else word for word in MAPPED]
    merrow("evaluate", "chain.mmd", "--dataset", "data.jsonl", *mapped)
    listed = json.loads(merrow("evaluations", "--format", "json").out)
    return str(listed[0]["evaluation"])


def _search(server: OpenAIServer) -> str:
    searched = [server.base_url if word == "SERVER" else word for word in SEARCHED]
    merrow("optimize", f"{NAME} chain.mmd", *searched)
    listed = json.loads(merrow("optimizations", "--format", "json").out)
    return str(listed[0]["search"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [[TEXT], [f"--{TEXT}"], ["check", f"--{TEXT}"], ["run"], ["show", "a", TEXT], [], ["--help"]]
)
def test_what_is_misused_is_told_as_text(arguments: list[str], terminal: Terminal) -> None:
    shown = terminal(*arguments)
    assert harmless(shown)
    assert ("owned" in shown) == any("owned" in word for word in arguments)


OUTBURSTS = {
    "print": "print(text)",
    "a warning": "import warnings; warnings.warn(text)",
    "a log": "import logging; logging.getLogger(text).error(text)",
    "a traceback": "raise ValueError(text)",
    "an error that nobody catches in a thread": "import threading; threading.Thread(target=int, args=(text,)).start()",
    "several lines": "sys.stderr.writelines([text, text]); sys.stdout.write(text)",
    "a table": "from merrow_server.rendering.terminal import console; from rich.table import Table;"
    "t = Table(text); t.add_row(text); console().print(t, text); console(err=True).print(text)",
    "a colour": "from merrow_server.rendering.terminal import echo, style; echo(style(text, fg='red')); echo(text, err=True)",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", OUTBURSTS)
def test_what_others_write_is_made_harmless_too(kind: str, terminal: Terminal) -> None:
    body = f"import sys; from merrow_server.rendering.terminal import guard; guard(); text = sys.argv[1]; {OUTBURSTS[kind]}"
    shown = terminal(TEXT, program=body)
    assert harmless(shown)
    assert "owned" in shown


def test_what_others_write_into_a_pipe_is_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = {name: io.TextIOWrapper(io.BytesIO(), "utf-8") for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    guard()
    for stream in (sys.stdout, sys.stderr):
        stream.write(f"{TEXT}\n")
        stream.flush()
    for stream in streams.values():
        assert stream.buffer.getvalue() == f"{TEXT}\n".encode()  # type: ignore[attr-defined]


def test_a_traceback_asked_for_is_text(terminal: Terminal) -> None:
    body = (
        "import sys; import merrow_server.cli as cli\n"
        "def fail(_): raise ValueError(sys.argv[1])\n"
        "cli._run = fail; sys.exit(cli.main(['--debug']))"
    )
    shown = terminal(TEXT, program=body)
    assert harmless(shown)
    assert "Traceback" in shown
    assert "owned" in shown


@pytest.mark.slow
def test_what_is_piped_is_as_it_was(server: OpenAIServer) -> None:
    run = merrow("run", "chain.mmd", "--base-url", server.base_url, "--input", "PROBLEM=x")
    assert run.out == TEXT + "\n"
    assert harmless(run.err)
    tidy = merrow("fmt", "-", stdin=f"{GOOD}%% {VISIBLE_ONLY}\n")
    assert VISIBLE_ONLY in tidy.out
    mutant = merrow("mutate", "chain.mmd", "--random", "1", env={"FORCE_COLOR": ""})
    assert "\x1b" not in mutant.out


def test_answers_on_a_terminal_keep_their_lines_and_tabs() -> None:
    assert plain("a\tb\r\nc\n\nd\u200de") == "a\tb\nc\n\nd\u200de"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_nothing_that_drives_a_terminal_is_left_and_nothing_else_is_changed(text: str) -> None:
    shown = plain(text)
    assert _DRIVES.search(shown) is None
    assert plain(shown) == shown
    kept, marks = _DRIVES.sub("", text.replace("\r\n", "\n")), iter(shown)
    assert all(mark in marks for mark in kept), "all else is there, in its order"
    if not _DRIVES.search(text):
        assert shown == text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environment", "shown"),
    [({}, "\x1b[31mno\x1b[0m\n"), ({"NO_COLOR": "1"}, "no\n"), ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, "no\n")],
)
def test_our_own_colours_are_shown_where_they_are_wanted(
    environment: dict[str, str], shown: str, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    program = (
        "from merrow_server.rendering.terminal import *; guard(); guard();"
        "echo(style('no', fg='red')); emit(style('no', fg='red'))"
    )
    assert terminal(program=program) == shown * 2


def routed(request: Received) -> Step:
    return Reply('{"word": "done", "many": 1}', delay=0.8) if request.prompt.startswith("last") else ordinary(request)


def test_a_rules_page_is_as_wide_as_is_read_well(terminal: Terminal) -> None:
    """The terminal has 300 columns; code is on a ground that reaches across the page."""
    shown = terminal("explain", "MW105").splitlines()
    assert max(len(re.sub(r"\x1b\[[0-9;?]*[a-z]", "", line)) for line in shown) == 100


@pytest.mark.slow
def test_a_run_is_a_table_that_ends_with_what_each_node_did(terminal: Terminal) -> None:
    write("flow.mmd", ROUTED)
    with serving(routed) as server:
        shown = terminal("run", "flow.mmd", "--input", "problem=a question", "--base-url", server.base_url)
    frames = [
        [re.split(" {2,}", line.rstrip()) for line in re.sub(r"\x1b\[[0-9;?]*[a-z]", "", frame).splitlines()]
        for frame in re.split(r"(?:\r|\x1b\[2K|\x1b\[1A)+", shown)
    ]
    *rows, spent, output, ended = frames[-1]
    seconds = {row[0]: float(row[2].removesuffix(" s")) for row in rows}
    assert [[*row[:2], *row[3:]] for row in rows] == [
        ["SHORT", "skipped", "D chose `yes`"],
        ["A", "finished", "4 tokens"],
        ["LONG", "finished", "26 tokens"],
        ["B", "finished", "101 tokens"],
    ]
    assert (spent, output) == (["3 calls, 131 tokens, cost unknown"], ["done"])
    assert ended[0].startswith("Finished: 3 calls, 131 tokens, cost unknown, ")
    assert seconds["SHORT"] == 0.0
    assert seconds["LONG"] < 0.8 <= seconds["B"], "the time of a node that has ended stands still"
    running = [float(row[2].removesuffix(" s")) for frame in frames for row in frame if row[:2] == ["B", "runs"]]
    assert 0.1 < running[-1] <= seconds["B"]
