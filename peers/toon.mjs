// Compares `narrows toon` with the reference implementation on the fixtures and on
// random values: both must write the same text and read the text of the other.
import { readFileSync, readdirSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { NARROWS_PEER_NPM: npm, NARROWS_BIN: narrows } = process.env;
const root = join(import.meta.dirname, "..");
const manifest = join(npm, "@toon-format/toon/package.json");
const { exports } = JSON.parse(readFileSync(manifest, "utf8"));
const entry = exports["."].import ?? exports["."];
const reference = await import(pathToFileURL(join(npm, "@toon-format/toon", entry.default ?? entry)));

// The number of random values; each takes two processes.
const RANDOM = 200;
let passed = 0;
let failed = 0;

for (const [name, value] of [...fixtures(), ...random()]) check(name, value);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);

function check(name, value) {
  try {
    const written = toon(JSON.stringify(value));
    const theirs = reference.encode(value);
    if (written !== theirs) throw new Error(`narrows writes:\n${written.slice(0, 500)}\nbut the reference writes:\n${theirs.slice(0, 500)}`);
    if (!isDeepStrictEqual(reference.decode(written), value)) throw new Error("the reference reads another value");
    if (!isDeepStrictEqual(JSON.parse(toon(theirs, "--decode")), value)) throw new Error("narrows reads another value");
    passed += 1;
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}: ${error.message}`);
  }
}

function toon(input, ...options) {
  const { status, stdout, stderr } = spawnSync(narrows, ["toon", ...options], { input, encoding: "utf8", maxBuffer: 1 << 26 });
  if (status !== 0) throw new Error(stderr);
  return stdout.replace(/\n$/, "");
}

/** Yields the JSON values in the result fixtures, and the catalogues. */
function* fixtures() {
  for (const folder of ["results", "catalogues"]) {
    for (const file of readdirSync(join(root, "fixtures", folder))) {
      const content = JSON.parse(readFileSync(join(root, "fixtures", folder, file), "utf8"));
      const texts = folder === "results" ? content.result.content.map(({ text }) => text) : [JSON.stringify(content.tools)];
      for (const [at, text] of texts.entries()) {
        const value = parsed(text);
        if (typeof value === "object" && value !== null) yield [`${folder}/${file} ${at}`, asDoubles(value)];
      }
    }
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Removes the sign of zeros, as JSON.stringify does. */
function asDoubles(value) {
  return JSON.parse(JSON.stringify(value));
}

/** Yields values of every form, the same in every run. */
function* random() {
  let state = 1n;
  const next = (below) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number((state >> 33n) % BigInt(below));
  };
  const pick = (list) => list[next(list.length)];
  const keys = ["id", "name", "two words", "a.b", "x-y", "1st", "é", "", "true", "a:b", "[2]", "{c}", "#d", '"', "\t"];
  const texts = ["", " ", "plain", "a,b", "a:b", "true", "null", "42", "-1.5e3", "05", "- x", "#", "[3]: a", "{a}", '"q"', "\\", "\n", "潮🌊", " pad "];
  const leaf = () => pick([null, true, false, next(1000), -1 - next(1000), next(1000) / 8, 1e21, 1e-7, pick(texts), pick(texts)]);
  const object = (depth) => Object.fromEntries(Array.from({ length: next(5) }, () => [pick(keys), made(depth - 1)]));
  const table = (depth) => {
    const fields = [...new Set(Array.from({ length: 1 + next(4) }, () => pick(keys)))];
    const cell = () => (depth > 0 && next(6) === 0 ? made(depth - 1) : leaf());
    return Array.from({ length: 1 + next(4) }, () => Object.fromEntries(fields.map((field) => [field, cell()])));
  };
  const made = (depth) => {
    if (depth <= 0) return leaf();
    switch (next(5)) {
      case 0:
        return Array.from({ length: next(5) }, () => made(depth - 1));
      case 1:
        return table(depth);
      case 2:
        return Object.fromEntries(table(depth).map((row, at) => [pick(keys) + at, row]));
      default:
        return object(depth);
    }
  };
  for (let n = 0; n < RANDOM; n++) yield [`random ${n}`, made(4)];
}
