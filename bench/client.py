"""An MCP client over Streamable HTTP on one connection. It calls tools and reads
cut texts back page by page."""

import http.client
import json
import time

from stage import Failed

REVISION = "2025-11-25"
# Long enough for a page of a large text from a busy gateway.
TIMEOUT = 120
# Reconnect after this time without requests, because servers close idle connections.
IDLE = 3


class Client:
    def __init__(self, site, path="/mcp", resumed=None):
        """Opens a session, or resumes the one that `state` of another client returned."""
        self.connection = http.client.HTTPConnection(site, timeout=TIMEOUT)
        self.path = path
        self.headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        self.last_id = 0
        self.last_used = time.monotonic()
        if resumed:
            self.headers, self.last_id = resumed["headers"], resumed["last_id"]
            return
        about = {"name": "narrows-bench", "version": "0"}
        # The result of `initialize`, with the instructions of the server.
        self.welcome = self.ask("initialize", {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": about})
        self.headers["mcp-protocol-version"] = REVISION
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool, arguments, goal=None):
        """Calls a tool and returns its result."""
        params = {"name": tool, "arguments": arguments}
        if goal is not None:
            params["_meta"] = {"narrows/goal": goal}
        return self.ask("tools/call", params)

    def recover(self, **arguments):
        """Calls `recover_text`; returns the text and the next cursor, or `None` if the receipt is unknown."""
        result = self.call("recover_text", arguments)
        text = result["content"][0]["text"]
        if result.get("isError"):
            if json.loads(text).get("code") == "prune_id_not_found":
                return None
            raise Failed(f"recover_text: {text}")
        # The first line describes the text.
        return text.partition("\n")[2], result["_meta"]["narrows/selection"].get("next_cursor")

    def read_back(self, receipt):
        """Returns the whole text of a receipt, and its number of pages."""
        pages, arguments = [], {"prune_id": receipt}
        while True:
            page = self.recover(**arguments)
            if page is None:
                raise Failed(f"the receipt {receipt} is unknown")
            text, cursor = page
            pages.append(text)
            if cursor is None:
                return "".join(pages), len(pages)
            arguments = {"prune_id": receipt, "cursor": cursor}

    def state(self):
        """Returns the state with which another client can resume this session."""
        return {"headers": self.headers, "last_id": self.last_id}

    def ask(self, method, params):
        answer = self.answer(method, params)
        if "error" in answer:
            raise Failed(f"{method}: {answer['error']}")
        return answer["result"]

    def answer(self, method, params):
        """Sends a request and returns the response, which is a result or an error."""
        self.last_id += 1
        request = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        for message in self.post(request):
            if message.get("id") == self.last_id:
                return message
        raise Failed(f"{method}: no response")

    def post(self, message):
        """Posts a message and returns the messages of the response, a single one or a stream."""
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
