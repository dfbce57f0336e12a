"""Reproductions against an endpoint on loopback: tiny data in the published forms, and answers that follow from the question."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from tests.optimizer.extraction.planted import shown_parts
from tests.optimizer.suggestions.scripted import candidate, is_judging, said, verdicts
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step
from tests.server.program import Outcome, merrow, write

ITEMS = 5
SETS = ("gsm8k", "math", "humaneval", "mbpp", "drop", "hotpotqa")
PLAN = {  # as many tasks as the plans of the paper have in the mean
    "agents": [{"id": "a", "role": "Worker", "prompt": ""}],
    "tasks": [
        {"id": name, "objective": f"Do part {name}.", "agent": "a", "output_format": "", "after": list(after)}
        for name, after in (
            ("k", ""),
            ("l", ""),
            ("m", "k"),
            ("n", "kl"),
            ("o", "mn"),
            ("p", "o"),
            ("q", "o"),
            ("r", "pq"),
        )
    ],
}
_ADVERBS = ("slowly", "calmly", "boldly", "briefly", "firmly", "gently", "neatly", "plainly")
_VERBS = ("checking", "noting", "weighing", "sorting", "naming", "reading", "tracing", "testing")
_NOUNS = ("signs", "units", "terms", "limits", "facts", "words", "forms", "parts")
_PLACES = ("first", "last", "twice", "throughout", "early", "often", "once", "always")
FUNCTION = "def first(x):\n    return x\n"
CHECK = "def check(candidate):\n    assert candidate(1) == 1\n"


def record(name: str, number: int) -> dict[str, Any]:
    """A record of a published form."""
    question = f"Case {number}: how many are {number} and 7?"
    if name == "gsm8k":
        return {"question": question, "answer": str(number + 7), "cot": f"Add them: {number + 7}", "id": number}
    if name == "math":
        solution = f"Adding gives $\\boxed{{{number + 7}}}$."
        return {"problem": question, "level": "Level 5", "type": "Prealgebra", "solution": solution}
    if name == "humaneval":
        prompt = f'def first(x):\n    """Return x, in case {number}."""\n'
        return {"task_id": f"HumanEval/{number}", "prompt": prompt, "entry_point": "first"} | {
            "canonical_solution": "    return x\n",
            "test": CHECK,
        }
    if name == "mbpp":
        tests = ["assert first(1) == 1"]
        return {"source_file": "x", "task_id": number, "prompt": f"Return x, in case {number}.", "code": FUNCTION} | {
            "test_imports": [],
            "test_list": tests,
            "entry_point": "first",
            "test": CHECK,
        }
    if name == "drop":
        context = f"Passage: there are {number} cats and 7 dogs.\nQuestion: how many cats are there?\nAnswer:"
        return {"context": context, "completion": "", "ref_text": str(number), "id": f"d{number}"}
    context = [["Cats", [f"There are {number} cats."]]]
    return {"_id": f"h{number}", "question": "How many cats?", "answer": str(number), "context": context}


def tiny_data(folder: Path) -> None:
    """Every published file, with few records."""
    folder.mkdir(exist_ok=True)
    for name in SETS:
        for part, first in (("validate", 0), ("test", 100)):
            records = [record(name, first + number) for number in range(ITEMS)]
            write(str(folder / f"{name}_{part}.jsonl"), "".join(json.dumps(one) + "\n" for one in records))
    visible = {"entry_point": "first", "test": ["assert candidate(1) == 1"]}
    known = [
        {"problem_id": record("humaneval", n)["task_id"], **visible} for n in (*range(ITEMS), *range(100, 100 + ITEMS))
    ]
    write(str(folder / "humaneval_public_test.jsonl"), "".join(json.dumps(one) + "\n" for one in known))
    write(str(folder / "mbpp_public_test.jsonl"), json.dumps(visible) + "\n")


def answer(request: Received) -> Step:
    """An answer that follows from the question."""
    messages = request.body["messages"]
    schema = request.body.get("response_format", {}).get("json_schema", {})
    if schema.get("name") == "merrow_plan":
        return Reply(json.dumps(PLAN))
    properties = schema.get("schema", {}).get("properties", {})
    if "candidates" in properties or "verdicts" in properties:
        return Reply(_improved(request))
    if {"steps"} == properties.keys():
        return Reply(json.dumps({"steps": [_step(json.dumps(messages))]}))
    if {"operators", "mapping"} <= properties.keys():
        return Reply(json.dumps(_kept(messages)))
    if "prompt" in properties:
        name = {"name": "Solver"} if "name" in properties else {}
        return Reply(
            json.dumps({**name, "prompt": f"Do what this kind of task asks for, {_way(json.dumps(messages))}."})
        )
    if "group" in properties:
        return Reply(json.dumps({"group": shown_parts(messages[1]["content"])["The groups"][0]["number"]}))
    if properties:
        return Reply(json.dumps({name: _value(one) for name, one in properties.items()}))
    text = json.dumps(messages)
    if "function" in text or "def first" in text:
        # Few are right: a start that has all of its items right leaves a search nothing to do.
        is_right = crc32(json.dumps(request.body, sort_keys=True).encode()) % 4 == 0
        return Reply(f"```python\n{FUNCTION if is_right else FUNCTION.replace('return x', 'return 0')}```")
    number = re.findall(r"Case (\d+)|are (\d+) cats", text)
    known = int(max(number[0])) if number else 7
    return Reply(f"The answer is {known + 7 * (crc32(json.dumps(request.body, sort_keys=True).encode()) % 3)}.")


def _step(text: str) -> dict[str, Any]:
    """One step that solves a case."""
    is_code = "ENTRY_POINT" in text
    reads, gives = (["PROBLEM", "ENTRY_POINT"], "Code") if is_code else (["PROBLEM"], "Answer")
    said = {"does": "It solves the task.", "reads": reads, "gives": gives, "built_in": None}
    return {"name": "Solve", **said, "prompt": f"Solve this kind of task with care, {_way(text)}."}


def _way(text: str) -> str:
    """Words that follow from a question. No two extractions of a real model say the same: equal operators would make equal
    searches, whose answers are known already.
    """
    code = crc32(text.encode())
    return " ".join(words[code // 8**place % 8] for place, words in enumerate((_ADVERBS, _VERBS, _NOUNS, _PLACES)))


def _kept(messages: list[Mapping[str, Any]]) -> dict[str, Any]:
    shown = shown_parts(messages[1]["content"])["The operators"]
    return {
        "operators": [{"name": one["name"], "prompt": one["prompt"]} for one in shown],
        "mapping": [{"from": one["name"], "to": one["name"], "reason": "It is needed."} for one in shown],
    }


def _improved(request: Received) -> str:
    """Candidates that follow from the question, and verdicts that are all alike."""
    if is_judging(request):
        return verdicts(request)
    text = "\n".join(message["content"] for message in request.body["messages"])
    menu = re.findall(r'"- ([0-9a-f]{12}): Insert (?:Custom|Format|AnswerGenerate) on', text)
    (node, *_) = [*re.findall(r"Replace \w+ (\w+) by", text), "EXECUTE"]
    codes = [crc32(f"{n} {json.dumps(request.body)}".encode()) for n in range(2)]
    # A temperature of its own makes it another candidate than all before.
    own = [{"set": {"node": node, "temperature": 0.1 + code % 9_000 / 10_000}} for code in codes]
    grown = [{"apply": menu[code % len(menu)]} for code in codes if menu]
    moves = [[*grown[n : n + 1], own[n]] if codes[n] % 3 == 0 else [own[n]] for n in range(2)]
    return said(*(candidate(*several, title=f"By {code}") for several, code in zip(moves, codes, strict=True)))


def _value(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    return {"array": [], "integer": 1, "number": 1, "boolean": True, "object": {}}.get(schema.get("type", ""), "some")


@contextmanager
def place(monkeypatch: pytest.MonkeyPatch, folder: Path, server: OpenAIServer) -> Iterator[None]:
    """A folder with a state of its own, prices and tiny data."""
    folder.mkdir(exist_ok=True)
    with monkeypatch.context() as here:
        here.chdir(folder)
        here.setenv("MERROW_STATE_DIR", str(folder / "state"))
        here.setenv("MERROW_CONFIG_DIR", str(folder / "config"))
        here.setenv("OPENAI_BASE_URL", server.base_url)
        here.setenv("OPENAI_API_KEY", "sk-test")
        prices = f'[prices."{server.origin}"]\n"*" = {{input = 1.0, output = 2.0}}\n'
        write("config/config.toml", f"{prices}[models]\nmax_tokens = 300\n")
        tiny_data(folder / "data")
        yield


def reproduce(paper: str, *more: str) -> Outcome:
    return merrow("reproduce", paper, "--data", "data", "--other-data", *more)
