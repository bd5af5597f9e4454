"""Tokens of long results before and after the default budget, from the output of `bench/saves`."""

import math

from svg import Drawing

BUDGET = 16_000
LABEL, PLOT, PLOT_WIDTH = 24, 214, 338
BEFORE, AFTER, SAVED = 634, 708, 776
ROW = 19
TICKS = [100, 1_000, 10_000, 100_000, 1_000_000]
LEAST, MOST = 40, 2_400_000
# Names of cases that do not read well as they are.
NAMES = {
    "github_list_issues": "GitHub issues",
    "k8s_pods": "Kubernetes pods",
    "metrics_timeseries": "time series",
    "multi_block": "several text blocks",
    "sql_rows": "SQL rows",
    "unicode_log": "log with Unicode",
}


def draw(data):
    rows = [row for row in data["rows"] if row["budget"] == BUDGET and row["goal"] is None and row["chars"] > BUDGET]
    rows.sort(key=lambda row: -row["tokens"])
    before, after = sum(row["tokens"] for row in rows), sum(row["tokens_after"] for row in rows)
    receipts = sum(row["receipts"] for row in data["rows"])
    picture = Drawing(800, 138 + ROW * (len(rows) + 1) + 82, "Tokens of long results before and after", describe(rows))
    top = picture.heading(
        LABEL,
        "Tokens of long results, before and after the budget",
        f"{len(rows)} results of tools that are over the default budget of 16,000 characters, without a goal.",
        "Each text that was cut was read back with recover_text and equals the original, byte for byte.",
    )
    heads = top + 24
    for x, text in ((BEFORE, "before"), (AFTER, "after"), (SAVED, "saved")):
        picture.text(x, heads, text, "ink head", "end")
    picture.dot(PLOT + 4, heads - 4, 4, "accent")
    picture.text(PLOT + 14, heads, "after", "ink head")
    picture.dot(PLOT + 68, heads - 4, 4, "grey")
    picture.text(PLOT + 78, heads, "before, tokens on a log scale", "ink head")
    first = heads + 12
    bottom = first + ROW * len(rows) + 4
    for tick in TICKS:
        picture.line(place(tick), first, place(tick), bottom)
        picture.text(place(tick), bottom + 16, f"{tick:,}" if tick < 1_000_000 else "1 million", "muted small", "middle")
    for index, row in enumerate(rows):
        draw_row(picture, row, first + ROW * index + ROW / 2)
    total = bottom + 44
    picture.line(LABEL, total - 20, 776, total - 20)
    picture.text(LABEL, total, "All together", "ink strong")
    for x, text in ((BEFORE, f"{before:,}"), (AFTER, f"{after:,}"), (SAVED, percent(before, after))):
        picture.text(x, total, text, "ink strong", "end")
    notes = total + 30
    rule = "A result of up to 1.5 times its budget passes whole. Source code has a budget of 48,000 characters."
    source = f"bench/saves, {data['gateway']}; {receipts} texts read back in all runs. Tokens by the o200k vocabulary."
    picture.text(LABEL, notes, rule, "muted small")
    picture.text(LABEL, notes + 17, source, "muted small")
    return picture.render()


def draw_row(picture, row, y):
    start, end = place(row["tokens_after"]), place(row["tokens"])
    kept = row["tokens"] == row["tokens_after"]
    picture.text(LABEL, y + 4, name(row["case"]), "muted small" if kept else "ink small")
    if not kept:
        picture.line(start, y, end, y, "join thick")
        picture.dot(end, y, 4, "grey")
    picture.dot(start, y, 4, "grey" if kept else "accent")
    picture.text(BEFORE, y + 4, f"{row['tokens']:,}", "muted small", "end")
    picture.text(AFTER, y + 4, "whole" if kept else f"{row['tokens_after']:,}", "muted small" if kept else "ink small", "end")
    if not kept:
        picture.text(SAVED, y + 4, percent(row["tokens"], row["tokens_after"]), "ink small", "end")


def place(tokens):
    return PLOT + PLOT_WIDTH * math.log(tokens / LEAST) / math.log(MOST / LEAST)


def percent(before, after):
    saved = 100 * (1 - after / before)
    return f"{math.floor(saved * 10) / 10:.1f} %"


def name(case):
    return NAMES.get(case) or case.replace("`", "").replace("_json", ", JSON").replace("_text", ", text").replace("_", " ")


def describe(rows):
    return "; ".join(f"{name(row['case'])}: {row['tokens']:,} to {row['tokens_after']:,} tokens" for row in rows)
