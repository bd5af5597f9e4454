// The part of the real-peer run with endpoints that do not list all tools, and
// with presets. See `README.md` for what is tried.
import { join } from "node:path";

import { offered } from "./clients/ts/catalogue.mjs";
import { description, exposed, guarded, safe, writeFiles } from "./lib/exposure.mjs";
import { startGateway, stop } from "./lib/processes.mjs";

const here = import.meta.dirname;
const { NARROWS_PEER_NODE: node, NARROWS_PEER_PYTHON: python, NARROWS_BIN: narrows } = process.env;

const LAZY = [
  ...["two tools are listed", "inspect tells a server", "inspect tells a tool", "inspect does not know a server or tool"],
  ...["exec reads a file", "exec asks a server written in Python", "exec gives a text as it is", "exec gives data as TOON"],
  ...["exec gives the data in a text", "exec changes something", "exec passes an image untouched"],
  ...["exec passes an error of the tool", "exec checks arguments", "exec does not know a server or tool"],
  ...["progress comes through exec", "a call of exec can be cancelled", "exec of many at once"],
  "a long file comes back through exec",
];
const LAZY_AS_JSON = ["inspect tells JSON where that is wanted", "exec gives data as JSON where that is wanted"];
const SEARCH = [
  ...["three tools and the pinned one are listed", "the pinned tool is called", "search finds a tool that reads files"],
  ...["search finds tools of every server", "search stays with one server, and within its limit"],
  ...["search finds nothing for no words", "a long file comes back through exec"],
];
const FORBIDDEN = ["what is forbidden is not listed", "what is forbidden is not called"];
const FORBIDDEN_LAZY = ["what is forbidden is not told", "what is forbidden is not executed"];
const FORBIDDEN_PLAIN = ["plain JSON-RPC lists what is allowed", "plain JSON-RPC is refused", "plain JSON-RPC reads"];

/** `peers` is how the run goes about things; the servers are those of a configuration. */
export async function exposure(peers, { ev, mem, git, fixture }) {
  const { folder, write, reference, count } = peers;
  const { presets, ...texts } = writeFiles(join(folder, "exposed"));
  const files = { command: node, args: [reference("server-filesystem"), join(folder, "exposed")] };
  const servers = { mem, files, ev: { ...ev, env: { NARROWS_PEER_STRAIT: "Messina" } }, git, fixture };
  const { catalogue, results } = await offered(servers, { calls: [["ev", "get-tiny-image", {}]] });
  // The Inspector says that it has roots, and one server has a tool for that.
  const withRoots = { ...catalogue, ...(await offered({ ev: servers.ev }, { roots: true })).catalogue };
  const given = { ...texts, image: results[0].content, repository: join(folder, "repository") };
  const clients = clientsOf(write, given);

  const config = write("exposed.json", exposed(servers, presets));
  // For who starts the gateway, and so every server, for each request.
  const small = write("exposed-two.json", exposed({ files, ev: servers.ev }, presets));
  const gateway = await startGateway(narrows, config, [fixture.url]);
  await lazyAndSearch(peers, clients, { gateway, config, small, catalogue, withRoots });
  await underPreset(peers, clients, { gateway, small, catalogue });
  count("the gateway of the exposed tools stops when asked", await stop(gateway.child));
  const guardedConfig = write("guarded.json", guarded(files));
  await underDefaultPreset(peers, clients, { config: guardedConfig, catalogue: { files: catalogue.files } });
}

async function lazyAndSearch({ step, stdio }, { ts, py, inspector }, { gateway, config, small, catalogue, withRoots }) {
  const http = (path) => ["--http", `http://127.0.0.1:${gateway.port}/mcp/${path}`];
  const lazily = (file) => [...stdio(file), "--expose", "lazy"];
  const asked = ["a server asks the model through exec"];
  await step("exposure, lazy, for the inspector over http", inspector(withRoots, ...http("lazy")));
  await step("exposure, lazy, for the inspector over stdio", inspector(two(withRoots), ...lazily(small)));
  await step("exposure, lazy, for ts over http", ts(catalogue, LAZY, ...http("lazy")));
  await step("exposure, lazy, for ts over stdio", ts(catalogue, LAZY, ...lazily(config)));
  await step("exposure, lazy, for ts that can be asked", ts(catalogue, asked, ...http("lazy")));
  await step("exposure, lazy, for py over http", py(catalogue, ...http("lazy")));
  await step("exposure, lazy as JSON, for ts over http", ts(catalogue, LAZY_AS_JSON, ...http("json")));
  await step("exposure, search, for ts over http", ts(catalogue, SEARCH, ...http("search")));
}

async function underPreset({ step, stdio }, { ts, plain }, { gateway, small, catalogue }) {
  const address = `127.0.0.1:${gateway.port}`;
  const http = (path) => ["--http", `http://${address}/${path}`];
  const under = (name, command) => step(`exposure under a preset, ${name}`, command);
  await under("over http", ts(catalogue, FORBIDDEN, ...http("mcp/safe")));
  await under("over sse", ts(catalogue, FORBIDDEN, "--sse", `http://${address}/sse/safe`));
  await under("over ws", ts(catalogue, FORBIDDEN, "--ws", `ws://${address}/ws/safe`));
  await under("over stdio", ts(two(catalogue), FORBIDDEN, ...stdio(small), "--preset", "safe"));
  await under("lazy", ts(catalogue, FORBIDDEN_LAZY, ...http("mcp/safe-lazy")));
  await under("search", ts(catalogue, ["what is forbidden is not found"], ...http("mcp/safe-search")));
  await under("one server", ts(catalogue, ["what is forbidden of one server"], ...http("servers/files/mcp")));
  await under("without MCP", plain(catalogue, undefined, `http://${address}`, small));
  await under("in a file", ts(catalogue, ["what a preset in a file allows"], ...http("mcp/reader")));
  await under("in a broken file", ts(catalogue, ["what a preset in a broken file allows"], ...http("mcp/broken")));
}

/** Ways in that have no preset of their own. */
async function underDefaultPreset({ step }, { ts, plain }, { config, catalogue }) {
  const gateway = await startGateway(narrows, config);
  const address = `127.0.0.1:${gateway.port}`;
  const http = (path) => ["--http", `http://${address}/${path}`];
  const under = (name, command) => step(`exposure under the default preset, ${name}`, command);
  await under("over http", ts(catalogue, FORBIDDEN, ...http("mcp")));
  await under("over ws", ts(catalogue, FORBIDDEN, "--ws", `ws://${address}/ws`));
  await under("lazy", ts(catalogue, FORBIDDEN_LAZY, ...http("mcp/lazy")));
  await under("one server", ts(catalogue, ["what is forbidden of one server"], ...http("servers/files/mcp")));
  await under("without MCP", plain(catalogue, FORBIDDEN_PLAIN, `http://${address}`, config));
  await stop(gateway.child);
}

/** What there is behind the smaller gateway. */
function two({ files, ev }) {
  return { files, ev };
}

/** The commands of the clients, each with a file of what it must see. */
function clientsOf(write, given) {
  let written = 0;
  const expected = (catalogue, features) => {
    written += 1;
    // The memory outlives a client: each of them tells it something new.
    const entity = { name: `Scylla ${written}`, entityType: "monster", observations: ["has six heads"] };
    const left = safe(catalogue);
    const told = { catalogue, description: description(catalogue), safe: left, safeDescription: description(left) };
    return write(`exposure-${written}.json`, { features, entity, ...told, ...given });
  };
  const script = (name) => join(here, "clients", name);
  return {
    ts: (catalogue, features, ...way) => [node, script("ts/exposure.mjs"), expected(catalogue, features), ...way],
    py: (catalogue, ...way) => [python, "-B", script("py/exposure.py"), expected(catalogue), ...way],
    inspector: (catalogue, ...way) => [node, script("inspector/exposure.mjs"), expected(catalogue), ...way],
    plain: (catalogue, features, base, config) => {
      return [node, script("plain/presets.mjs"), expected(catalogue, features), base, narrows, config];
    },
  };
}
