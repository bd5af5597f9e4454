// Compares every server of a configuration with the gateway: the gateway must list all
// tools of the servers, then its own and no others, and a tool of each server must
// work. Usage:
//
//   node servers.mjs CONFIG CALLS --http URL | --stdio COMMAND ARGS...
//
// CONFIG has `mcpServers`; CALLS is a list of { server, tool, arguments, contains }.
import { readFileSync } from "node:fs";

import { TOOL } from "../../lib/receipts.mjs";
import { peer, transportTo } from "./transports.mjs";

const { Client } = peer("@modelcontextprotocol/sdk/client/index.js");

const [configFile, callsFile, option, ...target] = process.argv.slice(2);
const { mcpServers } = JSON.parse(readFileSync(configFile, "utf8"));
const calls = JSON.parse(readFileSync(callsFile, "utf8"));
let passed = 0;
let failed = 0;

const gateway = await connect(
  option === "--http" ? { type: "http", url: target[0] } : { command: target[0], args: target.slice(1) },
);
const published = await listTools(gateway);
const known = new Set();

for (const [id, entry] of Object.entries(mcpServers)) {
  await check(`${id}: every tool is listed`, async () => {
    const direct = await connect(entry);
    const names = (await listTools(direct)).map((name) => `${id}__${name}`);
    await direct.close();
    names.forEach((name) => known.add(name));
    const missing = names.filter((name) => !published.includes(name));
    if (missing.length > 0) throw new Error(`missing among ${published.length} names: ${missing.join(", ")}`);
  });
  for (const { tool, arguments: given, contains } of calls.filter((call) => call.server === id)) {
    await check(`${id}: ${tool} works`, async () => {
      const result = await gateway.callTool({ name: `${id}__${tool}`, arguments: given });
      const text = JSON.stringify(result);
      if (result.isError || !text.includes(contains)) throw new Error(text.slice(0, 400));
    });
  }
}
await check(`${TOOL} comes last, and nothing else is added`, () => {
  const added = published.filter((name) => !known.has(name));
  if (added.join() !== TOOL || published.at(-1) !== TOOL) throw new Error(`added: ${added}; last: ${published.at(-1)}`);
});
await gateway.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function check(what, work) {
  try {
    await work();
    passed += 1;
    console.log(`ok ${what}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${what}: ${error.message}`);
  }
}

async function connect(entry) {
  const client = new Client({ name: "narrows-servers", version: "1.0.0" });
  await client.connect(transportTo(entry));
  return client;
}

async function listTools(client) {
  const names = [];
  let cursor;
  do {
    const page = await client.listTools({ cursor });
    // Tools that run only as tasks are not listed on endpoints that combine servers.
    const callable = page.tools.filter((tool) => tool.execution?.taskSupport !== "required");
    names.push(...callable.map((tool) => tool.name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return names;
}
