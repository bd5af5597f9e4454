// The official conformance suite, directly on the fixture and through the
// gateway, compared check by check. See `run` for how to call it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { run, start, startGateway, stop } from "../peers/lib/processes.mjs";
import { compare, judge, load } from "./compare.mjs";

const here = import.meta.dirname;
const { NARROWS_PEER_NODE: node, NARROWS_PEER_NPM: npm, NARROWS_BIN: narrows } = process.env;
const suite = join(npm, "@modelcontextprotocol/conformance");
const fixture = join(here, "fixture/main.mjs");

/** What is run: the frozen set of a revision, or all there is for an older one. */
const SETS = {
  "2025-11-25": { args: ["--requirements", "2025-11-25"], scored: scored("2025-11-25") },
  "2025-06-18": { args: ["--suite", "all", "--spec-version", "2025-06-18"] },
};

const { values: options } = parseArgs({
  options: {
    revision: { type: "string", multiple: true },
    gateway: { type: "string", multiple: true },
    "direct-only": { type: "boolean" },
    keep: { type: "string" },
  },
});
const revisions = options.revision ?? Object.keys(SETS);
const folder = options.keep ?? mkdtempSync(join(tmpdir(), "narrows-conformance-"));
let passed = 0;
let failed = 0;
let gateway;

try {
  const direct = (await start(node, [fixture], { env: { PORT: "0" }, ready: /listening (\S+)/ })).match[1];
  const targets = options["direct-only"] ? [] : await gateways(direct);
  for (const revision of revisions) {
    if (!SETS[revision]) throw new Error(`no such revision here: ${revision} (there is ${Object.keys(SETS).join(", ")})`);
    const wanted = await record(revision, "directly", direct);
    report(revision, "directly", wanted, (name) => judge(wanted.get(name)));
    for (const [name, url] of targets) {
      const got = await record(revision, `through ${name}`, url);
      report(revision, `through ${name}`, wanted, (scenario) =>
        compare(scenario, wanted.get(scenario), got.get(scenario)),
      );
    }
  }
} catch (error) {
  console.error(String(error.message ?? error));
  failed += 1;
} finally {
  if (gateway) {
    await stop(gateway.child);
    if (failed > 0) console.log(`what the gateway said:\n${gateway.output().split("\n").slice(-60).join("\n")}`);
  }
  if (!options.keep) rmSync(folder, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

/** What to compare with, as [name, url]: the servers given, or our own gateway, started. */
async function gateways(direct) {
  if (options.gateway) return options.gateway.map((given) => given.split(/=(.*)/s).slice(0, 2));
  const config = join(folder, "narrows.json");
  const servers = {
    fixture: { type: "http", url: direct },
    "fixture-stdio": { command: node, args: [fixture, "--stdio"] },
  };
  writeFileSync(config, JSON.stringify({ initialize_wait_s: 60, list_wait_s: 60, mcpServers: servers }, null, 2));
  gateway = await startGateway(narrows, config, [direct]);
  // The name of the host matters: the suite checks the Host header with it.
  const base = `http://localhost:${gateway.port}`;
  return Object.keys(servers).map((id) => [id, `${base}/servers/${id}/mcp`]);
}

/** One run of the suite: the recorded checks by scenario. */
async function record(revision, how, url) {
  const results = join(folder, `${revision}-${how.replaceAll(" ", "-")}`);
  const args = ["server", "--url", url.replace("127.0.0.1", "localhost"), "-o", results, ...SETS[revision].args];
  const { output } = await run(node, [join(suite, "dist/index.js"), ...args], { cwd: folder, seconds: 300 });
  writeFileSync(`${results}.log`, output);
  try {
    return load(results);
  } catch {
    throw new Error(`${revision} ${how}: the suite recorded nothing\n${output}`);
  }
}

function report(revision, how, wanted, problemsOf) {
  const names = [...wanted.keys()];
  const bad = new Map(names.map((name) => [name, problemsOf(name)]).filter(([, problems]) => problems.length > 0));
  passed += names.length - bad.size;
  failed += bad.size;
  const { scored: list } = SETS[revision];
  const of = (some) => `${some.filter((name) => wanted.has(name) && !bad.has(name)).length}/${some.length}`;
  const score = list
    ? `${of(list)} scored, ${of(names.filter((name) => !list.includes(name)))} unscored`
    : `${of(names)} scenarios`;
  console.log(`${revision} ${how}: ${score}`);
  for (const name of list ?? []) {
    if (wanted.has(name)) continue;
    console.log(`  ✗ ${name}: was not run`);
    failed += 1;
  }
  for (const [name, problems] of bad) {
    console.log(`  ✗ ${name}`);
    for (const problem of problems) console.log(`      ${problem}`);
  }
}

/** The scored server scenarios of a revision, out of the suite's own list. */
function scored(revision) {
  const text = readFileSync(join(suite, `requirements/${revision}.yaml`), "utf8");
  const section = /^server:\n((?:\s+-.*\n|\s*#.*\n|\s*\n)*)/m.exec(text)[1];
  return [...section.matchAll(/^\s+-\s+(\S+)/gm)].map((line) => line[1]);
}
