// A driver for Content-Length frames without an MCP SDK: vscode-jsonrpc creates
// messages and frames. It tests list, call, sampling and progress. See ../README.md
// for the options; of the transports, it has --stdio only.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { peer } from "./transports.mjs";

const { createMessageConnection, StreamMessageReader, StreamMessageWriter } = peer("vscode-jsonrpc/node");

// Non-ASCII characters, for which the length in bytes differs from that in characters.
const MODEL_ANSWER = "Χάρυβδις – from vscode-jsonrpc 🌊";
const DEADLINE_MS = 20_000;

const options = parse(process.argv.slice(2));
const profile = JSON.parse(readFileSync(join(import.meta.dirname, "../profiles.json"), "utf8"))[options.profile];
const asked = [];
const notices = [];
let tools = [];

const features = {
  async initialize() {
    const clientInfo = { name: "narrows-content-length-client", version: "1.0.0" };
    const hello = { protocolVersion: "2025-06-18", capabilities: { sampling: {} }, clientInfo };
    check((await server.sendRequest("initialize", hello)).capabilities.tools, "the server has no tools capability");
    await server.sendNotification("notifications/initialized");
  },

  async list() {
    let cursor;
    do {
      const page = await server.sendRequest("tools/list", { cursor });
      tools.push(...page.tools.map((tool) => tool.name));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    named(profile.call.tool);
  },

  async call() {
    contains(await callTool(profile.call), profile.call.contains);
  },

  async sampling() {
    contains(await callTool(profile.sampling), MODEL_ANSWER);
    contains(asked, profile.sampling.asked);
  },

  async progress() {
    await callTool(profile.progress, { progressToken: "pharos" });
    const { notices: wanted } = profile.progress;
    check(notices.every(({ progressToken }) => progressToken === "pharos"), `wrong token: ${JSON.stringify(notices)}`);
    check(notices.length === wanted, `${notices.length} notices: ${JSON.stringify(notices)}`);
  },
};

const [command, ...args] = options.stdio;
const child = spawn(command, args, { stdio: ["pipe", "pipe", "ignore"] });
const server = createMessageConnection(new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin));
server.onRequest("sampling/createMessage", (params) => {
  asked.push(params);
  return { role: "assistant", content: { type: "text", text: MODEL_ANSWER }, model: "driver", stopReason: "endTurn" };
});
server.onNotification("notifications/progress", (notice) => void notices.push(notice));
server.listen();

let passed = 0;
let failed = 0;
for (const [name, feature] of Object.entries(features)) {
  if (options.skip.includes(name)) continue;
  try {
    await within(feature(), name);
    passed += 1;
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}: ${error.message}`);
  }
}
child.stdin.end();
if (child.exitCode === null) await new Promise((resolve) => child.on("exit", resolve));
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function callTool({ tool, arguments: given = {} }, _meta = undefined) {
  const result = await server.sendRequest("tools/call", { name: named(tool), arguments: given, _meta });
  check(!result.isError, `the tool failed: ${JSON.stringify(result.content)}`);
  return result;
}

function named(name) {
  if (tools.includes(name)) return name;
  const wanted = options.server ? `${options.server}__${name}` : `__${name}`;
  const found = tools.filter((entry) => (options.server ? entry === wanted : entry.endsWith(wanted)));
  check(found.length === 1, `${name} matches ${JSON.stringify(found)} among ${tools.length} names`);
  return found[0];
}

function check(holds, why) {
  if (!holds) throw new Error(why);
}

function contains(value, wanted) {
  const text = JSON.stringify(value);
  check(text.includes(wanted), `'${wanted}' is not in ${text.slice(0, 400)}`);
}

function within(work, name) {
  const limit = sleep(DEADLINE_MS).then(() => {
    throw new Error(`${name} took more than ${DEADLINE_MS / 1000} s`);
  });
  return Promise.race([work, limit]);
}

function parse(args) {
  const read = { profile: "everything", skip: [] };
  while (args.length > 0) {
    const flag = args.shift();
    if (flag === "--stdio") read.stdio = args.splice(0);
    else if (flag === "--skip") read.skip = args.shift().split(",");
    else if (["--profile", "--server"].includes(flag)) read[flag.slice(2)] = args.shift();
    else throw new Error(`unknown option ${flag}`);
  }
  if (!read.stdio?.length) throw new Error("pass --stdio COMMAND ARGS...");
  return read;
}
