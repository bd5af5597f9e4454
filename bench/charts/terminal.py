"""A recorded session of the command line."""

import re

from svg import Drawing

WIDTH = 800
# Of the font: 12 px, of which most monospaced fonts take 0.6 for a character.
COLUMNS = 104
LINE = 17.5
LEFT, TOP = 22, 62
# An output line that needs more rows than this is shortened.
MOST_ROWS = 2


def draw(data):
    rows = []
    for step in data["steps"]:
        if rows:
            rows.append([])
        rows += command_rows(step["command"])
        for line in step["output"].split("\n"):
            rows += output_rows(line)
    height = TOP + LINE * len(rows) + 8
    commands = "; ".join(re.sub(r"\s*\\\n\s*", " ", step["command"]) for step in data["steps"])
    picture = Drawing(WIDTH, height, "A session of the command line", f"The commands {commands}, with their output")
    picture.add("rect", "window frame", x=0.5, y=0.5, width=WIDTH - 1, height=height - 1, rx=8)
    for index, colour in enumerate(("#ff5f57", "#febc2e", "#28c840")):
        picture.add("circle", "button", cx=24 + 20 * index, cy=22, r=6, fill=colour)
    picture.text(WIDTH / 2, 26, "narrows", "muted small", "middle")
    picture.line(1, 42, WIDTH - 1, 42, "frame")
    for index, spans in enumerate(rows):
        if spans:
            picture.spans(LEFT, TOP + LINE * index + 4, spans, "ink mono")
    return picture.render()


def command_rows(command):
    first, *others = [row for line in f"$ {command}".split("\n") for row in wrapped(line)]
    return [[("$", "prompt strong"), (first[1:], "strong")]] + [[(row, "strong")] for row in others]


def output_rows(line):
    rows = wrapped(line)
    if len(rows) > MOST_ROWS:
        kept = rows[MOST_ROWS - 1][: COLUMNS - 2].rpartition(" ")[0]
        rows = rows[: MOST_ROWS - 1] + [f"{kept} …"]
    if line.startswith("⟦"):
        return [[(row, "accent")] for row in rows]
    # `narrows check` prints this word in green on a terminal.
    if line.startswith("up "):
        return [[("up", "good"), (rows[0][2:], "")]] + [[(row, "")] for row in rows[1:]]
    if found := re.match(r"\d+(?:│|:) ", rows[0]):
        return [[(found.group(), "muted"), *levels(rows[0][found.end() :])]] + [levels(row) for row in rows[1:]]
    return [levels(row) for row in rows]


def levels(text):
    """Colours the level of a log record."""
    before, word, after = text.partition("ERROR")
    if word:
        return [(before, "muted"), (word, "bad"), (after, "")]
    return [(text, "muted" if re.search(r" (INFO|DEBUG) ", text) else "")]


def wrapped(line):
    return [line[at : at + COLUMNS] for at in range(0, len(line), COLUMNS)] or [""]
