// A driver for the TypeScript SDK. See ../README.md for the options.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { peer, transportTo } from "./transports.mjs";

const { Client } = peer("@modelcontextprotocol/sdk/client/index.js");
const types = peer("@modelcontextprotocol/sdk/types.js");

const ROOT = { uri: "file:///narrows/root", name: "narrows root" };
const MODEL_ANSWER = "Charybdis, from the TypeScript SDK";
const DEADLINE_MS = 20_000;

const options = parse(process.argv.slice(2));
const profile = JSON.parse(readFileSync(join(import.meta.dirname, "../profiles.json"), "utf8"))[options.profile];

/** The requests and notifications of the server, in order. */
const seen = { sampling: [], elicitation: [], roots: 0, updated: [], logs: [] };
let tools = [];

const features = {
  async list(client) {
    tools = await pages((cursor) => client.listTools({ cursor }), "tools");
    const names = tools.map((tool) => tool.name);
    check(new Set(names).size === names.length, `a tool is listed twice: ${names}`);
    named(profile.call.tool, names);
  },

  async call(client) {
    contains(await callTool(client, profile.call), profile.call.contains);
  },

  async read(client) {
    const resources = await pages((cursor) => client.listResources({ cursor }), "resources");
    check(resources.some(({ uri }) => uri === profile.read.uri), `${profile.read.uri} is not listed`);
    const { contents } = await client.readResource({ uri: profile.read.uri });
    contains(contents, profile.read.contains);
    check(contents[0].uri === profile.read.uri, `the contents have another URI: ${contents[0].uri}`);
  },

  async prompt(client) {
    const { name, arguments: given, contains: wanted } = profile.prompt;
    const prompts = await pages((cursor) => client.listPrompts({ cursor }), "prompts");
    const found = named(name, prompts.map((prompt) => prompt.name));
    contains((await client.getPrompt({ name: found, arguments: given })).messages, wanted);
  },

  async complete(client) {
    const { prompt, argument, value, expect } = profile.complete;
    const prompts = await pages((cursor) => client.listPrompts({ cursor }), "prompts");
    const ref = { type: "ref/prompt", name: named(prompt, prompts.map((entry) => entry.name)) };
    const { completion } = await client.complete({ ref, argument: { name: argument, value } });
    check(completion.values.includes(expect), `${expect} is not among ${completion.values}`);
  },

  async subscribe(client) {
    const { uri } = profile.subscribe;
    await client.subscribeResource({ uri });
    await callTool(client, profile.subscribe);
    await until(() => seen.updated.includes(uri), `no update of ${uri} arrived`);
    await client.unsubscribeResource({ uri });
  },

  async sampling(client) {
    contains(await callTool(client, profile.sampling), MODEL_ANSWER);
    contains(seen.sampling, profile.sampling.asked);
  },

  async elicitation(client) {
    contains(await callTool(client, profile.elicitation), profile.elicitation.contains);
    check(seen.elicitation.length === 1, `${seen.elicitation.length} elicitation requests`);
  },

  async roots(client) {
    contains(await callTool(client, profile.roots), ROOT.uri);
    check(seen.roots > 0, "the server never requested the roots");
  },

  async progress(client) {
    const notices = [];
    await callTool(client, profile.progress, { onprogress: (notice) => notices.push(notice.progress) });
    // This SDK handles a notification one tick later than a response and removes the
    // handler with the response. The last notification is lost if both arrive in one
    // read. The other drivers require all of them.
    const { notices: wanted } = profile.progress;
    check(notices.length === wanted || notices.length === wanted - 1, `${notices.length} notifications: ${notices}`);
    check(notices.every((value, n) => n === 0 || value > notices[n - 1]), `progress does not increase: ${notices}`);
  },

  async cancel(client) {
    const { counter } = profile.cancel;
    const count = async () => Number((await callTool(client, { tool: counter })).content[0].text);
    const before = counter && (await count());
    const controller = new AbortController();
    // Cancels when progress shows that the server is processing the call.
    const call = callTool(client, profile.cancel, {
      signal: controller.signal,
      onprogress: () => controller.abort("cancelled by the driver"),
    });
    const outcome = await call.then(
      () => "answered",
      () => "cancelled",
    );
    check(outcome === "cancelled", "the call was answered despite the cancellation");
    if (counter) await until(async () => (await count()) === before + 1, "the server did not receive the cancellation");
    await features.call(client);
  },

  async logging(client) {
    await client.setLoggingLevel("debug");
    const before = seen.logs.length;
    await callTool(client, profile.logging);
    await until(() => seen.logs.length > before, "no log message arrived");
  },
};

let failed = 0;
let passed = 0;
const client = makeClient();
try {
  await client.connect(transportTo(options.target));
  for (const [name, feature] of Object.entries(features)) {
    if (options.skip.includes(name)) continue;
    try {
      await within(feature(client), name);
      passed += 1;
      console.log(`ok ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL ${name}: ${error.message}`);
    }
  }
  await client.close();
} catch (error) {
  failed += 1;
  console.log(`FAIL connect: ${error.message}`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

function makeClient() {
  const made = new Client(
    { name: "narrows-ts-driver", version: "1.0.0" },
    { capabilities: { sampling: {}, elicitation: {}, roots: { listChanged: true } } },
  );
  made.setRequestHandler(types.CreateMessageRequestSchema, (request) => {
    seen.sampling.push(request.params);
    return { role: "assistant", content: { type: "text", text: MODEL_ANSWER }, model: "driver", stopReason: "endTurn" };
  });
  made.setRequestHandler(types.ElicitRequestSchema, (request) => {
    seen.elicitation.push(request.params);
    return { action: "accept", content: profile.elicitation.answer };
  });
  made.setRequestHandler(types.ListRootsRequestSchema, () => {
    seen.roots += 1;
    return { roots: [ROOT] };
  });
  made.setNotificationHandler(types.ResourceUpdatedNotificationSchema, ({ params }) => void seen.updated.push(params.uri));
  made.setNotificationHandler(types.LoggingMessageNotificationSchema, ({ params }) => void seen.logs.push(params));
  return made;
}

async function callTool(client, { tool, arguments: given = {} }, how = undefined) {
  const result = await client.callTool({ name: named(tool, tools.map((entry) => entry.name)), arguments: given }, undefined, how);
  check(!result.isError, `the tool failed: ${JSON.stringify(result.content)}`);
  return result;
}

/** Returns the listed name of a tool or prompt: the exact name, or the only one with a prefix. */
function named(name, published) {
  if (published.includes(name)) return name;
  const wanted = options.server ? `${options.server}__${name}` : `__${name}`;
  const found = published.filter((entry) => (options.server ? entry === wanted : entry.endsWith(wanted)));
  check(found.length === 1, `${name} matches ${JSON.stringify(found)} among ${published.length} names`);
  return found[0];
}

async function pages(list, key) {
  const all = [];
  let cursor;
  do {
    const page = await list(cursor);
    all.push(...page[key]);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return all;
}

function check(holds, why) {
  if (!holds) throw new Error(why);
}

function contains(value, wanted) {
  const text = JSON.stringify(value);
  check(text.includes(wanted), `'${wanted}' is not in ${text.slice(0, 400)}`);
}

async function until(holds, why) {
  const end = Date.now() + DEADLINE_MS / 2;
  while (!(await holds())) {
    check(Date.now() < end, why);
    await sleep(20);
  }
}

async function within(work, name) {
  const controller = new AbortController();
  const limit = sleep(DEADLINE_MS, undefined, { signal: controller.signal }).then(() => {
    throw new Error(`${name} took more than ${DEADLINE_MS / 1000} s`);
  });
  limit.catch(() => {});
  try {
    await Promise.race([work, limit]);
  } finally {
    controller.abort();
  }
}

function parse(args) {
  const read = { profile: "everything", skip: [] };
  while (args.length > 0) {
    const flag = args.shift();
    const name = flag.slice(2);
    if (["--http", "--sse", "--ws"].includes(flag)) read.target = { type: name, url: args.shift() };
    else if (flag === "--stdio") read.target = { command: args.shift(), args: args.splice(0) };
    else if (flag === "--content-length") read.target = { command: args.shift(), args: args.splice(0), stdio_mode: name };
    else if (flag === "--skip") read.skip = args.shift().split(",");
    else if (["--profile", "--server"].includes(flag)) read[name] = args.shift();
    else throw new Error(`unknown option ${flag}`);
  }
  if (!read.target) throw new Error("pass --http, --sse or --ws URL, or --stdio or --content-length COMMAND ARGS...");
  return read;
}
