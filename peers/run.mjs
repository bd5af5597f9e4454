// Runs the real peers; see `run` for the usage.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { exposure } from "./exposure.mjs";
import { writeLongTexts } from "./lib/long-texts.mjs";
import { endAll, run, start, startGateway, stop } from "./lib/processes.mjs";
import { listTools, stdioServers } from "./lists.mjs";

const here = import.meta.dirname;
const {
  NARROWS_PEER_NODE: node,
  NARROWS_PEER_NPM: npm,
  NARROWS_PEER_PYTHON: python,
  NARROWS_PEER_PYTHON_V1: pythonV1,
  NARROWS_PEER_BIN: bin,
  NARROWS_PEER_RMCP: rmcp,
  NARROWS_BIN: narrows,
} = process.env;
const filter = process.argv[2] ?? "";

const drivers = {
  ts: [node, join(here, "clients/ts/driver.mjs")],
  py: [python, "-B", join(here, "clients/py/driver.py")],
  rmcp: [join(rmcp, "rmcp-driver")],
  inspector: [join(here, "clients/inspector/run")],
};
// The last major version of the Python SDK with a WebSocket transport.
const pyV1 = [pythonV1, "-B", join(here, "clients/py/driver_v1.py")];
const contentLengthClient = [node, join(here, "clients/ts/content-length-client.mjs")];
const contentLengthServer = join(here, "clients/ts/content-length-server.mjs");
const servers = [node, join(here, "clients/ts/servers.mjs")];

const profile = (driver, name, ...rest) => [...driver, "--profile", name, ...rest];
const stdio = (file) => ["--stdio", narrows, "stdio", "--config", file];

// Resolves symbolic links, because servers may print the resolved path.
const folder = realpathSync(mkdtempSync(join(tmpdir(), "narrows-peers-")));
let passed = 0;
let failed = 0;
try {
  await everything();
} catch (error) {
  failed += 1;
  console.log(String(error.stack ?? error));
} finally {
  // Processes of a failed part must not count as leftovers of the gateway.
  if (failed > 0) endAll();
  await leaveNothing();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function everything() {
  const all = await configure();
  // The longest parts first.
  const parts = [() => oneGateway(all), shaping, () => exposures(all), administration, change, lists, pruner];
  // Clients and servers mostly wait for each other, so two parts run in parallel.
  const worker = async () => {
    for (let part; (part = parts.shift()); ) {
      await part().catch((error) => {
        failed += 1;
        console.log(String(error.stack ?? error));
      });
    }
  };
  await Promise.all([worker(), worker()]);
}

/** Tests every client and transport through one gateway with all servers. */
async function oneGateway(all) {
  const one = write("ev.json", { ...all, mcpServers: { ev: all.mcpServers.ev } });
  const config = write("all.json", all);
  // The memory server keeps its data, so each test stores another entity.
  const calls = (name) => write(`calls-${name}.json`, expectedCalls(name));

  const upstreams = Object.values(all.mcpServers).flatMap(({ url }) => url ?? []);
  const gateway = await startGateway(narrows, config, upstreams);
  const base = `http://127.0.0.1:${gateway.port}`;

  await step("servers over http", [...servers, config, calls("Scylla"), "--http", `${base}/mcp`]);
  await step("servers over stdio", [...servers, config, calls("Charybdis"), ...stdio(config)]);
  for (const [name, driver] of Object.entries(drivers)) {
    const fixture = profile(driver, "fixture", "--server", "fixture");
    const ev = profile(driver, "everything");
    await step(`${name} over http, all servers`, [...fixture, "--http", `${base}/mcp`]);
    await step(`${name} over http, one stdio server`, [...ev, "--http", `${base}/servers/ev/mcp`]);
    await step(`${name} over http, one http server`, [...ev, "--http", `${base}/servers/evhttp/mcp`]);
    await step(`${name} over stdio, one server`, [...ev, ...stdio(one)]);
    // The Inspector starts the gateway, and so every server, for each request.
    if (name === "inspector") continue;
    await step(`${name} over stdio, all servers`, [...fixture, ...stdio(config)]);
  }
  const skipped = ["--skip", "subscribe,cancel,logging"];
  const auto = profile(drivers.py, "fixture", "--era", "auto", ...skipped);
  await step("py choosing the era over http", [...auto, "--http", `${base}/servers/fixture/mcp`]);
  await step("py choosing the era over stdio", [...auto, "--server", "fixture", ...stdio(config)]);

  await step("py v1 over http, all servers", profile(pyV1, "fixture", "--server", "fixture", "--http", `${base}/mcp`));
  await step("py v1 over stdio, one server", profile(pyV1, "everything", ...stdio(one)));
  await overStreams(`127.0.0.1:${gateway.port}`);
  await toStreams(base);
  await contentLength(all, config);
  await step("metrics with the parsers of Prometheus", [python, "-B", join(here, "clients/py/metrics.py"), base, "mem"]);

  count("the gateway stops on SIGTERM", await stop(gateway.child));
  if (failed > 0) console.log(`last log records of the gateway with all servers:\n${tail(gateway.output(), 60)}`);
}

async function exposures({ mcpServers }) {
  // Separate servers, because `oneGateway` runs at the same time, writes to its memory
  // server and counts the cancellations of its fixture.
  const mem = { ...mcpServers.mem, env: { MEMORY_FILE_PATH: join(folder, "exposed-memory.jsonl") } };
  const fixture = { type: "http", url: await startFixture() };
  await exposure({ folder, write, reference, stdio, step, count }, { ...mcpServers, mem, fixture });
}

async function change() {
  await step("change under load", [node, join(here, "clients/ts/change.mjs"), narrows, newFolder("changing")]);
}

/** Tests the admin API with requests that are generated from its description. */
async function administration() {
  const driver = [python, "-B", join(here, "clients/py/admin.py"), narrows];
  await step("admin API against its description", [...driver, newFolder("operated"), node, reference("server-everything"), "stdio"]);
}

/** Checks that the endpoint of each server lists its tools byte for byte as the server does. */
async function lists() {
  if (!"lists of real servers".includes(filter)) return;
  const mcpServers = stdioServers(newFolder("listed"));
  const gateway = await startGateway(narrows, write("listed.json", { initialize_wait_s: 60, list_wait_s: 60, mcpServers }));
  for (const [id, entry] of Object.entries(mcpServers)) {
    const { answer, tools } = await listTools(entry);
    const url = `http://127.0.0.1:${gateway.port}/servers/${id}/mcp`;
    const { body: hello, session } = await post(url, "initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "narrows-lists", version: "1.0.0" },
    });
    const { body } = await post(url, "tools/list", {}, session);
    const before = '{"jsonrpc":"2.0","id":1,"result":';
    const list = body.slice(before.length, -1);
    const same = hello.includes('"serverInfo"') && body.startsWith(before) && answer.includes(`"result":${list}`);
    count(`lists of real servers: ${id}, ${tools.length} tools`, same);
    if (!same) console.log(indent(`${answer.slice(0, 400)}\n${body.slice(0, 400)}`));
  }
  await stop(gateway.child);
}

/** Sends one request without an SDK; returns the raw body and the session. */
async function post(url, method, params, session) {
  const headers = {
    "Content-Type": "application/json",
    Accept: "application/json, text/event-stream",
    ...(session && { "Mcp-Session-Id": session }),
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const response = await fetch(url, { method: "POST", headers, body });
  return { body: await response.text(), session: response.headers.get("mcp-session-id") };
}

/** Tests the built-in pruner, which has only tools. */
async function pruner() {
  const file = write("pruner.json", { mcpServers: { pruner: { type: "builtin" } } });
  const others = "read,prompt,complete,subscribe,sampling,elicitation,roots,progress,cancel,logging";
  // The features of the Inspector driver are named by method.
  const methods = "resources/list,resources/read,prompts/list,prompts/get";
  for (const [name, skip] of Object.entries({ ts: others, py: others, inspector: methods })) {
    await step(`${name} to the pruner`, profile(drivers[name], "pruner", "--skip", skip, ...stdio(file)));
  }
}

/** Tests result budgets, and the recovery of everything that was cut. */
async function shaping() {
  const long = join(folder, "long");
  const saved = join(folder, "receipt.json");
  const texts = writeLongTexts(long);
  const configured = (shape) => ({
    initialize_wait_s: 60,
    list_wait_s: 60,
    mcpServers: {
      fs: { command: node, args: [reference("server-filesystem"), long] },
      // The server ignores the argument, which identifies a leftover process of this run.
      long: { command: python, args: ["-B", join(here, "clients/py/long_server.py"), folder] },
    },
    // High enough that a busy machine does not change the results.
    shape: { prune: { timeout_ms: 30_000 }, ...shape },
    endpoints: { goal: { shape: { goal_param: true } } },
    recovery: { path: join(folder, "kept"), ttl_s: 3600 },
  });
  const config = write("long.json", configured({}));
  const tight = write("long-tight.json", configured({ max_chars: 20_000 }));
  const client = (command, script) => (budget, features, ...target) => {
    const expected = write(`expected-${features[0]}.json`, { budget, features, saved, ...texts });
    return [...command, join(here, "clients", script), expected, ...target];
  };
  const ts = client([node], "ts/long-results.mjs");
  const py = client([python, "-B"], "py/long_results.py");
  const inspector = client([node], "inspector/long-results.mjs");
  const most = [
    ...["listed", "log", "log by pages", "log by its markers", "log by a search", "log by its ends", "log as a resource"],
    ...["JSON in one line", "JSON in one line as a resource"],
    ...["a model of the Python SDK", "a list of the Python SDK", "pictures"],
  ];
  const mostInPython = ["listed", "log", "json", "models", "pictures"];

  let gateway = await startGateway(narrows, config);
  const http = (path = "mcp") => ["--http", `http://127.0.0.1:${gateway.port}/${path}`];
  await step("shaping for ts over http", ts(16_000, most, ...http()));
  await step("shaping for ts over stdio", ts(20_000, most, ...stdio(tight)));
  await step("shaping for py over http", py(16_000, mostInPython, ...http()));
  await step("shaping for the inspector", inspector(16_000, ["all"], ...http()));
  await step("shaping for ts with a goal", ts(16_000, ["goal"], ...http("mcp/goal")));
  await step("shaping for ts, one server", ts(16_000, ["untouched"], ...http("servers/fs/mcp")));

  await step("shaping before a restart", ts(16_000, ["cut"], ...http()));
  count("the gateway of the shaping steps stops on SIGTERM", await stop(gateway.child));
  gateway = await startGateway(narrows, config);
  await step("shaping after a restart", ts(16_000, ["back"], ...http()));
  await stop(gateway.child);
}

/** Tests the clients that support SSE or WebSocket. */
async function overStreams(address) {
  const { ts, py, inspector } = drivers;
  const sse = (path) => ["--sse", `http://${address}/${path}`];
  const ws = (path) => ["--ws", `ws://${address}/${path}`];
  // Some use the endpoint's name: `/sse` and `/sse/default` are the same. One connects to
  // `evsse`, so that SSE is used on both sides.
  const cases = {
    "ts over sse": [ts, sse("sse"), sse("servers/ev/sse")],
    "py over sse": [py, sse("sse/default"), sse("servers/evsse/sse")],
    "py v1 over sse": [pyV1, sse("sse"), sse("servers/ev/sse")],
    "ts over ws": [ts, ws("ws"), ws("servers/ev/ws")],
    "py v1 over ws": [pyV1, ws("ws/default"), ws("servers/ev/ws")],
  };
  for (const [name, [driver, all, one]] of Object.entries(cases)) {
    await step(`${name}, all servers`, profile(driver, "fixture", "--server", "fixture", ...all));
    await step(`${name}, one server`, profile(driver, "everything", ...one));
  }
  await step("inspector over sse, one server", profile(inspector, "everything", ...sse("servers/evsse/sse")));
  await step("py v1 over ws, the ws server", profile(pyV1, "strait", ...ws("servers/pyws/ws")));
}

/** Tests servers over SSE and WebSocket with clients over HTTP. */
async function toStreams(base) {
  const { ts, py } = drivers;
  const http = (id) => ["--http", `${base}/servers/${id}/mcp`];
  await step("ts over http, the sse server", profile(ts, "everything", ...http("evsse")));
  await step("ts over http, a detected sse server", profile(ts, "everything", ...http("evfound")));
  await step("py over http, another detected sse server", profile(py, "strait", ...http("pyfound")));
  await step("ts over http, the ws server", profile(ts, "strait", ...http("pyws")));
}

/** Tests Content-Length frames on each side of the gateway, and on both. */
async function contentLength(all, config) {
  const only = write("cl.json", { ...all, mcpServers: { cl: all.mcpServers.cl } });
  const missing = "read,prompt,complete,subscribe,elicitation,roots,cancel,logging";
  const [, ...gateway] = stdio(config);
  const fixture = profile(drivers.ts, "fixture", "--server", "fixture");
  await step("content-length to content-length", profile(contentLengthClient, "strait", ...stdio(only)));
  await step("ts over content-length, all servers", [...fixture, "--content-length", ...gateway]);
  await step("ts over stdio, the content-length server", profile(drivers.ts, "strait", "--skip", missing, ...stdio(only)));
}

/** Starts the servers and creates their data; returns the configuration of the gateway. */
async function configure() {
  const files = join(folder, "files");
  mkdirSync(files);
  writeFileSync(join(files, "strait.txt"), "Between Scylla and Charybdis\n");
  const repository = join(folder, "repository");
  mkdirSync(repository);
  const git = (...args) => execFileSync("git", ["-C", repository, ...args], { stdio: "pipe" });
  git("init", "--quiet", "--initial-branch", "main");
  git("-c", "user.name=narrows", "-c", "user.email=narrows@example.test", "commit", "--quiet", "--allow-empty", "-m", "Pass the strait");

  const everythingServer = reference("server-everything");
  const [fixture, strait, rpc, evhttp, evsse] = await Promise.all([
    startFixture(),
    listening(pythonV1, ["-B", join(here, "clients/py/server_v1.py")]),
    listening(pythonV1, ["-B", join(here, "clients/py/rpc_server.py")]),
    everythingOver(everythingServer, "streamableHttp", /listening on port/),
    everythingOver(everythingServer, "sse", /running on port/),
  ]);
  return {
    // Long enough for all servers to start at once on a busy machine.
    initialize_wait_s: 60,
    list_wait_s: 60,
    mcpServers: {
      ev: { command: node, args: [everythingServer, "stdio"] },
      evhttp: { type: "http", url: `${evhttp}/mcp` },
      evsse: { type: "sse", url: `${evsse}/sse` },
      // Without a type, which is detected. One rejects a POST with 404, the other with 405.
      evfound: { url: `${evsse}/sse` },
      pyfound: { url: `${strait}/sse` },
      pyws: { type: "ws", url: `${strait.replace("http", "ws")}/ws` },
      cl: {
        command: node,
        args: [contentLengthServer],
        env: { NARROWS_PEER_NPM: npm },
        stdio_mode: "content-length",
      },
      rpc: { type: "rpc", url: rpc },
      fs: { command: node, args: [reference("server-filesystem"), files] },
      mem: {
        command: node,
        args: [reference("server-memory")],
        env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
      },
      git: { command: join(bin, "mcp-server-git"), args: ["--repository", repository] },
      time: { command: join(bin, "mcp-server-time"), args: ["--local-timezone", "UTC"] },
      rs: { command: join(rmcp, "rmcp-server"), args: [] },
      fixture: { type: "http", url: fixture },
    },
  };
}

function expectedCalls(monster) {
  const entity = { name: monster, entityType: "monster", observations: [`${monster} sits by the strait`] };
  return [
    { server: "ev", tool: "get-sum", arguments: { a: 20, b: 22 }, contains: "42" },
    { server: "evhttp", tool: "get-sum", arguments: { a: 20, b: 23 }, contains: "43" },
    { server: "evsse", tool: "get-sum", arguments: { a: 20, b: 24 }, contains: "44" },
    { server: "evfound", tool: "get-sum", arguments: { a: 20, b: 25 }, contains: "45" },
    { server: "pyfound", tool: "sum", arguments: { a: 20, b: 26 }, contains: "46" },
    { server: "pyws", tool: "sum", arguments: { a: 20, b: 27 }, contains: "47" },
    { server: "cl", tool: "sum", arguments: { a: 20, b: 28 }, contains: "Σ = 48" },
    { server: "cl", tool: "echo", arguments: { message: "Σκύλλα 🌊" }, contains: "Σκύλλα 🌊" },
    { server: "rpc", tool: "sum", arguments: { a: 20, b: 29 }, contains: "49" },
    { server: "rpc", tool: "echo", arguments: { message: "Σκύλλα 🌊" }, contains: "Σκύλλα 🌊" },
    { server: "fs", tool: "read_text_file", arguments: { path: join(folder, "files/strait.txt") }, contains: "Charybdis" },
    { server: "mem", tool: "create_entities", arguments: { entities: [entity] }, contains: monster },
    { server: "mem", tool: "read_graph", arguments: {}, contains: `${monster} sits` },
    { server: "git", tool: "git_log", arguments: { repo_path: join(folder, "repository") }, contains: "Pass the strait" },
    { server: "time", tool: "get_current_time", arguments: { timezone: "UTC" }, contains: "UTC" },
    { server: "rs", tool: "add", arguments: { a: 40, b: 2 }, contains: "42" },
    { server: "fixture", tool: "test_echo", arguments: { message: "echo" }, contains: "echo" },
  ];
}

/** Returns the path of a reference server's script. */
function reference(name) {
  return join(npm, "@modelcontextprotocol", name, "dist/index.js");
}

/** Starts the conformance fixture without the tool whose published name would be shortened. */
function startFixture() {
  const BREAK = "test_input_required_result_multiple_inputs";
  return listening(node, [join(here, "../conformance/fixture/main.mjs")], { PORT: "0", PAGE_SIZE: "5", BREAK });
}

/** Starts a server that listens on a free port and prints its address. */
async function listening(command, args, env = {}) {
  const { match } = await start(command, args, { env, ready: /listening (\S+)/ });
  return match[1];
}

/** Starts the reference server on a free port. It prints the configured port, so port 0 does not work. */
async function everythingOver(script, transport, ready) {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      await start(node, [script, transport], { env: { PORT: String(port) }, ready });
      return `http://127.0.0.1:${port}`;
    } catch (error) {
      // Another process may have taken the port in the meantime.
      if (attempt === 3) throw error;
    }
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.on("error", reject);
    probe.listen(0, () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

async function step(name, [command, ...args]) {
  if (!name.includes(filter)) return;
  const { code, output, seconds } = await run(command, args, { seconds: 240 });
  const counts = /^(\d+) passed, (\d+) failed$/m.exec(output);
  const bad = counts ? Number(counts[2]) : 1;
  passed += counts ? Number(counts[1]) : 0;
  // A driver that reports no failure but exits with an error has failed.
  failed += bad === 0 && code !== 0 ? 1 : bad;
  const fine = bad === 0 && code === 0;
  console.log(`${fine ? "ok" : "FAIL"} ${name} (${counts?.[1] ?? 0} features, ${seconds.toFixed(1)} s)`);
  if (!fine) console.log(indent(tail(output, 40)));
}

function count(name, holds) {
  if (holds) passed += 1;
  else failed += 1;
  console.log(`${holds ? "ok" : "FAIL"} ${name}`);
}

/** Checks that no server outlives its gateway. Servers have the folder of this run in their command line. */
async function leaveNothing() {
  const end = Date.now() + 10_000;
  let left = leftovers();
  while (left.length > 0 && Date.now() < end) {
    await sleep(50);
    left = leftovers();
  }
  count("no server is left behind", left.length === 0);
  for (const { pid, line } of left) {
    console.log(indent(line));
    process.kill(pid, "SIGKILL");
  }
}

function leftovers() {
  const found = [];
  for (const pid of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)) {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      if (line.includes(folder)) found.push({ pid: Number(pid), line });
    } catch {
      // The process has ended in the meantime.
    }
  }
  return found;
}

function newFolder(name) {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
}

function write(name, value) {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(value, null, 2));
  return path;
}

function tail(text, lines) {
  return text.trimEnd().split("\n").slice(-lines).join("\n");
}

function indent(text) {
  return text.replace(/^/gm, "    ");
}
