// Tests a preset without an MCP client: with plain JSON-RPC over HTTP, and on the
// command line. Usage:
//
//   node presets.mjs EXPECTED BASE_URL NARROWS CONFIG
//
// EXPECTED has the `features` to test and the lists from `lib/exposure.mjs`; CONFIG
// has the endpoint `safe`.
import { existsSync, readFileSync } from "node:fs";

import { RULE } from "../../lib/exposure.mjs";
import { check, same, tryAll } from "../../lib/features.mjs";
import { run } from "../../lib/processes.mjs";

const [expectedFile, base, narrows, config] = process.argv.slice(2);
const { features: wanted, safe, strait, written } = JSON.parse(readFileSync(expectedFile, "utf8"));
const writing = { name: "write_file", arguments: { path: written, content: "forbidden" } };

const features = {
  async "plain JSON-RPC lists the allowed tools"() {
    const { status, answer } = await post("tools/list", {});
    same([status, answer.result.tools.map(({ name }) => name)], [200, safe.files.tools.map(({ name }) => name)], "the tools");
  },
  async "plain JSON-RPC rejects a forbidden call"() {
    const { status, answer } = await post("tools/call", writing);
    const { code, message, data } = answer.error ?? {};
    same([status, answer.id, code, data?.code], [403, 7, -32602, "not_allowed"], `the error in ${JSON.stringify(answer)}`);
    same([message, data.server_name], ["Tool 'write_file' is not allowed by current preset", "files"], "the error data");
    check(!existsSync(written), "the file was written");
  },
  async "plain JSON-RPC calls an allowed tool"() {
    const { status, answer } = await post("tools/call", { name: "read_text_file", arguments: { path: strait.path } });
    same([status, answer.result.content[0].text], [200, strait.text], "the file");
  },
  async "the command line names the rule"() {
    const { code, output } = await ask("--why", "files__write_file");
    check(code !== 0 && output.includes(RULE) && output.includes("'safe'"), `exit code ${code}: ${output}`);
    const there = await ask("--why", "files__read_text_file");
    check(there.code === 0 && there.output.includes("available: tool "), `exit code ${there.code}: ${there.output}`);
  },
  async "the command line names the rule as JSON"() {
    const { stdout } = await ask("--why", "files__write_file", "--json");
    const { there, server, tool, preset, rule } = JSON.parse(stdout);
    same([there, server, tool, preset, rule], [false, "files", "write_file", "safe", RULE], "the error data");
  },
  async "the command line lists the allowed tools"() {
    const { code, stdout } = await ask("--json");
    const { preset, servers } = JSON.parse(stdout);
    const shown = servers.find(({ id }) => id === "files").tools.map(({ name }) => name);
    same([code, preset, shown], [0, "safe", safe.files.tools.map(({ name }) => name)], "the tools");
  },
};

process.exit(await tryAll(features, wanted));

async function post(method, params) {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 7, method, params });
  const headers = { "Content-Type": "application/json" };
  const response = await fetch(`${base}/api/mcp-gateway/files/rpc`, { method: "POST", headers, body });
  return { status: response.status, answer: await response.json() };
}

function ask(...args) {
  return run(narrows, ["tools", "--config", config, "--endpoint", "safe", ...args], { seconds: 60 });
}
