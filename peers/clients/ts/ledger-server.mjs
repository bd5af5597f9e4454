// A server of the TypeScript SDK that records every call in a file, so that lost,
// duplicate and misrouted calls can be found. Usage: node ledger-server.mjs NAME FILE
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { peer } from "./transports.mjs";

const { Server } = peer("@modelcontextprotocol/sdk/server/index.js");
const { StdioServerTransport } = peer("@modelcontextprotocol/sdk/server/stdio.js");
const { CallToolRequestSchema, ListToolsRequestSchema } = peer("@modelcontextprotocol/sdk/types.js");

/** All servers have the same tools, so that misrouted calls succeed and are found. */
export const TOOLS = ["alpha", "beta", "gamma", "delta"];

const [name, file] = process.argv.slice(2);
if (name && file) await serve();

async function serve() {
  const server = new Server({ name, version: "1" }, { capabilities: { tools: {} } });
  const inputSchema = { type: "object", properties: { call: { type: "string" }, ms: { type: "number" } }, required: ["call"] };
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: TOOLS.map((tool) => ({ name: tool, description: `Records a call to ${tool}.`, inputSchema })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const { call, ms = 0 } = params.arguments;
    appendFileSync(file, `${name} ${params.name} ${call}\n`);
    await sleep(ms);
    return { content: [{ type: "text", text: `${name} ${params.name} ${call}` }] };
  });
  await server.connect(new StdioServerTransport());
}
