"""Processor time per call, from the output of `bench/run`."""

import statistics

from svg import Drawing

MEASURES = {"echo": "result of 100 bytes", "blob": "result of 100 kB", "list": "tools/list, 200 tools"}
NAMES = {"http": "Streamable HTTP", "sse": "HTTP+SSE", "ws": "WebSocket", "stdio": "stdio", "rpc": "JSON-RPC"}
LABEL, PLOT, PLOT_WIDTH = 24, 258, 180
LEAST, RATIO, CALLS, MEDIAN, SLOW = 492, 562, 642, 708, 776
ROW, GAP = 24, 36


def draw(data):
    groups = {}
    for row in data["rows"]:
        groups.setdefault(row["measure"], {}).setdefault(row["pair"], []).append(row)
    height = 152 + sum(GAP + ROW * len(pairs) for pairs in groups.values()) + 50
    picture = Drawing(800, height, "Processor time per call", describe(groups))
    top = picture.heading(
        LABEL,
        "Processor time per call",
        "Narrows between a fast echo server and a closed-loop client, beside a bare hyper reverse proxy that",
        "reads no message. Dots are rounds, bars end at the least of them. Ratios are medians over the rounds.",
    )
    most = axis_end(max(cost(row) for row in data["rows"]))
    scale = PLOT_WIDTH / most
    heads = top + 24
    picture.text(PLOT, heads, "CPU µs per call", "ink head")
    for x, text in ((LEAST, "least"), (RATIO, "÷ proxy"), (CALLS, "calls/s"), (MEDIAN, "p50 µs"), (SLOW, "p99 µs")):
        picture.text(x, heads, text, "ink head", "end")
    first = y = heads + 10
    rows = []
    for measure, pairs in groups.items():
        rows.append((y + 22, measure, None))
        y += GAP
        for pair in pairs:
            rows.append((y + 6, measure, pair))
            y += ROW
    for tick in ticks(most):
        x = PLOT + tick * scale
        picture.line(x, first + 4, x, y + 4)
        picture.text(x, y + 20, f"{tick}", "muted small", "middle")
    for y_row, measure, pair in rows:
        if pair is None:
            tool, sessions = measure.split("@")
            picture.spans(LABEL, y_row, [(MEASURES[tool], "strong"), (f"\u2002{sessions} session{'s' * (sessions != '1')}", "muted small")])
        else:
            draw_row(picture, groups[measure], pair, y_row, scale)
    pinned = "pinned to one core, client and server to another" if data["pinned"] else "not pinned to cores"
    picture.text(
        LABEL,
        y + 46,
        f"bench/run, {data['gateway']}; {data['rounds']} rounds of {data['seconds']} s; gateway and proxy {pinned}.",
        "muted small",
    )
    return picture.render()


def draw_row(picture, pairs, pair, y, scale):
    rows = pairs[pair]
    client, to = pair.split("-")
    own = to not in ("floor", "direct")
    picture.text(LABEL + 12, y + 4, label(pair), "ink" if own else "muted")
    least = min(map(cost, rows))
    picture.rect(PLOT, y - 6, least * scale, 12, "accent" if own else "grey")
    for row in rows:
        picture.dot(PLOT + cost(row) * scale, y, 2, "ink" if own else "muted")
    picture.text(LEAST, y + 4, f"{least:.1f}", "ink strong" if own else "muted", "end")
    if own and (ratio := ratio_to_floor(pairs, pair, f"{client}-floor")):
        picture.text(RATIO, y + 4, f"{ratio:.2f}", "ink strong", "end")
    for x, key in ((CALLS, "per_s"), (MEDIAN, "p50_us"), (SLOW, "p99_us")):
        picture.text(x, y + 4, f"{statistics.median(row[key] for row in rows):,.0f}", "ink" if own else "muted", "end")


def label(pair):
    client, to = pair.split("-")
    if to == "floor":
        return "hyper proxy" if client == "http" else f"byte copy, {NAMES[client]}"
    if to == "direct":
        return f"server, {NAMES[client]}"
    return "Narrows" if pair == "http-http" else f"Narrows, {client} → {to}"


def cost(row):
    """Processor time of the measured process without its children."""
    return row["cpu_us_per_call"] - row["children_cpu_us_per_call"]


def ratio_to_floor(pairs, pair, floor):
    others = {row["round"]: cost(row) for row in pairs.get(floor, [])}
    ratios = [cost(row) / others[row["round"]] for row in pairs[pair] if others.get(row["round"])]
    return statistics.median(ratios) if ratios else None


def axis_end(most):
    return next(end for end in (10, 20, 30, 40, 50, 60, 80, 90, 100, 120, 150, 200, 250, 300, 400, 500, 800, 1000, 2000, 5000) if end >= most)


def ticks(most):
    step = next(step for step in (2, 5, 10, 20, 25, 50, 100, 200, 500, 1000) if most / step <= 5)
    return range(0, int(most) + 1, step)


def describe(groups):
    said = []
    for measure, pairs in groups.items():
        tool, sessions = measure.split("@")
        figures = ", ".join(f"{label(pair)} {min(map(cost, rows)):.1f} µs" for pair, rows in pairs.items())
        said.append(f"{MEASURES[tool]}, {sessions} sessions: {figures}")
    return "; ".join(said)
