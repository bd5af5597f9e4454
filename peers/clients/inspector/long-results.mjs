// Tests result budgets with the command line of the MCP Inspector: reads a long result
// and searches in the cut text. Usage:
//
//   node long-results.mjs EXPECTED --http URL
//
// EXPECTED has `budget` and the texts from `lib/long-texts.mjs`.
import { readFileSync } from "node:fs";

import { TOOL, chars, header } from "../../lib/receipts.mjs";
import { inspector } from "./ask.mjs";

const [expectedFile, , url] = process.argv.slice(2);
const { budget, log, query } = JSON.parse(readFileSync(expectedFile, "utf8"));
const { ask, close } = inspector({ transport: "http", url });
let id;

const features = {
  async "tools/list"() {
    const { tools } = await ask("tools/list");
    if (tools.at(-1).name !== TOOL) throw new Error(`the last tool is ${tools.at(-1).name}`);
  },
  async "tools/call of a long text"() {
    const [{ text }] = (await call("fs__read_text_file", { path: log.path })).content;
    if (chars(text) > budget) throw new Error(`${chars(text)} characters in a budget of ${budget}`);
    ({ id } = header(text));
  },
  async "tools/call of recover_text"() {
    const [{ text }] = (await call(TOOL, { prune_id: id, query: `"${query.text}"` })).content;
    const line = readFileSync(log.path, "utf8").split("\n")[query.line - 1];
    if (!text.includes(`${query.line}│ ${line}`)) throw new Error(`'${line}' is not in ${text.slice(0, 400)}`);
  },
};

let passed = 0;
let failed = 0;
for (const [name, feature] of Object.entries(features)) {
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

function call(name, given) {
  return ask("tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(given));
}
