// Runs the command line of the MCP Inspector, in one process per request.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { run } from "../../lib/processes.mjs";

const { NARROWS_PEER_NODE: node, NARROWS_PEER_NPM: npm } = process.env;
const launcher = join(npm, "@modelcontextprotocol/inspector/clients/launcher/build/index.js");

/** Returns an Inspector for a server, which is `{ stdio: [COMMAND, ARGS...] }` or `{ transport, url }`. */
export function inspector({ stdio, transport, url }) {
  // The Inspector stores servers in the home folder, so it gets a temporary one.
  const home = mkdtempSync(join(tmpdir(), "narrows-inspector-"));
  const target = stdio ? ["--", ...stdio] : ["--transport", transport, "--server-url", url];
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
    /** Makes a call that has to fail, and returns its result with `isError` from the output of the Inspector. */
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
