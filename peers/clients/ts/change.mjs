// Changes the configuration of a gateway while sessions of the TypeScript SDK use it:
// switches presets, disables, enables and restarts servers, and saves files, in an
// order that depends on a seed. Usage:
//
//   node change.mjs NARROWS FOLDER [SEED [CHANGES [SESSIONS]]]
//
// An independent model of presets and servers computes the tools that each session must
// list. At the end, every session lists exactly these tools and has received no
// superfluous notification. Every call was answered once by the right server, or was
// rejected and not carried out.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { check, tryAll } from "../../lib/features.mjs";
import { startGateway, stop } from "../../lib/processes.mjs";
import { TOOLS } from "./ledger-server.mjs";
import { peer } from "./transports.mjs";

const { Client } = peer("@modelcontextprotocol/sdk/client/index.js");
const { StreamableHTTPClientTransport } = peer("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { ToolListChangedNotificationSchema } = peer("@modelcontextprotocol/sdk/types.js");

const [narrows, folder, seed = "1", changes = "100", sessionCount = "16"] = process.argv.slice(2);
const LIMIT = 30_000;
const SERVERS = ["a", "b", "c", "d"];
/** The only errors that are allowed during changes. */
const ALLOWED_ERRORS = new Set(["not_allowed", "unknown_tool", "upstream_unavailable"]);

const random = mulberry32(Number(seed));
const pick = (list) => list[Math.floor(random() * list.length)];
const ledger = join(folder, "ledger");
const config = join(folder, "changing.json");
process.env.XDG_RUNTIME_DIR = join(folder, "run");
mkdirSync(process.env.XDG_RUNTIME_DIR, { recursive: true, mode: 0o700 });
writeFileSync(ledger, "");

/** The state that was sent to the gateway, from which the expected lists are computed. */
const model = {
  enabled: Object.fromEntries(SERVERS.map((id) => [id, true])),
  presets: { all: ["*/*"], half: ["*/alpha", "*/beta"], few: ["a/*", "!a/delta", "c/gamma"], none: [] },
  endpoints: { default: null, other: null },
};
const history = [];

writeConfig();
const gateway = await startGateway(narrows, config);
const base = `http://127.0.0.1:${gateway.port}`;
const { token } = JSON.parse(readFileSync(join(process.env.XDG_RUNTIME_DIR, "narrows", `${gateway.port}.json`), "utf8"));
const sessions = [];
let calling = true;
let callNumber = 0;
const outcomes = new Map();

const features = {
  async "sessions open"() {
    const paths = ["mcp", "mcp", "mcp/other", "servers/b/mcp"];
    for (let n = 0; n < Number(sessionCount); n++) sessions.push(await open(paths[n % paths.length]));
    const { sessions: listed } = await api("GET", "sessions");
    check(listed.length === sessions.length, `${listed.length} sessions are listed`);
    // Sessions are listed in the order in which they were opened.
    listed.forEach(({ number }, n) => (sessions[n].number = number));
    for (const session of sessions) session.load = load(session);
  },

  async "only the sessions that a change affects are notified"() {
    for (let n = 0; n < Number(changes); n++) {
      const before = sessions.map(expected);
      const change = pick(CHANGES);
      history.push(await change());
      const changed = sessions.filter((session, at) => expected(session).join() !== before[at].join());
      for (const session of changed) session.due += 1;
      await inForce(history.at(-1));
      await settled(`after ${history.at(-1)}`);
    }
  },

  async "the last of several quick changes takes effect"() {
    for (let round = 0; round < 5; round++) {
      for (let n = 0; n < 6; n++) {
        history.push(await pick(CHANGES)());
        // The gateway may combine the notifications of several changes.
        for (const session of sessions) session.due = Infinity;
      }
      await settled(`after the burst ${history.slice(-6).join(", ")}`);
    }
  },

  async "all calls are answered"() {
    calling = false;
    const all = Promise.all(sessions.map(({ load }) => load));
    await within(all, "some calls have no response");
    check(callNumber === outcomes.size, `${callNumber} calls, ${outcomes.size} responses`);
  },

  async "no call was lost, duplicated or misrouted"() {
    const written = new Map();
    for (const line of readFileSync(ledger, "utf8").trimEnd().split("\n")) {
      const [server, tool, call] = line.split(" ");
      written.set(call, [...(written.get(call) ?? []), `${server} ${tool}`]);
    }
    let fine = 0;
    let refused = 0;
    for (const [call, { wanted, text, error }] of outcomes) {
      const found = written.get(call) ?? [];
      if (text !== undefined) {
        fine += 1;
        check(text === `${wanted} ${call}`, `call ${call} to ${wanted} was answered ${text}`);
        check(found.length === 1 && found[0] === wanted, `call ${call} to ${wanted} is recorded as ${found}`);
      } else {
        refused += 1;
        check(ALLOWED_ERRORS.has(error.code), `call ${call} to ${wanted} failed: ${error.code} ${error.message}`);
        check(found.length === 0, `call ${call} was rejected (${error.code}) but carried out`);
      }
    }
    check(fine > Number(changes), `only ${fine} calls were carried out`);
    console.log(`   ${history.length} changes, ${fine} calls carried out, ${refused} rejected during changes`);
  },

  async "the gateway stops on SIGTERM"() {
    for (const { client } of sessions) await client.close();
    check(await stop(gateway.child), "the gateway had to be killed");
  },
};

/** Each function makes one change to the gateway and the model, and returns its description. */
const CHANGES = [
  async function switchInFile() {
    model.endpoints.default = pick([null, ...Object.keys(model.presets)]);
    save();
    return `default -> ${model.endpoints.default} in the file`;
  },
  async function switchByApi() {
    model.endpoints.other = pick([null, ...Object.keys(model.presets)]);
    await api("PUT", "endpoints/other/preset", { preset: model.endpoints.other });
    return `other -> ${model.endpoints.other}`;
  },
  async function switchSession() {
    const session = pick(sessions);
    session.preset = pick([null, ...Object.keys(model.presets)]);
    await api("PUT", `sessions/${session.number}/preset`, { preset: session.preset });
    return `session ${session.number} -> ${session.preset}`;
  },
  async function toggleByApi() {
    model.enabled.a = !model.enabled.a;
    await api("POST", `servers/a/${model.enabled.a ? "enable" : "disable"}`);
    return `a ${model.enabled.a ? "on" : "off"}`;
  },
  async function toggleInFile() {
    model.enabled.c = !model.enabled.c;
    save();
    return `c ${model.enabled.c ? "on" : "off"} in the file`;
  },
  async function restart() {
    const id = pick(["b", "d"]);
    await api("POST", `servers/${id}/restart`);
    return `restart ${id}`;
  },
  async function changeRules() {
    model.presets.few = pick([["a/*", "!a/delta", "c/gamma"], ["b/*"], ["*/delta", "!c/*"]]);
    save();
    return `few = ${model.presets.few}`;
  },
];

process.exitCode = await tryAll(features);

/** Opens a session that records its notifications and lists. */
async function open(path) {
  const client = new Client({ name: `changing-${sessions.length}`, version: "1" }, { capabilities: {} });
  const session = { path, client, preset: null, notices: 0, due: 0, tools: [] };
  client.setNotificationHandler(ToolListChangedNotificationSchema, async () => {
    session.notices += 1;
    await relist(session);
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/${path}`)));
  await relist(session);
  return session;
}

async function relist(session) {
  const { tools } = await session.client.listTools();
  session.tools = tools.map(({ name }) => name).filter((name) => name !== "recover_text");
}

/** Calls the listed tools of a session, one after the other. */
async function load(session) {
  // A separate generator, so that the order of changes depends only on the seed.
  const random = mulberry32(Number(seed) + session.number);
  const pick = (list) => list[Math.floor(random() * list.length)];
  while (calling) {
    if (session.tools.length === 0) {
      await sleep(5);
      continue;
    }
    const name = pick(session.tools);
    const wanted = session.path.startsWith("servers/") ? `b ${name}` : name.replace("__", " ");
    const call = `${sessions.indexOf(session)}-${(callNumber += 1)}`;
    try {
      const { content } = await session.client.callTool({ name, arguments: { call, ms: Math.floor(random() * 30) } });
      outcomes.set(call, { wanted, text: content[0].text });
    } catch (error) {
      outcomes.set(call, { wanted, error: { code: error.data?.code ?? error.code, message: error.message } });
    }
  }
}

/** Waits until every session has the expected list and number of notifications. */
async function settled(when) {
  const end = Date.now() + LIMIT;
  let pending;
  do {
    await sleep(10);
    pending = sessions.filter((session) => {
      const right = session.tools.join() === expected(session).join();
      return !right || (Number.isFinite(session.due) && session.notices < session.due);
    });
  } while (pending.length > 0 && Date.now() < end);
  for (const session of pending) {
    const seen = `${session.notices} of ${session.due} notifications, lists ${session.tools}, must list ${expected(session)}`;
    throw new Error(`${when}: session ${session.number} at ${session.path}: ${seen}`);
  }
  for (const session of sessions) {
    if (!Number.isFinite(session.due)) {
      session.due = session.notices;
      continue;
    }
    const seen = `${session.notices} of ${session.due} notifications`;
    check(session.notices === session.due, `${when}: session ${session.number} at ${session.path}: ${seen}`);
  }
}

/** Waits until a change has taken effect. Files are read shortly after they are saved. A change
 * that affects no session could otherwise take effect together with the next one, or after
 * it, and cause a second notification. */
async function inForce(change) {
  const end = Date.now() + LIMIT;
  const isInForce = async () => {
    const { servers } = await api("GET", "servers");
    const { presets } = await api("GET", "presets");
    const { endpoints } = await api("GET", "endpoints");
    return (
      servers.every(({ id, state }) => !SERVERS.includes(id) || state === (model.enabled[id] ? "up" : "disabled")) &&
      presets.every(({ id, tools }) => tools.join() === model.presets[id].join()) &&
      endpoints.every(({ name, preset }) => !(name in model.endpoints) || preset === model.endpoints[name])
    );
  };
  let done = await isInForce();
  while (!done && Date.now() < end) {
    await sleep(10);
    done = await isInForce();
  }
  check(done, `${change} did not take effect`);
}

/** Returns the tools that a session must list, in the order of the servers. */
function expected({ path, preset }) {
  const single = path.startsWith("servers/");
  const endpoint = path === "mcp/other" ? "other" : "default";
  const id = preset ?? model.endpoints[endpoint];
  const rules = id === null ? ["*/*"] : model.presets[id];
  const servers = single ? ["b"] : SERVERS.filter((server) => model.enabled[server]);
  const names = servers.flatMap((server) => TOOLS.filter((tool) => allowed(rules, server, tool)).map((tool) => [server, tool]));
  return names.map(([server, tool]) => (single ? tool : `${server}__${tool}`));
}

/** Applies the rules of a preset: the last matching rule decides. */
function allowed(rules, server, tool) {
  const fits = (pattern, text) => pattern === "*" || pattern === text;
  let allows = false;
  for (const rule of rules) {
    const [whose, which] = rule.replace(/^!/, "").split("/");
    if (fits(whose, server) && fits(which, tool)) allows = !rule.startsWith("!");
  }
  return allows;
}

/** Saves the file like an editor: in place, or by a rename, at random. */
function save() {
  if (random() < 0.5) return writeConfig();
  writeConfig(`${config}.new`);
  renameSync(`${config}.new`, config);
}

function writeConfig(path = config) {
  const script = join(import.meta.dirname, "ledger-server.mjs");
  const server = (id) => ({
    command: process.execPath,
    args: [script, id, ledger],
    env: { NARROWS_PEER_NPM: process.env.NARROWS_PEER_NPM },
    // The other servers are enabled and disabled by the API only.
    ...(id === "c" && !model.enabled.c ? { disabled: true } : {}),
  });
  const endpoint = (preset) => (preset === null ? {} : { preset });
  const content = {
    initialize_wait_s: 60,
    list_wait_s: 60,
    mcpServers: Object.fromEntries(SERVERS.map((id) => [id, server(id)])),
    presets: Object.fromEntries(Object.entries(model.presets).map(([id, tools]) => [id, { tools }])),
    endpoints: { default: endpoint(model.endpoints.default), other: {} },
  };
  writeFileSync(path, JSON.stringify(content, null, 2));
}

async function api(method, path, body) {
  const headers = { authorization: `Bearer ${token}`, ...(body ? { "content-type": "application/json" } : {}) };
  const answer = await fetch(`${base}/api/v1/${path}`, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  check(answer.ok, `${method} ${path}: HTTP ${answer.status} ${text.slice(0, 300)}`);
  return text === "" ? undefined : JSON.parse(text);
}

async function within(promise, why) {
  const late = sleep(LIMIT, undefined, { ref: false }).then(() => {
    throw new Error(why);
  });
  return Promise.race([promise, late]);
}

/** Returns a small seeded random number generator. */
function mulberry32(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
