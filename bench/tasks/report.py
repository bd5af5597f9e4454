"""Prints tables of solved tasks and their costs."""

from .session import READERS


COLUMNS = [
    "budget",
    "endpoint",
    "strategy",
    "solved",
    "computed by the reader",
    "calls",
    "to find tools",
    "characters",
    "content only: solved, characters",
    "structured preferred",
    "list and instructions",
]


def summary(rows, figures):
    """Returns the figures of one strategy on one endpoint, summed over all tasks."""
    summed = {"tasks": len(rows)}
    for reader in READERS:
        runs = [row["readers"][reader] for row in rows]
        calls = [call for run in runs for call in run["calls"]]
        summed[reader] = {
            "solved": sum(run["solved"] is not None for run in runs),
            "computed_by_reader": sum(run["solved"] == "read" for run in runs),
            "calls": len(calls),
            "discovery_calls": sum(call["discovery"] for call in calls),
            "chars": sum(call["chars"][reader] for call in calls),
        }
    return figures | summed


def table(summaries):
    """Prints the figures as a Markdown table."""
    print(f"| {' | '.join(COLUMNS)} |")
    print("|" + "---|" * len(COLUMNS))
    for row in summaries:
        place = f"| {row['budget'] or 'default'} | {row['endpoint']} | {row['strategy']} "
        if row.get("unavailable"):
            print(f"{place}| – {row['unavailable']} | | | | | | | {row['list_chars']:,} |")
            continue
        others = " | ".join(f"{row[reader]['solved']}, {row[reader]['chars']:,}" for reader in READERS[1:])
        main = row["larger"]
        print(
            f"{place}| {main['solved']} of {row['tasks']} | {main['computed_by_reader']} | {main['calls']} | {main['discovery_calls']} "
            f"| {main['chars']:,} | {others} | {row['list_chars']:,} |"
        )


def by_task(results):
    """Prints for each task which strategies solved it, with the characters read."""
    columns = list(dict.fromkeys(result["column"] for result in results))
    tasks = list(dict.fromkeys(row["task"] for result in results for row in result["rows"]))
    print("\n| task | " + " | ".join(columns) + " |")
    print("|---|" + "---|" * len(columns))
    cells = {(row["task"], result["column"]): row for result in results for row in result["rows"]}
    for task in tasks:
        shown = []
        for column in columns:
            row = cells[(task, column)]
            run = row["readers"]["larger"]
            chars = sum(call["chars"]["larger"] for call in run["calls"])
            shown.append(f"{'yes' if run['solved'] else 'no'} {chars:,}")
        print(f"| {task} | " + " | ".join(shown) + " |")
