"""What a person says about an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from merrow_optimizer.evaluation.data import DataSet, read_items
from merrow_optimizer.evaluation.data.names import data_file
from merrow_optimizer.evaluation.plan import EvaluationLimits

SEED = 42


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """What a person says about an evaluation, beside its workflow. ``dataset`` is a path, or the name of a shipped set; None: as
    `read_items` has it.
    """

    dataset: str
    reader: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    gold: str | None = None
    golds: Mapping[str, str] | None = None
    """By fields of an answer the fields of the data with their right values; None: whole answers are scored."""
    part: str | None = None
    limit: int | None = None
    items: tuple[str, ...] = ()
    metric: str | None = None
    metrics: Mapping[str, str] = field(default_factory=dict)
    """By fields of an answer their metrics."""
    metric_options: Mapping[str, Any] = field(default_factory=dict)
    repeats: int = 1
    seed: int = SEED
    model: str | None = None
    judge_model: str | None = None
    base_url: str | None = None
    concurrency: int | None = None
    fresh: bool = False
    limits: EvaluationLimits = field(default_factory=EvaluationLimits)
    batch: str | None = None
    """The file that the answers of all rows are written into, where nothing is scored."""
    solved: bool = False
    """Whether only items with a worked solution are wanted; ``solution`` is the field that has it, None: as the reader knows."""
    solution: str | None = None
    override_models: bool = False
    """Whether ``model`` takes the place of models that nodes name, too."""
    refine: Mapping[str, Any] | None = None
    mask: float | None = None
    mask_only: Sequence[str] = ()
    mask_every: bool = False
    """These four as in `RunOptions`."""
    answers: Mapping[str, str] = field(default_factory=dict)
    """By nodes that ask people the fields with their answers."""
    person: str | None = None
    """The model that answers in the place of people where these don't; None: none does."""
    tools: str = "live"
    fake_tools: str | None = None
    """Where results of tools come from, as `ToolChoice` reads it."""
    gates: Mapping[str, float] = field(default_factory=dict)
    """By fields of the output ("": the whole) the least score that passes; that is shown, and changes nothing else."""
    recipes: str | None = None
    """The folder whose recipes the environment textcraft has in the place of Merrow's own."""

    def read(self, part: str | None) -> DataSet:
        """The data that is meant, of this part. Raises `DataError`."""
        return read_items(
            data_file(self.dataset),
            reader=self.reader,
            mapping=self.mapping,
            gold=self.gold,
            golds=self.golds,
            part=part,
            limit=self.limit,
            items=self.items,
            seed=self.seed,
            solved=self.solved,
            solution=self.solution,
        )
