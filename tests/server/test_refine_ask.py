"""A model's revision that a person is asked about first: on a terminal, and where nobody can be asked."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.runtime.openai_server import OpenAIServer, Received, Reply, Step, serving
from tests.server.program import merrow, write
from tests.server.test_given import on_a_terminal, typed

FLOW = """\
---
workflow: {model: m-1, refine: {every: 1, max: 1, ask: true}}
---
flowchart TD
    PROBLEM([Problem]):::Interface
    A@{op: Custom, prompt: "first"}
    B@{op: Custom, prompt: "second"}
    RETURN([Answer]):::Interface
    PROBLEM --> A --> B --> RETURN
"""
WANTED = {"reason": "Shorter \x1b[31mis better.", "changes": [{"do": "edit", "id": "B", "objective": "other"}]}
RUN = ["run", "flow.mmd", "--input", "problem=x"]


def answer(request: Received) -> Step:
    first = request.body["messages"][0]["content"]
    return Reply(json.dumps(WANTED) if first.startswith("You look after") else first.split("\n")[0] + "!")


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    write("flow.mmd", FLOW)
    with serving(answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server


@pytest.mark.slow
@on_a_terminal
@pytest.mark.parametrize(("keys", "result"), [(b"y\n", "other!"), (b"n\n", "second!"), (b"\x04", "second!")])
def test_a_person_agrees_or_does_not(keys: bytes, result: str) -> None:
    code, shown = typed(RUN, ("Apply revision 1? [y/n] ", b"what?\n"), ("Apply revision 1? [y/n] ", keys))
    assert code == 0, shown
    assert result in shown
    assert "The model says: Shorter " in shown
    assert "kept     A" in shown
    assert "changed  B" in shown


def test_where_nobody_can_be_asked_it_is_refused_and_the_run_goes_on() -> None:
    ended = merrow(*RUN)
    assert (ended.code, ended.out) == (0, "second!\n")
    assert "Nobody can be asked here whether the revision is applied, so it is refused." in ended.err
    told = [json.loads(line)["event"] for line in merrow(*RUN, "--fresh", "--json").out.splitlines()]
    assert [name for name in told if name.startswith("revision_")] == [
        "revision_opened",
        "revision_waiting",
        "revision_refused",
    ]
