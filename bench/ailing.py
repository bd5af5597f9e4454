#!/usr/bin/env python3
"""A small MCP server on stdin and stdout that fails in a given way when it gets
SIGUSR1, and records its starts, calls and failures in a file. Usage:

    ailing.py NAME MANNER FILE

MANNER is the reaction to SIGUSR1: `healthy` and `killed` continue normally. `hung`
stops responding and ignores SIGTERM. `garbage` prints megabytes that are not
messages, then continues. `dying` takes longer for each response than for the one
before, then closes its stdout but keeps running."""

import json
import os
import select
import signal
import subprocess
import sys
import time

# Bytes that `garbage` prints, and the size of each write.
GARBAGE = 32_000_000
PIECE = 64_000
# Duration of a call, except on the healthy server: long enough that a call is in
# flight when the server fails.
TAKES = 0.04
# The delay of the first response of `dying`, and its number of responses.
SLOW, ANSWERS = 0.25, 4

TOOLS = [
    {"name": "write", "description": "Records a call."},
    {"name": "read", "description": "Changes nothing.", "annotations": {"readOnlyHint": True}},
]
SCHEMA = {"type": "object", "properties": {"call": {"type": "string"}}, "required": ["call"]}


def main():
    if sys.argv[1] == "sleep":
        # A child process of a server, which has to end with the server.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sleep()
    Server(*sys.argv[1:4]).run()


class Server:
    def __init__(self, name, manner, path):
        self.name = name
        self.manner = manner
        self.path = path
        self.ledger = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.ill = False
        self.slow = None
        self.asked = False
        signal.signal(signal.SIGUSR1, self.ask)

    def ask(self, *_):
        self.asked = True

    def run(self):
        self.note("start")
        rest = b""
        while True:
            # A short timeout, because a signal does not interrupt the wait.
            ready, _, _ = select.select([0], [], [], 0.02)
            self.fall_ill_if_asked()
            if not ready:
                continue
            got = os.read(0, 1 << 16)
            if not got:
                return
            *lines, rest = (rest + got).split(b"\n")
            for line in lines:
                self.take(json.loads(line))

    def take(self, message):
        if "id" not in message or "method" not in message:
            return
        result = self.result(message["method"], message.get("params") or {})
        # If possible, fail between a call and its response.
        self.fall_ill_if_asked()
        if self.slow is not None:
            time.sleep(SLOW * 2**self.slow)
            self.slow += 1
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        answer |= {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
        say(json.dumps(answer).encode() + b"\n")
        if self.slow == ANSWERS:
            self.note("closed")
            os.close(1)
            sleep()

    def result(self, method, params):
        match method:
            case "initialize":
                about = {"name": self.name, "version": "1"}
                return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
            case "ping":
                return {}
            case "tools/list":
                return {"tools": [tool | {"inputSchema": SCHEMA} for tool in TOOLS]}
            case "tools/call":
                tool, call = params["name"], params["arguments"]["call"]
                self.note("call", tool=tool, call=call)
                if self.manner != "healthy":
                    time.sleep(TAKES)
                text = f"{self.name} {os.getpid()} {tool} {call}"
                return {"content": [{"type": "text", "text": text}]}
        return None

    def fall_ill_if_asked(self):
        if self.ill or not self.asked:
            return
        self.ill = True
        self.note("ill")
        match self.manner:
            case "hung":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                subprocess.Popen([sys.executable, __file__, "sleep", self.name, self.path], stdin=subprocess.DEVNULL)
                sleep()
            case "garbage":
                for piece in garbage():
                    say(piece)
                self.note("over")
                self.ill = self.asked = False
            case "dying":
                self.slow = 0

    def note(self, what, **more):
        """Records an event as one line, in a single write because several servers share the file."""
        record = {"at": time.monotonic(), "server": self.name, "pid": os.getpid(), "what": what} | more
        os.write(self.ledger, json.dumps(record).encode() + b"\n")


def garbage():
    """Yields lines that are not MCP messages: words, binary data, invalid JSON,
    unrelated JSON, and a response without a request."""
    kinds = [
        b"WARN something happened and this server logs it to stdout\n",
        bytes(range(11, 256)) + b"\n",
        b'{"jsonrpc":"2.0","id":\n',
        b"[" * 5_000 + b"\n",
        b'{"level":"info","message":"' + b"x" * 3_000 + b'"}\n',
        b'{"jsonrpc":"2.0","id":"never sent","result":{}}\n',
        b"\n\r\n\0\n",
    ]
    piece = b"".join(kinds)
    piece *= PIECE // len(piece)
    for _ in range(GARBAGE // len(piece)):
        yield piece


def say(text):
    while text:
        text = text[os.write(1, text) :]


def sleep():
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
