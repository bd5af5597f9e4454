// A driver for the command line of the MCP Inspector, with one process per request:
// lists, a call, a read and a prompt. See ../README.md for the options.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { inspector } from "./ask.mjs";

const options = parse(process.argv.slice(2));
const profile = JSON.parse(readFileSync(join(import.meta.dirname, "../profiles.json"), "utf8"))[options.profile];
const { ask, close } = inspector(options);

let tools;
let prompts;

const features = {
  async "tools/list"() {
    tools = (await ask("tools/list")).tools.map((tool) => tool.name);
    named(profile.call.tool, tools);
  },
  async "tools/call"() {
    const { tool, arguments: given, contains: wanted } = profile.call;
    const args = ["--tool-name", named(tool, tools), "--tool-args-json", JSON.stringify(given)];
    contains(await ask("tools/call", ...args), wanted);
  },
  async "resources/list"() {
    contains(await ask("resources/list"), profile.read.uri);
  },
  async "resources/read"() {
    contains(await ask("resources/read", "--uri", profile.read.uri), profile.read.contains);
  },
  async "prompts/list"() {
    prompts = (await ask("prompts/list")).prompts.map((prompt) => prompt.name);
    named(profile.prompt.name, prompts);
  },
  async "prompts/get"() {
    const { name, arguments: given, contains: wanted } = profile.prompt;
    const pairs = Object.entries(given).map(([key, value]) => `${key}=${value}`);
    contains(await ask("prompts/get", "--prompt-name", named(name, prompts), "--prompt-args", ...pairs), wanted);
  },
};

let passed = 0;
let failed = 0;
for (const [name, feature] of Object.entries(features)) {
  if (options.skip.includes(name)) continue;
  try {
    await feature();
    passed += 1;
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}: ${error.message}`);
  }
}
close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

function named(name, published) {
  if (published?.includes(name)) return name;
  const wanted = options.server ? `${options.server}__${name}` : `__${name}`;
  const found = (published ?? []).filter((entry) => (options.server ? entry === wanted : entry.endsWith(wanted)));
  if (found.length !== 1) throw new Error(`${name} is published as ${JSON.stringify(found)}`);
  return found[0];
}

function contains(value, wanted) {
  const text = JSON.stringify(value);
  if (!text.includes(wanted)) throw new Error(`'${wanted}' is not in ${text.slice(0, 400)}`);
}

function parse(args) {
  const read = { profile: "everything", skip: [] };
  while (args.length > 0) {
    const flag = args.shift();
    if (flag === "--stdio") read.stdio = args.splice(0);
    else if (flag === "--skip") read.skip = args.shift().split(",");
    else if (["--http", "--sse"].includes(flag)) [read.transport, read.url] = [flag.slice(2), args.shift()];
    else if (["--profile", "--server"].includes(flag)) read[flag.slice(2)] = args.shift();
    else throw new Error(`unknown option ${flag}`);
  }
  if (!read.url && !read.stdio?.length) throw new Error("pass --http URL, --sse URL or --stdio COMMAND ARGS...");
  return read;
}
