"""Tests a lazy endpoint with the Python SDK, 2.x. Usage:

    python exposure.py EXPECTED --http URL

EXPECTED has the lists from `lib/exposure.mjs`.
"""

import argparse
import json
import sys
from pathlib import Path

import anyio
import mcp.types as types
from features import check, pages, wire
from mcp import Client


class Exposure:
    names = ["listed", "inspect", "exec", "wrong_arguments", "image"]

    def __init__(self, client, expected):
        self.client = client
        self.expected = expected

    # The features.

    async def listed(self):
        tools = await pages(self.client.list_tools, "tools")
        same([tool.name for tool in tools], ["inspect", "exec"], "the tools")
        same(tools[0].description, self.expected["description"], "the description of inspect")

    async def inspect(self):
        known = self.expected["catalogue"]["files"]["tools"]
        server = await self.call("inspect", {"server_name": "files"})
        listed = [(entry["server_name"], entry["name"]) for entry in server["structuredContent"]["result"]]
        same(listed, [("files", tool["name"]) for tool in known], "the tools")
        tool = await self.call("inspect", {"server_name": "ev", "tool_name": "echo"})
        schema = tool["structuredContent"]["result"]["input_schema"]
        same(schema, "{message: string /* Message to echo */}", "the schema")

    async def exec(self):
        strait = self.expected["strait"]
        read = await self.run("files", "read_text_file", {"path": strait["path"]})
        same(read["structuredContent"], {"result": {"content": strait["text"]}}, "the file")
        echo = await self.run("ev", "echo", {"message": "Σκύλλα 🌊"})
        same(echo["content"][0]["text"], "Echo: Σκύλλα 🌊", "the text")
        same(echo["structuredContent"], {"result": "Echo: Σκύλλα 🌊"}, "the structured content")

    async def wrong_arguments(self):
        arguments = {"server_name": "files", "tool_name": "read_text_file", "arguments": {"zzz": 1}}
        result = wire(await self.client.call_tool("exec", arguments))
        check(result.get("isError"), f"no error: {str(result)[:300]}")
        error = json.loads(result["content"][0]["text"])["error"]
        check(error.startswith("Argument validation failed: "), error)

    async def image(self):
        found = (await self.run("ev", "get-tiny-image", {}))["content"]
        wanted = self.expected["image"]
        same([item["type"] for item in found], [item["type"] for item in wanted], "the kinds")
        same([item.get("data") for item in found], [item.get("data") for item in wanted], "the base64")

    # Helpers.

    async def run(self, server, tool, arguments):
        return await self.call("exec", {"server_name": server, "tool_name": tool, "arguments": arguments})

    async def call(self, name, arguments):
        result = wire(await self.client.call_tool(name, arguments))
        check(not result.get("isError"), f"{name} failed: {str(result['content'])[:300]}")
        return result


def same(found, wanted, what):
    check(found == wanted, f"{what}: {str(found)[:300]} instead of {str(wanted)[:300]}")


async def main(url, expected):
    passed = failed = 0
    info = types.Implementation(name="narrows-exposure", version="1.0.0")
    async with Client(url, client_info=info) as client:
        exposure = Exposure(client, expected)
        for feature in exposure.names:
            try:
                await getattr(exposure, feature)()
                passed += 1
                print(f"ok {feature}", flush=True)
            except Exception as error:
                failed += 1
                print(f"FAIL {feature}: {str(error)[:1000] or type(error).__name__}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("expected", type=Path)
    parser.add_argument("--http", required=True)
    options = parser.parse_args()
    sys.exit(anyio.run(main, options.http, json.loads(options.expected.read_text())))
