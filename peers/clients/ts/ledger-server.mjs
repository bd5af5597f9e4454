// A server of the TypeScript SDK that writes down every call it gets, so that a
// lost, doubled or misled one can be found. Usage: node ledger-server.mjs NAME FILE
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { peer } from "./transports.mjs";

const { Server } = peer("@modelcontextprotocol/sdk/server/index.js");
const { StdioServerTransport } = peer("@modelcontextprotocol/sdk/server/stdio.js");
const { CallToolRequestSchema, ListToolsRequestSchema } = peer("@modelcontextprotocol/sdk/types.js");

/** All of them have the same tools: only the server tells them apart. */
export const TOOLS = ["alpha", "beta", "gamma", "delta"];

const [name, file] = process.argv.slice(2);
if (name && file) await serve();

async function serve() {
  const server = new Server({ name, version: "1" }, { capabilities: { tools: {} } });
  const inputSchema = { type: "object", properties: { call: { type: "string" }, ms: { type: "number" } }, required: ["call"] };
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: TOOLS.map((tool) => ({ name: tool, description: `Writes a call to ${tool} down.`, inputSchema })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const { call, ms = 0 } = params.arguments;
    appendFileSync(file, `${name} ${params.name} ${call}\n`);
    await sleep(ms);
    return { content: [{ type: "text", text: `${name} ${params.name} ${call}` }] };
  });
  await server.connect(new StdioServerTransport());
}
