// What is said in a result of which something was cut, as a reader sees it.

/** How the gateway lists its own tool and its resources. */
export const TOOL = "recover_text";
export const RESOURCES = "narrows://receipt/{id}{?start,end}";

const RECEIPT = /prune_id(?:=|": ")(prn_\w+)/;
const EXEC = /exec\("narrows", "recover_text", /;

/** What the first line of a digest says: the receipt, and how it is asked for. */
export function header(text) {
  const [line] = text.split("\n", 1);
  const id = RECEIPT.exec(line)?.[1];
  if (!line.startsWith("⟦narrows: ") || !line.endsWith("⟧") || id === undefined) throw new Error(`no header: ${line.slice(0, 300)}`);
  return { line, id, exec: EXEC.test(line) };
}

/**
 * The lines of a digest: original ones, and for each cut the arguments that
 * get it back. Lines about the text are left out.
 */
export function pieces(text) {
  const { id } = header(text);
  const found = [];
  for (const line of text.split("\n")) {
    const cut = /^⟦cut (\d+-\d+)⟧\r?$/.exec(line);
    if (cut) found.push({ ask: { prune_id: id, ranges: cut[1], include_line_numbers: false } });
    else if (!line.startsWith("⟦")) found.push({ line });
  }
  return found;
}

/** The rows that a digest of JSON says are missing, in its order. */
export function cutRows(text) {
  return [...text.matchAll(/⟦cut rows (\d+)-(\d+)⟧/g)].map(([, first, last]) => ({ first: Number(first), last: Number(last) }));
}

/** A page of the tool: the text after the line about it, and what programs read. */
export function page({ content, structuredContent, _meta }) {
  if (structuredContent !== undefined) throw new Error("a recovered text has structured content");
  const [{ text }] = content;
  const end = text.indexOf("\n");
  return { text: end < 0 ? "" : text.slice(end + 1), facts: _meta["narrows/selection"] };
}

/** Unicode scalar values, as budgets count. */
export function chars(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
