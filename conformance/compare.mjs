// Compares what the conformance suite recorded directly on the fixture with
// what it recorded through the gateway, check by check.
//
// A score alone is not enough: several checks pass on empty lists, and some are
// only made when an earlier answer allows them.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

/** Lines of the suite's own log, which it also records as checks. */
const TRACE = new Set(["outgoing-request", "incoming-response", "incoming-sse-event", "stream-closed"]);

/** Scenarios about the endpoint itself, where a gateway's details (ids, statuses, error texts) are its own. */
const ENDPOINT = new Set([
  "server-initialize",
  "server-session-lifecycle",
  "server-stateless",
  "dns-rebinding-protection",
  "server-sse-multiple-streams",
  "server-sse-polling",
  "http-header-validation",
  "http-custom-header-server-validation",
  "input-required-result-tampered-state",
  "input-required-result-validate-input",
]);

/** Values that differ from run to run, or that a gateway may replace: only their type is compared. */
const OPAQUE = new Set([
  "requestState",
  "taskId",
  "io.modelcontextprotocol/serverInfo",
  "io.modelcontextprotocol/subscriptionId",
]);

/** What one era has and the other has not; across eras it is not compared. */
const ERA_ONLY = new Set(["_meta", "resultType", "ttlMs", "cacheScope", "requestState"]);

/** What no gateway reaches when the client and the server speak different eras. */
export function unreachable(scenario) {
  if (scenario.startsWith("tasks-")) return "the tasks of one era do not exist in the other";
  if (scenario === "input-required-result-basic-elicitation") return "the key of a question is the server's to choose";
  if (scenario === "input-required-result-ignore-extra-params") return "the answer has the key of another server";
  return undefined;
}

/**
 * Whether to stream an answer, and to end a stream early, is the gateway's own
 * decision: a fixture that does it does not oblige the gateway to. Failures and
 * warnings count all the same.
 */
const OWN_STREAMS = new Set(["server-sse-polling"]);

/** Stands for a scenario that threw an error, of which the suite records nothing. */
const CRASHED = { id: "scenario", status: "FAILURE", errorMessage: "the scenario ended with an error; see the log" };

/** The checks the suite recorded under a folder, by scenario. */
export function load(folder) {
  const scenarios = new Map();
  for (const entry of readdirSync(folder).sort()) {
    const name = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(entry)?.[1];
    if (!name) continue;
    const file = join(folder, entry, "checks.json");
    scenarios.set(name, existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [CRASHED]);
  }
  return scenarios;
}

/** What is wrong with a run by itself: nothing, if every scenario passed. */
export function judge(checks) {
  return checks
    .filter((check) => check.status === "FAILURE" || check.status === "WARNING")
    .map((check) => `${check.id}: ${check.status} ${check.errorMessage ?? ""}`.trimEnd());
}

/**
 * The differences of one scenario, as lines; none when the gateway did as well
 * as the fixture. `across`: the fixture behind the gateway speaks another era
 * than the one of the direct run.
 */
export function compare(scenario, direct, through, { across = false } = {}) {
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
    wanted.forEach((check, n) => problems.push(...differ(scenario, check, got[n], across)));
  }
  return problems;
}

function differ(scenario, wanted, got, across) {
  if (wanted.status === "SUCCESS" && got.status !== "SUCCESS" && !["FAILURE", "WARNING"].includes(got.status))
    return [`${wanted.id}: SUCCESS directly, ${got.status} through the gateway`];
  if (got.status !== wanted.status || ENDPOINT.has(scenario) || wanted.id === "wire-schema-valid") return [];
  const same =
    scenario === "caching"
      ? cachedNoLonger(wanted.details, got.details)
      : isDeepStrictEqual(comparable(wanted.details, across), comparable(got.details, across));
  if (same) return [];
  return [
    `${wanted.id}: passed, but on something else`,
    `    directly:            ${JSON.stringify(wanted.details)}`,
    `    through the gateway: ${JSON.stringify(got.details)}`,
  ];
}

/** Details without what may differ. Across eras the keys of questions are the gateway's own. */
function comparable(value, across) {
  if (Array.isArray(value)) return value.map((entry) => comparable(entry, across));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([key]) => !(across && ERA_ONLY.has(key)));
  return Object.fromEntries(
    entries.map(([key, entry]) => {
      if (OPAQUE.has(key)) return [key, typeof entry];
      if (across && key === "inputRequests") return [key, Object.values(comparable(entry, across))];
      return [key, comparable(entry, across)];
    }),
  );
}

/** A gateway may allow less caching than the server, but not more. */
function cachedNoLonger(wanted, got) {
  if (wanted.endpoints)
    return wanted.endpoints.every((endpoint, n) => cachedNoLonger(endpoint, got.endpoints[n] ?? {}));
  return !(got.ttlMs > wanted.ttlMs) && !(got.cacheScope === "public" && wanted.cacheScope === "private");
}

function byId(checks) {
  const groups = new Map();
  for (const check of checks) {
    if (TRACE.has(check.id)) continue;
    groups.set(check.id, [...(groups.get(check.id) ?? []), check]);
  }
  return groups;
}
