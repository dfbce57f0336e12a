"""The function of a compiled program in another program: awaited, several at once, shown in a notebook; without a level to wait
for.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from html import escape
from types import ModuleType
from typing import Any

import pytest
from tests.patience import PATIENCE
from tests.runtime.openai_server import OpenAIServer, Reply

from merrow_analysis.check import analyse
from merrow_runtime import check_workflow
from merrow_runtime.compiling.compiler import compile_workflow
from merrow_runtime.values import as_text

WIDE = """flowchart TD
    PROBLEM([P]):::Interface
    MANY@{ op: Custom, prompt: "many", samples: 50, temperature: 1 }
    A@{ op: Custom, prompt: "first" }
    B@{ op: Custom, prompt: "then" }
    SLOW@{ op: Custom, prompt: "slow" }
    RETURN([R]):::Interface
    OTHER([R]):::Interface
    PROBLEM -->|input| MANY
    PROBLEM -->|input| A
    A -->|input| B
    PROBLEM -->|input| SLOW
    ALL@{ op: Assemble, how: concat }
    MANY --> ALL
    B --> ALL
    ALL --> RETURN
    SLOW --> OTHER
    classDef Interface fill:#eee
"""
HEADER = "---\nworkflow:\n  outputs: [RETURN, OTHER]\n---\n"


@pytest.fixture
def program() -> Iterator[ModuleType]:
    made = ModuleType("made_program")
    sys.modules["made_program"] = made
    exec(compile(compile_workflow(check_workflow(HEADER + WIDE)).text, "made_program.py", "exec"), made.__dict__)  # noqa: S102
    yield made
    del sys.modules["made_program"]


class Held:
    """An endpoint that answers nothing before `wanted` calls are on their way, and "slow" only once "then" was asked."""

    origin = "https://held.test"

    def __init__(self, program: ModuleType, wanted: int) -> None:
        self._program, self._wanted, self._under_way = program, wanted, 0
        self._all, self._then = asyncio.Event(), asyncio.Event()

    async def complete(self, request: Any, on_text: object = None) -> Any:
        del on_text
        self._under_way += 1
        asked = request.messages[0].content
        if self._under_way == self._wanted:
            self._all.set()
        if asked.startswith("then"):
            self._then.set()
        await asyncio.wait_for((self._then if asked.startswith("slow") else self._all).wait(), PATIENCE)
        return self._program.ModelReply(f"{asked[:5]}!")

    async def close(self) -> None:
        pass


@pytest.mark.slow
async def test_nothing_waits_for_a_level(program: ModuleType) -> None:
    held = Held(program, 52)
    program.endpoint_of = lambda _: held  # type: ignore[attr-defined]
    result = await program.workflow("x")
    assert result.outputs["OTHER"] == "slow!"
    assert result.outputs["RETURN"].count("many!") == 50


async def test_a_result_is_its_text_and_shows_itself(program: ModuleType) -> None:
    program.endpoint_of = lambda _: Held(program, 1)  # type: ignore[attr-defined]
    first, second = await asyncio.gather(program.workflow("x"), program.workflow(problem="<y>"))
    assert isinstance(first, str)
    assert first == "\n".join(str(value) for value in first.outputs.values())
    assert list(second.outputs) == ["RETURN", "OTHER"]
    shown = second._repr_mimebundle_()
    assert shown["text/plain"] == second
    assert shown["text/vnd.mermaid"].startswith("flowchart TD\n")
    assert "slow!" in shown["text/html"]
    assert not analyse(shown["text/vnd.mermaid"]).refusals


async def test_a_failure_is_an_exception(program: ModuleType) -> None:
    class Failing(Held):
        async def complete(self, request: Any, on_text: object = None) -> Any:
            del request, on_text
            raise program.EndpointFailure("It is down.", fatal=True)  # type: ignore[attr-defined]

    program.endpoint_of = lambda _: Failing(program, 1)  # type: ignore[attr-defined]
    with pytest.raises(program.RunFailure, match=r"It is down\."):
        await program.workflow("x")
    with pytest.raises(TypeError):
        await program.workflow()


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
    n4 -->|"yes"| n5
    n4 -->|"or #quot;no#quot;"| n5"""


async def test_a_result_shows_the_workflow_and_each_output(monkeypatch: pytest.MonkeyPatch) -> None:
    text = compile_workflow(check_workflow(DRAWN, name="drawn.mmd"), "runtime").text
    # A label and a title as somebody may write them into the program.
    text = text.replace('"no"', r'"or\n\"no\""').replace('"title": "Mend it"', r'"title": "Mend \"it\"\nnow"')
    made: dict[str, Any] = {"__name__": "made_program"}
    exec(text, made)  # noqa: S102
    async with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        server.script(Reply("a <b>"), Reply("yes"))
        result = await made["workflow"]("x")
    assert (result, result.outputs, result.diagram) == ("a <b>", {"STOP": "a <b>"}, SHOWN)
    shown = result._repr_mimebundle_(include=None, exclude=None)
    assert shown == {
        "text/plain": "a <b>",
        "text/vnd.mermaid": SHOWN,
        "text/html": f'<pre class="mermaid">{escape(SHOWN)}</pre><h4>STOP</h4><pre>a &lt;b&gt;</pre>',
    }
    two = made["Result"]({"A&B": ["x", 1], "C": True})
    assert (two, two.diagram) == ("\n".join([as_text(["x", 1]), as_text(True)]), "")
    assert two._repr_mimebundle_()["text/html"] == (
        f'<pre class="mermaid"></pre><h4>A&amp;B</h4><pre>{escape(as_text(["x", 1]))}</pre><h4>C</h4><pre>true</pre>'
    )
