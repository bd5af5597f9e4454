#!/usr/bin/env python3
"""An MCP server on stdio with the tools of a catalogue, which is a file with a real
server's responses to `initialize` and `tools/list`. A tool call returns a line of
text.

    replay.py CATALOGUE.json"""

import json
import sys

REVISION = "2025-06-18"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        catalogue = json.load(file)
    sys.stdin.reconfigure(encoding="utf-8")
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    for line in sys.stdin:
        if not line.strip():
            continue
        request = json.loads(line)
        # Notifications and responses get no response.
        if "id" not in request or "method" not in request:
            continue
        answer = {"jsonrpc": "2.0", "id": request["id"], **answered(catalogue, request)}
        sys.stdout.write(compact(answer) + "\n")
        sys.stdout.flush()


def answered(catalogue, request):
    params = request.get("params") or {}
    match request["method"]:
        case "initialize":
            return {"result": welcome(catalogue, params)}
        case "tools/list":
            return {"result": listing(catalogue)}
        case "ping":
            return {"result": {}}
        case "tools/call":
            text = f"{params.get('name')} was called."
            return {"result": {"content": [{"type": "text", "text": text}]}}
        case other:
            return {"error": {"code": -32601, "message": f"Method not found: {other}"}}


def welcome(catalogue, params):
    result = {
        "protocolVersion": params.get("protocolVersion") or REVISION,
        "capabilities": {"tools": {}},
        "serverInfo": catalogue["serverInfo"],
    }
    if catalogue.get("instructions"):
        result["instructions"] = catalogue["instructions"]
    return result


def listing(catalogue):
    """Returns the result of `tools/list`: all tools on one page."""
    return {"tools": catalogue["tools"]}


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main()
