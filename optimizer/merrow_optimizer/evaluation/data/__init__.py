"""Data sets: read, checked, split into parts, and mapped to the inputs of a workflow."""

from __future__ import annotations

from merrow_optimizer.evaluation.data.data_set import DataSet, read_items
from merrow_optimizer.evaluation.data.fitting import fitted
from merrow_optimizer.evaluation.data.problems import DataError, DataProblem

__all__ = ["DataError", "DataProblem", "DataSet", "fitted", "read_items"]
