"""The features that Python drivers test, for both major versions of the SDK; see ../README.md.

A driver derives a class from `Features` whose `client()` is a context manager for a
session, and passes it to `run`. The versions of the SDK use different field names in
Python but the same ones on the wire, so fields are read from the wire format.
"""

import json
import sys
from pathlib import Path

import anyio
import mcp.types as types

ROOT = "file:///narrows/root"
MODEL_ANSWER = "Charybdis, from the Python SDK"
DEADLINE_S = 20


class Features:
    # In the order in which they run.
    names = [
        "list",
        "call",
        "read",
        "prompt",
        "complete",
        "subscribe",
        "sampling",
        "elicitation",
        "roots",
        "progress",
        "cancel",
        "logging",
    ]

    def __init__(self, options, profile):
        self.options = options
        self.profile = profile
        self.tools = []
        self.sampled = []
        self.elicited = []
        self.roots_asked = 0
        self.updated = []
        self.logs = []

    def callbacks(self):
        """Returns the callbacks of the client, which are arguments of both SDKs' sessions."""
        return {
            "sampling_callback": self.on_sampling,
            "elicitation_callback": self.on_elicitation,
            "list_roots_callback": self.on_roots,
            "logging_callback": self.on_log,
            "message_handler": self.on_message,
        }

    async def on_sampling(self, _context, params):
        self.sampled.append(params)
        content = {"type": "text", "text": MODEL_ANSWER}
        answer = {"role": "assistant", "content": content, "model": "driver", "stopReason": "endTurn"}
        return types.CreateMessageResult.model_validate(answer)

    async def on_elicitation(self, _context, params):
        self.elicited.append(params)
        return types.ElicitResult(action="accept", content=self.profile["elicitation"]["answer"])

    async def on_roots(self, _context):
        self.roots_asked += 1
        return types.ListRootsResult(roots=[types.Root(uri=ROOT, name="narrows root")])

    async def on_log(self, params):
        self.logs.append(params)

    async def on_message(self, message):
        # The 1.x SDK wraps notifications in a union type.
        notice = getattr(message, "root", message)
        if isinstance(notice, types.ResourceUpdatedNotification):
            self.updated.append(str(notice.params.uri))

    # The features.

    async def list(self, client):
        self.tools = [tool.name for tool in await pages(client.list_tools, "tools")]
        check(len(set(self.tools)) == len(self.tools), f"a tool is listed twice: {self.tools}")
        self.named(self.profile["call"]["tool"], self.tools)

    async def call(self, client):
        wanted = self.profile["call"]
        contains(await self.call_tool(client, wanted), wanted["contains"])

    async def read(self, client):
        wanted = self.profile["read"]
        listed = [str(resource.uri) for resource in await pages(client.list_resources, "resources")]
        check(wanted["uri"] in listed, f"{wanted['uri']} is not listed")
        result = await client.read_resource(wanted["uri"])
        contains(result, wanted["contains"])
        check(str(result.contents[0].uri) == wanted["uri"], f"the contents have another URI: {result.contents[0].uri}")

    async def prompt(self, client):
        wanted = self.profile["prompt"]
        name = await self.prompt_name(client, wanted["name"])
        contains(await client.get_prompt(name, wanted["arguments"]), wanted["contains"])

    async def complete(self, client):
        wanted = self.profile["complete"]
        ref = types.PromptReference(type="ref/prompt", name=await self.prompt_name(client, wanted["prompt"]))
        result = await client.complete(ref, {"name": wanted["argument"], "value": wanted["value"]})
        values = result.completion.values
        check(wanted["expect"] in values, f"{wanted['expect']} is not among {values}")

    async def subscribe(self, client):
        wanted = self.profile["subscribe"]
        await client.subscribe_resource(wanted["uri"])
        await self.call_tool(client, wanted)
        await until(lambda: wanted["uri"] in self.updated, f"no update of {wanted['uri']} arrived")
        await client.unsubscribe_resource(wanted["uri"])

    async def sampling(self, client):
        wanted = self.profile["sampling"]
        contains(await self.call_tool(client, wanted), MODEL_ANSWER)
        check(any(wanted["asked"] in asked.model_dump_json() for asked in self.sampled), "the sampling request has another question")

    async def elicitation(self, client):
        wanted = self.profile["elicitation"]
        contains(await self.call_tool(client, wanted), wanted["contains"])
        check(len(self.elicited) == 1, f"{len(self.elicited)} elicitation requests")

    async def roots(self, client):
        contains(await self.call_tool(client, self.profile["roots"]), ROOT)
        check(self.roots_asked > 0, "the server never requested the roots")

    async def progress(self, client):
        wanted = self.profile["progress"]
        notices = []

        async def on_progress(progress, _total, _message):
            notices.append(progress)

        await self.call_tool(client, wanted, on_progress)
        # The SDK handles a notification in a separate task, which may run after the result.
        await until(lambda: len(notices) >= wanted["notices"], f"{len(notices)} notifications: {notices}")
        check(len(notices) == wanted["notices"], f"{len(notices)} notifications: {notices}")
        check(notices == sorted(set(notices)), f"progress does not increase: {notices}")

    async def cancel(self, client):
        wanted = self.profile["cancel"]

        async def count():
            result = await self.call_tool(client, {"tool": wanted["counter"]})
            return int(result.content[0].text)

        before = await count() if "counter" in wanted else None
        answered = False
        with anyio.CancelScope() as scope:

            async def on_progress(_progress, _total, _message):
                # Cancels when progress shows that the server is processing the call.
                scope.cancel()

            await self.call_tool(client, wanted, on_progress)
            answered = True
        check(not answered, "the call was answered despite the cancellation")
        if before is not None:
            end = anyio.current_time() + DEADLINE_S / 2
            while await count() != before + 1:
                check(anyio.current_time() < end, "the server did not receive the cancellation")
                await anyio.sleep(0.02)
        await self.call(client)

    async def logging(self, client):
        await client.set_logging_level("debug")
        before = len(self.logs)
        await self.call_tool(client, self.profile["logging"])
        await until(lambda: len(self.logs) > before, "no log message arrived")

    # Helpers.

    async def call_tool(self, client, wanted, on_progress=None):
        name = self.named(wanted["tool"], self.tools)
        result = await client.call_tool(name, wanted.get("arguments", {}), progress_callback=on_progress)
        check(not wire(result).get("isError"), f"the tool failed: {result.content}")
        return result

    async def prompt_name(self, client, name):
        return self.named(name, [prompt.name for prompt in await pages(client.list_prompts, "prompts")])

    def named(self, name, published):
        """Returns the listed name: the exact name, or the only one with a prefix."""
        if name in published:
            return name
        server = self.options.server
        if server:
            found = [entry for entry in published if entry == f"{server}__{name}"]
        else:
            found = [entry for entry in published if entry.endswith(f"__{name}")]
        check(len(found) == 1, f"{name} matches {found} among {len(published)} names")
        return found[0]


def check(holds, why):
    if not holds:
        raise AssertionError(why)


def contains(result, wanted):
    text = json.dumps(wire(result), ensure_ascii=False)
    check(json.dumps(wanted, ensure_ascii=False)[1:-1] in text, f"'{wanted}' is not in {text[:400]}")


def wire(result):
    return result.model_dump(mode="json", by_alias=True)


async def pages(list_page, key):
    found = []
    cursor = None
    while True:
        page = await list_page(cursor=cursor)
        found.extend(getattr(page, key))
        cursor = wire(page).get("nextCursor")
        if cursor is None:
            return found


async def until(holds, why):
    with anyio.move_on_after(DEADLINE_S / 2):
        while not holds():
            await anyio.sleep(0.02)
        return
    raise AssertionError(why)


def run(features, parser):
    """Runs the features over the transport in the options, and exits."""
    parser.add_argument("--profile", default="everything")
    parser.add_argument("--server")
    parser.add_argument("--skip", type=lambda text: text.split(","), default=[])
    options = parser.parse_args()
    profiles = json.loads((Path(__file__).parent.parent / "profiles.json").read_text())
    sys.exit(anyio.run(main, features(options, profiles[options.profile])))


async def main(driver):
    passed = failed = 0
    try:
        async with driver.client() as client:
            for feature in driver.names:
                if feature in driver.options.skip:
                    continue
                try:
                    with anyio.fail_after(DEADLINE_S):
                        await getattr(driver, feature)(client)
                    passed += 1
                    print(f"ok {feature}", flush=True)
                except Exception as error:
                    failed += 1
                    print(f"FAIL {feature}: {error or type(error).__name__}", flush=True)
    except Exception as error:
        failed += 1
        print(f"FAIL connection: {error!r}")
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 else 1
