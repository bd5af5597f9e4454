#!/usr/bin/env python3
"""A small MCP server on stdin and stdout that falls ill in a way of its own when
it gets SIGUSR1, and writes down all that happens to it. Usage:

    ailing.py NAME MANNER FILE

MANNER is what SIGUSR1 does: `healthy` and `killed` go on, `hung` stops answering
anything and cannot be told to end, `garbage` prints megabytes that are no
messages and goes on, `dying` takes longer for each answer than for the one
before, and closes its stdout in the end, but lives on."""

import json
import os
import select
import signal
import subprocess
import sys
import time

# What `garbage` prints, in pieces that are written at once.
GARBAGE = 32_000_000
PIECE = 64_000
# What a call takes but for the healthy one: long enough that one is under way
# when the server fails.
TAKES = 0.04
# What the first answer of one that dies takes, and how many there are.
SLOW, ANSWERS = 0.25, 4

TOOLS = [
    {"name": "write", "description": "Writes a call down."},
    {"name": "read", "description": "Changes nothing.", "annotations": {"readOnlyHint": True}},
]
SCHEMA = {"type": "object", "properties": {"call": {"type": "string"}}, "required": ["call"]}


def main():
    if sys.argv[1] == "sleep":
        # What a server has started itself, and what is to end with it.
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
            # Short, since a signal does not end the wait.
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
        # Between a call and its answer, if it can be.
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
        """One line, written at once, so that those of several servers stay whole."""
        said = {"at": time.monotonic(), "server": self.name, "pid": os.getpid(), "what": what} | more
        os.write(self.ledger, json.dumps(said).encode() + b"\n")


def garbage():
    """Lines of many kinds, none of them a message: words, bytes that are no
    text, broken JSON, JSON of something else, an answer that nobody asked for."""
    kinds = [
        b"WARN something happened and this server tells it on stdout\n",
        bytes(range(11, 256)) + b"\n",
        b'{"jsonrpc":"2.0","id":\n',
        b"[" * 5_000 + b"\n",
        b'{"level":"info","message":"' + b"x" * 3_000 + b'"}\n',
        b'{"jsonrpc":"2.0","id":"nobody asked","result":{}}\n',
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
