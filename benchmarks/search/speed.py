"""What choosing a batch costs: CPU time at 300 candidates and up to 20 nodes, and the memory of the process."""

from __future__ import annotations

import resource
import statistics
import time

from benchmarks.search.world import START, Rules, World
from merrow_optimizer.search.children import Moves
from merrow_optimizer.search.engine import Search
from merrow_optimizer.search.strategies.guided import Guided
from merrow_runtime import RunOptions
from merrow_runtime.workflow import check_workflow

CANDIDATES, NODES, DRAWS = 300, 20, 15


def speed(candidates: int = CANDIDATES, draws: int = DRAWS) -> str:
    """A search until it has that many candidates; then the CPU time of each of so many further draws."""
    world = World(Rules(), 0)
    moves = Moves(check_workflow(START), RunOptions(default_model="m"), max_nodes=NODES)
    search = Search(moves.start(), Guided(moves), items=119, repeats=5, evaluations=10**7)
    drafts = search.history.drafts
    seconds: list[float] = []
    while len(seconds) < draws:
        began = time.process_time()
        draw = search.next()
        took = time.process_time() - began
        if draw is None:
            raise RuntimeError("a search without an end has ended")
        if len(drafts) > candidates:
            seconds.append(took)
        draft = drafts[draw.candidate]
        search.outcome(draw.number, [world.answer(draft, place) for place in draw.places])
    nodes = max(draft.nodes for draft in drafts)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"Choosing a batch: {1000 * statistics.median(seconds):.0f} ms of CPU time in the median of {draws}, {len(drafts)}"
        f" candidates of up to {nodes} nodes; {memory:.0f} MB in the process."
    )
