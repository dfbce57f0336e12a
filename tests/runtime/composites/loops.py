"""Short ways to write Loops and Maps, and what comes of running them."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.runtime.engine.fakes import Answer, FakeEndpoint, answered, flowchart

import merrow_runtime
from merrow_runtime import RunOptions, RunResult, Workflow, check_workflow
from merrow_runtime.models.prices import Price
from merrow_runtime.requests import ModelRequest
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.store.database import Store
from merrow_runtime.store.memory import MemoryStore

TYPES = "{types: {Mood: [good, bad]}}"


def custom(name: str, more: str = "") -> str:
    """A Custom whose prompt is its own name."""
    return f'{name}["Custom (prompt: {name}{", " + more if more else ""})"]:::CustomOp'


def box(name: str, title: str, *lines: str) -> list[str]:
    return [f'subgraph {name}["{title}"]', *(f"    {line}" for line in lines), "end"]


def flow(*lines: str | list[str], front: str = TYPES) -> Workflow:
    """A workflow of these lines, whose subgraphs are lists of lines."""
    flat = [line for part in lines for line in ([part] if isinstance(part, str) else part)]
    return check_workflow(flowchart(*flat, front=front), name="test.mmd")


def asks(request: ModelRequest) -> str:
    """The name of the node that asks."""
    return request.messages[0].content.split("\n")[0]


def data(request: ModelRequest) -> str:
    return request.messages[-1].content


class Ran:
    """A run that is over: its result, what was asked, what was told."""

    def __init__(self, result: RunResult, endpoint: FakeEndpoint, events: list[merrow_runtime.Event]) -> None:
        self.result, self.endpoint, self.events = result, endpoint, events

    @property
    def asked(self) -> list[str]:
        return [asks(request) for request in self.endpoint.seen]

    @property
    def told(self) -> list[tuple[str, str | None, str]]:
        return [(event.event, event.node, event.path) for event in self.events]

    def record(self, name: str) -> NodeRecord:
        return self.result.nodes[name]


class Priced(FakeEndpoint):
    """An endpoint with one price for all models, or none that is known."""

    def __init__(self, answer: Answer, price: Price | None) -> None:
        super().__init__(answer)
        self._price = price

    def price(self, model: str) -> Price | None:
        """See `merrow_runtime.models.prices.PricedEndpoint`."""
        return self._price if model else None


async def ran(
    workflow: Workflow,
    answer: Answer | Callable[[str, str], object],
    *,
    store: Store | None = None,
    options: RunOptions | None = None,
    problem: str = "x",
    price: Price | None = None,
) -> Ran:
    endpoint = Priced(answer, price)  # type: ignore[arg-type]
    run = merrow_runtime.start(
        workflow,
        {"problem": problem},
        endpoint=endpoint,
        store=MemoryStore() if store is None else store,
        options=RunOptions(fresh=True) if options is None else options,
    )
    result = await run.result()
    return Ran(result, endpoint, [event async for event in run.events()])


def says(**by_node: object) -> Answer:
    """Answers by the name of the node that asks: a text, or a list of texts, one after another (the last one again and again);
    a number or a truth where the node returns one; a function of the request. A node that isn't named answers with its name.
    """
    left = {name: list(said) if isinstance(said, list) else said for name, said in by_node.items()}

    def answer(request: ModelRequest) -> str | Exception:
        name = asks(request)
        if name not in left and request.schema is not None:
            return answered(request)
        said = left.get(name, name)
        if isinstance(said, list):
            said = said.pop(0) if len(said) > 1 else said[0]
        if callable(said):
            said = said(request)
        if isinstance(said, Exception):
            return said
        if request.schema is None:
            return str(said)
        properties = request.schema.schema["properties"]
        return json.dumps(dict.fromkeys(properties, said))

    return answer
