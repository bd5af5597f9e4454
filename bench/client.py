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
    def __init__(self, site, path="/mcp", resumed=None):
        """Opens a session, or goes on with the one that `state` of another client returned."""
        self.connection = http.client.HTTPConnection(site, timeout=PATIENCE)
        self.path = path
        self.headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        self.last_id = 0
        self.last_used = time.monotonic()
        if resumed:
            self.headers, self.last_id = resumed["headers"], resumed["last_id"]
            return
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
        """The text and the next cursor of an answer of `recover_text`; `None` if nothing is kept under its receipt."""
        result = self.call("recover_text", arguments)
        text = result["content"][0]["text"]
        if result.get("isError"):
            if json.loads(text).get("code") == "prune_id_not_found":
                return None
            raise Failed(f"recover_text: {text}")
        # The first line is about the answer.
        return text.partition("\n")[2], result["_meta"]["narrows/selection"].get("next_cursor")

    def read_back(self, receipt):
        """All that is kept under a receipt, and in how many pages it came."""
        pages, arguments = [], {"prune_id": receipt}
        while True:
            said = self.recover(**arguments)
            if said is None:
                raise Failed(f"nothing is kept under {receipt}")
            text, cursor = said
            pages.append(text)
            if cursor is None:
                return "".join(pages), len(pages)
            arguments = {"prune_id": receipt, "cursor": cursor}

    def state(self):
        """What another client needs to go on with this session."""
        return {"headers": self.headers, "last_id": self.last_id}

    def ask(self, method, params):
        answer = self.answer(method, params)
        if "error" in answer:
            raise Failed(f"{method}: {answer['error']}")
        return answer["result"]

    def answer(self, method, params):
        """The response to a request, be it a result or an error."""
        self.last_id += 1
        request = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        for message in self.post(request):
            if message.get("id") == self.last_id:
                return message
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
