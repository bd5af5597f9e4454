"""Tests result budgets with the Python SDK, 2.x: reads long results and recovers what
was cut. Usage:

    python long_results.py EXPECTED --http URL

EXPECTED has `budget`, the `features` to test, and the texts from `lib/long-texts.mjs`.
"""

import argparse
import json
import re
import sys
from pathlib import Path

import anyio
import mcp.types as types
from features import check, pages, wire
from mcp import Client

TOOL = "recover_text"
CUT = re.compile(r"⟦cut (\d+-\d+)⟧")


class LongResults:
    def __init__(self, client, expected):
        self.client = client
        self.expected = expected
        self.budget = expected["budget"]
        # Read as bytes, because reading as text would change line ends.
        self.log_text = Path(expected["log"]["path"]).read_bytes().decode()
        self.rows_text = Path(expected["rows"]["path"]).read_bytes().decode()
        self.tools = []

    # The features, by the names of EXPECTED.

    async def listed(self):
        self.tools = [tool.name for tool in await pages(self.client.list_tools, "tools")]
        check(self.tools[-1] == TOOL, f"the last tool is {self.tools[-1]}")
        templates = await pages(self.client.list_resource_templates, "resource_templates")
        last = wire(templates[-1])["uriTemplate"]
        check(last == "narrows://receipt/{id}{?start,end}", f"the last template is {last}")

    async def log(self):
        result = await self.call("fs__read_text_file", {"path": self.expected["log"]["path"]})
        left = self.fits(result)
        check(result.get("structuredContent") is None, "the uncut structured content is present")
        receipt = self.receipt_of(result)
        same((await self.recovered({"prune_id": receipt}))[0], self.log_text, "the log by pages")

        filled, count = [], 0
        for line in left.split("\n"):
            if cut := CUT.fullmatch(line.rstrip("\r")):
                ask = {"prune_id": receipt, "ranges": cut[1], "include_line_numbers": False}
                text, _ = await self.recovered(ask)
                filled.append(text.removesuffix("\n"))
                count += 1
            elif not line.startswith("⟦"):
                filled.append(line)
        check(count > 0, "no marker for cut lines")
        same("\n".join(filled), self.log_text, "the log by its markers")

        query = self.expected["query"]
        text, facts = await self.recovered({"prune_id": receipt, "query": f'"{query["text"]}"'})
        line = self.log_text.split("\n")[query["line"] - 1]
        same(text.rstrip(), f"{query['line']}│ {line}".rstrip(), "the line")
        check(facts["matched"] == 1, f"{facts['matched']} matches")
        same(await self.read(f"narrows://receipt/{receipt}"), self.log_text, "the log as a resource")

    async def json(self):
        result = await self.call("fs__read_text_file", {"path": self.expected["rows"]["path"]})
        left = self.fits(result)
        check(str(self.expected["rows"]["count"]) in left and "⟦cut rows " in left, "no marker for cut rows")
        text, _ = await self.recovered({"prune_id": self.receipt_of(result)})
        same(text, self.rows_text, "the JSON")

    async def models(self):
        book = await self.call("long__order_book", {})
        self.fits(book)
        text, _ = await self.recovered({"prune_id": self.receipt_of(book)})
        orders = json.loads(text)
        check(len(orders["orders"]) == orders["total"], "not all orders were recovered")
        listed = await self.call("long__order_list", {})
        self.fits(listed)
        check(listed.get("structuredContent") is None, "the uncut structured content is present")

    async def pictures(self):
        known = (await self.call("long__screenshot_data", {}))["content"][0]["text"]
        image, _, audio = (await self.call("long__screenshot", {"lines": 5000}))["content"]
        found = [f"{len(item['data'])}:{item['data'][:30]}:{item['data'][-30:]}" for item in (image, audio)]
        same(" ".join(found), known, "the base64")

    # Helpers.

    async def call(self, name, arguments):
        result = wire(await self.client.call_tool(name, arguments))
        check(not result.get("isError"), f"{name} failed: {str(result['content'])[:300]}")
        return result

    def fits(self, result):
        """Checks that all texts together fit the budget and use at least half of it."""
        text = "".join(item.get("text", "") for item in result["content"])
        check(self.budget / 2 < len(text) <= self.budget, f"{len(text)} characters with a budget of {self.budget}")
        return text

    def receipt_of(self, result):
        receipt = (result.get("_meta") or {}).get("narrows/receipt")
        check(receipt and receipt["prune_id"].startswith("prn_"), f"the receipt is {str(receipt)[:300]}")
        check(receipt["chars"]["after"] <= self.budget < receipt["chars"]["before"], f"{receipt['chars']}")
        return receipt["prune_id"]

    async def recovered(self, asked):
        """Recovers a text page by page."""
        text, ask = "", asked
        while True:
            result = await self.call(TOOL, ask)
            page = result["content"][0]["text"]
            check(len(page) <= self.budget, f"a page has {len(page)} characters")
            # The first line describes the page.
            text += page.partition("\n")[2]
            facts = result["_meta"]["narrows/selection"]
            cursor = facts.get("next_cursor")
            if cursor is None:
                return text, facts
            ask = {"prune_id": asked["prune_id"], "cursor": cursor}

    async def read(self, uri):
        parts = []
        while uri:
            result = wire(await self.client.read_resource(uri))
            parts.append(result["contents"][0]["text"])
            check(len(parts[-1]) <= self.budget, "a part exceeds the budget")
            uri = (result.get("_meta") or {}).get("narrows/next")
        check(len(parts) > 5, f"{len(parts)} parts")
        return "".join(parts)


def same(found, wanted, what):
    if found == wanted:
        return
    at = next((at for at, (a, b) in enumerate(zip(found, wanted)) if a != b), min(len(found), len(wanted)))
    around = slice(max(0, at - 40), at + 40)
    raise AssertionError(f"{what}: at {at}, {found[around]!r} instead of {wanted[around]!r}")


async def main(url, expected):
    passed = failed = 0
    info = types.Implementation(name="narrows-long-results", version="1.0.0")
    async with Client(url, client_info=info) as client:
        results = LongResults(client, expected)
        for feature in expected["features"]:
            try:
                await getattr(results, feature)()
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
