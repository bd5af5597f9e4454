// Reads the `tools/list` results of the real servers, byte for byte. Usage:
//
//   node lists.mjs FOLDER     writes FOLDER/SERVER.json for each of them
import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const here = import.meta.dirname;
const {
  NARROWS_PEER_NODE: node,
  NARROWS_PEER_NPM: npm,
  NARROWS_PEER_PYTHON: python,
  NARROWS_PEER_BIN: bin,
  NARROWS_PEER_RMCP: rmcp,
} = process.env;

/** Returns all installed stdio servers as entries of `mcpServers`; they may use `folder`. */
export function stdioServers(folder) {
  const reference = (name) => join(npm, "@modelcontextprotocol", name, "dist/index.js");
  const devtools = join(npm, "chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js");
  return {
    devtools: { command: node, args: [devtools, "--no-usage-statistics", "--headless"] },
    everything: { command: node, args: [reference("server-everything"), "stdio"] },
    filesystem: { command: node, args: [reference("server-filesystem"), folder] },
    fixture: { command: node, args: [join(here, "../conformance/fixture/main.mjs"), "--stdio"] },
    git: { command: join(bin, "mcp-server-git"), args: [] },
    long: { command: python, args: ["-B", join(here, "clients/py/long_server.py"), folder] },
    memory: { command: node, args: [reference("server-memory")], env: { MEMORY_FILE_PATH: join(folder, "listed.jsonl") } },
    rs: { command: join(rmcp, "rmcp-server"), args: [] },
    thinking: { command: node, args: [reference("server-sequential-thinking")] },
    time: { command: join(bin, "mcp-server-time"), args: ["--local-timezone", "UTC"] },
  };
}

/** Starts a server and lists its tools: `{ serverInfo, instructions, tools, answer }`, where `answer` is the raw response. */
export async function listTools({ command, args, env = {} }) {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
  const limit = setTimeout(() => child.kill("SIGKILL"), 60_000);
  let errors = "";
  child.stderr.on("data", (chunk) => (errors = `${errors}${chunk}`.slice(-2_000)));
  // Both end the output, which is handled below.
  child.on("error", (error) => (errors += error.message));
  child.stdin.on("error", () => {});
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const answerTo = async (id) => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done) throw new Error(`${command} ${args.join(" ")} ended before its response: ${errors}`);
      const message = JSON.parse(value);
      if (message.id === id && message.error) throw new Error(`${command} ${args.join(" ")}: ${value}`);
      // Skips notifications and requests of the server.
      if (message.id === id && message.result) return { result: message.result, line: value };
    }
  };
  try {
    const clientInfo = { name: "narrows-lists", version: "1.0.0" };
    send({ id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } });
    const { result: hello } = await answerTo(1);
    send({ method: "notifications/initialized" });
    send({ id: 2, method: "tools/list" });
    const { result, line } = await answerTo(2);
    if (result.nextCursor !== undefined) throw new Error(`${command}: more than one page`);
    const { serverInfo, instructions = null } = hello;
    return { serverInfo, instructions, tools: result.tools, answer: line };
  } finally {
    clearTimeout(limit);
    child.stdin.end();
    child.kill();
  }
}

if (import.meta.filename === process.argv[1]) {
  const folder = process.argv[2];
  mkdirSync(folder, { recursive: true });
  for (const [server, entry] of Object.entries(stdioServers(folder))) {
    const { answer, ...listed } = await listTools(entry);
    if (listed.tools.length === 0) throw new Error(`${server} lists no tools`);
    writeFileSync(join(folder, `${server}.json`), JSON.stringify({ server, ...listed }, null, 1));
    console.log(`${server}: ${listed.tools.length} tools`);
  }
}
