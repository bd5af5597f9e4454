"""An MCP client over Streamable HTTP, on one connection: calls, and what was
cut read back page by page."""

import http.client
import json
import time

from stage import Failed

REVISION = "2025-11-25"
# A page of a large text, from a busy gateway.
PATIENCE = 120
# Servers close connections on which nothing happens.
IDLE = 3


class Client:
    def __init__(self, site, path="/mcp"):
        self.connection = http.client.HTTPConnection(site, timeout=PATIENCE)
        self.path = path
        self.headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        self.last_id = 0
        self.last_used = time.monotonic()
        about = {"name": "narrows-bench", "version": "0"}
        # What the server says of itself, with its instructions.
        self.welcome = self.ask("initialize", {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": about})
        self.headers["mcp-protocol-version"] = REVISION
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool, arguments, goal=None):
        """The result of a tool."""
        params = {"name": tool, "arguments": arguments}
        if goal is not None:
            params["_meta"] = {"narrows/goal": goal}
        return self.ask("tools/call", params)

    def recover(self, **arguments):
        """One answer of `recover_text`; `None` if nothing is kept under its receipt."""
        result = self.call("recover_text", arguments)
        said = json.loads(result["content"][0]["text"])
        if result.get("isError"):
            if said.get("code") == "prune_id_not_found":
                return None
            raise Failed(f"recover_text: {said}")
        return said

    def read_back(self, receipt):
        """All that is kept under a receipt, and in how many pages it came."""
        pages, arguments = [], {"prune_id": receipt}
        while True:
            said = self.recover(**arguments)
            if said is None:
                raise Failed(f"nothing is kept under {receipt}")
            pages.append(said["raw_text"])
            cursor = said["metadata"].get("next_cursor")
            if cursor is None:
                return "".join(pages), len(pages)
            arguments = {"prune_id": receipt, "cursor": cursor}

    def ask(self, method, params):
        self.last_id += 1
        request = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        for message in self.post(request):
            if message.get("id") == self.last_id:
                if "error" in message:
                    raise Failed(f"{method}: {message['error']}")
                return message["result"]
        raise Failed(f"{method}: no answer")

    def post(self, message):
        """The messages of an answer, be it one or a stream."""
        if time.monotonic() > self.last_used + IDLE:
            self.connection.close()
        self.connection.request("POST", self.path, json.dumps(message).encode(), self.headers)
        answer = self.connection.getresponse()
        body = answer.read()
        self.last_used = time.monotonic()
        if answer.status >= 300:
            raise Failed(f"HTTP {answer.status}: {body[:300]}")
        if session := answer.getheader("mcp-session-id"):
            self.headers["mcp-session-id"] = session
        if (answer.getheader("content-type") or "").startswith("text/event-stream"):
            data = [line[5:].strip() for line in body.split(b"\n") if line.startswith(b"data:")]
            return [json.loads(line) for line in data if line]
        return [json.loads(body)] if body else []
