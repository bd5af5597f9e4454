// The configurations of the exposure steps, and the lists that their clients must
// see, computed from the lists of the servers.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { chars } from "./receipts.mjs";

/** Enough for several pages of cut text, which can still be recovered quickly. */
const LINES = 5_000;

/** The rule of the preset that forbids destructive tools. */
export const RULE = "!@destructive";

/** Writes the files that clients read, and the preset files. */
export function writeFiles(folder) {
  mkdirSync(folder);
  const strait = { path: join(folder, "strait.txt"), text: "Between Scylla and Charybdis\n" };
  // The last line has no line end, and some lines end with CRLF.
  const lines = Array.from({ length: LINES }, (_, at) => line(at + 1));
  const long = { path: join(folder, "long.log"), text: lines.join("").trimEnd() };
  for (const { path, text } of [strait, long]) writeFileSync(path, text);

  const presets = join(folder, "presets");
  mkdirSync(presets);
  const tools = [
    { serverId: "files", toolName: "read_text_file", enabled: true },
    { serverId: "files", toolName: "write_file", enabled: false },
  ];
  const reader = { id: "reader", name: "Reader", tools, prompts: null, resources: [] };
  writeFileSync(join(presets, "preset_reader.json"), JSON.stringify(reader));
  writeFileSync(join(presets, "preset_broken.json"), '{ "id": "broken", "tools": [');
  return { strait, long, written: join(folder, "written.txt"), presets };
}

/** Returns a configuration with every kind of endpoint. */
export function exposed(mcpServers, presets) {
  return {
    initialize_wait_s: 60,
    list_wait_s: 60,
    // The preset of a server applies only to the endpoints of this server.
    mcpServers: { ...mcpServers, files: { ...mcpServers.files, preset: "safe" } },
    presets: { safe: { tools: ["*/*", RULE] } },
    preset_dir: presets,
    endpoints: {
      json: { expose: "lazy", encoding: "json", schema_compression_enabled: false },
      search: { expose: "search", pin: ["ev/echo"] },
      safe: { preset: "safe" },
      "safe-lazy": { preset: "safe", expose: "lazy" },
      "safe-search": { preset: "safe", expose: "search" },
      reader: { preset: "reader" },
      broken: { preset: "broken" },
    },
  };
}

/** Returns a configuration with a preset on the default endpoint. */
export function guarded(files) {
  return {
    initialize_wait_s: 60,
    list_wait_s: 60,
    mcpServers: { files },
    presets: { safe: { tools: ["*/*", RULE] } },
    endpoints: { default: { preset: "safe" } },
  };
}

/**
 * Returns the description of servers on a lazy endpoint. A catalogue maps servers to
 * `{ instructions, tools }`.
 */
export function description(catalogue) {
  const lines = ["Inspect available MCP tools and their schemas.", "", "Available tools:"];
  for (const [id, { instructions, tools }] of Object.entries(catalogue).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const about = shortened(instructions ?? "", 300);
    lines.push(`  Server: ${id}${about && ` - ${about}`}`);
    const isDeprecated = ({ description = "" }) => /deprecated/i.test(description.trimStart().split(/\r?\n/)[0].slice(0, 200));
    for (const tool of [...tools.filter((tool) => !isDeprecated(tool)), ...tools.filter(isDeprecated)]) {
      const text = shortened((tool.description ?? "").trimStart().split(/\r?\n/)[0], 80);
      lines.push(`    - ${signature(tool)}${text && `: ${text}`}`);
    }
  }
  lines.push("  Server: narrows", "    - recover_text(prune_id, query?, where?, aggregate?, ranges?, …): Look into a cut result");
  return lines.join("\n");
}

/** Returns a tool with its parameters, required ones first. */
function signature({ name, inputSchema: { properties = {}, required = [] } }) {
  const all = Object.entries(properties);
  const first = all.filter(([name]) => required.includes(name)).map(([name]) => name);
  const short = (value) => ["number", "boolean", "string"].includes(typeof value) && JSON.stringify(value).length <= 8;
  const last = all
    .filter(([name]) => !required.includes(name))
    .map(([name, { default: usual }]) => `${name}?${short(usual) ? `=${JSON.stringify(usual)}` : ""}`);
  const shown = [...first, ...last].slice(0, Math.max(6, Math.min(first.length, 12)));
  return `${name}(${[...shown, ...(shown.length < all.length ? ["…"] : [])].join(", ")})`;
}

/** Removes destructive tools. Tools without annotations count as destructive. */
export function safe(catalogue) {
  const harmless = ({ annotations: { readOnlyHint = false, destructiveHint = true } = {} }) => readOnlyHint || !destructiveHint;
  const left = Object.entries(catalogue).map(([id, { instructions, tools }]) => {
    return [id, { instructions, tools: tools.filter(harmless) }];
  });
  return Object.fromEntries(left.filter(([, { tools }]) => tools.length > 0));
}

/** Shortens a text at the end of a word, unless this would remove half of it. */
function shortened(text, most) {
  const folded = text.trim().split(/\s+/).join(" ");
  if (chars(folded) <= most) return folded;
  const letters = [...folded];
  let kept = letters.slice(0, most - 3).join("");
  const word = kept.lastIndexOf(" ");
  if (letters[most - 3] !== " " && word >= 0 && chars(kept.slice(0, word)) >= Math.floor((most - 3) / 2)) {
    kept = kept.slice(0, word);
  }
  return `${kept.trimEnd()}...`;
}

function line(at) {
  const end = at % 100 === 0 ? "\r\n" : "\n";
  return `${at} GET /häfen/σκύλλα-${at} 200 in ${at % 97} ms, ${(at * 7919) % 100_003} bytes 🌊${end}`;
}
