"""The tokens that a model reads for the tasks of `bench/agent`."""

from svg import Drawing

LABELS = {
    ("raw", "whole"): ("Without Narrows", "every result read whole"),
    ("all", "digest"): ("Narrows, all tools", "digest, then recover_text"),
    ("lazy", "find"): ("Narrows, lazy", "calls with find"),
    ("search", "find"): ("Narrows, search", "calls with find"),
}
CALLS = 228
# Where the bars of the two columns start, and the length of the longest.
RESULTS, RESULTS_WIDTH = 256, 180
LIST, LIST_WIDTH = 566, 84
ROW = 46
SCALE_MARK = 200_000


def draw(data):
    rows = data["rows"]
    tasks = rows[0]["tasks"]
    if any(row["solved"] != tasks for row in rows):
        raise ValueError("the title says that all tasks were solved in each row")
    base = rows[0]
    description = "; ".join(
        f"{', '.join(LABELS[row['endpoint'], row['strategy']])}: {row['tokens']:,} tokens of results in {row['calls']} calls, "
        f"{row['list_tokens']:,} tokens of tool list and instructions"
        for row in rows
    )
    picture = Drawing(800, 124 + ROW * len(rows) + 74, "Tokens that a model reads", description)
    top = picture.heading(
        24,
        f"Tokens read to answer {tasks} questions",
        f"Scripts find all {tasks} answers in each row. Six MCP servers with {base['tools']} tools, texts of up to 5 MB.",
    )
    top += 28
    picture.text(CALLS, top, "Calls", "ink head", "end")
    picture.text(RESULTS, top, "Tokens of their results", "ink head")
    picture.text(LIST, top, "Tool list and instructions", "ink head")
    first = top + 14
    bottom = first + ROW * len(rows)
    scale = RESULTS_WIDTH / base["tokens"]
    mark = RESULTS + SCALE_MARK * scale
    for index, row in enumerate(rows):
        draw_row(picture, row, base, first + ROW * index, scale)
    picture.line(mark, first + ROW - 4, mark, bottom, "mark dashed")
    picture.text(mark + 6, bottom + 2, "200,000 tokens, for scale", "muted small")
    notes = bottom + 36
    computed = base["computed_by_reader"]
    picture.text(
        24,
        notes,
        f"Without Narrows, {computed} of the answers are figures that the reader computes from the text. Results include errors and tool search.",
        "muted small",
    )
    picture.text(24, notes + 17, f"bench/agent, seed {data['seed']}, {data['gateway']}. Tokens by the {data['vocabulary']} vocabulary.", "muted small")
    return picture.render()


def draw_row(picture, row, base, y, scale):
    without = row is base
    name, how = LABELS[row["endpoint"], row["strategy"]]
    bar = "grey" if without else "accent"
    centre = y + ROW / 2 - 2
    picture.text(24, centre - 3, name, "ink strong")
    picture.text(24, centre + 13, how, "muted small")
    picture.text(CALLS, centre + 5, f"{row['calls']}", "ink", "end")
    # A bar is at least as wide as a pixel.
    width = max(row["tokens"] * scale, 1)
    picture.rect(RESULTS, centre - 9, width, 18, f"{bar} crisp")
    spans = [(f"{row['tokens']:,}", "ink strong")]
    if not without:
        spans.append((f"\u2003{base['tokens'] / row['tokens']:.0f}× fewer", "muted"))
    picture.spans(RESULTS + width + 10, centre + 5, spans)
    width = row["list_tokens"] / base["list_tokens"] * LIST_WIDTH
    picture.rect(LIST, centre - 9, width, 18, f"{bar} crisp")
    spans = [(f"{row['list_tokens']:,}", "ink strong"), (f"\u2002{row['tools']} tools", "muted small")]
    picture.spans(LIST + width + 8, centre + 5, spans)
