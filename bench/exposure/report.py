"""The tables of what `run` measured."""

# Faults that are told one by one.
TOLD = 20


def tables(figures):
    """Prints everything; true if anything is wrong."""
    print(f"{figures['gateway']}; load average: {figures['load_average']:.1f}")
    print(f"{figures['catalogues']} catalogues, {figures['servers']} servers, {figures['tools']:,} tools\n")
    print("### What a model reads at the start\n")
    head("servers", "exposure", "tools listed", "shortened to", "characters", "tokens", "of them instructions", "of raw")
    for row in figures["exposures"]:
        counts = [f"{row[key]:,}" for key in ("characters", "tokens", "instructions")]
        line(row["set"], row["way"], f"{row['tools']:,}", row["shortened_to"] or "–", *counts, percent(row["share"], 2))
    print("\n### How well search finds\n")
    head("requests", "number", "top-1", "top-5", "top-50", "MRR")
    for row in figures["quality"]:
        line(row["requests"], row["count"], *(percent(row[key], 1) for key in ("top1", "top5", "top50")), f"{row['mrr']:.3f}")
    spent = figures["times"]
    print(f"\nA call of search_tools over HTTP: median {spent['median_ms']:.1f} ms, p99 {spent['p99_ms']:.1f} ms;", end=" ")
    print(f"the first, which makes the index, {spent['first_ms']:.1f} ms.\n")
    print("### What answers cost\n")
    answers(figures)
    if figures["session"]:
        example(figures["session"])
    return verdict(figures)


def answers(figures):
    said, pages, (few, many) = figures["answers"], figures["inspect"], figures["limits"]
    print(f"- search_tools, limit {few}: {said['mean_few']:,.0f} tokens on average (median {said['median_few']:,.0f}, most {said['most_few']:,}).")
    print(f"- search_tools, limit {many}: {said['mean_many']:,.0f} on average, most {said['most_many']:,}; {said['cut_many']} answers had no room for all.")
    print(f"- The first {few} differ between the limits in {said['reordered']} requests.")
    print(f"- The longest text has {said['most_characters']:,} characters, of {figures['budget']:,}.")
    each = " + ".join(f"{count:,}" for count in pages["pages"])
    number = "1 page" if len(pages["pages"]) == 1 else f"{len(pages['pages'])} pages"
    print(f"- inspect of {pages['server']}, {pages['tools']} tools: {number}, {each} tokens; raw {pages['raw']:,}.")


def example(said):
    print(f"\n### A session: \"{said['query']}\", then {said['tool']}\n")
    head("step", "search, tokens", "all listed raw, tokens")
    line("start", f"{said['start']:,}", f"{said['raw_start']:,}")
    line("search_tools and its answer", f"{said['search']:,}", "–")
    line("the call and its answer", f"{said['exec']:,}", f"{said['raw_call']:,}")
    ours, raw = said["start"] + said["search"] + said["exec"], said["raw_start"] + said["raw_call"]
    line("all", f"{ours:,} ({percent(ours / raw, 1)})", f"{raw:,}")


def verdict(figures):
    print("\n### Goals\n")
    head("", "figure", "goal", "")
    for row in figures["goals"]:
        met = ("met" if row["met"] else "missed") + ("" if row["counts"] else ", not counted")
        line(row["goal"], percent(row["figure"], 2), f"{row['bound']} {percent(row['value'], 0)}", met)
    print(f"\nAnswers of the gateway's own tools: {len(figures['faults'])} faults.")
    for what in figures["faults"][:TOLD]:
        print(f"- {what}")
    return bool(figures["faults"]) or any(row["counts"] and not row["met"] for row in figures["goals"])


def head(*cells):
    line(*cells)
    print("|" + "---|" * len(cells))


def line(*cells):
    print(f"| {' | '.join(map(str, cells))} |")


def percent(share, digits):
    return f"{100 * share:.{digits}f} %"
