"""Tasks about JSON: one record among many, and figures over filtered rows."""

import json
from decimal import Decimal

from .base import FIRST, LAST, PLACES, THINGS, Figure, Task, read_file


def make(writer):
    return [
        station(writer),
        device(writer),
        missing_serial(writer),
        sum_refunds(writer),
        average_age(writer),
        highest_bid(writer),
        count_berths(writer),
        sum_by_two(writer),
        lowest_reading(writer),
    ]


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def json_lines(rows):
    return "".join(compact(row) + "\n" for row in rows)


def person(rng):
    return f"{rng.choice(FIRST)} {rng.choice(LAST)}"


def money(rng, least, most):
    return rng.randint(least * 100, most * 100) / 100


def exact(number):
    """Returns a number as JSON text."""
    return json.dumps(number)


def station(writer):
    rng = writer.random("station")
    rows = []
    for at in range(14_500):
        rows.append(
            {
                "code": f"ST{at:05}",
                "name": f"{rng.choice(PLACES)} {rng.choice(THINGS).capitalize()} {rng.randint(1, 999)}",
                "operator": rng.choice(["Northline", "Coastal Rail", "Valley Tram", "Interport"]),
                "platforms": rng.randint(1, 14),
                "lat": rng.randint(35_000, 69_000) / 1000,
                "lon": rng.randint(-9_000, 30_000) / 1000,
                "staffed": rng.random() < 0.4,
                "opened": rng.randint(1850, 2020),
            }
        )
    at = rng.randint(3_000, 9_000)
    name = f"Upper {rng.choice(PLACES)} Halt {rng.randint(1000, 9999)}"
    rows[at] |= {"operator": "Velmora Light Railway", "name": name}
    writer.write("data/stations.json", compact(rows))
    question = 'Which station of data/stations.json is run by the operator "Velmora Light Railway"? Give its name.'
    return Task("json-station", "record by value", question, [name], [read_file("data/stations.json")])


def device(writer):
    rng = writer.random("device")
    rows = []
    for at in range(5_000):
        mac = ":".join(f"{rng.randrange(256):02x}" for _ in range(6))
        rows.append(
            {
                "id": f"dev-{at:05}",
                "owner": person(rng),
                "network": {"mac": mac, "vlan": rng.randint(10, 60), "port": f"sw{rng.randint(1, 40)}/{rng.randint(1, 48)}"},
                "tags": rng.sample(THINGS, 3),
            }
        )
    at = rng.randint(1_500, 4_500)
    owner = f"Wanda {rng.choice(LAST)}-{rng.choice(LAST)}"
    rows[at]["owner"] = owner
    mac = rows[at]["network"]["mac"]
    text = json.dumps({"exported": "2026-03-04", "site": "Larch", "devices": rows}, indent=2)
    writer.write("data/devices.json", text + "\n")
    question = f'Who owns the device with the MAC address "{mac}" in data/devices.json?'
    return Task("json-device", "record by value", question, [owner], [read_file("data/devices.json")], context=6)


def missing_serial(writer):
    rng = writer.random("missing-serial")
    rows = [
        {
            "asset": f"A-{at:05}{rng.randint(10, 99)}",
            "kind": rng.choice(THINGS),
            "serial": f"SN{rng.randrange(16**8):08X}",
            "room": rng.randint(1, 300),
        }
        for at in range(7_000)
    ]
    at = rng.randint(2_000, 6_000)
    rows[at]["serial"] = None
    writer.write("data/assets.jsonl", json_lines(rows))
    asset = rows[at]["asset"]
    question = 'Each asset of data/assets.jsonl has a "serial", but for one where it is "null". Which asset is that?'
    return Task("json-null", "unusual value", question, [asset], [read_file("data/assets.jsonl")])


def figure_task(writer, name, path, question, keep, answer, figure):
    """Returns a task whose answer is computed from the rows that `keep` accepts."""

    def again(folder):
        text = (folder / path).read_text()
        texts = text.splitlines() if path.endswith(".jsonl") else [text]
        parsed = [json.loads(each, parse_float=Decimal) for each in texts]
        rows = parsed if path.endswith(".jsonl") else parsed[0]
        return answer([row for row in rows if keep(row)])

    value = again(writer.folder)
    return Task(name, "figure over rows", question, [value], [read_file(path)], figure=figure, recompute=again)


def sum_refunds(writer):
    rng = writer.random("sum-refunds")
    region = rng.choice(PLACES)
    rows = []
    for at in range(9_000):
        rows.append(
            {
                "order": f"ORD{at:06}",
                "customer": person(rng),
                "region": rng.choice(PLACES),
                "status": rng.choices(["shipped", "packed", "refunded"], [80, 15, 5])[0],
                "amount": money(rng, 5, 900),
            }
        )
    path = "data/orders.jsonl"
    writer.write(path, json_lines(rows))
    keep = lambda row: row["region"] == region and row["status"] == "refunded"
    question = f'In data/orders.jsonl, what is the sum of "amount" over the orders whose "region" is "{region}" and whose "status" is "refunded"?'
    figure = Figure(
        [(row["order"], exact(row["amount"])) for row in rows if keep(row)],
        r"ORD\d{6}",
        where=f"region = '{region}' and status = 'refunded'",
        aggregate="sum(amount)",
        fields=["region", "status", "amount"],
    )
    return figure_task(writer, "rows-sum", path, question, keep, lambda kept: str(sum(row["amount"] for row in kept)), figure)


def average_age(writer):
    rng = writer.random("average-age")
    ward = f"W{rng.randint(11, 39)}"
    rows = []
    for at in range(6_000):
        rows.append(
            {
                "case": f"C{at:06}",
                "ward": f"W{rng.randint(10, 40)}",
                "age": rng.randint(18, 97),
                "days": rng.randint(1, 30),
                "doctor": person(rng),
            }
        )
    cases = [row for row in rows if row["ward"] == ward]
    # An average with few digits has the same text in every implementation.
    for case in cases:
        total = sum(row["age"] for row in cases)
        if total * 4 % len(cases) == 0 and total % len(cases) != 0:
            break
        case["age"] += 1
    path = "data/wards.json"
    writer.write(path, compact(rows))
    keep = lambda row: row["ward"] == ward
    question = f'What is the average of "age" over the cases in data/wards.json whose "ward" is "{ward}"?'
    figure = Figure(
        [(row["case"], str(row["age"])) for row in rows if keep(row)],
        r"C\d{6}",
        where=f"ward = '{ward}'",
        aggregate="avg(age)",
        fields=["ward", "age"],
    )
    average = lambda kept: plain(Decimal(sum(row["age"] for row in kept)) / len(kept))
    return figure_task(writer, "rows-average", path, question, keep, average, figure)


def plain(number):
    return format(number.normalize(), "f")


def highest_bid(writer):
    rng = writer.random("highest-bid")
    lot = f"lot-{rng.randint(120, 480)}"
    bids = rng.sample(range(10_000, 990_000), 14_000)
    rows = [
        {"bid": f"BID{at:06}", "lot": f"lot-{rng.randint(100, 500)}", "bidder": person(rng), "price": bids[at]}
        for at in range(14_000)
    ]
    path = "data/bids.jsonl"
    writer.write(path, json_lines(rows))
    keep = lambda row: row["lot"] == lot
    question = f'In data/bids.jsonl, what is the highest "price" of all entries whose "lot" is "{lot}"?'
    figure = Figure(
        [(row["bid"], str(row["price"])) for row in rows if keep(row)],
        r"BID\d{6}",
        where=f"lot = '{lot}'",
        aggregate="max(price)",
        fields=["lot", "price"],
    )
    return figure_task(writer, "rows-highest", path, question, keep, lambda kept: str(max(row["price"] for row in kept)), figure)


def count_berths(writer):
    rng = writer.random("count-berths")
    rows = [
        {"ship": f"SH{at:05}", "flag": rng.choice(PLACES), "draft": rng.randint(30, 160) / 10, "berth": rng.randint(1, 60)}
        for at in range(12_000)
    ]
    flag = rng.choice(PLACES)
    limit = 15.5
    path = "data/ships.json"
    writer.write(path, compact({"port": "Nairn", "ships": rows}))
    keep = lambda row: row["flag"] == flag and float(row["draft"]) > limit
    question = f'How many ships of data/ships.json have the "flag" "{flag}" and a "draft" of more than {limit}?'
    figure = Figure(
        [(row["ship"], exact(row["draft"])) for row in rows if keep(row)],
        r"SH\d{5}",
        where=f"flag = '{flag}' and draft > {limit}",
        aggregate="count",
        fields=["flag", "draft"],
    )

    def again(folder):
        ships = json.loads((folder / path).read_text())["ships"]
        return str(sum(keep(ship) for ship in ships))

    return Task(
        "rows-count", "figure over rows", question, [again(writer.folder)], [read_file(path)], figure=figure, recompute=again
    )


def sum_by_two(writer):
    rng = writer.random("sum-hours")
    team = rng.choice(THINGS)
    rows = [
        {
            "entry": f"E{at:06}",
            "team": rng.choice(THINGS),
            "member": person(rng),
            "hours": rng.randint(1, 36) / 4,
            "billable": rng.random() < 0.3,
        }
        for at in range(2_400)
    ]
    path = "data/hours.json"
    writer.write(path, json.dumps(rows, indent=1) + "\n")
    keep = lambda row: row["team"] == team and row["billable"]
    question = f'Add up the "hours" of all entries of data/hours.json where "team" is "{team}" and "billable" is true.'
    figure = Figure(
        [(row["entry"], exact(row["hours"])) for row in rows if keep(row)],
        r"E\d{6}",
        where=f"team = '{team}' and billable = true",
        aggregate="sum(hours)",
        fields=["team", "billable", "hours"],
    )
    total = lambda kept: plain(sum((Decimal(row["hours"]) for row in kept), Decimal(0)))
    return figure_task(writer, "rows-hours", path, question, keep, total, figure)


def lowest_reading(writer):
    rng = writer.random("lowest-reading")
    values = rng.sample(range(2_000, 60_000), 8_000)
    rows = [{"probe": f"PR{at:05}", "basin": rng.choice(PLACES), "depth_mm": values[at]} for at in range(8_000)]
    basin = rng.choice(PLACES)
    path = "data/probes.jsonl"
    writer.write(path, json_lines(rows))
    keep = lambda row: row["basin"] == basin
    kept = [row for row in rows if keep(row)]
    lowest = min(kept, key=lambda row: row["depth_mm"])
    question = f'Which "probe" of data/probes.jsonl has the lowest "depth_mm" in the "basin" "{basin}"?'
    figure = Figure(
        [(row["probe"], str(row["depth_mm"])) for row in kept],
        r"PR\d{5}",
        where=f"basin = '{basin}'",
        sort="depth_mm",
        fields=["basin", "depth_mm", "probe"],
    )
    answer = lambda kept: min(kept, key=lambda row: row["depth_mm"])["probe"]
    task = figure_task(writer, "rows-lowest", path, question, keep, answer, figure)
    assert task.answer == [lowest["probe"]]
    return task
