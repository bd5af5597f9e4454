// The official conformance suite, directly on the fixture and through the
// gateway, compared check by check. See `run` for how to call it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { run, start, startGateway, stop } from "../peers/lib/processes.mjs";
import { compare, judge, load, unreachable } from "./compare.mjs";

const here = import.meta.dirname;
const { NARROWS_PEER_NODE: node, NARROWS_PEER_NPM: npm, NARROWS_BIN: narrows } = process.env;
const suite = join(npm, "@modelcontextprotocol/conformance");
const fixture = join(here, "fixture/main.mjs");

/**
 * What is run: the frozen set of a revision, or all there is for an older one.
 * `across` is the fixture that the suite cannot talk to without a gateway.
 */
const SETS = {
  "2026-07-28": frozen("2026-07-28", { era: "modern", across: "legacy" }),
  "2025-11-25": frozen("2025-11-25", { era: "legacy", across: "modern" }),
  "2025-06-18": { era: "legacy", args: ["--suite", "all", "--spec-version", "2025-06-18"] },
};

const { values: options } = parseArgs({
  options: {
    revision: { type: "string", multiple: true, default: Object.keys(SETS) },
    era: { type: "string", multiple: true, default: ["both"] },
    through: { type: "string", multiple: true, default: ["legacy"] },
    across: { type: "boolean" },
    gateway: { type: "string", multiple: true },
    "direct-only": { type: "boolean" },
    keep: { type: "string" },
  },
});
const folder = options.keep ?? mkdtempSync(join(tmpdir(), "narrows-conformance-"));
let passed = 0;
let failed = 0;
let gateway;

try {
  known(options.revision, Object.keys(SETS), "revision");
  known(options.era, ["legacy", "modern", "both"], "era");
  known(options.through, ["legacy", "modern"], "era");
  const across = options.across ? options.revision.flatMap((revision) => SETS[revision].across ?? []) : [];
  const direct = await fixtures(new Set([...options.era, ...across, "both"]));
  const throughGateway = options["direct-only"] ? () => [] : await gateways(direct);
  for (const revision of options.revision) await runSet(revision, direct, throughGateway);
  if (passed + failed === 0) throw new Error(`nothing to run: no ${options.era} fixture speaks ${options.revision}`);
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

/** All runs of one revision: directly, through the gateway, and through it across eras. */
async function runSet(revision, direct, throughGateway) {
  const { era: own, across } = SETS[revision];
  const recorded = new Map();
  const directly = async (era) => {
    if (!recorded.has(era)) {
      const how = era === "both" ? "directly" : `directly on the ${era} fixture`;
      const wanted = await record(revision, how, direct.get(era));
      report(revision, how, wanted, (name) => judge(wanted.get(name)));
      recorded.set(era, wanted);
    }
    return recorded.get(era);
  };
  for (const era of options.era.filter((era) => era === "both" || era === own)) {
    const wanted = await directly(era);
    if (!options.through.includes(own) && !options.gateway) continue;
    for (const [name, url] of throughGateway(era)) {
      const got = await record(revision, `through ${name}`, url);
      report(revision, `through ${name}`, wanted, (scenario) =>
        compare(scenario, wanted.get(scenario), got.get(scenario)),
      );
    }
  }
  if (!options.across || !across || options.gateway) return;
  const wanted = await directly("both");
  for (const [name, url] of throughGateway(across)) {
    const got = await record(revision, `across through ${name}`, url);
    report(
      revision,
      `across through ${name}`,
      wanted,
      (scenario) => compare(scenario, wanted.get(scenario), got.get(scenario), { across: true }),
      unreachable,
    );
  }
}

/** Starts a fixture for each era: their addresses by era. */
async function fixtures(eras) {
  const started = [...eras].map(async (era) => {
    const { match } = await start(node, [fixture, "--era", era], { env: { PORT: "0" }, ready: /listening (\S+)/ });
    return [era, match[1]];
  });
  return new Map(await Promise.all(started));
}

/**
 * Returns what to compare the fixture of an era with, as [name, url]: the
 * servers given, or our own gateway, which this starts, with the same fixture
 * over Streamable HTTP and over stdio behind it.
 */
async function gateways(direct) {
  if (options.gateway) return () => options.gateway.map((given) => given.split(/=(.*)/s).slice(0, 2));
  const name = (era) => (era === "both" ? "fixture" : `fixture-${era}`);
  const config = join(folder, "narrows.json");
  const mcpServers = {};
  for (const [era, url] of direct) {
    mcpServers[name(era)] = { type: "http", url };
    mcpServers[`${name(era)}-stdio`] = { command: node, args: [fixture, "--stdio", "--era", era] };
  }
  writeFileSync(config, JSON.stringify({ initialize_wait_s: 60, list_wait_s: 60, mcpServers }, null, 2));
  gateway = await startGateway(narrows, config, [...direct.values()]);
  // The name of the host matters: the suite checks the Host header with it.
  const base = `http://localhost:${gateway.port}`;
  return (era) => [name(era), `${name(era)}-stdio`].map((id) => [id, `${base}/servers/${id}/mcp`]);
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

function report(revision, how, wanted, problemsOf, excuse = () => undefined) {
  const names = [...wanted.keys()];
  const bad = new Map(names.map((name) => [name, problemsOf(name)]).filter(([, problems]) => problems.length > 0));
  const excused = [...bad.keys()].filter(excuse);
  passed += names.length - bad.size;
  failed += bad.size - excused.length;
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
    if (excused.includes(name)) {
      console.log(`  - ${name}: out of reach, ${excuse(name)}`);
      continue;
    }
    console.log(`  ✗ ${name}`);
    for (const problem of problems) console.log(`      ${problem}`);
  }
}

function known(given, names, what) {
  const other = given.find((name) => !names.includes(name));
  if (other) throw new Error(`no such ${what} here: ${other} (there is ${names.join(", ")})`);
}

/** The frozen set of a revision, with its scored server scenarios out of the suite's own list. */
function frozen(revision, eras) {
  const text = readFileSync(join(suite, `requirements/${revision}.yaml`), "utf8");
  const section = /^server:\n((?:\s+-.*\n|\s*#.*\n|\s*\n)*)/m.exec(text)[1];
  const scored = [...section.matchAll(/^\s+-\s+(\S+)/gm)].map((line) => line[1]);
  return { ...eras, args: ["--requirements", revision], scored };
}
