// Parses the markers of a cut result as a reader does.

/** The names under which the gateway lists its own tool and its resources. */
export const TOOL = "recover_text";
export const RESOURCES = "narrows://receipt/{id}{?start,end}";

const RECEIPT = /prune_id(?:=|": ")(prn_\w+)/;
const EXEC = /exec\("narrows", "recover_text", /;

/** Parses the first line of a digest: the receipt, and whether `exec` is needed to recover it. */
export function header(text) {
  const [line] = text.split("\n", 1);
  const id = RECEIPT.exec(line)?.[1];
  if (!line.startsWith("⟦narrows: ") || !line.endsWith("⟧") || id === undefined) throw new Error(`no header: ${line.slice(0, 300)}`);
  return { line, id, exec: EXEC.test(line) };
}

/**
 * Returns the original lines of a digest, and for each cut the arguments that recover
 * it. Lines about the text are left out.
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

/** Returns the ranges of cut rows in a digest of JSON, in order. */
export function cutRows(text) {
  return [...text.matchAll(/⟦cut rows (\d+)-(\d+)⟧/g)].map(([, first, last]) => ({ first: Number(first), last: Number(last) }));
}

/** Returns a page of `recover_text`: the text without its first line, and the data for programs. */
export function page({ content, structuredContent, _meta }) {
  if (structuredContent !== undefined) throw new Error("a recovered text has structured content");
  const [{ text }] = content;
  const end = text.indexOf("\n");
  return { text: end < 0 ? "" : text.slice(end + 1), facts: _meta["narrows/selection"] };
}

/** Counts Unicode scalar values, as budgets do. */
export function chars(text) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
