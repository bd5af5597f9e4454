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
  return {
    async ask(method, ...args) {
      const all = [launcher, "--cli", "--format", "json", "--quiet", "--stored-auth-only", "--method", method, ...args];
      const { code, output } = await run(node, [...all, ...target], { env: { HOME: home }, seconds: 60 });
      if (code !== 0) throw new Error(`exit code ${code}: ${output.trim().slice(0, 400)}`);
      return JSON.parse(output).result;
    },
    close() {
      rmSync(home, { recursive: true, force: true });
    },
  };
}
