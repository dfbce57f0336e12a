"""What can run, what is skipped and what the results are, derived only from outcomes.

Nothing here waits, uses a clock or has side effects. The caller, a real run or a dry run, reports the outcome of each
visit to a frontier and carries out what follows.
"""

from merrow_runtime.frontier.alone import OneNode
from merrow_runtime.frontier.fold import Frontier
from merrow_runtime.frontier.outcomes import (
    Chose,
    Closes,
    Consequence,
    Ended,
    Failed,
    Gave,
    Inputs,
    Judged,
    JudgeTurn,
    Keys,
    LoopEnds,
    LoopReopens,
    Made,
    Opens,
    Outcome,
    Revision,
    Skip,
    Start,
    Takes,
    Withdrawn,
)
from merrow_runtime.frontier.reach import behind

__all__ = [
    "Chose",
    "Closes",
    "Consequence",
    "Ended",
    "Failed",
    "Frontier",
    "Gave",
    "Inputs",
    "JudgeTurn",
    "Judged",
    "Keys",
    "LoopEnds",
    "LoopReopens",
    "Made",
    "OneNode",
    "Opens",
    "Outcome",
    "Revision",
    "Skip",
    "Start",
    "Takes",
    "Withdrawn",
    "behind",
]
