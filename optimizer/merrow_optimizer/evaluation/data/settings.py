"""How data is read, as the TOML file beside it says: ``questions.toml`` beside ``questions.jsonl``, its table ``[dataset]``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from merrow_analysis.bounded.toml import read_toml
from merrow_analysis.suggest import closest
from merrow_optimizer.evaluation.data.problems import Collector, listed

_KEYS = ("reader", "map", "gold", "id", "metric", "metrics", "tests")


@dataclass(frozen=True, slots=True)
class DataSettings:
    """What ``[dataset]`` says; None and empty where it doesn't. ``golds`` and ``metrics`` are by fields of an answer, options of
    these metrics by ``FIELD.OPTION``.
    """

    reader: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    gold: str | None = None
    id_field: str | None = None
    metric: str | None = None
    metric_options: Mapping[str, Any] = field(default_factory=dict)
    tests: Path | None = None
    golds: Mapping[str, str] | None = None
    metrics: Mapping[str, str] = field(default_factory=dict)
    field_options: Mapping[str, Any] = field(default_factory=dict)


def settings_beside(file: Path) -> DataSettings:
    """The settings in the TOML file beside a data file; the defaults where there is none.

    Raises `DataError`.
    """
    beside = file.with_suffix(".toml")
    problems = Collector(beside)
    if not os.path.isfile(beside):  # noqa: PTH113 - also for a name that is too long, which pathlib raises for
        return DataSettings()
    settings = _read(beside, problems)
    problems.raise_all()
    return settings


def _read(file: Path, problems: Collector) -> DataSettings:
    try:
        table = read_toml(file.read_bytes().decode("utf-8-sig")).get("dataset")
    except (OSError, ValueError) as error:
        problems.add(f"The file can't be read as TOML: {str(error).rstrip('.')}.")
        return DataSettings()
    if table is None:
        return DataSettings()
    if not isinstance(table, dict):
        problems.add("The value must be a table.", field="dataset")
        return DataSettings()
    for key in table:
        if key not in _KEYS:
            near = closest(key, _KEYS)
            hint = f"did you mean `{near}`?" if near else f"the keys are {listed(_KEYS)}."
            problems.add(f"The key isn't known; {hint}", field=f"dataset.{key}")
    texts: dict[str, str | None] = {}
    golds = table.get("gold") if isinstance(table.get("gold"), dict) else None
    if golds is not None and not all(isinstance(value, str) for value in golds.values()):
        problems.add('The value must be a text, or a table of texts: `{category = "category"}`.', field="dataset.gold")
        golds = None
    for key in ("reader", "gold", "id", "tests"):
        value = None if isinstance(table.get(key), dict) and key == "gold" else table.get(key)
        if value is not None and not isinstance(value, str):
            problems.add("The value must be a text.", field=f"dataset.{key}")
            value = None
        texts[key] = value
    mapping = table.get("map", {})
    if not isinstance(mapping, dict) or not all(isinstance(value, str) for value in mapping.values()):
        problems.add('The value must be a table of texts: `map = {problem = "question"}`.', field="dataset.map")
        mapping = {}
    metric, options = _metric(table.get("metric"), file, "dataset.metric", problems)
    named = table.get("metrics", {})
    if not isinstance(named, dict):
        problems.add('The value must be a table of metrics by field: `{reply = "contains"}`.', field="dataset.metrics")
        named = {}
    metrics: dict[str, str] = {}
    field_options: dict[str, Any] = {}
    for name, value in named.items():
        own, own_options = _metric(value, file, f"dataset.metrics.{name}", problems)
        if own is not None:
            metrics[name] = own
        field_options |= {f"{name}.{option}": given for option, given in own_options.items()}
    tests = None if texts["tests"] is None else file.parent / texts["tests"]
    return DataSettings(
        texts["reader"], mapping, texts["gold"], texts["id"], metric, options, tests, golds, metrics, field_options
    )


def _metric(value: Any, file: Path, place: str, problems: Collector) -> tuple[str | None, dict[str, Any]]:
    """The name of a metric with its options."""
    options: dict[str, Any] = {}
    if isinstance(value, dict):
        options = {key: given for key, given in value.items() if key != "name"}
        value = value.get("name")
        for key in ("file", "schema"):
            if isinstance(options.get(key), str):
                options[key] = str(file.parent / options[key])
    if (value is not None or options) and not isinstance(value, str):
        problems.add(
            'The value must be a name, or a table with a name: `{name = "numeric", tolerance = 0.01}`.', field=place
        )
        value = None
    return value, options
