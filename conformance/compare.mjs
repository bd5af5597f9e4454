// Compares what the conformance suite recorded directly on the fixture with
// what it recorded through the gateway, check by check.
//
// A score alone is not enough: several checks pass on empty lists, and some are
// only made when an earlier answer allows them.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

/** Lines of the suite's own log, which it also records as checks. */
const TRACE = new Set(["outgoing-request", "incoming-response", "incoming-sse-event", "stream-closed"]);

/** Scenarios about the endpoint itself, where a gateway's details (ids, statuses) are its own. */
const ENDPOINT = new Set([
  "server-initialize",
  "server-session-lifecycle",
  "dns-rebinding-protection",
  "server-sse-multiple-streams",
  "server-sse-polling",
]);

/**
 * Whether to stream an answer, and to end a stream early, is the gateway's own
 * decision: a fixture that does it does not oblige the gateway to. Failures and
 * warnings count all the same.
 */
const OWN_STREAMS = new Set(["server-sse-polling"]);

/** The checks the suite recorded under a folder, by scenario. */
export function load(folder) {
  const scenarios = new Map();
  for (const entry of readdirSync(folder).sort()) {
    const name = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(entry)?.[1];
    if (name) scenarios.set(name, JSON.parse(readFileSync(join(folder, entry, "checks.json"), "utf8")));
  }
  return scenarios;
}

/** What is wrong with a run by itself: nothing, if every scenario passed. */
export function judge(checks) {
  return checks
    .filter((check) => check.status === "FAILURE" || check.status === "WARNING")
    .map((check) => `${check.id}: ${check.status} ${check.errorMessage ?? ""}`.trimEnd());
}

/** The differences of one scenario, as lines; none when the gateway did as well as the fixture. */
export function compare(scenario, direct, through) {
  if (!direct) return ["was not run directly"];
  if (!through) return ["was not run through the gateway"];
  const problems = judge(through);
  if (OWN_STREAMS.has(scenario)) return problems;

  const left = byId(direct);
  const right = byId(through);
  for (const id of new Set([...left.keys(), ...right.keys()])) {
    const wanted = left.get(id) ?? [];
    const got = right.get(id) ?? [];
    if (wanted.length !== got.length) {
      problems.push(`${id}: made ${wanted.length} times directly, ${got.length} times through the gateway`);
      continue;
    }
    wanted.forEach((check, n) => problems.push(...differ(scenario, check, got[n])));
  }
  return problems;
}

function differ(scenario, wanted, got) {
  if (wanted.status === "SUCCESS" && got.status !== "SUCCESS" && !["FAILURE", "WARNING"].includes(got.status))
    return [`${wanted.id}: SUCCESS directly, ${got.status} through the gateway`];
  if (got.status !== wanted.status || ENDPOINT.has(scenario) || wanted.id === "wire-schema-valid") return [];
  if (isDeepStrictEqual(wanted.details, got.details)) return [];
  return [
    `${wanted.id}: passed, but on something else`,
    `    directly:            ${JSON.stringify(wanted.details)}`,
    `    through the gateway: ${JSON.stringify(got.details)}`,
  ];
}

function byId(checks) {
  const groups = new Map();
  for (const check of checks) {
    if (TRACE.has(check.id)) continue;
    groups.set(check.id, [...(groups.get(check.id) ?? []), check]);
  }
  return groups;
}
