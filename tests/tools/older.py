"""A server of an older protocol, which asks within a call: ``older.py LOG``. It answers calls as soon as it has the answers.
Calls for the days ``both`` and ``late`` it only looks at once there are two of them, and for ``late`` it asks nothing.
"""

import json
import sys
from pathlib import Path

TEXT = {"type": "string"}
BOOK = {
    "name": "book",
    "description": "Books a room.",
    "inputSchema": {"type": "object", "properties": {"day": TEXT}, "required": ["day"]},
}
FORMS = {
    "deep": {"type": "object", "properties": {"room": {"type": "object", "properties": {}}}},
    "flat": {
        "type": "object",
        "properties": {"room": {"type": "string", "enum": ["red", "blue"]}},
        "required": ["room"],
    },
}


PAIRED = ("both", "late")


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def params_of(day):
    if day in ("page", "script"):
        url = "https://rooms.example/login?once=7" if day == "page" else "javascript://rooms.example/%0aalert(1)"
        return {"mode": "url", "message": "Sign in.", "url": url, "elicitationId": "1"}
    return {"message": "Which room?", "requestedSchema": FORMS["deep" if day == "deep" else "flat"]}


def main(log):
    waiting = {}
    came = []
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "initialize":
            told = {"name": "older", "version": "1"}
            result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": told}
            say({"id": message["id"], "result": result})
        elif message.get("method") == "tools/list":
            say({"id": message["id"], "result": {"tools": [BOOK]}})
        elif message.get("method") == "tools/call":
            day = message["params"]["arguments"]["day"]
            came.append((message["id"], day))
            if day in PAIRED and len(came) < 2:
                continue
            for call, day in came:
                if day == "late":
                    say({"id": call, "result": {"content": [{"type": "text", "text": "late"}]}})
                else:
                    number = 1000 + len(waiting)
                    waiting[number] = call, day
                    say({"id": number, "method": "elicitation/create", "params": params_of(day)})
            came.clear()
        elif message.get("id") in waiting:
            call, day = waiting[message["id"]]
            answer = message.get("result", {"action": "error"})
            said = f"{day} {answer['action']} {json.dumps(answer.get('content'))}"
            with Path(log).open("a") as file:
                file.write(said + "\n")
            say({"id": call, "result": {"content": [{"type": "text", "text": said}]}})
        elif "method" in message and "id" in message:
            say({"id": message["id"], "error": {"code": -32601, "message": "no such method"}})


if __name__ == "__main__":
    main(sys.argv[1])
