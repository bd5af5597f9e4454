// A server on stdin and stdout with Content-Length frames, as in the Language Server
// Protocol. vscode-jsonrpc creates messages and frames; this file adds four tools of
// the profile `strait`.
import { setTimeout as sleep } from "node:timers/promises";

import { peer } from "./transports.mjs";

const rpc = peer("vscode-jsonrpc/node");
const client = rpc.createMessageConnection(
  new rpc.StreamMessageReader(process.stdin),
  new rpc.StreamMessageWriter(process.stdout),
);

const text = { type: "string" };
const number = { type: "number" };

// Non-ASCII characters, for which the length in bytes differs from that in characters.
const tools = {
  echo: {
    description: "Returns its message – unchanged.",
    inputSchema: required({ message: text }),
    run: ({ message }) => message,
  },
  sum: {
    description: "Adds two numbers: Σ(a, b).",
    inputSchema: required({ a: number, b: number }),
    run: ({ a, b }) => `Σ = ${a + b}`,
  },
  count: {
    description: "Reports its progress three times.",
    inputSchema: required({}),
    async run(_, { progressToken } = {}) {
      for (const progress of [1, 2, 3]) {
        const notice = { progressToken, progress, total: 3, message: `${progress} ⁄ 3` };
        if (progressToken !== undefined) await client.sendNotification("notifications/progress", notice);
        await sleep(20);
      }
      return "Counted to three";
    },
  },
  ask: {
    description: "Asks the client's model.",
    inputSchema: required({ question: text }),
    async run({ question }) {
      const messages = [{ role: "user", content: { type: "text", text: question } }];
      const answer = await client.sendRequest("sampling/createMessage", { messages, maxTokens: 100 });
      return `The model says: “${answer.content.text}”`;
    },
  },
};

client.onRequest("initialize", () => ({
  protocolVersion: "2025-06-18",
  capabilities: { tools: {} },
  serverInfo: { name: "content-length", version: "1.0.0" },
}));
client.onNotification("notifications/initialized", () => {});
client.onRequest("ping", () => ({}));
client.onRequest("tools/list", () => ({
  tools: Object.entries(tools).map(([name, { run, ...rest }]) => ({ name, ...rest })),
}));
client.onRequest("tools/call", async ({ name, arguments: given = {}, _meta }) => {
  if (!tools[name]) throw new rpc.ResponseError(rpc.ErrorCodes.InvalidParams, `no such tool: ${name}`);
  return { content: [{ type: "text", text: await tools[name].run(given, _meta) }] };
});
client.listen();

function required(properties) {
  return { type: "object", properties, required: Object.keys(properties) };
}
