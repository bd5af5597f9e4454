"""Tasks about logs: an odd line, an unusual value, a count in a window."""

import re

from .base import LAST, PLACES, THINGS, VERBS, Figure, Task, clock, read_file


def make(writer):
    return [
        odd_words(writer),
        odd_without_words(writer),
        rejected_batch(writer),
        slow_request(writer),
        count_in_hour(writer),
        count_in_tail(writer),
        rare_level(writer),
        csv_row(writer),
    ]


def ordinary(rng, count, start=0, step=1):
    """Returns log lines of an industrial plant from a few templates with numbers, names and times."""
    lines = []
    for at in range(count):
        time = clock(start + at * step)
        thing, place = rng.choice(THINGS), rng.choice(PLACES)
        number = rng.randint(1, 40)
        kind = rng.randrange(10)
        if kind < 4:
            said = f"INFO  control: {thing}-{number} {rng.choice(VERBS)} at {place}, load {rng.randint(10, 95)} %"
        elif kind < 6:
            said = f"INFO  meter: flow {rng.randint(100, 999)}.{rng.randint(0, 9)} l/min at {place}"
        elif kind == 6:
            said = f"DEBUG bus: frame {rng.randrange(16**6):06x} acknowledged by {thing}-{number} in {rng.randint(1, 9)} ms"
        elif kind == 7:
            said = f"INFO  store: {rng.randint(1, 400)} readings of {place} written in {rng.randint(4, 90)} ms"
        elif kind == 8:
            said = f"WARN  meter: pressure {rng.randint(2, 9)}.{rng.randint(0, 9)} bar near limit at {place}"
        else:
            said = f"INFO  shift: operator {rng.randint(100, 180)} signed in at {place}"
        lines.append(f"{time} {said}")
    return lines


def odd_words(writer):
    rng = writer.random("odd-words")
    lines = ordinary(rng, 72_000)
    node = f"kestrel-{rng.randint(200, 900)}"
    at = rng.randint(20_000, 60_000)
    lines[at] = f"{lines[at][:19]} INFO  cluster: heartbeat of {node} lost for {rng.randint(31, 58)} s, leadership moved"
    writer.write("logs/plant.log", "\n".join(lines) + "\n")
    question = "In logs/plant.log, which node lost its heartbeat?"
    return Task("log-heartbeat", "odd line", question, [node], [read_file("logs/plant.log")])


def odd_without_words(writer):
    rng = writer.random("odd-without-words")
    lines = ordinary(rng, 36_000)
    ticket = f"QX-{rng.randint(10_000, 99_999)}"
    at = rng.randint(9_000, 30_000)
    lines[at] = f"{lines[at][:19]} INFO  guard: door contact overridden with key {ticket}"
    writer.write("logs/night.log", "\n".join(lines) + "\n")
    question = "Exactly one entry of logs/night.log is of a sort that never occurs again. Which reference does it carry?"
    return Task("log-singular", "odd line", question, [ticket], [read_file("logs/night.log")])


def rejected_batch(writer):
    rng = writer.random("rejected-batch")
    lines, wanted = [], None
    chosen = rng.randint(4_000, 9_000)
    for at in range(12_000):
        batch = f"B{rng.randint(100_000, 999_999)}{at:05}"
        if at == chosen:
            wanted = batch
            lines.append(
                f"{clock(at * 5)} INFO  intake: batch {batch} rejected by {rng.choice(PLACES)}, moisture {rng.randint(31, 44)} %"
            )
        else:
            lines.append(
                f"{clock(at * 5)} INFO  intake: batch {batch} accepted by {rng.choice(PLACES)}, moisture {rng.randint(8, 17)} %"
            )
    writer.write("logs/intake.log", "\n".join(lines) + "\n")
    question = "Which batch of logs/intake.log was rejected?"
    return Task("log-rejected", "odd line", question, [wanted], [read_file("logs/intake.log")])


def slow_request(writer):
    rng = writer.random("slow-request")
    lines = []
    for at in range(16_000):
        lines.append(
            f"{clock(at * 3)} INFO  http: GET /orders/{rng.randint(1000, 9999)} id=r{rng.randrange(16**7):07x}{at:05} 200 in {rng.randint(4, 88)} ms"
        )
    at = rng.randint(5_000, 12_000)
    wanted = f"r{rng.randrange(16**7):07x}{at:05}"
    lines[at] = (
        f"{clock(at * 3)} INFO  http: GET /orders/{rng.randint(1000, 9999)} id={wanted} 200 in {rng.randint(41_000, 58_000)} ms"
    )
    writer.write("logs/orders.log", "\n".join(lines) + "\n")
    question = (
        "Nearly every answer in logs/orders.log took less than 100 ms. What is the id of the one that took more than 40 seconds?"
    )
    return Task("log-slow", "unusual value", question, [wanted], [read_file("logs/orders.log")])


def count_in_hour(writer):
    rng = writer.random("count-in-hour")
    hour = rng.randint(5, 18)
    lines = []
    for at in range(20_000):
        time = clock(at * 4)
        level = "WARN " if rng.random() < 0.12 else "INFO "
        subject = rng.choice(["replica", "primary", "backup", "cache"])
        lines.append(f"{time} {level} db: {subject} e{at:06} lag {rng.randint(1, 900)} ms in {rng.choice(PLACES)}")
    writer.write("logs/database.log", "\n".join(lines) + "\n")
    prefix = clock(hour * 3600)[:13]
    found = [line for line in lines if line.startswith(prefix) and " WARN " in line and "replica" in line]
    rows = [(re.search(r"e\d{6}", line).group(), "WARN", "replica") for line in found]
    question = f'How many lines of logs/database.log have the level "WARN" and are about a "replica", in the hour that begins with "{prefix}"?'

    def again(folder):
        pattern = re.compile(rf"^{prefix}.* WARN .*\breplica\b", re.M)
        return str(len(pattern.findall((folder / "logs/database.log").read_text())))

    figure = Figure(rows, r"e\d{6}", counted_by=f"{prefix} WARN replica")
    return Task(
        "log-count-hour",
        "count in a window",
        question,
        [str(len(rows))],
        [read_file("logs/database.log")],
        figure=figure,
        recompute=again,
    )


def count_in_tail(writer):
    rng = writer.random("count-in-tail")
    lines = [f"{line} #t{at:06}" for at, line in enumerate(ordinary(rng, 30_000))]
    tail = 2_500
    number, places = rng.randint(50, 90), rng.sample(range(24_000, 30_000), 130)
    if number == sum(at >= 30_000 - tail for at in places):
        # The question must not contain the answer.
        number += 50
    wanted = f"kiln-{number}"
    for at in places:
        lines[at] = (
            f"{lines[at][:19]} INFO  control: {wanted} {rng.choice(VERBS)} at {rng.choice(PLACES)}, load {rng.randint(10, 95)} % #t{at:06}"
        )
    writer.write("logs/control.log", "\n".join(lines) + "\n")
    rows = [(line[-7:], wanted) for line in lines[-tail:] if wanted in line]
    question = f'Look at the last {tail} lines of logs/control.log. How many of them mention "{wanted}"?'

    def again(folder):
        return str(sum(wanted in line for line in (folder / "logs/control.log").read_text().splitlines()[-tail:]))

    figure = Figure(rows, r"t\d{6}", counted_by=wanted)
    return Task(
        "log-count-tail",
        "count in a window",
        question,
        [str(len(rows))],
        [read_file("logs/control.log", tail=tail)],
        figure=figure,
        recompute=again,
    )


def rare_level(writer):
    rng = writer.random("rare-level")
    lines = ordinary(rng, 14_000, step=2)
    for at in rng.sample(range(14_000), 180):
        lines[at] = f"{lines[at][:19]} ERROR bus: checksum of frame {rng.randrange(16**6):06x} wrong, sent again"
    code = f"0x{rng.randrange(16**8):08x}"
    at = rng.randint(4_000, 10_000)
    lines[at] = f"{lines[at][:19]} CRIT  bus: controller halted, fault code {code}"
    writer.write("logs/bus.log", "\n".join(lines) + "\n")
    question = "Among many wrong checksums, logs/bus.log has a moment when the controller halted. With which fault code?"
    return Task("log-halted", "odd line", question, [code], [read_file("logs/bus.log")])


def csv_row(writer):
    rng = writer.random("csv-row")
    lines = ["parcel,sender,weight_kg,depot,shelf"]
    wanted = None
    chosen = rng.randint(6_000, 18_000)
    for at in range(24_000):
        parcel = f"P{at:06}{rng.randint(100, 999)}"
        shelf = f"{rng.choice('ABCDEFGH')}{rng.randint(10, 99)}-{rng.randint(100, 999)}{at:05}"
        lines.append(f"{parcel},{rng.choice(LAST)},{rng.randint(1, 30)}.{rng.randint(0, 9)},{rng.choice(PLACES)},{shelf}")
        if at == chosen:
            wanted = (parcel, shelf)
    writer.write("data/parcels.csv", "\n".join(lines) + "\n")
    question = f"On which shelf is the parcel {wanted[0]} of data/parcels.csv?"
    return Task("csv-shelf", "record by value", question, [wanted[1]], [read_file("data/parcels.csv")])
