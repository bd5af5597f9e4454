// Tests lazy and search endpoints, and presets, with the TypeScript SDK. Usage:
//
//   node exposure.mjs EXPECTED --http URL | --sse URL | --ws URL | --stdio COMMAND ARGS...
//
// EXPECTED has the `features` to test, the `catalogue` of the servers, and the lists
// from `lib/exposure.mjs`.
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import { check, same, tryAll } from "../../lib/features.mjs";
import { TOOL, chars, header, page, pieces } from "../../lib/receipts.mjs";
import { peer, transportTo } from "./transports.mjs";

const { Client } = peer("@modelcontextprotocol/sdk/client/index.js");
const types = peer("@modelcontextprotocol/sdk/types.js");

/** The default budget of the gateway. */
const BUDGET = 16_000;
const MODEL_ANSWER = "Charybdis, through exec";
const WEATHER = { temperature: 33, conditions: "Cloudy", humidity: 82 };

const [expectedFile, option, ...target] = process.argv.slice(2);
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));
const { catalogue, strait, long } = expected;
let client;
let tools;

const features = {
  async "two tools are listed"() {
    same(names(), ["inspect", "exec"], "the tools");
    same(tools[0].description, expected.description, "the description of inspect");
  },

  async "inspect describes a server"() {
    for (const [id, { tools: known }] of Object.entries(catalogue)) {
      const { structuredContent } = await call("inspect", { server_name: id });
      const wanted = known.map(({ name, description }) => ({ server_name: id, name, description: description ?? "" }));
      const listed = structuredContent.result.map(({ input_schema, ...entry }) => entry);
      same(listed, wanted, `the tools of ${id}`);
      const odd = structuredContent.result.filter(({ input_schema }) => !isTypeScript(input_schema));
      check(odd.length === 0, `schemas that are not TypeScript: ${JSON.stringify(odd).slice(0, 300)}`);
    }
  },

  async "inspect describes a tool"() {
    const { content, structuredContent } = await call("inspect", { server_name: "files", tool_name: "read_text_file" });
    const known = catalogue.files.tools.find(({ name }) => name === "read_text_file");
    const { input_schema, ...entry } = structuredContent.result;
    same(entry, { server_name: "files", name: known.name, description: known.description }, "the tool");
    check(/^\{path: string; .*head\?: number \/\* .+ \*\/.*\}$/.test(input_schema), `the schema is ${input_schema}`);
    check(content.length === 1 && content[0].text.includes(input_schema), `the text is ${JSON.stringify(content).slice(0, 400)}`);
  },

  async "inspect returns JSON Schemas if configured"() {
    const { content, structuredContent } = await call("inspect", { server_name: "ev", tool_name: "get-sum" });
    const known = catalogue.ev.tools.find(({ name }) => name === "get-sum");
    same(structuredContent.result.input_schema, known.inputSchema, "the schema");
    same(JSON.parse(content[0].text), structuredContent.result, "the text");
  },

  async "inspect rejects an unknown server or tool"() {
    await unknown("inspect", { server_name: "zz" }, { server_name: "files", tool_name: "zz" });
  },

  async "exec reads a file"() {
    const { content, structuredContent } = await exec("files", "read_text_file", { path: strait.path });
    same(structuredContent, { result: { content: strait.text } }, "the structured content");
    check(content.length === 1 && content[0].text.includes("Between Scylla and Charybdis"), JSON.stringify(content));
  },

  async "exec calls a server written in Python"() {
    const { content, structuredContent } = await exec("git", "git_log", { repo_path: expected.repository });
    check(content[0].text.includes("Pass the strait"), JSON.stringify(content));
    check(JSON.stringify(structuredContent.result).includes("Pass the strait"), JSON.stringify(structuredContent));
  },

  async "exec returns a text unchanged"() {
    const { content, structuredContent } = await exec("ev", "echo", { message: "Σκύλλα 🌊" });
    same(content, [{ type: "text", text: "Echo: Σκύλλα 🌊" }], "the content");
    same(structuredContent, { result: "Echo: Σκύλλα 🌊" }, "the structured content");
  },

  async "exec returns data as TOON"() {
    const { content, structuredContent } = await exec("ev", "get-structured-content", { location: "New York" });
    same(structuredContent, { result: WEATHER }, "the structured content");
    same(content, [{ type: "text", text: "temperature: 33\nconditions: Cloudy\nhumidity: 82" }], "the content");
  },

  async "exec returns data as JSON if configured"() {
    const { content, structuredContent } = await exec("ev", "get-structured-content", { location: "New York" });
    same(structuredContent, { result: WEATHER }, "the structured content");
    same(content, [{ type: "text", text: JSON.stringify(WEATHER) }], "the content");
  },

  /** The server returns a text that contains JSON on many lines. */
  async "exec returns JSON in a text as data"() {
    const { content, structuredContent } = await exec("ev", "get-env");
    same(structuredContent.result.NARROWS_PEER_STRAIT, "Messina", "a variable");
    check(/^NARROWS_PEER_STRAIT: Messina$/m.test(content[0].text), `the text is ${content[0].text.slice(0, 300)}`);
  },

  async "exec changes data"() {
    const { name, ...entity } = expected.entity;
    const { structuredContent } = await exec("mem", "create_entities", { entities: [{ name, ...entity }] });
    same(structuredContent.result.entities, [expected.entity], "the created entities");
    const found = await exec("mem", "open_nodes", { names: [name] });
    same(found.structuredContent.result.entities, [expected.entity], "the stored entities");
  },

  async "exec returns an image unchanged"() {
    check(expected.image.some(({ type }) => type === "image"), "the server returned no image");
    const { content } = await exec("ev", "get-tiny-image");
    same(content, expected.image, "the content");
  },

  async "exec returns an error of the tool"() {
    const result = await client.callTool(execution("files", "read_text_file", { path: `${strait.path}.missing` }));
    check(result.isError && result.content[0].text.includes("ENOENT"), JSON.stringify(result).slice(0, 400));
  },

  async "exec checks arguments"() {
    const missing = await failure("exec", { server_name: "files", tool_name: "read_text_file" });
    same(missing.error, "Argument validation failed: Missing required argument: 'path'", "the error");
    check(missing.tool_schema.startsWith("{path: string; "), `the schema is ${missing.tool_schema}`);
    for (const [server, tool, given, names] of [
      ["files", "read_text_file", { path: strait.path, zzz: 1 }, "Unknown argument: 'zzz'"],
      ["files", "read_text_file", { path: 7 }, "path"],
      ["ev", "get-sum", { a: "one", b: 2 }, "a"],
      ["ev", "get-structured-content", { location: "Messina" }, "location"],
      ["mem", "create_entities", { entities: [{ name: "Scylla" }] }, "entities"],
      ["git", "git_log", {}, "repo_path"],
    ]) {
      const { error } = await failure("exec", { server_name: server, tool_name: tool, arguments: given });
      check(error.startsWith("Argument validation failed: ") && error.includes(names), `${tool}: ${error}`);
    }
  },

  async "exec rejects an unknown server or tool"() {
    const sure = { tool_name: "zz", arguments: {} };
    await unknown("exec", { server_name: "zz", ...sure }, { server_name: "files", ...sure });
  },

  async "exec forwards progress"() {
    const notices = [];
    const operation = execution("ev", "trigger-long-running-operation", { duration: 0.3, steps: 3 });
    const { content } = await client.callTool(operation, undefined, { onprogress: ({ progress }) => notices.push(progress) });
    check(content[0].text.includes("completed"), JSON.stringify(content));
    // The SDK may lose the last notification; see the driver.
    check(notices.length === 3 || notices.length === 2, `${notices.length} notifications: ${notices}`);
    check(notices.every((value, n) => n === 0 || value > notices[n - 1]), `progress does not increase: ${notices}`);
  },

  async "a call of exec can be cancelled"() {
    const count = async () => Number((await exec("fixture", "test_cancellations")).content[0].text);
    const before = await count();
    const controller = new AbortController();
    const work = client.callTool(execution("fixture", "test_cancellable"), undefined, {
      signal: controller.signal,
      // Cancels when progress shows that the server is processing the call.
      onprogress: () => controller.abort("cancelled by the driver"),
    });
    const outcome = await work.then(
      () => "answered",
      () => "cancelled",
    );
    check(outcome === "cancelled", "the call was answered despite the cancellation");
    const end = Date.now() + 10_000;
    while ((await count()) !== before + 1) {
      check(Date.now() < end, "the server did not receive the cancellation");
      await sleep(20);
    }
  },

  async "sampling works through exec"() {
    const { content } = await exec("fixture", "test_sampling", { prompt: "Scylla or Charybdis?" });
    check(content[0].text.includes(MODEL_ANSWER), JSON.stringify(content));
  },

  async "parallel calls of exec"() {
    const sums = await Promise.all(Array.from({ length: 20 }, (_, n) => exec("ev", "get-sum", { a: n, b: 100 })));
    for (const [n, { content }] of sums.entries()) check(content[0].text.includes(` ${n + 100}`), content[0].text);
  },

  async "a long file is recovered through exec"() {
    const result = await exec("files", "read_text_file", { path: long.path });
    const [{ text: left }] = result.content;
    const { blocks, chars: counted } = result._meta["narrows/receipt"];
    check(result.content.length === 1 && chars(left) < BUDGET && chars(left) > 500, `${chars(left)} characters of text`);
    check(counted.after <= BUDGET && result.structuredContent === undefined, `${counted.after} characters, and more structured`);
    const text = readFileSync(long.path, "utf8");
    for (const { at, prune_id } of blocks) {
      const whole = await recovered({ prune_id });
      if (at === "content[0].text") same(whole, text, "the whole text");
      else same(JSON.parse(whole), { content: text }, `the whole of ${at}`);
    }

    check(header(left).exec, "the header does not mention exec");
    const filled = [];
    for (const { line, ask } of pieces(left)) filled.push(ask ? (await recovered(ask)).replace(/\n$/, "") : line);
    same(filled.join("\n"), text, "the kept lines together with the recovered ones");
    const last = text.split("\n").length;
    const { content: found } = await exec("files", "read_text_file", { path: long.path }, { find: { tail: 1 } });
    check(found[0].text.includes(text.split("\n").at(-1)) && chars(found[0].text) < 1_000, `line ${last} is not in ${found[0].text.slice(0, 300)}`);
    const gone = { server_name: "narrows", tool_name: TOOL, arguments: { prune_id: "prn_01ARZ3NDEKTSV4RRFFQ69G5FAV" } };
    check(JSON.stringify(await failure("exec", gone)).includes("prune_id_not_found"), "an unknown receipt was accepted");
  },

  async "three tools and the pinned one are listed"() {
    same(names().sort(), ["ev__echo", "exec", "inspect", "search_tools"], "the tools");
    const { description } = tools.find(({ name }) => name === "search_tools");
    for (const id of Object.keys(catalogue)) check(description.includes(id), `${id} is not in ${description}`);
  },

  async "the pinned tool can be called"() {
    const { content } = await call("ev__echo", { message: "pinned" });
    same(content, [{ type: "text", text: "Echo: pinned" }], "the content");
  },

  async "search finds a tool that reads files"() {
    const { structuredContent, content } = await call("search_tools", { query: "read what is in a file" });
    const found = structuredContent.result;
    const seen = found.map(({ server_name, name }) => `${server_name}/${name}`);
    check(seen.some((name) => /^files\/read_(text_)?file$/.test(name)), `found: ${seen}`);
    check(seen.length <= 5 && content[0].text.includes(found[0].name), `${seen.length} tools`);
    // Uses only the returned schema.
    const [{ server_name, name, input_schema }] = found;
    const given = /\bpaths: /.test(input_schema) ? { paths: [strait.path] } : { path: strait.path };
    const result = await exec(server_name, name, given);
    check(JSON.stringify(result).includes("Between Scylla and Charybdis"), `${name}: ${JSON.stringify(result).slice(0, 300)}`);
  },

  async "search finds tools of every server"() {
    for (const [query, wanted] of [
      ["add two numbers", "ev/get-sum"],
      ["show the commit logs", "git/git_log"],
      ["create entities in the knowledge graph", "mem/create_entities"],
      ["rename a file", "files/move_file"],
    ]) {
      const { structuredContent } = await call("search_tools", { query });
      const seen = structuredContent.result.map(({ server_name, name }) => `${server_name}/${name}`);
      check(seen.includes(wanted), `for '${query}': ${seen}`);
    }
  },

  async "search respects the server and the limit"() {
    const { structuredContent } = await call("search_tools", { query: "read a file", server_name: "git", limit: 2 });
    const found = structuredContent.result;
    check(found.length <= 2 && found.every(({ server_name }) => server_name === "git"), JSON.stringify(found).slice(0, 300));
  },

  async "search returns nothing for unknown words"() {
    const { structuredContent } = await call("search_tools", { query: "qqxzy vvkrr" });
    same(structuredContent, { result: [] }, "the found tools");
  },

  async "forbidden tools are not listed"() {
    const allowed = Object.entries(expected.safe).flatMap(([id, { tools: left }]) => left.map(({ name }) => `${id}__${name}`));
    same(names().sort(), [...allowed, TOOL].sort(), "the tools");
    check(!names().includes("files__write_file") && names().includes("files__read_text_file"), `${names()}`);
  },

  async "forbidden tools cannot be called"() {
    await refused({ name: "files__write_file", arguments: writing() }, "files__write_file");
    await refused({ name: "files:write_file", arguments: writing() }, "files__write_file", "files:write_file");
    const forgetting = { name: "mem__delete_entities", arguments: { entityNames: ["Scylla"] } };
    if (catalogue.mem) await refused(forgetting, "mem__delete_entities");
    const { content } = await call("files__read_text_file", { path: strait.path });
    same(content[0].text, strait.text, "the allowed file");
  },

  async "forbidden tools cannot be inspected"() {
    same(tools[0].description, expected.safeDescription, "the description of inspect");
    const { structuredContent } = await call("inspect", { server_name: "files" });
    const left = structuredContent.result.map(({ name }) => name);
    same(left, expected.safe.files.tools.map(({ name }) => name), "the tools");
    await refused({ name: "inspect", arguments: { server_name: "files", tool_name: "write_file" } }, "files__write_file");
  },

  async "forbidden tools cannot be executed"() {
    await refused(execution("files", "write_file", writing()), "files__write_file");
    // Also with invalid arguments, and under its name on other endpoints.
    await refused(execution("files", "write_file", {}), "files__write_file");
    await refused({ name: "files__write_file", arguments: writing() }, "files__write_file");
    const { structuredContent } = await exec("files", "read_text_file", { path: strait.path });
    same(structuredContent, { result: { content: strait.text } }, "the allowed file");
  },

  async "forbidden tools are not found"() {
    const hidden = ["files/write_file", "files/edit_file", "files/move_file", "mem/delete_entities"];
    for (const query of ["write_file", "overwrite a file with new content", "delete entities"]) {
      const { structuredContent } = await call("search_tools", { query, limit: 50 });
      const seen = structuredContent.result.map(({ server_name, name }) => `${server_name}/${name}`);
      check(seen.length > 0 && !seen.some((name) => hidden.includes(name)), `for '${query}': ${seen}`);
    }
  },

  /** The endpoint of a single server, with unprefixed names. */
  async "forbidden tools of one server"() {
    same(names(), expected.safe.files.tools.map(({ name }) => name), "the tools");
    await refused({ name: "write_file", arguments: writing() }, "write_file");
    const { content } = await call("read_text_file", { path: strait.path });
    same(content[0].text, strait.text, "the allowed file");
  },

  async "a preset in a file"() {
    same(names().sort(), ["files__read_text_file", TOOL].sort(), "the tools");
    const { content } = await call("files__read_text_file", { path: strait.path });
    same(content[0].text, strait.text, "the allowed file");
    await refused({ name: "files__write_file", arguments: writing() }, "files__write_file");
    await refused({ name: "files__list_directory", arguments: { path: strait.path } }, "files__list_directory");
    await refused({ name: "ev__echo", arguments: { message: "hidden" } }, "ev__echo");
    const uri = "demo://resource/static/document/features.md";
    same([(await client.listPrompts()).prompts, (await client.listResources()).resources], [[], []], "the rest");
    await forbidden(client.readResource({ uri }), `Resource '${uri}'`);
    await forbidden(client.getPrompt({ name: "ev__simple-prompt" }), "Prompt 'ev__simple-prompt'");
  },

  async "a preset in an invalid file"() {
    const left = names().filter((name) => name !== TOOL);
    same(left, [], "the tools");
    await refused({ name: "files__read_text_file", arguments: { path: strait.path } }, "files__read_text_file");
  },
};

let code = 1;
try {
  client = new Client({ name: "narrows-exposure", version: "1.0.0" }, { capabilities: capabilities() });
  if (capabilities().sampling) {
    client.setRequestHandler(types.CreateMessageRequestSchema, () => {
      return { role: "assistant", content: { type: "text", text: MODEL_ANSWER }, model: "driver", stopReason: "endTurn" };
    });
  }
  await client.connect(
    transportTo(option === "--stdio" ? { command: target[0], args: target.slice(1) } : { type: option.slice(2), url: target[0] }),
  );
  // The SDK checks structured content against the schemas it has seen.
  ({ tools } = await client.listTools());
  code = await tryAll(features, expected.features);
  await client.close();
} catch (error) {
  console.log(`FAIL connect: ${error.message}\n0 passed, 1 failed`);
}
process.exit(code);

/** A client that can be asked gets servers of its own, which may list more; the others share theirs. */
function capabilities() {
  return expected.features.includes("sampling works through exec") ? { sampling: {} } : {};
}

function isTypeScript(schema) {
  return typeof schema === "string" && schema.startsWith("{") && !schema.includes('"type":');
}

function names() {
  return tools.map(({ name }) => name);
}

async function call(name, given) {
  const result = await client.callTool({ name, arguments: given });
  check(!result.isError, `${name} failed: ${JSON.stringify(result.content).slice(0, 400)}`);
  return result;
}

function exec(...what) {
  const { name, arguments: given } = execution(...what);
  return call(name, given);
}

function execution(server_name, tool_name, given, besides = {}) {
  return { name: "exec", arguments: { server_name, tool_name, ...(given && { arguments: given }), ...besides } };
}

/** Makes a call that has to fail, and returns its error. */
async function failure(name, given) {
  const { isError, content } = await client.callTool({ name, arguments: given });
  check(isError && content.length === 1, `no error: ${JSON.stringify(content).slice(0, 400)}`);
  return JSON.parse(content[0].text);
}

/** Checks the errors for an unknown server and an unknown tool. */
async function unknown(name, noServer, noTool) {
  const server = await failure(name, noServer);
  same(server.error, "Server 'zz' not found", "the error");
  same(server.available_servers, Object.keys(catalogue).sort(), "the servers");
  const tool = await failure(name, noTool);
  same(tool.error, "Tool 'zz' not found on server 'files'", "the error");
  same(tool.available_tools, catalogue.files.tools.map(({ name: known }) => known), "the tools");
}

/** Checks that a call is rejected under one of these names and was not carried out. */
async function refused(request, ...published) {
  await forbidden(client.callTool(request), ...published.map((name) => `Tool '${name}'`));
  check(!existsSync(expected.written), "the file was written");
}

/** Checks that a request fails with a protocol error that names one of these. */
async function forbidden(request, ...things) {
  const error = await request.then(
    (result) => check(false, `answered: ${JSON.stringify(result).slice(0, 400)}`),
    (thrown) => thrown,
  );
  const text = `${error.code} ${JSON.stringify(error.data)} ${error.message}`;
  check(error.code === -32602 && error.data?.code === "not_allowed", text);
  check(things.some((thing) => error.message.includes(`${thing} is not allowed by current preset`)), text);
}

function writing() {
  return { path: expected.written, content: "forbidden" };
}

/** Recovers a text through exec, page by page. */
async function recovered(asked) {
  let text = "";
  for (let ask = asked; ; ) {
    const result = await exec("narrows", TOOL, ask);
    check(chars(result.content[0].text) <= BUDGET, `a page has ${chars(result.content[0].text)} characters`);
    const part = page(result);
    text += part.text;
    if (part.facts.next_cursor === undefined) return text;
    ask = { prune_id: asked.prune_id, cursor: part.facts.next_cursor };
  }
}
