"""Tasks with short results, with trees and graphs, and with a wrong first call."""

import json

from .base import FILES, FIRST, LAST, PLACES, PLAIN, THINGS, Do, Read, Task, read_file

GRAPH = "memory.jsonl"


def make(writer):
    return [*memory(writer), *times(writer), *mistakes(writer), *trees(writer), *arithmetic(writer)]


def memory(writer):
    rng = writer.random("memory")
    lines, people = [], []
    for at in range(900):
        name = f"{rng.choice(FIRST)} {rng.choice(LAST)} {at}"
        people.append(name)
        facts = [
            f"works with the {rng.choice(THINGS)} in {rng.choice(PLACES)}",
            f"keeps a {rng.choice(PLAIN)} and a {rng.choice(PLAIN)}",
        ]
        lines.append({"type": "entity", "name": name, "entityType": "person", "observations": facts})
    for _ in range(700):
        source, target = rng.sample(people, 2)
        lines.append(
            {"type": "relation", "from": source, "to": target, "relationType": rng.choice(["knows", "teaches", "replaces"])}
        )
    badge = f"badge {rng.randint(10_000, 99_999)}"
    lines[rng.randint(300, 700)]["observations"].append(f"lost the gate pass and was given {badge}")
    deputy = f"Ottilie {rng.choice(LAST)}-{rng.choice(LAST)}"
    lines.insert(900, {"type": "entity", "name": deputy, "entityType": "person", "observations": ["arrived in spring"]})
    lines.append({"type": "relation", "from": deputy, "to": people[rng.randint(100, 800)], "relationType": "deputises_for"})
    writer.write(GRAPH, "\n".join(json.dumps(line, separators=(",", ":")) for line in lines) + "\n")
    note = f"tide-{rng.randint(1000, 9999)}"
    text = f"gauge {rng.randint(10, 99)} reads {rng.randint(100, 999)} millimetres too high"
    entity = {"name": note, "entityType": "note", "observations": [text]}
    graph = Read("memory", "read_graph", {})
    return [
        Task(
            "memory-note",
            "note",
            f'Keep a note named "{note}" in the memory: "{text}". Then read it back from there.',
            [text],
            [Do("memory", "create_entities", {"entities": [entity]}), Do("memory", "open_nodes", {"names": [note]})],
        ),
        Task(
            "memory-fact",
            "graph",
            "Somebody in the memory graph lost the gate pass. Which new badge was given?",
            [badge],
            [graph],
        ),
        Task("memory-relation", "graph", 'Who "deputises_for" somebody in the memory graph?', [deputy], [graph]),
    ]


def times(writer):
    rng = writer.random("times")
    # Zones without daylight saving time, so the answer is the same all year.
    hour, minute = rng.randint(9, 18), rng.choice([5, 10, 25, 50])
    there = (hour * 60 + minute) - 345 + 180
    back = (hour * 60 + minute) - 300 - 480
    convert = lambda source, target: Do(
        "time", "convert_time", {"source_timezone": source, "time": f"{hour:02}:{minute:02}", "target_timezone": target}
    )
    shown = lambda minutes: f"{minutes // 60 % 24:02}:{minutes % 60:02}:00"
    return [
        Task(
            "time-nairobi",
            "time",
            f"A call is set for {hour:02}:{minute:02} in Asia/Kathmandu. Which time is that in Africa/Nairobi?",
            [shown(there)],
            [convert("Asia/Kathmandu", "Africa/Nairobi")],
        ),
        Task(
            "time-pitcairn",
            "time",
            f"It is {hour:02}:{minute:02} in Asia/Karachi. How late is it on Pacific/Pitcairn?",
            [shown(back)],
            [convert("Asia/Karachi", "Pacific/Pitcairn")],
        ),
    ]


def mistakes(writer):
    rng = writer.random("mistakes")
    code = f"open-{rng.randint(100_000, 999_999)}"
    writer.write("notes/gate.txt", f"The gate code of the week is {code}.\n")
    minute = rng.choice([12, 24, 36, 48])
    steps = [
        Do("git", "git_branch", {"repository": "history", "branch_type": "local"}, expect="repo_path"),
        Do("git", "git_branch", {"repo_path": "history", "branch_type": "local"}),
    ]
    return [
        Task(
            "mistake-argument",
            "wrong argument",
            "What is the gate code in notes/gate.txt? (The first call names the argument wrongly.)",
            [code],
            [Do(FILES, "read_text_file", {"file_name": "notes/gate.txt"}, expect=r"\bpath\b"), read_file("notes/gate.txt")],
        ),
        Task(
            "mistake-branch",
            "wrong argument",
            'Which branch is checked out in the repository "history"? (The first call names the repository wrongly.)',
            ["* main"],
            steps,
        ),
        Task(
            "mistake-zone",
            "wrong argument",
            f"Convert 07:{minute:02} in Asia/Tokyo to Asia/Yangon. (The first call misspells the zone.)",
            # Tokyo is two and a half hours ahead of Yangon.
            [f"{(7 * 60 + minute - 150) // 60:02}:{(7 * 60 + minute - 150) % 60:02}:00"],
            [
                Do(
                    "time",
                    "convert_time",
                    {"source_timezone": "Asia/Tokio", "time": f"07:{minute:02}", "target_timezone": "Asia/Yangon"},
                    expect="(?i)timezone|Asia/Tokio",
                ),
                Do(
                    "time",
                    "convert_time",
                    {"source_timezone": "Asia/Tokyo", "time": f"07:{minute:02}", "target_timezone": "Asia/Yangon"},
                ),
            ],
        ),
    ]


def trees(writer):
    rng = writer.random("trees")
    for at in range(1_400):
        writer.write(f"archive/{rng.choice(PLACES)}/{rng.choice(THINGS)}/{rng.choice(PLAIN)}-{at}.txt", f"{at}\n")
    wanted = f"{rng.choice(PLAIN)}-{rng.randint(2000, 9999)}.ini"
    writer.write(f"archive/{rng.choice(PLACES)}/{rng.choice(THINGS)}/{wanted}", "[empty]\n")
    sizes = rng.sample(range(10, 400), 380)
    for at, size in enumerate(sizes):
        writer.write(f"crates/{rng.choice(THINGS)}-{at}.dat", "x" * size)
    largest = f"{rng.choice(PLACES).lower()}-{rng.randint(1000, 9999)}.dat"
    writer.write(f"crates/{largest}", "x" * 70_000)
    return [
        Task(
            "tree-ini",
            "directory tree",
            'Below the folder archive/ all files are texts but one that ends in ".ini". What is its name?',
            [wanted],
            [Read(FILES, "directory_tree", {"path": "archive"})],
        ),
        Task(
            "tree-largest",
            "directory tree",
            "Which file of the folder crates/ is larger than 60 KB?",
            [largest],
            [Read(FILES, "list_directory_with_sizes", {"path": "crates", "sortBy": "name"})],
        ),
    ]


def arithmetic(writer):
    rng = writer.random("arithmetic")
    left, right = rng.randint(10_000, 99_999), rng.randint(10_000, 99_999)
    return [
        Task(
            "sum-tool",
            "small call",
            f"Let the server add {left} and {right}.",
            [str(left + right)],
            [Do("everything", "get-sum", {"a": left, "b": right})],
        )
    ]
