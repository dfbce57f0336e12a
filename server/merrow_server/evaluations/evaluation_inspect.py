"""An evaluation as a log of Inspect, version 2, for the programs that read such. ``report`` is that of
`evaluations.evaluation_data`, with inputs and answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from merrow_runtime.values import as_text
from merrow_server.evaluations.evaluation_data import inputs_text
from merrow_server.evaluations.stand_ins import stand_ins_text

_STATUS = {"running": "started", "finished": "success", "cancelled": "cancelled"}
"""Of Inspect; all others are ``error``."""


def as_inspect(report: Mapping[str, Any]) -> Iterator[str]:
    """The log, in one JSON object, part after part."""
    head, tail = json.dumps(_log(report), indent=1).split('\n "samples": []', 1)
    yield f'{head}\n "samples": ['
    mark = ""
    for row in report["rows"]:
        yield f"{mark}\n  " + json.dumps(_sample(row, report), indent=1).replace("\n", "\n  ")
        mark = ","
    yield f"\n ]{tail}" if mark else f"]{tail}"


def _log(report: Mapping[str, Any]) -> dict[str, Any]:
    """All of it but the samples."""
    rows, started = report["rows"], _time(report["started"])
    ended = _time(report["started"] + report["seconds"])
    status = _STATUS.get(report["status"], "error")
    usage = _usage(report["usage"])
    metrics = {"mean": report["score"], "lower": None, "upper": None}
    if report["interval"] is not None:
        metrics["lower"], metrics["upper"] = report["interval"]
    log = {
        "version": 2,
        "status": status,
        "eval": {
            "eval_id": report["evaluation"],
            "run_id": report["evaluation"],
            "task_id": report["evaluation"],
            "created": started,
            "task": _text(PurePath(report["workflow"]).stem),
            "task_file": _text(report["workflow"]),
            "dataset": {
                "name": _text(PurePath(report["dataset"]).stem),
                "location": _text(report["dataset"]),
                "samples": report["items"],
                "sample_ids": list(dict.fromkeys(_text(row["item"]) for row in rows)),
            },
            "model": _text(report["model"]) or "none",
            "model_base_url": _text(report["endpoint"]),
            "config": {"epochs": report["repeats"]},
            "metadata": {
                "part": report["part"],
                "held_out": report["held_out"],
                "seed": report["seed"],
                **({"stand_ins": _text(text)} if (text := stand_ins_text(report)) else {}),
            },
        },
        "plan": {"name": "merrow", "steps": []},
        "results": {
            "total_samples": report["items"] * report["repeats"],
            "completed_samples": len(rows) - report["answers"]["unanswered"],
            "scores": [
                {
                    "name": report["metric"],
                    "scorer": report["metric"],
                    "scored_samples": report["counted"],
                    "unscored_samples": report["items"] - report["counted"],
                    "metrics": {
                        name: {"name": name, "value": value} for name, value in metrics.items() if value is not None
                    },
                },
                *_of_fields(report),
            ],
        },
        "stats": {
            "started_at": started,
            "completed_at": "" if status == "started" else ended,
            "model_usage": {_text(report["model"]) or "none": usage},
        },
        "samples": [],
    }
    if status == "error":
        log["error"] = _error(report["error"] or "Its process ended before it did.")
    return log


def _of_fields(report: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The score of each field, where there are several."""
    fields: Mapping[str, Mapping[str, Any]] = report.get("fields", {})
    for name, field in fields.items() if len(fields) > 1 else ():
        values = {"mean": field["score"]} | dict(zip(("lower", "upper"), field["interval"] or (), strict=False))
        yield {
            "name": f"{name}={field['metric']}",
            "scorer": field["metric"],
            "scored_samples": field["n"],
            "unscored_samples": report["items"] - field["n"],
            "metrics": {key: {"name": key, "value": value} for key, value in values.items() if value is not None},
        }


def _sample(row: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, Any]:
    asked = _text("" if row["inputs"] is None else inputs_text(row["inputs"]))
    answered = None if "output" not in row else _text(as_text(row["output"]))
    model = _text(report["model"]) or "none"
    sample: dict[str, Any] = {
        "id": _text(row["item"]),
        "epoch": row["repeat"] + 1,
        "input": asked,
        "target": _text(row["gold"]),
        "messages": [{"role": "user", "content": asked, "source": "input"}],
        "output": {"model": model, "choices": []},
        "model_usage": {model: _usage(row["usage"])},
        "total_time": row["seconds"],
        "working_time": row["seconds"],
        "metadata": {"status": row["status"], "run": row["run"], "exhausted": row["exhausted"]},
        "scores": {},
    }
    if answered is not None:
        message = {"role": "assistant", "content": answered, "source": "generate", "model": model}
        sample["messages"].append(message)
        sample["output"] |= {"choices": [{"message": message, "stop_reason": "stop"}], "completion": answered}
    if row["value"] is None:
        sample["error"] = _error(row["reason"])
    else:
        score = {"value": row["value"], "answer": _text(row["read"]), "explanation": _text(row["reason"])}
        of_fields = {
            f"{name}={report['fields'][name]['metric']}": {
                "value": field["value"],
                "answer": _text(field["read"]),
                "explanation": _text(field["reason"]),
            }
            for name, field in row["fields"].items()
            if len(report["fields"]) > 1
        }
        sample["scores"] = {report["metric"]: score, **of_fields}
    return sample


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    given, made = usage["prompt_tokens"], usage["completion_tokens"]
    cost = {} if usage["cost_usd"] is None else {"total_cost": usage["cost_usd"]}
    return {"input_tokens": given, "output_tokens": made, "total_tokens": given + made, **cost}


def _error(sentence: str) -> dict[str, str]:
    shown = _text(sentence)
    return {"message": shown, "traceback": shown, "traceback_ansi": shown}


def _text(text: str) -> str:
    """A text that every reader of JSON takes: half of a surrogate pair is a visible escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
