"""A server of the Python SDK, 1.x, over WebSocket at /ws and over SSE at /sse.

It implements the profile `strait`, listens on a free port and prints
`listening http://127.0.0.1:PORT`.
"""

import json
import socket
import warnings

import anyio
import mcp.types as types
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.sse import SseServerTransport
from mcp.server.websocket import websocket_server
from pydantic import AnyUrl
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Mount, Route, WebSocketRoute

# The SDK has deprecated its WebSocket transport, which is used here.
warnings.simplefilter("ignore", DeprecationWarning)

NOTHING = {"type": "object", "properties": {}}
CHART, TIDE = "strait://chart", "strait://tide"
TEXTS = {CHART: "The strait of Messina, three kilometres wide.", TIDE: "The tide turns every six hours."}
SHIPS = ["Argo", "Pequod"]

server = Server("strait")
# Counted for all sessions, because a gateway may read the count in another session.
cancelled = 0


# The tools. A tool gets the SDK's context of the request and its arguments. Its
# docstring is its description for clients.


async def echo(_context, message):
    """Returns its message."""
    return message


async def add(_context, a, b):
    """Adds two numbers."""
    return str(a + b)


async def count(context):
    """Reports its progress three times."""
    for step in (1, 2, 3):
        await progress(context, step, 3)
        await anyio.sleep(0.02)
    return "Counted to three"


async def ask(context, question):
    """Asks the client's model."""
    message = types.SamplingMessage(role="user", content=text(question))
    answer = await context.session.create_message([message], max_tokens=100)
    return f"The model says: {answer.content.text}"


async def hail(context):
    """Asks the client's user for a name."""
    answer = await context.session.elicit("Who goes there?", required(name={"type": "string"}))
    return f"{answer.action}: {json.dumps(answer.content)}"


async def roots(context):
    """Returns the client's roots."""
    return "\n".join(str(root.uri) for root in (await context.session.list_roots()).roots)


async def turn(context):
    """Tells the client that the tide has turned."""
    await context.session.send_resource_updated(AnyUrl(TIDE))
    return "The tide has turned"


async def wait(context):
    """Reports progress once, then waits for a minute or until it is cancelled."""
    global cancelled
    await progress(context, 1, 60)
    try:
        await anyio.sleep(60)
    except anyio.get_cancelled_exc_class():
        cancelled += 1
        raise
    return "This call was not cancelled"


async def waits_cancelled(_context):
    """Returns how many calls of wait were cancelled."""
    return str(cancelled)


async def log(context):
    """Sends a log message."""
    await context.session.send_log_message("info", "A sail!")
    return "Logged"


async def progress(context, done, total):
    if context.meta and context.meta.progressToken is not None:
        await context.session.send_progress_notification(context.meta.progressToken, done, total)


def text(value):
    return types.TextContent(type="text", text=value)


def required(**properties):
    return {"type": "object", "properties": properties, "required": list(properties)}


TOOLS = {
    "echo": (echo, required(message={"type": "string"})),
    "sum": (add, required(a={"type": "number"}, b={"type": "number"})),
    "count": (count, NOTHING),
    "ask": (ask, required(question={"type": "string"})),
    "hail": (hail, NOTHING),
    "roots": (roots, NOTHING),
    "turn": (turn, NOTHING),
    "wait": (wait, NOTHING),
    "waits_cancelled": (waits_cancelled, NOTHING),
    "log": (log, NOTHING),
}


# The handlers that the SDK calls.


@server.list_tools()
async def list_tools():
    return [types.Tool(name=name, description=tool.__doc__, inputSchema=schema) for name, (tool, schema) in TOOLS.items()]


@server.call_tool()
async def call_tool(name, arguments):
    tool, _ = TOOLS[name]
    return [text(await tool(server.request_context, **arguments))]


@server.list_resources()
async def list_resources():
    return [types.Resource(uri=AnyUrl(uri), name=uri.removeprefix("strait://"), mimeType="text/plain") for uri in TEXTS]


@server.read_resource()
async def read_resource(uri):
    return [ReadResourceContents(content=TEXTS[str(uri)], mime_type="text/plain")]


@server.subscribe_resource()
async def subscribe_resource(_uri):
    """Does nothing: `turn` notifies its own session, with or without a subscription."""


@server.unsubscribe_resource()
async def unsubscribe_resource(_uri):
    pass


@server.list_prompts()
async def list_prompts():
    ship = types.PromptArgument(name="ship", required=True)
    return [types.Prompt(name="passage", description="A safe passage.", arguments=[ship])]


@server.get_prompt()
async def get_prompt(_name, arguments):
    content = text(f"Steer the {arguments['ship']} through the strait.")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])


@server.completion()
async def complete(_ref, argument, _context):
    return types.Completion(values=[ship for ship in SHIPS if ship.startswith(argument.value)])


@server.set_logging_level()
async def set_logging_level(_level):
    pass


# The transports.


async def serve(streams):
    options = server.create_initialization_options()
    # The SDK does not announce this capability, even if there is a handler.
    options.capabilities.resources.subscribe = True
    await server.run(*streams, options)


async def over_websocket(peer):
    async with websocket_server(peer.scope, peer.receive, peer.send) as streams:
        await serve(streams)


async def over_sse(request):
    async with sse.connect_sse(request.scope, request.receive, request._send) as streams:
        await serve(streams)
    return Response()


sse = SseServerTransport("/messages/")
routes = [
    WebSocketRoute("/ws", over_websocket),
    Route("/sse", over_sse),
    Mount("/messages/", app=sse.handle_post_message),
]

if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"listening http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(Starlette(routes=routes), log_level="warning")).run(sockets=[listener])
