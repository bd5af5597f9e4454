// The part of peers/run that tests lazy and search endpoints, and presets. See
// README.md for the list of tests.
import { join } from "node:path";

import { offered } from "./clients/ts/catalogue.mjs";
import { description, exposed, guarded, safe, writeFiles } from "./lib/exposure.mjs";
import { startGateway, stop } from "./lib/processes.mjs";

const here = import.meta.dirname;
const { NARROWS_PEER_NODE: node, NARROWS_PEER_PYTHON: python, NARROWS_BIN: narrows } = process.env;

const LAZY = [
  ...["two tools are listed", "inspect describes a server", "inspect describes a tool", "inspect rejects an unknown server or tool"],
  ...["exec reads a file", "exec calls a server written in Python", "exec returns a text unchanged", "exec returns data as TOON"],
  ...["exec returns JSON in a text as data", "exec changes data", "exec returns an image unchanged"],
  ...["exec returns an error of the tool", "exec checks arguments", "exec rejects an unknown server or tool"],
  ...["exec forwards progress", "a call of exec can be cancelled", "parallel calls of exec"],
  "a long file is recovered through exec",
];
const LAZY_AS_JSON = ["inspect returns JSON Schemas if configured", "exec returns data as JSON if configured"];
const SEARCH = [
  ...["three tools and the pinned one are listed", "the pinned tool can be called", "search finds a tool that reads files"],
  ...["search finds tools of every server", "search respects the server and the limit"],
  ...["search returns nothing for unknown words", "a long file is recovered through exec"],
];
const FORBIDDEN = ["forbidden tools are not listed", "forbidden tools cannot be called"];
const FORBIDDEN_LAZY = ["forbidden tools cannot be inspected", "forbidden tools cannot be executed"];
const FORBIDDEN_PLAIN = ["plain JSON-RPC lists the allowed tools", "plain JSON-RPC rejects a forbidden call", "plain JSON-RPC calls an allowed tool"];

/** Runs the steps. `peers` has the helpers of the run; the servers are entries of a configuration. */
export async function exposure(peers, { ev, mem, git, fixture }) {
  const { folder, write, reference, count } = peers;
  const { presets, ...texts } = writeFiles(join(folder, "exposed"));
  const files = { command: node, args: [reference("server-filesystem"), join(folder, "exposed")] };
  const servers = { mem, files, ev: { ...ev, env: { NARROWS_PEER_STRAIT: "Messina" } }, git, fixture };
  const { catalogue, results } = await offered(servers, { calls: [["ev", "get-tiny-image", {}]] });
  // The Inspector has the roots capability, for which one server lists another tool.
  const withRoots = { ...catalogue, ...(await offered({ ev: servers.ev }, { roots: true })).catalogue };
  const given = { ...texts, image: results[0].content, repository: join(folder, "repository") };
  const clients = clientsOf(write, given);

  const config = write("exposed.json", exposed(servers, presets));
  // A small configuration for clients that start the gateway, and so every server, for each request.
  const small = write("exposed-two.json", exposed({ files, ev: servers.ev }, presets));
  const gateway = await startGateway(narrows, config, [fixture.url]);
  await lazyAndSearch(peers, clients, { gateway, config, small, catalogue, withRoots });
  await underPreset(peers, clients, { gateway, small, catalogue });
  count("the gateway of the exposure steps stops on SIGTERM", await stop(gateway.child));
  const guardedConfig = write("guarded.json", guarded(files));
  await underDefaultPreset(peers, clients, { config: guardedConfig, catalogue: { files: catalogue.files } });
}

async function lazyAndSearch({ step, stdio }, { ts, py, inspector }, { gateway, config, small, catalogue, withRoots }) {
  const http = (path) => ["--http", `http://127.0.0.1:${gateway.port}/mcp/${path}`];
  const lazily = (file) => [...stdio(file), "--expose", "lazy"];
  const asked = ["sampling works through exec"];
  await step("exposure, lazy, for the inspector over http", inspector(withRoots, ...http("lazy")));
  await step("exposure, lazy, for the inspector over stdio", inspector(two(withRoots), ...lazily(small)));
  await step("exposure, lazy, for ts over http", ts(catalogue, LAZY, ...http("lazy")));
  await step("exposure, lazy, for ts over stdio", ts(catalogue, LAZY, ...lazily(config)));
  await step("exposure, lazy, for ts with sampling", ts(catalogue, asked, ...http("lazy")));
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
  await under("search", ts(catalogue, ["forbidden tools are not found"], ...http("mcp/safe-search")));
  await under("one server", ts(catalogue, ["forbidden tools of one server"], ...http("servers/files/mcp")));
  await under("without MCP", plain(catalogue, undefined, `http://${address}`, small));
  await under("in a file", ts(catalogue, ["a preset in a file"], ...http("mcp/reader")));
  await under("in an invalid file", ts(catalogue, ["a preset in an invalid file"], ...http("mcp/broken")));
}

/** Endpoints without a preset, to which that of the default endpoint applies. */
async function underDefaultPreset({ step }, { ts, plain }, { config, catalogue }) {
  const gateway = await startGateway(narrows, config);
  const address = `127.0.0.1:${gateway.port}`;
  const http = (path) => ["--http", `http://${address}/${path}`];
  const under = (name, command) => step(`exposure under the default preset, ${name}`, command);
  await under("over http", ts(catalogue, FORBIDDEN, ...http("mcp")));
  await under("over ws", ts(catalogue, FORBIDDEN, "--ws", `ws://${address}/ws`));
  await under("lazy", ts(catalogue, FORBIDDEN_LAZY, ...http("mcp/lazy")));
  await under("one server", ts(catalogue, ["forbidden tools of one server"], ...http("servers/files/mcp")));
  await under("without MCP", plain(catalogue, FORBIDDEN_PLAIN, `http://${address}`, config));
  await stop(gateway.child);
}

/** Returns the servers of the small configuration. */
function two({ files, ev }) {
  return { files, ev };
}

/** Returns the commands of the clients. Each gets a file with the lists that it must see. */
function clientsOf(write, given) {
  let written = 0;
  const expected = (catalogue, features) => {
    written += 1;
    // The memory server is shared by all clients, so each of them stores another entity.
    const entity = { name: `Scylla ${written}`, entityType: "monster", observations: ["has six heads"] };
    const left = safe(catalogue);
    const lists = { catalogue, description: description(catalogue), safe: left, safeDescription: description(left) };
    return write(`exposure-${written}.json`, { features, entity, ...lists, ...given });
  };
  const script = (name) => join(here, "clients", name);
  return {
    ts: (catalogue, features, ...target) => [node, script("ts/exposure.mjs"), expected(catalogue, features), ...target],
    py: (catalogue, ...target) => [python, "-B", script("py/exposure.py"), expected(catalogue), ...target],
    inspector: (catalogue, ...target) => [node, script("inspector/exposure.mjs"), expected(catalogue), ...target],
    plain: (catalogue, features, base, config) => {
      return [node, script("plain/presets.mjs"), expected(catalogue, features), base, narrows, config];
    },
  };
}
