// A gateway that is changed while sessions of the TypeScript SDK use it: presets
// are switched, servers switched off, on and restarted, files saved, in the
// order that a seed gives. Usage:
//
//   node change.mjs NARROWS FOLDER [SEED [CHANGES [SESSIONS]]]
//
// What each session must see follows from a model of presets and servers that
// shares nothing with the gateway. At the end every session lists exactly that;
// every notice was due; every call was answered once, by the server it was
// meant for, or refused and never carried out.
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
/** What may be refused while things change, and never more. */
const DUE = new Set(["not_allowed", "unknown_tool", "upstream_unavailable"]);

const random = mulberry32(Number(seed));
const pick = (list) => list[Math.floor(random() * list.length)];
const ledger = join(folder, "ledger");
const config = join(folder, "changing.json");
process.env.XDG_RUNTIME_DIR = join(folder, "run");
mkdirSync(process.env.XDG_RUNTIME_DIR, { recursive: true, mode: 0o700 });
writeFileSync(ledger, "");

/** What the gateway was told; the only source of what sessions must see. */
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
    const doors = ["mcp", "mcp", "mcp/other", "servers/b/mcp"];
    for (let n = 0; n < Number(sessionCount); n++) sessions.push(await open(doors[n % doors.length]));
    const { sessions: told } = await api("GET", "sessions");
    check(told.length === sessions.length, `${told.length} sessions are told`);
    // In the order in which they were opened.
    told.forEach(({ number }, n) => (sessions[n].number = number));
    for (const session of sessions) session.load = load(session);
  },

  async "every change is seen by whom it concerns, and by nobody else"() {
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

  async "changes that come at once end in the last one"() {
    for (let round = 0; round < 5; round++) {
      for (let n = 0; n < 6; n++) {
        history.push(await pick(CHANGES)());
        // How many of them a session is told of is the gateway's choice.
        for (const session of sessions) session.due = Infinity;
      }
      await settled(`after the burst ${history.slice(-6).join(", ")}`);
    }
  },

  async "calls end"() {
    calling = false;
    const all = Promise.all(sessions.map(({ load }) => load));
    await within(all, "calls are still without an answer");
    check(callNumber === outcomes.size, `${callNumber} calls, ${outcomes.size} answers`);
  },

  async "no call was lost, doubled or sent to another server"() {
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
        check(found.length === 1 && found[0] === wanted, `call ${call} to ${wanted} is written as ${found}`);
      } else {
        refused += 1;
        check(DUE.has(error.code), `call ${call} to ${wanted} failed: ${error.code} ${error.message}`);
        check(found.length === 0, `call ${call} was refused (${error.code}) and carried out`);
      }
    }
    check(fine > Number(changes), `only ${fine} calls were carried out`);
    console.log(`   ${history.length} changes, ${fine} calls carried out, ${refused} refused while things changed`);
  },

  async "the gateway stops when asked"() {
    for (const { client } of sessions) await client.close();
    check(await stop(gateway.child), "it did not");
  },
};

/** Each does one change, to the gateway and to the model, and tells it. */
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

/** A session with its own account of what it was told. */
async function open(door) {
  const client = new Client({ name: `changing-${sessions.length}`, version: "1" }, { capabilities: {} });
  const session = { door, client, preset: null, notices: 0, due: 0, tools: [] };
  client.setNotificationHandler(ToolListChangedNotificationSchema, async () => {
    session.notices += 1;
    await relist(session);
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${base}/${door}`)));
  await relist(session);
  return session;
}

async function relist(session) {
  const { tools } = await session.client.listTools();
  session.tools = tools.map(({ name }) => name).filter((name) => name !== "recover_text");
}

/** Calls tools that it was told of, one after the other. */
async function load(session) {
  // Of its own, so that the order of changes is the seed's alone.
  const random = mulberry32(Number(seed) + session.number);
  const pick = (list) => list[Math.floor(random() * list.length)];
  while (calling) {
    if (session.tools.length === 0) {
      await sleep(5);
      continue;
    }
    const name = pick(session.tools);
    const wanted = session.door.startsWith("servers/") ? `b ${name}` : name.replace("__", " ");
    const call = `${sessions.indexOf(session)}-${(callNumber += 1)}`;
    try {
      const { content } = await session.client.callTool({ name, arguments: { call, ms: Math.floor(random() * 30) } });
      outcomes.set(call, { wanted, text: content[0].text });
    } catch (error) {
      outcomes.set(call, { wanted, error: { code: error.data?.code ?? error.code, message: error.message } });
    }
  }
}

/** Waits until every session lists what it must, and was told as often as was due. */
async function settled(when) {
  const end = Date.now() + LIMIT;
  let odd;
  do {
    await sleep(10);
    odd = sessions.filter((session) => {
      const right = session.tools.join() === expected(session).join();
      return !right || (Number.isFinite(session.due) && session.notices < session.due);
    });
  } while (odd.length > 0 && Date.now() < end);
  for (const session of odd) {
    const seen = `${session.notices} notices of ${session.due}, lists ${session.tools}, must list ${expected(session)}`;
    throw new Error(`${when}: session ${session.number} at ${session.door}: ${seen}`);
  }
  for (const session of sessions) {
    if (!Number.isFinite(session.due)) {
      session.due = session.notices;
      continue;
    }
    const seen = `${session.notices} notices of ${session.due}`;
    check(session.notices === session.due, `${when}: session ${session.number} at ${session.door}: ${seen}`);
  }
}

/** Waits until the gateway has taken up what it was told. A file is read a moment
 * after it was saved: one that nobody sees anything of would come into force
 * together with the next change, or after it, and that is told twice. */
async function inForce(change) {
  const end = Date.now() + LIMIT;
  const told = async () => {
    const { servers } = await api("GET", "servers");
    const { presets } = await api("GET", "presets");
    const { endpoints } = await api("GET", "endpoints");
    return (
      servers.every(({ id, state }) => !SERVERS.includes(id) || state === (model.enabled[id] ? "up" : "disabled")) &&
      presets.every(({ id, tools }) => tools.join() === model.presets[id].join()) &&
      endpoints.every(({ name, preset }) => !(name in model.endpoints) || preset === model.endpoints[name])
    );
  };
  let is = await told();
  while (!is && Date.now() < end) {
    await sleep(10);
    is = await told();
  }
  check(is, `${change} did not come into force`);
}

/** The tools that a session must see, in the order of the servers. */
function expected({ door, preset }) {
  const single = door.startsWith("servers/");
  const endpoint = door === "mcp/other" ? "other" : "default";
  const id = preset ?? model.endpoints[endpoint];
  const rules = id === null ? ["*/*"] : model.presets[id];
  const servers = single ? ["b"] : SERVERS.filter((server) => model.enabled[server]);
  const names = servers.flatMap((server) => TOOLS.filter((tool) => allowed(rules, server, tool)).map((tool) => [server, tool]));
  return names.map(([server, tool]) => (single ? tool : `${server}__${tool}`));
}

/** The last rule that matches decides. */
function allowed(rules, server, tool) {
  const fits = (pattern, text) => pattern === "*" || pattern === text;
  let allows = false;
  for (const rule of rules) {
    const [whose, which] = rule.replace(/^!/, "").split("/");
    if (fits(whose, server) && fits(which, tool)) allows = !rule.startsWith("!");
  }
  return allows;
}

/** Saved as editors do it: in place, or by a rename, which is up to the seed. */
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
    // The other ones are switched by the API, and the file says nothing of them.
    ...(id === "c" && !model.enabled.c ? { disabled: true } : {}),
  });
  const endpoint = (preset) => (preset === null ? {} : { preset });
  const told = {
    initialize_wait_s: 60,
    list_wait_s: 60,
    mcpServers: Object.fromEntries(SERVERS.map((id) => [id, server(id)])),
    presets: Object.fromEntries(Object.entries(model.presets).map(([id, tools]) => [id, { tools }])),
    endpoints: { default: endpoint(model.endpoints.default), other: {} },
  };
  writeFileSync(path, JSON.stringify(told, null, 2));
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

/** A small generator of random numbers that a seed decides. */
function mulberry32(state) {
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
