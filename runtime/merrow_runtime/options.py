"""How a run is to be made: what the command line, an editor or a program may decide about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merrow_analysis.definitions.schema import REFINE
from merrow_analysis.definitions.validation import violations
from merrow_runtime.errors import UsageFailure
from merrow_runtime.models.retry import RetryPolicy
from merrow_runtime.provenance import Reuse
from merrow_runtime.values import Value

if TYPE_CHECKING:
    from merrow_runtime.store.recordings.recording import KeepsCalls, Replay

DEFAULT_MODEL = "gpt-4o-mini"
"""The model where neither node, workflow, command line nor settings name one."""
DEFAULT_EMBEDDING_MODEL = "text-embedding-3-small"
"""The model that embeds texts where neither node nor settings name one."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Everything about a run that is not in its workflow or its inputs.

    - ``model``: takes precedence over the workflow's model, not before that of a node which names its own.
    - ``override_models``: ``model`` takes precedence over that of nodes and agents, too.
    - ``default_model``: for workflows that name none (None: the user's settings).
    - ``base_url``: the endpoint, where none is handed to `merrow_runtime.start`.
    - ``concurrency``: how many calls to one endpoint may be on their way at the same time (None: the user's
      settings, else 64).
    - ``budget_usd``, ``budget_tokens``, ``budget_seconds``: in place of the workflow's own limits.
    - ``no_store``: the journal, the answers and the run are in memory only and gone with the process. A workflow that asks people
      is refused then, unless the run is handed a store.
    - ``keeps_stores``: with ``no_store``, too, the stores of a workflow are the user's: what is remembered stays, and so do
      indexes and vectors.
    - ``fresh``: no answer is taken from the cache (answers are still put there).
    - ``record``, ``replay``: a file that all calls are written to, or answered from and from nowhere else; or the object
      that does it.
    - ``seed``: what shuffles are seeded with, together with the node's id.
    - ``repeat``: the number of this repetition of equal runs: with a temperature above 0 they don't share answers.
    - ``from_run``: a run whose results are reused where a node's key is equal.
    - ``from_node``: this node and all that follow from it run again, past the cache.
    - ``reuse``: which results of ``from_run``, or of the run that is resumed, may be used: ``same``, those of the endpoint
      that answers now (others are made again), or ``any``. None: where it matters, `ForeignResults` is raised.
    - ``only``: run this one node, and nothing else; its inputs are those of ``set_values`` and ``from_run``.
    - ``set_values``: what arrives at ports, by ``NODE.port``.
    - ``set_outputs``: what nodes give in place of their own answers, by ``NODE`` or ``NODE.port``, recorded as a person's; it
      holds in this run and those made from it, until one of them runs from the node itself on.
    - ``retry``: how failed calls are tried again (None: as `RetryPolicy` has it); a node's ``retries`` takes precedence.
    - ``sandbox``: the means that hold generated code (None: the best there is); ``allow_unsafe``: run it although there
      are none that do.
    - ``refine``: what takes precedence over `refine` of the workflow, by its keys; an empty mapping turns it on, and
      ``{"max": 0}`` off.
    - ``mask``: the probability with which a node's result is passed on as `none`, to see what the workflow makes of it, drawn
      by ``seed``, ``repeat`` and ``mask_key``; ``mask_only``: of these nodes alone; ``mask_every``: also what a revision had
      made again.
    - ``unattended``: no person is asked in this process: a node that would ask one fails, so that its `default` counts.
    - ``told``: what agents are told that ask a person, by ``NODE``: the answer to each of their questions.
    - ``person``: the model that answers in the place of people, wherever a node asks them.
    - ``stream``: ask endpoints to stream, so that ``node_output`` events show answers as they come into being.
    """

    model: str | None = None
    default_model: str | None = None
    override_models: bool = False
    base_url: str | None = None
    concurrency: int | None = None
    budget_usd: float | None = None
    budget_tokens: int | None = None
    budget_seconds: float | None = None
    no_store: bool = False
    keeps_stores: bool = False
    fresh: bool = False
    record: Path | KeepsCalls | None = None
    replay: Path | Replay | None = None
    seed: int = 0
    repeat: int = 0
    from_run: str | None = None
    from_node: str | None = None
    reuse: Reuse | None = None
    only: str | None = None
    set_values: Mapping[str, Value] = field(default_factory=dict)
    set_outputs: Mapping[str, Value] = field(default_factory=dict)
    retry: RetryPolicy | None = None
    sandbox: str | None = None
    allow_unsafe: bool = False
    unattended: bool = False
    told: Mapping[str, str] = field(default_factory=dict)
    person: str | None = None
    stream: bool = False
    refine: Mapping[str, Any] | None = None
    mask: float | None = None
    mask_only: Sequence[str] = ()
    mask_every: bool = False
    mask_key: str = ""

    def __post_init__(self) -> None:
        if self.reuse not in (None, "same", "any"):
            raise UsageFailure("`reuse` must be `same` or `any`.")
        if self.concurrency is not None and self.concurrency < 1:
            raise UsageFailure("The concurrency must be 1 or more.")
        if self.from_node is not None and self.from_run is None:
            raise UsageFailure(f"To run from {self.from_node} on, name the run that the other results come from.")
        if self.set_values and self.only is None:
            raise UsageFailure("Values for ports can only be set where a single node is run.")
        if self.set_outputs and self.only is not None:
            raise UsageFailure(
                f"Node {self.only} runs alone, so no output of a node can be set; set what arrives at it."
            )
        for wrong in violations(REFINE, {**self.refine, **_listed(self.refine)}) if self.refine else ():
            name = f"refine.{wrong.path[0]}" if wrong.path else "refine"
            if wrong.kind == "unknown":
                raise UsageFailure(f"There is no `{name}`; the keys of `refine` are {', '.join(wrong.known)}.")
            raise UsageFailure(f"`{name}` must be {wrong.wanted}.")
        if self.mask is not None and not 0 <= self.mask <= 1:
            raise UsageFailure("The rate of masking must be from 0 to 1.")
        if self.mask is None and (self.mask_only or self.mask_every):
            raise UsageFailure("To say what is masked, say how often: --mask 0.2.")
        if self.only is not None and self.from_node is not None:
            raise UsageFailure("Either a single node is run or all from one on, not both.")

    def to_json(self) -> dict[str, Any]:
        """What a resume must know again. Files to record to or replay from are not part of it: a resume has its own."""
        shown: dict[str, Any] = {}
        for option in fields(self):
            value = getattr(self, option.name)
            if (
                option.name in _OF_ONE_PROCESS
                or value == option.default
                or (isinstance(value, Mapping) and not value and option.name != "refine")
            ):
                continue
            shown[option.name] = dict(value) if isinstance(value, Mapping) else value
        return shown

    @classmethod
    def from_json(cls, shown: Mapping[str, Any]) -> RunOptions:
        """The inverse of `to_json`; what this version doesn't know is left out."""
        known = {option.name for option in fields(cls)} - _OF_ONE_PROCESS
        return cls(**{name: value for name, value in shown.items() if name in known})


def _listed(refine: Mapping[str, Any]) -> dict[str, Any]:
    """A tuple where a front matter has a list."""
    return {"on": list(refine["on"])} if isinstance(refine.get("on"), tuple) else {}


_OF_ONE_PROCESS = frozenset(
    {"record", "replay", "no_store", "stream", "base_url", "sandbox", "allow_unsafe", "retry", "unattended"}
)
"""Options that say how one process works, or may hold what is not to be kept; `snapshot` keeps the origin instead."""
