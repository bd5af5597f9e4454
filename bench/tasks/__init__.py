"""The task set of `bench/agent`: files, a git history and a memory graph, generated from a
seed, with questions about them and known answers.

`generate(seed, folder)` writes everything below `folder` and returns the tasks."""

from pathlib import Path

from . import code, documents, edits, history, logs, rows, small
from .base import Task, Writer

__all__ = ["Task", "generate"]


def generate(seed, folder):
    """Writes the files of all tasks below `folder` and returns the tasks in a fixed order."""
    writer = Writer(seed, Path(folder))
    makers = [logs, rows, code, documents, history, small, edits]
    tasks = [task for maker in makers for task in maker.make(writer)]
    names = [task.id for task in tasks]
    assert len(set(names)) == len(names), "two tasks have the same id"
    return tasks
