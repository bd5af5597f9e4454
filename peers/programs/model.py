"""A scripted model on the loopback interface that replaces the models of Claude Code, Codex and
opencode. It requests a list of tool calls, one after the other, and records their results, which
are the text that a real model would read."""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model:
    """Implements the three APIs. `steps` has the name suffixes of the tools and their arguments;
    `{receipt}` in arguments stands for the last receipt in a result."""

    def __init__(self, steps):
        self.steps = steps
        self.results = []
        self.tools = []
        handler = type("Answers", (Answers,), {"model": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def next_call(self, offered, results):
        """Returns the tool to call and its arguments, or None at the end. `offered` maps the name of each tool
        to its namespace."""
        if not any(name.endswith(self.steps[0][0]) for name in offered):
            # Requests for a title or a summary offer no tools.
            return None
        self.tools = sorted(offered)
        self.results = results
        if len(results) >= len(self.steps):
            return None
        end, arguments = self.steps[len(results)]
        receipts = re.findall(r"\bprn_\w+", "\n".join(results))
        written = json.dumps(arguments).replace("{receipt}", receipts[-1] if receipts else "none")
        name = next((name for name in offered if name.endswith(end)), None)
        return name and (name, written)


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send(b'{"data": [], "models": []}', "application/json")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        apis = {"/messages": self.anthropic, "/responses": self.openai, "/chat/completions": self.compatible}
        path = self.path.partition("?")[0]
        api = next((api for end, api in apis.items() if path.endswith(end)), None)
        if api is None:
            return self.send(b"{}", "application/json")
        return api(json.loads(body))

    def send(self, body, kind):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, events, last=""):
        name = lambda event: f"event: {event['type']}\n" if "type" in event else ""
        text = "".join(f"{name(event)}data: {json.dumps(event)}\n\n" for event in events)
        self.send((text + last).encode(), "text/event-stream")

    def anthropic(self, request):
        blocks = [block for message in request["messages"] if isinstance(message["content"], list) for block in message["content"]]
        results = [text_of(block.get("content")) for block in blocks if block["type"] == "tool_result"]
        call = self.model.next_call({tool["name"]: None for tool in request.get("tools") or []}, results)
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"], "content": []}
        message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        if not request.get("stream"):
            message |= {"content": [{"type": "text", "text": "done"}], "stop_reason": "end_turn"}
            return self.send(json.dumps(message).encode(), "application/json")
        if call:
            block = {"type": "tool_use", "id": f"toolu_{len(results)}", "name": call[0], "input": {}}
            delta = {"type": "input_json_delta", "partial_json": call[1]}
        else:
            block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}
        reason = {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}
        return self.stream(
            [
                {"type": "message_start", "message": message},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": delta},
                {"type": "content_block_stop", "index": 0},
                {"type": "message_delta", "delta": reason, "usage": {"output_tokens": 1}},
                {"type": "message_stop"},
            ]
        )

    def openai(self, request):
        items = [item for item in request["input"] if item.get("type") == "function_call_output"]
        results = [text_of(item["output"]) for item in items]
        offered = {}
        for tool in request.get("tools") or []:
            # Codex groups the tools of a server in a namespace.
            offered |= {inner["name"]: tool["name"] for inner in tool.get("tools") or [] if "name" in inner}
            if tool.get("type") == "function":
                offered[tool["name"]] = None
        call = self.model.next_call(offered, results)
        if call:
            item = {"type": "function_call", "id": f"fc_{len(results)}", "call_id": f"call_{len(results)}", "status": "completed"}
            item |= {"name": call[0], "arguments": call[1]} | ({"namespace": offered[call[0]]} if offered[call[0]] else {})
        else:
            text = {"type": "output_text", "text": "done", "annotations": []}
            item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        response = {"id": f"resp_{len(results)}", "object": "response", "status": "completed", "output": [item], "usage": usage}
        return self.stream(
            [
                {"type": "response.created", "response": response | {"status": "in_progress", "output": []}},
                {"type": "response.output_item.done", "output_index": 0, "item": item},
                {"type": "response.completed", "response": response},
            ]
        )

    def compatible(self, request):
        results = [text_of(message["content"]) for message in request["messages"] if message["role"] == "tool"]
        call = self.model.next_call({tool["function"]["name"]: None for tool in request.get("tools") or []}, results)
        chunk = {"id": "chunk_1", "object": "chat.completion.chunk", "created": 1, "model": request["model"]}
        if call:
            function = {"name": call[0], "arguments": call[1]}
            delta = {"tool_calls": [{"index": 0, "id": f"call_{len(results)}", "type": "function", "function": function}]}
        else:
            delta = {"content": "done"}
        choice = lambda delta, reason: {"index": 0, "delta": {"role": "assistant"} | delta, "finish_reason": reason}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        chunks = [
            chunk | {"choices": [choice(delta, None)]},
            chunk | {"choices": [choice({}, "tool_calls" if call else "stop")], "usage": usage},
        ]
        return self.stream(chunks, "data: [DONE]\n\n")


def text_of(content):
    """Returns the text of a tool result: a string, or blocks with texts."""
    if isinstance(content, list):
        return "\n".join(block.get("text", "") for block in content)
    return content or ""
