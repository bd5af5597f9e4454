// The real-peer run. See `run` for how to call it.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { endAll, run, start, startGateway, stop } from "./lib/processes.mjs";

const here = import.meta.dirname;
const {
  NARROWS_PEER_NODE: node,
  NARROWS_PEER_NPM: npm,
  NARROWS_PEER_PYTHON: python,
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
const servers = [node, join(here, "clients/ts/servers.mjs")];

// The real path: a server may print a folder other than the one it was given.
const folder = realpathSync(mkdtempSync(join(tmpdir(), "narrows-peers-")));
let passed = 0;
let failed = 0;
try {
  await everything();
} catch (error) {
  failed += 1;
  console.log(String(error.stack ?? error));
  endAll();
} finally {
  await leaveNothing();
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function everything() {
  const all = await configure();
  const one = write("ev.json", { ...all, mcpServers: { ev: all.mcpServers.ev } });
  const config = write("all.json", all);
  // The memory outlives a gateway: each run of them tells it something new.
  const calls = (name) => write(`calls-${name}.json`, expectedCalls(name));

  const { evhttp, fixture: pages } = all.mcpServers;
  const gateway = await startGateway(narrows, config, [evhttp.url, pages.url]);
  const base = `http://127.0.0.1:${gateway.port}`;
  const stdio = (file) => ["--stdio", narrows, "stdio", "--config", file];

  await step("servers over http", [...servers, config, calls("Scylla"), "--http", `${base}/mcp`]);
  await step("servers over stdio", [...servers, config, calls("Charybdis"), ...stdio(config)]);
  for (const [name, driver] of Object.entries(drivers)) {
    const fixture = [...driver, "--profile", "fixture"];
    const ev = [...driver, "--profile", "everything"];
    await step(`${name} over http, all servers`, [...fixture, "--server", "fixture", "--http", `${base}/mcp`]);
    await step(`${name} over http, one stdio server`, [...ev, "--http", `${base}/servers/ev/mcp`]);
    await step(`${name} over http, one http server`, [...ev, "--http", `${base}/servers/evhttp/mcp`]);
    await step(`${name} over stdio, one server`, [...ev, ...stdio(one)]);
    // The Inspector starts the gateway, and so every server, for each request.
    if (name === "inspector") continue;
    await step(`${name} over stdio, all servers`, [...fixture, "--server", "fixture", ...stdio(config)]);
  }
  const asking = ["--skip", "subscribe,cancel,logging"];
  const auto = [...drivers.py, "--era", "auto", "--profile", "fixture", ...asking];
  await step("py choosing the era over http", [...auto, "--http", `${base}/servers/fixture/mcp`]);
  await step("py choosing the era over stdio", [...auto, "--server", "fixture", ...stdio(config)]);

  count("the gateway stops when asked", await stop(gateway.child));
  if (failed > 0) console.log(`what the gateway said:\n${tail(gateway.output(), 60)}`);
}

/** The servers behind the gateway, and what they need to be there. */
async function configure() {
  const package_ = (name) => join(npm, "@modelcontextprotocol", name, "dist/index.js");
  const files = join(folder, "files");
  mkdirSync(files);
  writeFileSync(join(files, "strait.txt"), "Between Scylla and Charybdis\n");
  const repository = join(folder, "repository");
  mkdirSync(repository);
  const git = (...args) => execFileSync("git", ["-C", repository, ...args], { stdio: "pipe" });
  git("init", "--quiet", "--initial-branch", "main");
  git("-c", "user.name=narrows", "-c", "user.email=narrows@example.test", "commit", "--quiet", "--allow-empty", "-m", "Pass the strait");

  const fixture = await start(node, [join(here, "../conformance/fixture/main.mjs")], {
    env: { PORT: "0", PAGE_SIZE: "5" },
    ready: /listening (\S+)/,
  });
  return {
    // All at once on a busy machine: a list is worth waiting for.
    list_wait_s: 60,
    mcpServers: {
      ev: { command: node, args: [package_("server-everything"), "stdio"] },
      evhttp: { type: "http", url: await everythingOverHttp(package_("server-everything")) },
      fs: { command: node, args: [package_("server-filesystem"), files] },
      mem: {
        command: node,
        args: [package_("server-memory")],
        env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
      },
      git: { command: join(bin, "mcp-server-git"), args: ["--repository", repository] },
      time: { command: join(bin, "mcp-server-time"), args: ["--local-timezone", "UTC"] },
      rs: { command: join(rmcp, "rmcp-server"), args: [] },
      fixture: { type: "http", url: fixture.match[1] },
    },
  };
}

function expectedCalls(monster) {
  const entity = { name: monster, entityType: "monster", observations: [`${monster} sits by the strait`] };
  return [
    { server: "ev", tool: "get-sum", arguments: { a: 20, b: 22 }, contains: "42" },
    { server: "evhttp", tool: "get-sum", arguments: { a: 20, b: 23 }, contains: "43" },
    { server: "fs", tool: "read_text_file", arguments: { path: join(folder, "files/strait.txt") }, contains: "Charybdis" },
    { server: "mem", tool: "create_entities", arguments: { entities: [entity] }, contains: monster },
    { server: "mem", tool: "read_graph", arguments: {}, contains: `${monster} sits` },
    { server: "git", tool: "git_log", arguments: { repo_path: join(folder, "repository") }, contains: "Pass the strait" },
    { server: "time", tool: "get_current_time", arguments: { timezone: "UTC" }, contains: "UTC" },
    { server: "rs", tool: "add", arguments: { a: 40, b: 2 }, contains: "42" },
    { server: "fixture", tool: "test_echo", arguments: { message: "echo" }, contains: "echo" },
  ];
}

/** The reference server prints the port it was given, so it cannot be given 0. */
async function everythingOverHttp(script) {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    try {
      await start(node, [script, "streamableHttp"], { env: { PORT: String(port) }, ready: /listening on port/ });
      return `http://127.0.0.1:${port}/mcp`;
    } catch (error) {
      // Somebody else may have taken the port in between.
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
  // A driver that says all is well and exits otherwise is not well.
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

/** No server outlives its gateway. They are known by the folder of this run in their command lines. */
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
      // It ended while we looked.
    }
  }
  return found;
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
