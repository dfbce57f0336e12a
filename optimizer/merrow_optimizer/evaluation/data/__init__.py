"""Data sets: read, checked, split into parts, and mapped to the inputs of a workflow."""

from __future__ import annotations

from merrow_optimizer.evaluation.data.fitting import fitted
from merrow_optimizer.evaluation.data.problems import DataError, DataProblem
from merrow_optimizer.evaluation.data.reading import DataSet, read_items

__all__ = ["DataError", "DataProblem", "DataSet", "fitted", "read_items"]
