"""Checks the generator and the judge without a gateway."""

import hashlib
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from stage import TARGET

from . import generate
from .base import Read, queries
from .judge import holds_rows, states_figure
from .session import PURPOSES
from .strategies import LINE_NUMBER

KINDS = 12
LEAST_TASKS, LEAST_EDITS = 30, 5


def main(args=None):
    """Prints all faults; the exit code is 1 if there are any."""
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TARGET, prefix="run-") as top:
        folders = [Path(top) / name for name in ("first", "second", "other")]
        made = [generate(seed, folder) for seed, folder in zip((7, 7, 8), folders)]
        wrong = [*same_bytes(folders), *enough(made[0])]
        for tasks, folder in ((made[0], folders[0]), (made[2], folders[2])):
            for task in tasks:
                wrong += [f"{task.id}: {fault}" for fault in faults(task, folder)]
        wrong += unnoticed(made[0], folders[0])
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{len(made[0])} tasks, {len(wrong)} faults")
    return 1 if wrong else 0


def digest_of(folder):
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    whole = hashlib.sha256()
    for path in paths:
        whole.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return whole.hexdigest()


def same_bytes(folders):
    first, second, other = map(digest_of, folders)
    if first != second:
        yield "one seed gave two sets of files"
    if first == other:
        yield "two seeds gave the same files"


def enough(tasks):
    if len(tasks) < LEAST_TASKS:
        yield f"only {len(tasks)} tasks"
    if sum(task.edit is not None for task in tasks) < LEAST_EDITS:
        yield "too few tasks edit a file"
    if len({task.kind for task in tasks}) < KINDS:
        yield "too few kinds of tasks"
    if len({task.question for task in tasks}) < len(tasks):
        yield "two tasks have the same question"


def faults(task, folder):
    """Yields the faults of one task, using only the files."""
    for step in task.steps:
        if step.tool not in PURPOSES:
            yield f"{step.tool} has no search phrase"
    if any(re.search(rf"(?<!\w){re.escape(part)}(?!\w)", task.question) for part in task.answer) and task.kind != "note":
        yield "the question contains the answer"
    if not queries(task.question):
        yield "no query can be derived from the question"
    if task.edit:
        yield from edit_faults(task)
    elif task.figure:
        yield from figure_faults(task, folder)
    elif all(step.server == "files" for step in task_reads(task)):
        yield from answer_faults(task, folder)


def unnoticed(tasks, folder):
    """Breaks tasks on purpose, and yields those for which the checks find no fault."""
    for task in tasks:
        if task.edit:
            broken = [
                replace(task, edit=replace(task.edit, after=task.edit.before)),
                replace(task, edit=replace(task.edit, pattern=".")),
            ]
        elif task.figure:
            broken = [replace(task, answer=[task.answer[0] + "1"]), replace(task, question="How many?")]
        elif task.steps[0] in task_reads(task) and task.steps[0].server == "files":
            broken = [replace(task, answer=["not in the data"]), replace(task, question=f"Is it {task.answer[0]}?")]
        else:
            continue
        for each in broken:
            if not list(faults(each, folder)):
                yield f"{task.id}: a broken task passes the checks"


def task_reads(task):
    return [step for step in task.steps if isinstance(step, Read)]


def answer_faults(task, folder):
    files = [folder / step.arguments["path"] for step in task_reads(task)]
    if not files:
        return
    texts = []
    for path in files:
        texts.append(path.read_text() if path.is_file() else "\n".join(each.name for each in path.rglob("*")))
    for part in task.answer:
        times = sum(text.count(part) for text in texts)
        if times != 1:
            yield f"{part!r} occurs {times} times in the data"


def figure_faults(task, folder):
    (answer,) = task.answer
    if task.recompute(folder) != answer:
        yield f"the recomputed answer is {task.recompute(folder)}, not {answer}"
    path = folder / task.steps[0].arguments["path"]
    text = path.read_text()
    figure = task.figure
    if not holds_rows(figure, [text]):
        yield "the rows are not in the data"
    first = figure.rows[0][0]
    if holds_rows(figure, [text.replace(first, "gone")]):
        yield "a missing row is not noticed"
    used = " ".join(filter(None, [figure.where, figure.counted_by]))
    for word in re.findall(r"[\w.:-]+", used):
        if word not in task.question and word not in ("and", "or", "not", "true", "false", "null"):
            yield f"{word!r} is in the query but not in the question"
    if figure.aggregate and not states_figure(task, f"result: {answer}", {"aggregate": figure.aggregate}):
        yield "an aggregate that states the answer is not recognised"
    if figure.aggregate and states_figure(task, f"result: {answer}1", {"aggregate": figure.aggregate}):
        yield "a wrong aggregate is accepted as the answer"
    if figure.counted_by:
        asked = {"query": figure.counted_by}
        for form in ("{} of 20000 lines match", '{{"matches":{}}}'):
            if not states_figure(task, form.format(answer), asked) or states_figure(task, form.format(f"{answer}1"), asked):
                yield f"a count like {form!r} is not recognised"


def edit_faults(task):
    edit = task.edit
    before, after = edit.before.decode(), edit.after.decode()
    found = re.findall(edit.pattern, before)
    if before == after:
        yield "the edit changes nothing"
    if len(found) != 1:
        yield f"the text to replace occurs {len(found)} times in the file"
        return
    match = re.search(edit.pattern, before)
    made = before[: match.start()] + edit.replace(match.group()) + before[match.end() :]
    if made != after:
        yield "the edit does not give the expected file"
    if before.count(match.group()) != 1:
        yield "the text to replace is not unique"
    numbered = "".join(f"{at}│ {line}" for at, line in enumerate(before.splitlines(keepends=True), 1))
    if re.search(edit.pattern, LINE_NUMBER.sub("", numbered)).group() != match.group():
        yield "the text to replace is not found in numbered lines"
