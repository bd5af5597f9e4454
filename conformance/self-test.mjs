// Proves that the comparison can fail: an honest second fixture in the place of
// the gateway must pass, a broken one must not, each for its own reason.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import assert from "node:assert/strict";

import { end, run, start } from "../peers/lib/processes.mjs";
import { compare, judge, load, unreachable } from "./compare.mjs";

const here = import.meta.dirname;
const node = process.execPath;

/** Runs a set with fixtures in the gateway's place: their variables by name. */
async function through(revision, standIns) {
  const started = await Promise.all(
    Object.entries(standIns).map(async ([name, env]) => {
      const options = { env: { PORT: "0", ...env }, ready: /listening (\S+)/ };
      return [name, await start(node, [join(here, "fixture/main.mjs")], options)];
    }),
  );
  const gateways = started.flatMap(([name, { match }]) => ["--gateway", `${name}=${match[1]}`]);
  const result = await run(node, [join(here, "run.mjs"), "--revision", revision, ...gateways]);
  for (const [, { child }] of started) end(child);
  return result;
}

test("an honest fixture in the gateway's place passes", async () => {
  const { code, output } = await through("2025-11-25", { "stand-in": {} });
  assert.match(output, /2025-11-25 through stand-in: 30\/30 scored, 3\/3 unscored/);
  assert.match(output, /^66 passed, 0 failed$/m);
  assert.equal(code, 0);
});

test("a missing tool fails its scenario and every list", async () => {
  const { code, output } = await through("2025-11-25", { broken: { BREAK: "test_image_content" } });
  assert.match(output, /✗ tools-call-image/);
  assert.match(output, /✗ tools-list\n\s+tools-list: passed, but on something else/);
  assert.equal(code, 1);
});

test("a list cut short passes the suite but not the comparison", async () => {
  const { code, output } = await through("2025-11-25", { short: { PAGE_SIZE: "2" } });
  assert.match(output, /✗ prompts-list\n\s+prompts-list: passed, but on something else/);
  assert.equal(code, 1);
});

test("lost progress, logs and questions are seen", async () => {
  const { code, output } = await through("2025-11-25", { broken: { BREAK: "progress,logs,questions" } });
  for (const scenario of ["with-progress", "with-logging", "sampling", "elicitation"])
    assert.match(output, new RegExp(`✗ tools-call-${scenario}\n`));
  assert.equal(code, 1);
});

test("2026-07-28: an honest fixture passes, and lost progress, tools and prompts are seen", async () => {
  const { code, output } = await through("2026-07-28", {
    "stand-in": { ERA: "modern" },
    broken: { BREAK: "progress,test_input_required_result_sampling,test_input_required_result_prompt,greet" },
  });
  assert.match(output, /2026-07-28 through stand-in: 37\/37 scored, 13\/13 unscored\n2026-07-28 through broken: /);
  assert.match(output, /✗ prompts-list\n\s+prompts-list: passed, but on something else/);
  for (const scenario of ["tools-call-with-progress", "input-required-result-basic-sampling", "tasks-lifecycle"])
    assert.match(output, new RegExp(`✗ ${scenario}\n`));
  assert.match(output, /✗ input-required-result-non-tool-request\n/);
  assert.equal(code, 1);
});

test("a revision that no chosen fixture speaks is not a pass", async () => {
  const { code, output } = await run(node, [
    join(here, "run.mjs"),
    ...["--direct-only", "--revision", "2026-07-28", "--era", "legacy"],
  ]);
  assert.match(output, /nothing to run/);
  assert.equal(code, 1);
});

const made = (id, status, details) => ({ id, status, details });

test("a check that was not made is a difference", () => {
  assert.deepEqual(compare("ping", [made("a", "SUCCESS"), made("b", "SUCCESS")], [made("a", "SUCCESS")]), [
    "b: made 1 times directly, 0 times through the gateway",
  ]);
});

test("a check that says less is a difference", () => {
  assert.deepEqual(compare("ping", [made("a", "SUCCESS")], [made("a", "INFO")]), [
    "a: SUCCESS directly, INFO through the gateway",
  ]);
});

test("the suite's own log lines are not compared", () => {
  assert.deepEqual(compare("ping", [made("outgoing-request", "INFO")], []), []);
});

test("a gateway may stream in its own way, but not badly", () => {
  const direct = [made("server-sse-priming-event", "SUCCESS")];
  assert.deepEqual(compare("server-sse-polling", direct, [made("server-sse-content-type", "INFO")]), []);
  assert.equal(compare("server-sse-polling", direct, [made("server-sse-priming-event", "WARNING")]).length, 1);
});

test("a value that only the server understands is compared by its type", () => {
  const asked = (requestState) => [made("a", "SUCCESS", { result: { requestState } })];
  assert.deepEqual(compare("input-required-result-multi-round", asked("one"), asked("other")), []);
  assert.equal(compare("input-required-result-multi-round", asked("one"), asked(undefined)).length, 3);
});

test("across eras, keys of questions and members of one era may differ, and nothing else", () => {
  const asked = (inputRequests, more) => [made("a", "SUCCESS", { result: { inputRequests, ...more } })];
  const direct = asked({ user_name: { method: "roots/list" } }, { resultType: "input_required", ttlMs: 1 });
  const through = asked({ q1: { method: "roots/list" } }, {});
  assert.deepEqual(compare("x", direct, through, { across: true }), []);
  assert.equal(compare("x", direct, through).length, 3);
  assert.equal(compare("x", direct, asked({ q1: { method: "ping" } }, {}), { across: true }).length, 3);
});

test("a gateway may allow less caching than the server, but not more", () => {
  const cached = (ttlMs, cacheScope) => [made("a", "SUCCESS", { ttlMs, cacheScope })];
  assert.deepEqual(compare("caching", cached(60, "public"), cached(0, "private")), []);
  assert.equal(compare("caching", cached(60, "public"), cached(61, "public")).length, 3);
  assert.equal(compare("caching", cached(60, "private"), cached(60, "public")).length, 3);
});

test("a scenario that recorded nothing has failed", () => {
  const folder = mkdtempSync(join(tmpdir(), "narrows-conformance-"));
  mkdirSync(join(folder, "server-ping-2026-01-01T00-00-00-000Z"));
  assert.equal(judge(load(folder).get("ping")).length, 1);
  rmSync(folder, { recursive: true });
});

test("only what depends on a server's own names is out of reach across eras", () => {
  assert.ok(unreachable("tasks-lifecycle"));
  assert.ok(unreachable("input-required-result-basic-elicitation"));
  assert.equal(unreachable("input-required-result-basic-sampling"), undefined);
});
