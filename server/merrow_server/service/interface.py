"""What a served workflow takes and gives: as JSON Schema, as an OpenAPI document, and as the tool of a model."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from merrow_analysis.called_files import output_type
from merrow_analysis.definitions.types import Type
from merrow_runtime.operators.formats.shapes import schema_of, shape_of
from merrow_runtime.program.definitions import meanings_of
from merrow_runtime.program.inputs import type_of_input
from merrow_runtime.workflow import Workflow

_NOT_OF_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64


_QUESTION: Mapping[str, Any] = {
    "type": "object",
    "required": ["node", "path", "question", "schema", "shown", "asked", "due"],
    "properties": {
        "node": {"type": "string"},
        "path": {"type": "string", "description": "The turn, item or call that the node is in; empty outside of them."},
        "question": {"type": "string"},
        "schema": {
            "type": "object",
            "description": "The form of the answer: a JSON Schema as an elicitation of the Model Context Protocol has it.",
        },
        "shown": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["title", "text"],
                "properties": {"title": {"type": "string"}, "text": {"type": "string"}},
            },
            "description": "What the person sees with the question.",
        },
        "asked": {"type": "number", "description": "Seconds since 1970."},
        "due": {"type": ["number", "null"], "description": "The deadline in seconds since 1970."},
        "problems": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Why an earlier answer was not accepted.",
        },
    },
}
_ANSWER: Mapping[str, Any] = {
    "type": "object",
    "required": ["node"],
    "properties": {
        "node": {"type": "string"},
        "path": {"type": "string", "description": "As the question has it; needed where the node asks several times."},
        "value": {"description": "A word, yes or no, a number, a list of words, or a text."},
        "form": {"type": "object", "description": "All fields of the form, the note too."},
        "decline": {"type": "boolean", "description": "True declines to answer: the node fails."},
    },
    "additionalProperties": False,
    "oneOf": [
        {"required": ["value"]},
        {"required": ["form"]},
        {"required": ["decline"], "properties": {"decline": {"const": True}}},
    ],
}


def name_of(workflow: Workflow) -> str:
    """What a model calls the workflow: the name of its file, as far as a tool's name can have it."""
    stem = PurePath(os.fspath(workflow.name)).name.partition(".")[0]
    return _NOT_OF_A_NAME.sub("_", stem).strip("_")[:_LONGEST_NAME] or "workflow"


def title_of(workflow: Workflow) -> str:
    """What the workflow is about, in one line."""
    title = workflow.analysis.settings.document.values.get("title")
    return (" ".join(str(title).split()) if isinstance(title, str) else "") or f"The workflow {name_of(workflow)}"


def inputs_schema(workflow: Workflow) -> dict[str, Any]:
    """The JSON Schema of what a run is given: an object with a value for each input."""
    properties: dict[str, Any] = {}
    needed: list[str] = []
    for node in workflow.graph.inputs:
        properties[node.id] = _schema(workflow, type_of_input(node))
        default = node.resolution.parameters.get("default")
        if default is None or default.value is None:
            needed.append(node.id)
        else:
            properties[node.id]["default"] = default.value
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def outputs_schema(workflow: Workflow) -> dict[str, Any]:
    """The JSON Schema of what a run gives: an object with the value of each output."""
    graph = workflow.graph
    properties = {node.id: _schema(workflow, output_type(node, graph.types)) for node in graph.outputs}
    return {"type": "object", "properties": properties, "required": list(properties)}


def _schema(workflow: Workflow, type_: Type) -> dict[str, Any]:
    shape = shape_of(type_, *meanings_of([type_], workflow.graph.types))
    return {**schema_of(shape), "title": str(type_)}


def openapi(workflow: Workflow, address: str) -> dict[str, Any]:
    """The OpenAPI document of the service at ``address``."""
    run = {
        "type": "object",
        "required": ["run", "status"],
        "properties": {
            "run": {"type": "string", "description": "The id of the run, for merrow show and merrow resume."},
            "status": {"enum": ["running", "waiting", "finished", "failed", "cancelled"]},
            "outputs": {"anyOf": [{"$ref": "#/components/schemas/Outputs"}, {"type": "object", "maxProperties": 0}]},
            "usage": {"type": "object"},
            "seconds": {"type": "number"},
            "exhausted": {
                "type": "array",
                "items": {"type": "string"},
                "description": "The Loops that still wanted another turn when their turns or their budget ran out.",
            },
            "error": {"type": "string"},
            "asks": {"$ref": "#/components/schemas/Questions"},
        },
    }
    error = {
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {"type": "string"},
            "by": {"type": "string", "description": "Who has answered the question before."},
        },
    }
    refused = {"description": "Why not, in a sentence.", "content": _json("Error")}
    ended = {"description": "How the run ended.", "content": _json("Run")}
    events = {"text/event-stream": {"schema": {"type": "string"}}}
    of_run = {"name": "run", "in": "path", "required": True, "schema": {"type": "string"}}
    headers = [
        {
            "name": "Idempotency-Key",
            "in": "header",
            "schema": {"type": "string", "maxLength": 200},
            "description": "A request that is sent again with the same key gets the run that it began before.",
        },
        {
            "name": "Prefer",
            "in": "header",
            "schema": {"enum": ["respond-async"]},
            "description": "Answer at once with the id of the run.",
        },
    ]
    begin = {
        "summary": title_of(workflow),
        "operationId": name_of(workflow),
        "parameters": headers,
        "requestBody": {"required": True, "content": _json("Inputs")},
        "responses": {
            "200": {**ended, "content": {**_json("Run"), **events}},
            "202": {
                "description": "The run has begun, or waits for people to answer its `asks`.",
                "content": _json("Run"),
            },
            "500": {"description": "The run failed; the error says why.", "content": _json("Run")},
            "503": {"description": "The run was stopped.", "content": _json("Run")},
            "4XX": refused,
        },
    }
    waiting = {
        "summary": "The runs that wait for people, at most 100",
        "responses": {
            "200": {
                "description": "Their open questions.",
                "content": {
                    "application/json": {
                        "schema": {
                            "type": "object",
                            "required": ["runs"],
                            "properties": {
                                "runs": {
                                    "type": "array",
                                    "items": {
                                        "type": "object",
                                        "required": ["run", "asks"],
                                        "properties": {
                                            "run": {"type": "string"},
                                            "asks": {"$ref": "#/components/schemas/Questions"},
                                        },
                                    },
                                }
                            },
                        }
                    }
                },
            },
            "4XX": refused,
        },
    }
    ways = {
        "parameters": [of_run],
        "get": {"summary": "A run", "responses": {"200": ended, "4XX": refused}},
        "delete": {"summary": "Stop a run", "responses": {"200": ended, "4XX": refused}},
    }
    answers = {
        "parameters": [of_run],
        "post": {
            "summary": "Answer a question of a run, and continue it",
            "parameters": headers[1:],
            "requestBody": {"required": True, "content": _json("Answer")},
            "responses": {
                "200": ended,
                "202": {"description": "The run continues, or waits for further answers.", "content": _json("Run")},
                "409": {"description": "Somebody has answered before.", "content": _json("Error")},
                "410": {"description": "The question is not open any more.", "content": _json("Error")},
                "422": {"description": "The answer does not fit its form.", "content": _json("Error")},
                "500": {"description": "The run failed; the error says why.", "content": _json("Run")},
                "503": {"description": "The run was stopped.", "content": _json("Run")},
                "4XX": refused,
            },
        },
    }
    told = {
        "parameters": [of_run, {"name": "Last-Event-ID", "in": "header", "schema": {"type": "integer"}}],
        "get": {
            "summary": "The events of a run",
            "responses": {
                "200": {"description": "As merrow run --json prints them.", "content": events},
                "4XX": refused,
            },
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": title_of(workflow), "version": "1"},
        "servers": [{"url": address}],
        "security": [{"token": []}],
        "paths": {
            "/runs": {"get": waiting, "post": begin},
            "/runs/{run}": ways,
            "/runs/{run}/answers": answers,
            "/runs/{run}/events": told,
        },
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {
                "Inputs": inputs_schema(workflow),
                "Outputs": outputs_schema(workflow),
                "Run": run,
                "Question": _QUESTION,
                "Questions": {
                    "type": "array",
                    "items": {"$ref": "#/components/schemas/Question"},
                    "description": "The open questions to people.",
                },
                "Answer": _ANSWER,
                "Error": error,
            },
        },
    }


def _json(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
