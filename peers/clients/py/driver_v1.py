"""A driver for the Python SDK, 1.x. See ../README.md for the options.

This is the last major version with a WebSocket transport. It does not support the
modern protocol era.
"""

import argparse
import os
import warnings
from contextlib import asynccontextmanager

import mcp.types as types
from features import Features, run
from mcp import ClientSession
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.websocket import websocket_client

# The SDK has deprecated its WebSocket transport, which is tested here.
warnings.simplefilter("ignore", DeprecationWarning)


class Driver(Features):
    # This SDK does not notify the server when a call is cancelled.
    names = [name for name in Features.names if name != "cancel"]

    @asynccontextmanager
    async def client(self):
        info = types.Implementation(name="narrows-py-v1-driver", version="1.0.0")
        async with self.streams() as (reading, writing, *_):
            async with ClientSession(reading, writing, client_info=info, **self.callbacks()) as session:
                await session.initialize()
                yield session

    def streams(self):
        options = self.options
        if options.http:
            return streamable_http_client(options.http)
        if options.sse:
            return sse_client(options.sse)
        if options.ws:
            return websocket_client(options.ws)
        command, *args = options.stdio
        parameters = StdioServerParameters(command=command, args=args, env=dict(os.environ))
        return stdio_client(parameters, errlog=open(os.devnull, "w"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    transport = parser.add_mutually_exclusive_group(required=True)
    transport.add_argument("--http")
    transport.add_argument("--sse")
    transport.add_argument("--ws")
    transport.add_argument("--stdio", nargs=argparse.REMAINDER)
    run(Driver, parser)
