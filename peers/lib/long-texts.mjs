// Texts that are far too long for a model, with queries and goals for them. All tests
// of result budgets use the same texts.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const LINES = 60_000;
const ROWS = 40_000;

/** The only line that answers a goal. */
const NEEDLE = "retry budget exhausted for card 4711";
const NEEDLE_AT = 31_234;

/** Writes a log and JSON on a single line, 5 MB each, and returns facts about them. */
export function writeLongTexts(folder) {
  mkdirSync(folder);
  const log = join(folder, "strait.log");
  const rows = join(folder, "rows.json");
  writeFileSync(log, Array.from({ length: LINES }, (_, at) => `${line(at + 1)}\n`).join(""));
  writeFileSync(rows, JSON.stringify({ total: ROWS, rows: Array.from({ length: ROWS }, (_, at) => row(at + 1)) }));
  return {
    log: { path: log, lines: LINES },
    rows: { path: rows, count: ROWS },
    // A text that occurs in one line of the log, and the number of this line.
    query: { text: "σκύλλα-43210 ", line: 43_210 },
    // The line that is kept for one goal is cut for the other.
    goals: [
      { text: "why did the payment with card 4711 stop to retry", finds: NEEDLE },
      { text: "requests to σκύλλα-27182", finds: "σκύλλα-27182 " },
    ],
  };
}

function line(at) {
  const time = new Date(Date.UTC(2026, 0, 2) + 1_000 * at).toISOString();
  if (at === NEEDLE_AT) return `${time} INFO payments: ${NEEDLE}`;
  // Similar lines, which do not answer the goal.
  if (at % 40 === 0) return `${time} INFO payments: Zahlung ${at} über ${at % 89} € accepted`;
  return `${time} INFO http: GET /häfen/σκύλλα-${at} 200 in ${at % 97} ms, ${(at * 7919) % 100_003} bytes 🌊`;
}

function row(at) {
  const ship = ["Argo", "Pequod", "Σκύλλα", "Черепаха"][at % 4];
  return { id: at, ship, berth: { quay: `Kai ${at % 31}`, free: at % 2 === 0 }, note: `passes the strait for the ${at}th time` };
}
