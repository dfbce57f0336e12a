"""The function of a compiled program in another program: awaited, several at once, shown in a notebook."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.openai_server import OpenAIServer, Reply, serving

from merrow_analysis.check import analyse
from merrow_runtime import RunFailure, check_workflow
from merrow_runtime.compiling.compiler import compile_workflow
from merrow_runtime.values import as_text

TWO = """---
workflow:
  outputs: [RETURN, OTHER]
---
flowchart TD
    PROBLEM([P]):::Interface
    A@{ op: Custom, prompt: "first" }
    B@{ op: Custom, prompt: "then" }
    RETURN([R]):::Interface
    OTHER([R]):::Interface
    PROBLEM -->|input| A
    A -->|input| B
    B --> RETURN
    A --> OTHER
    classDef Interface fill:#eee
"""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    monkeypatch.setenv("MERROW_CONFIG_DIR", str(tmp_path / "config"))
    with serving(lambda request: Reply(request.prompt.split("\n")[0] + "!")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        yield server


def made(text: str) -> dict[str, Any]:
    """What a program has."""
    module: dict[str, Any] = {"__name__": "made_program"}
    exec(compile(text, "made_program.py", "exec"), module)  # noqa: S102
    return module


async def test_a_result_is_its_text_and_shows_itself(server: OpenAIServer) -> None:
    workflow = made(compile_workflow(check_workflow(TWO)))["workflow"]
    first, second = await asyncio.gather(workflow("x"), workflow(problem="<y>"))
    assert isinstance(first, str)
    assert first == "then!\nfirst!"
    assert second.outputs == {"RETURN": "then!", "OTHER": "first!"}
    assert {request.prompt.split("\n")[1] for request in server.requests if request.prompt.startswith("first")} == {
        "x",
        "<y>",
    }
    shown = second._repr_mimebundle_()
    assert shown["text/plain"] == second
    assert "first!" in shown["text/html"]
    assert not analyse(shown["text/vnd.mermaid"]).refusals


async def test_a_failure_is_an_exception(server: OpenAIServer) -> None:
    server.answer = lambda _: Reply("I won't.", finish="content_filter")
    workflow = made(compile_workflow(check_workflow(TWO)))["workflow"]
    with pytest.raises(RunFailure) as failed:
        await workflow("x")
    assert failed.value.node == "A"
    with pytest.raises(TypeError):
        await workflow()


DRAWN = """flowchart TD
    Start([Start]) --> A["Write #quot;it#quot;"]
    A --> GOOD{"Is it good?"}
    GOOD -->|"#quot;not yet#quot;"| B[Mend it]
    GOOD -->|yes| STOP([Answer])
    B --> C{Better?}
    C -->|no| B
    C -->|yes| STOP
"""
SHOWN = """flowchart TD
    n0(["Start"])
    n1["Write #quot;it#quot;"]
    n2{"Is it good?"}
    n3["Mend #quot;it#quot; now"]
    n4{"Better?"}
    n5(["STOP"])
    n0 --> n1
    n1 --> n2
    n2 -->|"#quot;not yet#quot;"| n3
    n4 -->|"or #quot;no#quot;"| n3
    n3 --> n4
    n2 -->|"yes"| n5
    n4 -->|"yes"| n5"""


async def test_a_result_shows_the_workflow_and_each_output(server: OpenAIServer) -> None:
    text = compile_workflow(check_workflow(DRAWN, name="drawn.mmd"))
    # A label and a title as somebody may write them into the program.
    text = text.replace('"no"', r'"or\n\"no\""').replace('"title": "Mend it"', r'"title": "Mend \"it\"\nnow"')
    program = made(text)
    server.answer = lambda request: Reply("yes" if "Is it good?" in request.prompt else "a <b>")
    result = await program["workflow"]("x")
    assert (result, result.outputs, result.diagram) == ("a <b>", {"STOP": "a <b>"}, SHOWN)
    shown = result._repr_mimebundle_(include=None, exclude=None)
    assert shown == {
        "text/plain": "a <b>",
        "text/vnd.mermaid": SHOWN,
        "text/html": f'<pre class="mermaid">{escape(SHOWN)}</pre><h4>STOP</h4><pre>a &lt;b&gt;</pre>',
    }
    two = program["Result"]({"A&B": ["x", 1], "C": True})
    assert (two, two.diagram) == ("\n".join([as_text(["x", 1]), as_text(True)]), "")
    assert two._repr_mimebundle_()["text/html"] == (
        f'<pre class="mermaid"></pre><h4>A&amp;B</h4><pre>{escape(as_text(["x", 1]))}</pre><h4>C</h4><pre>true</pre>'
    )
