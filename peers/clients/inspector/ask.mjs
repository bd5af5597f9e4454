// One request of the MCP Inspector's command line, in a process of its own.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { run } from "../../lib/processes.mjs";

const { NARROWS_PEER_NODE: node, NARROWS_PEER_NPM: npm } = process.env;
const launcher = join(npm, "@modelcontextprotocol/inspector/clients/launcher/build/index.js");

/** An Inspector for a server, which is `{ stdio: [COMMAND, ARGS...] }` or `{ way, url }`. */
export function inspector({ stdio, way, url }) {
  // It keeps a catalogue of servers at home; this one has its own.
  const home = mkdtempSync(join(tmpdir(), "narrows-inspector-"));
  const target = stdio ? ["--", ...stdio] : ["--transport", way, "--server-url", url];
  const request = (method, args) => {
    const all = [launcher, "--cli", "--format", "json", "--quiet", "--stored-auth-only", "--method", method, ...args];
    return run(node, [...all, ...target], { env: { HOME: home }, seconds: 60 });
  };
  return {
    async ask(method, ...args) {
      const { code, output } = await request(method, args);
      if (code !== 0) throw new Error(`exit code ${code}: ${output.trim().slice(0, 400)}`);
      return JSON.parse(output).result;
    },
    /** A call that has to fail: the result with `isError`, which the Inspector prints besides what it says itself. */
    async failing(name, given) {
      const { code, output } = await request("tools/call", ["--tool-name", name, "--tool-args-json", JSON.stringify(given)]);
      const printed = output.split("\n").find((line) => line.startsWith('{"result":'));
      const result = printed && JSON.parse(printed).result;
      if (code === 0 || !result?.isError) throw new Error(`exit code ${code}: ${output.trim().slice(0, 400)}`);
      return result;
    },
    close() {
      rmSync(home, { recursive: true, force: true });
    },
  };
}
