// Runs the features of a driver one after the other and prints the results.

/** Runs the named features, prints a line for each and the counts, and returns the exit code. */
export async function tryAll(features, names = Object.keys(features)) {
  let passed = 0;
  let failed = 0;
  for (const name of names) {
    try {
      await features[name]();
      passed += 1;
      console.log(`ok ${name}`);
    } catch (error) {
      failed += 1;
      console.log(`FAIL ${name}: ${error.message.slice(0, 1000)}`);
    }
  }
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

export function check(holds, why) {
  if (!holds) throw new Error(why);
}

/** Compares texts or JSON values, ignoring the order of members. */
export function same(found, wanted, what) {
  if (typeof found !== "string" || typeof wanted !== "string") [found, wanted] = [sortedJson(found), sortedJson(wanted)];
  if (found === wanted) return;
  let at = 0;
  while (at < found.length && found[at] === wanted[at]) at += 1;
  const around = (text) => JSON.stringify(text.slice(Math.max(0, at - 40), at + 60));
  throw new Error(`${what}: at ${at}, ${around(found)} instead of ${around(wanted)}`);
}

function sortedJson(value) {
  const sorted = (_, inner) =>
    inner && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner;
  return JSON.stringify(value, sorted) ?? "undefined";
}
