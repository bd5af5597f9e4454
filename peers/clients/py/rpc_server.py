"""A server with tools over plain JSON-RPC: requests are POSTed to /rpc. It has no
sessions and no streams, and implements three methods. JSON-RPC is handled by the package
json-rpc, which answers -32601 to all other methods.

It listens on a free port and prints `listening http://127.0.0.1:PORT`.
"""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from jsonrpc import Dispatcher, JSONRPCResponseManager

methods = Dispatcher()
SUM = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}
ECHO = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}


@methods.add_method(name="initialize")
def initialize(**_):
    return {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "rpc", "version": "1.0.0"},
    }


@methods.add_method(name="tools/list")
def list_tools(**_):
    return {
        "tools": [
            {"name": "echo", "description": "Returns its message.", "inputSchema": ECHO},
            {"name": "sum", "description": "Adds two numbers.", "inputSchema": SUM},
        ]
    }


@methods.add_method(name="tools/call")
def call_tool(name, arguments, **_):
    text = arguments["message"] if name == "echo" else str(arguments["a"] + arguments["b"])
    return {"content": [{"type": "text", "text": text}]}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/rpc":
            return self.answer(404)
        response = JSONRPCResponseManager.handle(body, methods)
        # A notification has no response.
        if response is None:
            return self.answer(204)
        self.answer(200, response.json.encode())

    def answer(self, status, body=b""):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"listening http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
