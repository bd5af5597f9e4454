// Proves that the comparison can fail: an honest second fixture in the place of
// the gateway must pass, a spoiled one must not, each for its own reason.
import { join } from "node:path";
import test from "node:test";
import assert from "node:assert/strict";

import { end, run, start } from "../peers/lib/processes.mjs";
import { compare } from "./compare.mjs";

const here = import.meta.dirname;
const node = process.execPath;

async function through(spoiled, env = {}) {
  const fixture = await start(node, [join(here, "fixture/main.mjs")], {
    env: { PORT: "0", BREAK: spoiled, ...env },
    ready: /listening (\S+)/,
  });
  const args = [join(here, "run.mjs"), "--revision", "2025-11-25", "--gateway", `stand-in=${fixture.match[1]}`];
  const result = await run(node, args);
  end(fixture.child);
  return result;
}

test("an honest fixture in the gateway's place passes", async () => {
  const { code, output } = await through("");
  assert.match(output, /2025-11-25 through stand-in: 30\/30 scored, 3\/3 unscored/);
  assert.match(output, /^66 passed, 0 failed$/m);
  assert.equal(code, 0);
});

test("a missing tool fails its scenario and every list", async () => {
  const { code, output } = await through("test_image_content");
  assert.match(output, /✗ tools-call-image/);
  assert.match(output, /✗ tools-list\n\s+tools-list: passed, but on something else/);
  assert.equal(code, 1);
});

test("a list cut short passes the suite but not the comparison", async () => {
  const { code, output } = await through("", { PAGE_SIZE: "2" });
  assert.match(output, /✗ prompts-list\n\s+prompts-list: passed, but on something else/);
  assert.equal(code, 1);
});

test("lost progress, logs and questions are seen", async () => {
  const { code, output } = await through("progress,logs,questions");
  for (const scenario of ["with-progress", "with-logging", "sampling", "elicitation"])
    assert.match(output, new RegExp(`✗ tools-call-${scenario}\n`));
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
