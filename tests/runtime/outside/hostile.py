"""A server of tools that does what no server should: a program of the standard library, run as ``hostile.py HOW``.

It greets as servers of 2025 do and lists one tool, named as its deed; calling that does it. Deeds of before the greeting are
done at once.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

PLAIN = {"type": "object", "properties": {}}


def send(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(request, result):
    send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def text(words):
    return {"content": [{"type": "text", "text": words}]}


def raw(data):
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def for_ever():
    while True:
        time.sleep(60)


def ask(method, params):
    """Ask the client, and give its answer."""
    send({"jsonrpc": "2.0", "id": f"mine-{method}", "method": method, "params": params})
    return json.loads(sys.stdin.readline())


def leave(place):
    """A grandchild in a session of its own, whose parent is gone."""
    code = f"import os, time\nopen({place!r}, 'a').write(f'{{os.getpid()}}\\n')\ntime.sleep(600)"
    middle = f"import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', {code!r}], start_new_session=True)"
    subprocess.run([sys.executable, "-c", middle], check=True)
    while not Path(place).exists() or not Path(place).read_text():
        time.sleep(0.01)


def do(how, request, given):
    match how:
        case "long":
            raw(b'{"jsonrpc": "2.0", "x": "' + b"a" * 50_000_000 + b'"}\n')
        case "endless":
            while True:
                raw(b"a" * 1_000_000)
        case "bytes":
            raw(b'{"jsonrpc": "2.0", "id": %d, "result": {"content": [{"type": "text", "text": "\xff\xfe \x1b[31m"}]}}\n'
                % request["id"])  # fmt: skip
            return
        case "unlike":
            raw(b'{"jsonrpc": "2.0", "id": %d, "result": {"content": [], "structuredContent": {"a": NaN}}}\n'
                % request["id"])  # fmt: skip
            return
        case "deep":
            raw(b'{"jsonrpc": "2.0", "id": %d, "result": {"content": [], "structuredContent": ' % request["id"]
                + b'{"a": ' * 10_000 + b"1" + b"}" * 10_000 + b"}}\n")  # fmt: skip
            raw(b"[" * 10_000 + b"]" * 10_000 + b"\n" + b"[" * 10_000 + b"\n")
        case "nested":
            value = 1
            for _ in range(120):
                value = [value]
            answer(request, {"content": [], "structuredContent": {"a": value}})
            return
        case "notifications":
            for _ in range(200_000):
                send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}})
        case "requests":
            for number in range(200_000):
                send({"jsonrpc": "2.0", "id": f"mine{number}", "method": "ping"})
        case "chats":
            for _ in range(600):
                send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}})
            answer(request, text("enough"))
            return
        case "dies":
            sys.stderr.write("\x1b[31mno database\n" + "key " + os.environ.get("SECRET", "") + "\n")
            sys.stderr.flush()
            raw(b'{"jsonrpc": "2.0", "id"')
            os._exit(3)
        case "twice":
            answer(request, text("first"))
            answer(request, text("second"))
            return
        case "another":
            answer({"id": 4_000}, text("not asked for"))
        case "prints":
            for _ in range(2):
                raw(b"starting...\n")
            answer(request, text("printed"))
            return
        case "chatters":
            for _ in range(10):
                raw(b"\x1b[2Jlistening\n")
        case "shapeless":
            answer(request, {"content": 7})
            return
        case "asks":
            got = [ask("sampling/createMessage", {"messages": [], "maxTokens": 9}), ask("roots/list", {})]
            got += [ask("elicitation/create", {"message": "Key?", "requestedSchema": PLAIN})]
            answer(request, text(",".join("refused" if "error" in one else "given" for one in got)))
            return
        case "hangs":
            for_ever()
        case "deaf":
            for_ever()
        case "grandchildren":
            leave(given["place"])
            answer(request, text("left"))
            return
        case "environment":
            answer(request, text(json.dumps(dict(os.environ))))
            return
        case "refuses":
            send({"jsonrpc": "2.0", "id": request["id"],
                  "error": {"code": -32602, "message": "no \x1b[31m such " + os.environ.get("SECRET", "")}})  # fmt: skip
            return
        case "fails":
            answer(request, {**text("the article is unknown"), "isError": True})
            return
        case "large":
            answer(request, {**text("ä" * 300_000), "structuredContent": {"a": "b" * 300_000}})
            return
        case "half":
            raw(b'{"jsonrpc": "2.0", "id": %d, "result": {"content": [{"type": "text", "text": "\\ud800"}],'
                b' "structuredContent": {"a": "\\ud800"}}}\n' % request["id"])  # fmt: skip
            return
        case "pictures":
            answer(request, {"content": [
                {"type": "image", "data": "aGFsbG8=", "mimeType": "image/png"},
                {"type": "resource_link", "uri": "file:///a", "name": "a"},
                {"type": "resource", "resource": {"uri": "file:///b", "text": "of b"}},
                {"type": "resource", "resource": {"uri": "file:///c", "blob": "aGFsbG8="}},
            ]})  # fmt: skip
            return
    for_ever()


def tools(how, cursor):
    tool = {"name": how, "description": "\x1b[31m\u202edeed\u200b", "inputSchema": PLAIN}
    match how:
        case "pages":
            return {"tools": [{**tool, "name": f"t{cursor}"}], "nextCursor": str(int(cursor or 0) + 1)}
        case "many":
            return {"tools": [{**tool, "name": f"t{number}"} for number in range(1_001)]}
        case "same":
            return {"tools": [tool, tool]}
    return {"tools": [tool]}


def main(how):
    if how in ("mute", "gone"):
        sys.stderr.write("usage: hostile\n")
        sys.exit(2) if how == "gone" else for_ever()
    for line in sys.stdin:
        request = json.loads(line)
        match request.get("method"):
            case "initialize":
                info = {"name": "hostile", "version": "1"}
                answer(request, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
                if how == "deaf":
                    for_ever()
            case "tools/list":
                answer(request, tools(how, (request.get("params") or {}).get("cursor")))
            case "tools/call":
                params = request["params"]
                do(params["name"], request, params.get("arguments") or {})
            case method if "id" in request:
                send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": f"no {method}"}})


if __name__ == "__main__":
    main(sys.argv[1])
