// What is said in a result of which something was cut, as a reader sees it.

/** How the gateway lists its own tool and its resources. */
export const TOOL = "recover_text";
export const RESOURCES = "narrows://receipt/{id}{?start,end}";

const CUT = /(lines|chars|rows|keys) (\d+)-(\d+) of (\d+)(?: of \S+)? cut \((\d+) (?:line|char|row|key)s?, ~[\d.]+[kM]? tokens\)/;
const WAY = /(exec server_name=narrows tool_name=)?recover_text(?:, in arguments)? prune_id=(prn_\w+) (?:ranges (\d+)-(\d+)|start_char=(\d+) end_char=(\d+))/;
const MARKER = new RegExp(`⟦narrows: ${CUT.source}; get them with ${WAY.source}⟧`, "g");

/**
 * The markers of a text: where they stand, what they say is missing, and the
 * arguments that they say get it back, by themselves or through `exec`.
 */
export function markers(text) {
  const found = [...text.matchAll(MARKER)].map((match) => {
    const [unit, first, last, total, count, exec, id, ...places] = match.slice(1);
    const [start_line, end_line, start_char, end_char] = places.map((place) => place && Number(place));
    const ask = start_line ? { prune_id: id, ranges: [{ start_line, end_line }] } : { prune_id: id, start_char, end_char };
    const numbers = { first: Number(first), last: Number(last), total: Number(total), count: Number(count) };
    return { at: match.index, length: match[0].length, unit, ...numbers, id, ask, exec: exec !== undefined };
  });
  const signs = text.split("⟦narrows:").length - 1;
  if (signs !== found.length) throw new Error(`${signs} markers, of which ${found.length} can be read`);
  return found;
}

/** Unicode scalar values, as budgets count. */
export function chars(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
