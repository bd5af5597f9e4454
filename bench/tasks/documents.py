"""Tasks about long documents: one paragraph, one row of a table, one definition."""

from .base import PLACES, PLAIN, THINGS, Task, read_file, sentence


def make(writer):
    return [paragraph(writer), table_row(writer), definition(writer)]


def section(rng, number, title, paragraphs):
    texts = [" ".join(sentence(rng) for _ in range(rng.randint(3, 6))) for _ in range(paragraphs)]
    return [f"## {number} {title}"] + texts


def paragraph(writer):
    rng = writer.random("paragraph")
    blocks = ["# Handbook of the works"]
    chosen = rng.randint(120, 260)
    wanted = f"{rng.randint(211, 389)} newton metres"
    for number in range(1, 361):
        blocks += section(rng, number, f"On the {rng.choice(PLAIN)} and the {rng.choice(PLAIN)}", 4)
        if number == chosen:
            blocks.append(
                f"The clamping bolts of the sluice bearing are tightened crosswise to {wanted}, and once more after a day of operation."
            )
    writer.write("docs/handbook.md", "\n\n".join(blocks) + "\n")
    question = "To which torque does docs/handbook.md have the clamping bolts of the sluice bearing tightened?"
    return Task("doc-paragraph", "in a document", question, [wanted], [read_file("docs/handbook.md")])


def table_row(writer):
    rng = writer.random("table-row")
    blocks, wanted = ["# Spare parts"], None
    numbers = rng.sample(range(10_000, 99_999), 3_000)
    chosen = rng.randint(800, 2_400)
    at = 0
    for group in range(60):
        rows = ["| part | fits | stock | rack |", "|---|---|---|---|"]
        for _ in range(50):
            rack = f"{rng.choice('KLMNP')}{rng.randint(1, 9)}.{at:04}"
            rows.append(f"| {numbers[at]} | {rng.choice(THINGS)} {rng.choice(PLACES)} | {rng.randint(0, 90)} | {rack} |")
            if at == chosen:
                wanted = rack
            at += 1
        blocks += [f"## Group {group + 1}: {rng.choice(PLAIN)}", sentence(rng), "\n".join(rows)]
    writer.write("docs/parts.md", "\n\n".join(blocks) + "\n")
    question = f"In which rack is the spare part {numbers[chosen]} according to docs/parts.md?"
    return Task("doc-table", "in a document", question, [wanted], [read_file("docs/parts.md")])


def definition(writer):
    rng = writer.random("definition")
    blocks = ["GLOSSARY"]
    for at in range(2_600):
        term = f"{rng.choice(PLAIN)} {rng.choice(THINGS)} {at}"
        blocks.append(f"{term}: {sentence(rng, 10, 20)} {sentence(rng)}")
    unit = f"{rng.randint(13, 97)} fathoms"
    blocks.insert(
        rng.randint(900, 2_000),
        f"dredging allowance: The depth that is added below the keel before a berth is released; here {unit}.",
    )
    writer.write("docs/glossary.txt", "\n".join(blocks) + "\n")
    question = 'How large is the "dredging allowance" that docs/glossary.txt defines?'
    return Task("doc-definition", "in a document", question, [unit], [read_file("docs/glossary.txt")])
