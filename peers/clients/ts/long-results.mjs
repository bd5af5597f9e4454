// Tests result budgets with the TypeScript SDK: reads long results and recovers what
// was cut. Usage:
//
//   node long-results.mjs EXPECTED --http URL | --stdio COMMAND ARGS...
//
// EXPECTED has `budget`, the `features` to test, and the texts from
// `lib/long-texts.mjs`; `saved` is a file in which one run stores a receipt for the next.
import { readFileSync, writeFileSync } from "node:fs";

import { RESOURCES, TOOL, chars, cutRows, header, page, pieces } from "../../lib/receipts.mjs";
import { peer, transportTo } from "./transports.mjs";

const { Client } = peer("@modelcontextprotocol/sdk/client/index.js");

const [expectedFile, option, ...target] = process.argv.slice(2);
const expected = JSON.parse(readFileSync(expectedFile, "utf8"));
const { budget } = expected;
const log = readFileSync(expected.log.path, "utf8");
const rows = readFileSync(expected.rows.path, "utf8");

/** Results of earlier features that later ones use. */
const results = {};
let client;
let tools;

const features = {
  async listed() {
    check(tools.at(-1).name === TOOL, `the last tool is ${tools.at(-1).name}`);
    check(tools.filter(({ name }) => name.includes(TOOL)).length === 1, "the tool is listed more than once");
    check(tools.every(({ inputSchema }) => !inputSchema.properties?.goal), "a tool has the parameter goal");
    check(tools.every(({ outputSchema }) => !outputSchema), "a tool whose results may be cut has an output schema");
    const { resourceTemplates } = await client.listResourceTemplates();
    const templates = resourceTemplates.map(({ uriTemplate }) => uriTemplate);
    check(templates.at(-1) === RESOURCES, `the last template is ${templates.at(-1)}`);
  },

  /** The endpoint of a single server passes results unchanged. */
  async untouched() {
    check(!tools.some(({ name }) => name.includes(TOOL)), `${TOOL} is listed`);
    const result = await call("read_text_file", { path: expected.log.path });
    same(result.content[0].text, log, "the text");
    check(result._meta?.["narrows/receipt"] === undefined, "it has a receipt");
  },

  async log() {
    const result = await call("fs__read_text_file", { path: expected.log.path });
    fits(result);
    check(result.structuredContent === undefined, "the uncut structured content is present");
    const receipt = receiptOf(result, chars(log));
    const { line, id } = header(result.content[0].text);
    check(id === receipt.prune_id && line.includes(` of ${expected.log.lines} lines `), line);
    results.log = { left: result.content[0].text, id: receipt.prune_id };
  },

  async "log by pages"() {
    const { text, pages, facts } = await recovered({ prune_id: results.log.id });
    same(text, log, "the log");
    check(pages > log.length / budget, `${pages} pages`);
    check(facts.total === expected.log.lines && facts.unit === "lines", JSON.stringify(facts));
  },

  async "log by its markers"() {
    same(await filledIn(results.log.left), log, "the kept lines together with the recovered ones");
  },

  async "log by a search"() {
    const { text, line } = expected.query;
    const phrase = `"${text}"`;
    const alone = await recovered({ prune_id: results.log.id, query: phrase });
    check(alone.facts.matched === 1, `${alone.facts.matched} matches`);
    const lines = log.split("\n");
    same(alone.text.trimEnd(), `${line}│ ${lines[line - 1]}`.trimEnd(), "the line");
    const around = await recovered({ prune_id: results.log.id, query: phrase, context: 3 });
    for (const near of lines.slice(line - 4, line + 3)) check(around.text.includes(near), `${near} is missing`);
    const count = await recovered({ prune_id: results.log.id, query: phrase, count_only: true });
    check(count.text === "" && count.facts.matched === 1, JSON.stringify(count));
  },

  async "log by its ends"() {
    const lines = log.trimEnd().split("\n");
    const ends = await recovered({ prune_id: results.log.id, head: 2, tail: 1 });
    for (const line of [lines[0], lines[1], lines.at(-1)]) check(ends.text.includes(line), `${line} is missing`);
  },

  async "log as a resource"() {
    let uri = `narrows://receipt/${results.log.id}`;
    const parts = [];
    while (uri) {
      const { contents, _meta } = await client.readResource({ uri });
      check(contents.length === 1 && chars(contents[0].text) <= budget, "a part exceeds the budget");
      parts.push(contents[0].text);
      uri = _meta?.["narrows/next"];
    }
    check(parts.length > 5, `${parts.length} parts`);
    same(parts.join(""), log, "the log");
  },

  async "JSON in one line"() {
    const result = await call("fs__read_text_file", { path: expected.rows.path });
    fits(result);
    const { prune_id: id } = receiptOf(result, chars(rows));
    same((await recovered({ prune_id: id })).text, rows, "the JSON");
    check(result.content[0].text.includes(String(expected.rows.count)), "the number of rows is missing");
    const [cut] = cutRows(result.content[0].text);
    check(cut !== undefined, "no marker for cut rows");
    const { text } = await recovered({ prune_id: id, ranges: `rows ${cut.first}-${cut.last}`, include_line_numbers: false });
    const missing = text.trimEnd().split("\n").map((row) => JSON.parse(row));
    check(missing.length === cut.last - cut.first + 1 && missing[0].id === cut.first, `${missing.length} rows were recovered for ${JSON.stringify(cut)}`);
    const found = await recovered({ prune_id: id, where: "id = 20077" });
    check(found.text.includes("the 20077th time"), "the row is not found");
    const counted = await recovered({ prune_id: id, where: "id > 20000", aggregate: "count, min(id)" });
    check(counted.text.includes("20001"), counted.text.slice(0, 300));
  },

  async "JSON in one line as a resource"() {
    const result = await call("fs__read_text_file", { path: expected.rows.path });
    const uri = `narrows://receipt/${receiptOf(result, chars(rows)).prune_id}`;
    const { contents } = await client.readResource({ uri });
    same(contents[0].text, rows, "the JSON");
  },

  async "a model of the Python SDK"() {
    const result = await call("long__order_book", {});
    fits(result);
    check(result.structuredContent === undefined, "the uncut structured content is present");
    const { prune_id: id } = receiptOf(result);
    const { orders, total } = JSON.parse((await recovered({ prune_id: id })).text);
    check(orders.length === total && total > 10_000, `${orders?.length} of ${total} orders`);
  },

  /** The result has one text block per order. */
  async "a list of the Python SDK"() {
    const result = await call("long__order_list", {});
    fits(result);
    const receipt = receiptOf(result);
    check(result.structuredContent === undefined, "the uncut structured content is present");
    const gone = JSON.parse((await recovered({ prune_id: receipt.prune_id })).text).map(({ text }) => JSON.parse(text).id);
    const [note, ...others] = result.content.filter(({ text }) => text.startsWith("⟦narrows: "));
    check(note.text.includes(`${gone.length} items `) && others.length === 0, "there is not exactly one note with the number of items");
    const left = result.content.filter((item) => item !== note).map(({ text }) => Number(/id"?: ?(\d+)/.exec(text)[1]));
    const both = [...left, ...gone].sort((a, b) => a - b);
    check(both.length > 10_000 && new Set(both).size === both.length, `${both.length} orders`);
    const account = JSON.stringify(receipt).length;
    check(account <= budget, `the data for programs has ${account} characters`);
  },

  async pictures() {
    const [{ text: known }] = (await call("long__screenshot_data", {})).content;
    for (const lines of [3, 5_000]) {
      const { content, _meta } = await call("long__screenshot", { lines });
      const [image, text, audio] = content;
      const ends = [image, audio].map(({ data }) => `${data.length}:${data.slice(0, 30)}:${data.slice(-30)}`);
      check(image.type === "image" && image.mimeType === "image/png" && audio.type === "audio", JSON.stringify(content).slice(0, 100));
      same(ends.join(" "), known, "the base64");
      check((_meta?.["narrows/receipt"] !== undefined) === chars(text.text) < lines * 20, "a receipt is missing or unexpected");
      check(chars(text.text) <= budget * 1.5, "the text exceeds the budget");
    }
  },

  async goal() {
    const tool = tools.find(({ name }) => name === "fs__read_text_file");
    const { goal } = tool.inputSchema.properties;
    check(goal?.type === "string" && goal.description, `the argument is ${JSON.stringify(goal)}`);
    check(!tool.inputSchema.required?.includes("goal"), "the argument is required");
    for (const { text, finds } of expected.goals) {
      const result = await call(tool.name, { path: expected.log.path, goal: text });
      check(chars(result.content[0].text) <= budget, "the result exceeds the budget");
      const [{ text: left }] = result.content;
      check(left.includes(finds), `with the goal '${text}', '${finds}' is missing`);
      const [block] = receiptOf(result, chars(log)).blocks;
      check(block.goal === text && block.stages.includes("pruned"), JSON.stringify({ ...block, cuts: [] }));
      same(await filledIn(left), log, "the kept lines together with the recovered ones");
    }
  },

  /** Reads a text before a restart of the gateway; `back` recovers it after the restart. */
  async cut() {
    const result = await call("fs__read_text_file", { path: expected.log.path });
    fits(result);
    writeFileSync(expected.saved, JSON.stringify({ left: result.content[0].text, id: receiptOf(result, chars(log)).prune_id }));
  },

  async back() {
    const { left, id } = JSON.parse(readFileSync(expected.saved, "utf8"));
    same((await recovered({ prune_id: id })).text, log, "the log");
    same(await filledIn(left), log, "the kept lines together with the recovered ones");
  },
};

let passed = 0;
let failed = 0;
try {
  client = new Client({ name: "narrows-long-results", version: "1.0.0" });
  await client.connect(
    transportTo(option === "--http" ? { type: "http", url: target[0] } : { command: target[0], args: target.slice(1) }),
  );
  // The SDK checks structured content against the schemas it has seen.
  ({ tools } = await client.listTools());
  for (const name of expected.features) {
    try {
      await features[name]();
      passed += 1;
      console.log(`ok ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL ${name}: ${error.message.slice(0, 1000)}`);
    }
  }
  await client.close();
} catch (error) {
  failed += 1;
  console.log(`FAIL connect: ${error.message}`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

async function call(name, given) {
  const result = await client.callTool({ name, arguments: given });
  check(!result.isError, `${name} failed: ${JSON.stringify(result.content).slice(0, 300)}`);
  return result;
}

/** Checks that all texts together fit the budget and use at least half of it. */
function fits({ content }) {
  const size = content.reduce((sum, { text = "" }) => sum + chars(text), 0);
  check(size <= budget && size > budget / 2, `${size} characters with a budget of ${budget}`);
}

/** Checks and returns the receipt of a result. */
function receiptOf(result, before) {
  const receipt = result._meta?.["narrows/receipt"];
  check(receipt?.prune_id?.startsWith("prn_"), `the receipt is ${JSON.stringify(receipt)?.slice(0, 300)}`);
  check(before === undefined || receipt.chars.before === before, `${before} characters: ${JSON.stringify(receipt.chars)}`);
  const size = result.content.reduce((sum, { text = "" }) => sum + chars(text), 0);
  check(receipt.chars.after === size, `${size} characters: ${JSON.stringify(receipt.chars)}`);
  return receipt;
}

/** Recovers a text page by page. */
async function recovered(asked) {
  let text = "";
  for (let pages = 1, ask = asked; ; pages++) {
    const result = await call(TOOL, ask);
    check(chars(result.content[0].text) <= budget, `page ${pages} has ${chars(result.content[0].text)} characters`);
    const part = page(result);
    text += part.text;
    if (part.facts.next_cursor === undefined) return { text, pages, facts: part.facts };
    ask = { prune_id: asked.prune_id, cursor: part.facts.next_cursor };
  }
}

/** Replaces each marker in a digest with the recovered lines. */
async function filledIn(left) {
  const filled = [];
  for (const { line, ask } of pieces(left)) {
    filled.push(ask ? (await recovered(ask)).text.replace(/\n$/, "") : line);
  }
  return filled.join("\n");
}

function check(holds, why) {
  if (!holds) throw new Error(why);
}

function same(found, wanted, what) {
  if (typeof found !== "string") [found, wanted] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (found === wanted) return;
  let at = 0;
  while (found[at] === wanted[at]) at += 1;
  const around = (text) => JSON.stringify(text.slice(Math.max(0, at - 40), at + 40));
  throw new Error(`${what}: at ${at}, ${around(found)} instead of ${around(wanted)}`);
}
