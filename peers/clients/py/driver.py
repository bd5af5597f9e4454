"""A driver for the Python SDK, 2.x. See ../README.md for the options.

Additional option: with `--era auto`, the SDK tries the modern protocol era first and
falls back, which is its default. With `--era legacy`, the default here, it starts with
`initialize`.
"""

import argparse
import os
import warnings

import mcp.types as types
from features import Features, run
from mcp import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPDeprecationWarning

# The deprecated features (sampling, roots, logging, subscriptions) are tested here.
warnings.simplefilter("ignore", MCPDeprecationWarning)


class Driver(Features):
    def client(self):
        return Client(
            self.server(),
            mode=self.options.era,
            client_info=types.Implementation(name="narrows-py-driver", version="1.0.0"),
            **self.callbacks(),
        )

    def server(self):
        options = self.options
        if options.http:
            return options.http
        if options.sse:
            return sse_client(options.sse)
        command, *args = options.stdio
        parameters = StdioServerParameters(command=command, args=args, env=dict(os.environ))
        return stdio_client(parameters, errlog=open(os.devnull, "w"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--era", choices=["legacy", "auto"], default="legacy")
    transport = parser.add_mutually_exclusive_group(required=True)
    transport.add_argument("--http")
    transport.add_argument("--sse")
    transport.add_argument("--stdio", nargs=argparse.REMAINDER)
    run(Driver, parser)
