"""A server of tools that does things which can be counted: a program of the standard library, run as ``mailer.py LOG``.

Each mail is a line of the file LOG as soon as it is sent. What its body says happens then: ``die``, ``wait``, ``refuse``,
``fail``, or ``early``, before it is sent.
"""

import json
import os
import sys
import time
from pathlib import Path

TEXT = {"type": "string"}
SEND = {
    "name": "send",
    "description": "Sends a mail.",
    "inputSchema": {
        "type": "object",
        "properties": {"to": TEXT, "body": TEXT, "copies": {"type": "integer"}},
        "required": ["to", "body"],
    },
}
COUNT = {
    "name": "count",
    "description": "Counts the letters of a text.",
    "inputSchema": {"type": "object", "properties": {"text": TEXT, "loud": {"type": "boolean"}}, "required": ["text"]},
    "outputSchema": {
        "type": "object",
        "properties": {"letters": {"type": "integer"}, "first": TEXT, "rest": TEXT},
        "required": ["letters", "first"],
    },
}
ECHO = {
    "name": "echo",
    "description": "Says what it was given.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": TEXT, "size": {"type": "integer"}, "nothing": {"type": ["string", "null"]}},
        "required": ["text", "nothing"],
    },
}
TOOLS = [SEND, COUNT, ECHO]


def called(log, name, given):
    if name == "echo":
        return {"content": [{"type": "text", "text": json.dumps(given, sort_keys=True) + "!" * given.get("size", 0)}]}
    if name == "count":
        text = given["text"]
        fields = {"letters": len(text), "first": text[:1]} | ({"rest": text[1:]} if given.get("loud") else {})
        return {"content": [{"type": "text", "text": json.dumps(fields)}], "structuredContent": fields}
    body = given["body"]
    if "early" in body:
        os._exit(3)
    with Path(log).open("a") as file:
        file.write(json.dumps(given) + "\n")
    if "die" in body:
        os._exit(3)
    if "refuse" in body:
        raise ValueError("the mailbox is full")
    time.sleep(600 if "wait" in body else 0.3 if "slow" in body else 0)
    return {"content": [{"type": "text", "text": f"sent to {given['to']}"}], "isError": "fail" in body}


def answered(log, request):
    match request["method"]:
        case "initialize":
            told = {"name": "mailer", "version": "1"}
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": told}
        case "tools/list":
            return {"tools": TOOLS}
        case "tools/call":
            return called(log, request["params"]["name"], request["params"].get("arguments") or {})
    raise ValueError("no such method")


def main(log):
    with Path(log).with_suffix(".starts").open("a") as file:
        file.write("started\n")
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        try:
            answer = {"result": answered(log, request)}
        except ValueError as problem:
            answer = {"error": {"code": -32602, "message": str(problem)}}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
