"""Prints the results of `run` as tables."""

# The number of faults that are printed.
SHOWN_FAULTS = 20


def tables(figures):
    """Prints all tables; returns true if a goal is missed or there are faults."""
    print(f"{figures['gateway']}; load average: {figures['load_average']:.1f}")
    print(f"{figures['catalogues']} catalogues, {figures['servers']} servers, {figures['tools']:,} tools\n")
    print("### Start of a session\n")
    head("servers", "exposure", "tools listed", "shortened to", "characters", "tokens", "of them instructions", "of raw")
    for row in figures["exposures"]:
        counts = [f"{row[key]:,}" for key in ("characters", "tokens", "instructions")]
        line(row["set"], row["way"], f"{row['tools']:,}", row["shortened_to"] or "–", *counts, percent(row["share"], 2))
    print("\n### Search quality\n")
    head("requests", "number", "top-1", "top-5", "top-50", "MRR")
    for row in figures["quality"]:
        line(row["requests"], row["count"], *(percent(row[key], 1) for key in ("top1", "top5", "top50")), f"{row['mrr']:.3f}")
    spent = figures["times"]
    print(f"\nA call of search_tools over HTTP: median {spent['median_ms']:.1f} ms, p99 {spent['p99_ms']:.1f} ms;", end=" ")
    print(f"the first call, which builds the index, {spent['first_ms']:.1f} ms.\n")
    print("### Size of answers\n")
    answers(figures)
    if figures["session"]:
        example(figures["session"])
    return verdict(figures)


def answers(figures):
    totals, pages, (few, many) = figures["answers"], figures["inspect"], figures["limits"]
    print(f"- search_tools, limit {few}: {totals['mean_few']:,.0f} tokens on average (median {totals['median_few']:,.0f}, most {totals['most_few']:,}).")
    print(f"- search_tools, limit {many}: {totals['mean_many']:,.0f} on average, most {totals['most_many']:,}; {totals['cut_many']} answers were too long for all tools.")
    print(f"- The first {few} tools differ between the limits for {totals['reordered']} requests.")
    print(f"- The longest text has {totals['most_characters']:,} characters, of at most {figures['budget']:,}.")
    each = " + ".join(f"{count:,}" for count in pages["pages"])
    number = "1 page" if len(pages["pages"]) == 1 else f"{len(pages['pages'])} pages"
    print(f"- inspect of {pages['server']}, {pages['tools']} tools: {number}, {each} tokens; raw {pages['raw']:,}.")


def example(session):
    print(f"\n### A session: \"{session['query']}\", then {session['tool']}\n")
    head("step", "search, tokens", "all tools listed, raw, tokens")
    line("start", f"{session['start']:,}", f"{session['raw_start']:,}")
    line("search_tools and its result", f"{session['search']:,}", "–")
    line("the call and its result", f"{session['exec']:,}", f"{session['raw_call']:,}")
    ours, raw = session["start"] + session["search"] + session["exec"], session["raw_start"] + session["raw_call"]
    line("total", f"{ours:,} ({percent(ours / raw, 1)})", f"{raw:,}")


def verdict(figures):
    print("\n### Goals\n")
    head("", "figure", "goal", "")
    for row in figures["goals"]:
        met = ("met" if row["met"] else "missed") + ("" if row["counts"] else ", not counted")
        line(row["goal"], percent(row["figure"], 2), f"{row['bound']} {percent(row['value'], 0)}", met)
    print(f"\nAnswers of the gateway's own tools: {len(figures['faults'])} faults.")
    for what in figures["faults"][:SHOWN_FAULTS]:
        print(f"- {what}")
    return bool(figures["faults"]) or any(row["counts"] and not row["met"] for row in figures["goals"])


def head(*cells):
    line(*cells)
    print("|" + "---|" * len(cells))


def line(*cells):
    print(f"| {' | '.join(map(str, cells))} |")


def percent(share, digits):
    return f"{100 * share:.{digits}f} %"
