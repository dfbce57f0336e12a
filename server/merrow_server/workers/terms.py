"""What a coordinator and its workers tell each other, as text: which items, under which conditions, and how a chunk ended."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from merrow_optimizer.evaluation.endings import Fatal
from merrow_optimizer.evaluation.evaluator import AnswerTask


@dataclass(frozen=True, slots=True)
class WorkerFacts:
    """What must be the same for all processes that work on an evaluation. Whether there is a key is one of them, the key is not.

    ``python`` is its version as ``3.11``; ``journal`` tells one journal from all others; ``data`` is the hash of the items, and
    ``stores`` what the documents of the workflow's stores are known by.
    """

    version: str
    python: str
    sandbox: str
    journal: str
    origin: str
    has_key: bool
    data: str
    stores: str = ""

    def to_text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of_text(cls, text: str) -> WorkerFacts:
        """The inverse of `to_text`."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class ChunkAllowance:
    """The money (US dollars) and the tokens that a chunk may use: what the evaluation may use (None: without a limit), and how
    much of that others have, or may use.
    """

    usd: float | None = None
    tokens: int | None = None
    used_usd: float = 0.0
    used_tokens: int = 0

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self.usd is not None or self.tokens is not None


@dataclass(frozen=True, slots=True)
class ChunkTerms:
    """The conditions of a chunk. ``concurrency`` is how many calls a worker may make at the same time, None: as many as it makes
    on its own.
    """

    facts: WorkerFacts
    concurrency: int | None = None
    allowance: ChunkAllowance = field(default_factory=ChunkAllowance)

    def to_text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of_text(cls, text: str) -> ChunkTerms:
        """The inverse of `to_text`."""
        read = json.loads(text)
        return cls(WorkerFacts(**read["facts"]), read["concurrency"], ChunkAllowance(**read["allowance"]))


@dataclass(frozen=True, slots=True)
class ChunkEnd:
    """How a chunk ended. ``done`` are the places in it of the answers that are kept; ``fatal`` is why no other could be had, and
    the place of the answer that showed it. ``refused`` says why the worker can't work on the evaluation, ``failed`` why its
    journal failed. ``seconds`` is how long it took.
    """

    done: Sequence[int] = ()
    fatal: Fatal | None = None
    fatal_at: int = -1
    refused: str = ""
    failed: str = ""
    seconds: float = 0.0

    def to_text(self) -> str:
        """As JSON."""
        return json.dumps({**asdict(self), "fatal": None if self.fatal is None else self.fatal.value})

    @classmethod
    def of_text(cls, text: str) -> ChunkEnd:
        """The inverse of `to_text`."""
        read = json.loads(text)
        return cls(**{**read, "fatal": None if read["fatal"] is None else Fatal(read["fatal"])})


def items_text(tasks: Iterable[AnswerTask]) -> str:
    """Which items a chunk has, by their ids, each with the number of its repeat."""
    return json.dumps([[task.item.id, task.repeat] for task in tasks])


def items_of(text: str) -> list[tuple[str, int]]:
    """The inverse of `items_text`."""
    return [(item, repeat) for item, repeat in json.loads(text)]
