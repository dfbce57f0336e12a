"""A server of tools for recordings: gives what was written by hand. It is a program of the standard library, run as
``replay_server.py FILE SERVER``; FILE has the pins of its tools and what they give, in JSON.
"""

import json
import sys
from pathlib import Path


def given(script, name, arguments):
    """The first of the answers that are for this tool and these arguments."""
    text = json.dumps(arguments, ensure_ascii=False)
    fitting = (one["gives"] for one in script["gives"] if one["tool"] == name and one["when"] in text)
    found = next(fitting, None)
    return found.rstrip("\n") if found is not None else f"Nothing was written for {name}({text})."


def answered(script, server, request):
    """The result of a request."""
    match request["method"]:
        case "initialize":
            told = {"name": server, "version": "1"}
            return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": told}
        case "tools/list":
            return {"tools": script["tools"]}
        case "tools/call":
            called = request["params"]
            text = given(script, f"{server}.{called['name']}", called.get("arguments") or {})
            return {"content": [{"type": "text", "text": text}]}
    return {}


def main(file, server):
    """Answer until there are no more requests."""
    script = json.loads(Path(file).read_text("utf-8"))
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            answer = {"jsonrpc": "2.0", "id": request["id"], "result": answered(script, server, request)}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
