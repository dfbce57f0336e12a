"""How events of a run come to the editor: at once when they are rare, in batches when they are many, text put together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from merrow_server.jobs.channel import EventChannel

Json = dict[str, Any]
PAUSE = 0.05


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time passes only when the test says so."""

    now = 0.1

    def time(self) -> float:
        return self.now

    async def settle(self, seconds: float = 0.0) -> None:
        """Let time pass, and all that is due be done."""
        self.now += seconds
        for _ in range(5):
            await asyncio.sleep(0)


def on_a_clock(scenario: Callable[[Clock, EventChannel, list[list[Json]]], Coroutine[Any, Any, None]]) -> None:
    loop, batches = Clock(), list[list[Json]]()
    try:
        loop.run_until_complete(scenario(loop, EventChannel(loop, batches.append), batches))
    finally:
        loop.close()


def event(name: str, node: str | None = None, **more: Any) -> Json:
    return {"event": name, "node": node, **more}


def output(node: str, text: str, **more: Any) -> Json:
    return event("node_output", node, text=text, **more)


def test_what_a_node_says_within_a_pause_is_one_event_up_to_its_next_other_one() -> None:
    async def scenario(clock: Clock, channel: EventChannel, batches: list[list[Json]]) -> None:
        channel.put(event("run_started"))
        await clock.settle()
        assert batches == [[event("run_started")]], "the first is sent at once"
        batches.clear()
        first = output("A", "a")
        for one in (
            first,
            output("A", "b"),
            output("A", "c", step="review"),
            output("A", "d", sample=1),
            output("B", "x"),
            event("node_finished", "B"),
            output("B", "y"),
            output("A", "e"),
            output("A", "f", step="review"),
        ):
            channel.put(one)
        assert first == output("A", "a"), "an event of the run stays as it is"
        await clock.settle(PAUSE * 0.9)
        assert batches == []
        await clock.settle(PAUSE * 0.2)
        assert batches == [
            [
                output("A", "abe"),
                output("A", "cf", step="review"),
                output("A", "d", sample=1),
                output("B", "x"),
                event("node_finished", "B"),
                output("B", "y"),
            ]
        ]
        channel.put(output("A", "g"))
        await clock.settle(PAUSE)
        channel.put(output("A", "h"))
        await clock.settle()
        assert batches[1:] == [[output("A", "g")]], "what was sent is added to no more"
        await clock.settle(PAUSE)
        assert batches[2:] == [[output("A", "h")]]
        await clock.settle(10 * PAUSE)
        channel.put(event("node_started", "C"))
        await clock.settle()
        assert batches[3:] == [[event("node_started", "C")]], "after a rest the next is sent at once"

    on_a_clock(scenario)


def test_many_events_come_in_batches_in_order_and_the_last_brings_all_that_wait() -> None:
    async def scenario(clock: Clock, channel: EventChannel, batches: list[list[Json]]) -> None:
        events = [event("node_started", str(number)) for number in range(1001)]
        for one in events[:450]:
            channel.put(one)
        await clock.settle()
        assert [len(batch) for batch in batches] == [200]
        await clock.settle(PAUSE / 5)
        assert [len(batch) for batch in batches] == [200, 200]
        await clock.settle(PAUSE / 5)
        assert [len(batch) for batch in batches] == [200, 200, 50]
        for one in events[450:1001]:
            channel.put(one)
        last = event("run_finished")
        channel.put(last)
        await clock.settle()
        assert [len(batch) for batch in batches[3:]] == [200, 200, 152]
        assert [one for batch in batches for one in batch] == [*events, last]
        await clock.settle(2 * PAUSE)
        assert len(batches) == 6, "nothing is sent twice, and no empty batch"
        channel.flush()
        await clock.settle()
        assert len(batches) == 6
        for name in ("run_failed", "run_cancelled"):
            channel.put(event("node_started", name))
            channel.put(event(name))
            await clock.settle()
            assert batches[-1] == [event("node_started", name), event(name)]

    on_a_clock(scenario)


def test_a_run_goes_on_though_nobody_listens_any_more() -> None:
    gone = asyncio.new_event_loop()
    gone.close()

    async def put() -> None:
        channel = EventChannel(gone, lambda _: None)
        channel.put(event("run_started"))
        channel.put(event("run_finished"))

    asyncio.run(put())
