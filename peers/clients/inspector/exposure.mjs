// Tests a lazy endpoint with the command line of the MCP Inspector. Usage:
//
//   node exposure.mjs EXPECTED --http URL | --stdio COMMAND ARGS...
//
// EXPECTED has the lists from `lib/exposure.mjs`.
import { readFileSync } from "node:fs";

import { check, same, tryAll } from "../../lib/features.mjs";
import { inspector } from "./ask.mjs";

const [expectedFile, option, ...target] = process.argv.slice(2);
const { description, catalogue, strait } = JSON.parse(readFileSync(expectedFile, "utf8"));
const { ask, failing, close } = inspector(option === "--stdio" ? { stdio: target } : { transport: "http", url: target[0] });

const features = {
  async "tools/list"() {
    const { tools } = await ask("tools/list");
    same(tools.map(({ name }) => name), ["inspect", "exec"], "the tools");
    same(tools[0].description, description, "the description of inspect");
  },
  async "tools/call of inspect for a server"() {
    const { structuredContent } = await call("inspect", { server_name: "files" });
    same(structuredContent.result.map(({ name }) => name), catalogue.files.tools.map(({ name }) => name), "the tools");
  },
  async "tools/call of inspect for a tool"() {
    const { structuredContent } = await call("inspect", { server_name: "ev", tool_name: "get-sum" });
    const { name, input_schema } = structuredContent.result;
    same([name, input_schema], ["get-sum", "{a: number /* First number */; b: number /* Second number */}"], "the tool");
  },
  async "tools/call of exec"() {
    const read = await exec("files", "read_text_file", { path: strait.path });
    same(read.structuredContent, { result: { content: strait.text } }, "the file");
    const { content } = await exec("ev", "get-sum", { a: 20, b: 22 });
    check(content[0].text.includes("42"), JSON.stringify(content));
  },
  async "tools/call of exec with wrong arguments"() {
    const { error } = await failure("files", "read_text_file", {});
    check(error.startsWith("Argument validation failed: "), error);
  },
  async "tools/call of exec with an unknown tool"() {
    const { error, available_tools } = await failure("ev", "zz", {});
    same(error, "Tool 'zz' not found on server 'ev'", "the error");
    same(available_tools, catalogue.ev.tools.map(({ name }) => name), "the tools");
  },
};

const code = await tryAll(features);
close();
process.exit(code);

function call(name, given) {
  return ask("tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(given));
}

function exec(server_name, tool_name, given) {
  return call("exec", { server_name, tool_name, arguments: given });
}

async function failure(server_name, tool_name, given) {
  const { content } = await failing("exec", { server_name, tool_name, arguments: given });
  return JSON.parse(content[0].text);
}
