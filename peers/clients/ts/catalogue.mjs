// Lists the tools of servers with the TypeScript SDK, without a gateway.
import { peer, transportTo } from "./transports.mjs";

const { Client } = peer("@modelcontextprotocol/sdk/client/index.js");
const types = peer("@modelcontextprotocol/sdk/types.js");

/**
 * Returns `{ instructions, tools }` by server, and the results of `calls`, which have the
 * form `[SERVER, TOOL, ARGUMENTS]`. Servers may list more tools for a client with roots.
 * Tools that run only as tasks are left out, as on endpoints that combine servers.
 */
export async function offered(mcpServers, { calls = [], roots = false } = {}) {
  const results = [];
  const one = async ([id, entry]) => {
    const client = new Client({ name: "narrows-catalogue", version: "1.0.0" }, { capabilities: roots ? { roots: {} } : {} });
    if (roots) client.setRequestHandler(types.ListRootsRequestSchema, () => ({ roots: [] }));
    await client.connect(transportTo(entry));
    const tools = [];
    let cursor;
    do {
      const page = await client.listTools({ cursor });
      tools.push(...page.tools.filter((tool) => tool.execution?.taskSupport !== "required"));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    for (const [at, [server, name, given]] of calls.entries()) {
      if (server === id) results[at] = await client.callTool({ name, arguments: given });
    }
    const instructions = client.getInstructions();
    await client.close();
    return [id, { instructions, tools }];
  };
  const catalogue = Object.fromEntries(await Promise.all(Object.entries(mcpServers).map(one)));
  return { catalogue, results };
}
