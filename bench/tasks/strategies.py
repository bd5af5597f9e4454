"""Strategies that solve tasks without a model. All make the same plain calls but read long
results in different ways. Queries use only words of the question.

A strategy stops when the texts that it has read contain the answer, because a model would
recognise it, or after `MOST_QUERIES` queries for a text."""

import re

from .base import FILES, Do, queries
from .judge import stated_or_read, without_escapes
from .session import RECEIPT

MOST_QUERIES = 4
# The number of matches that a model would request if it does not need all of them.
MATCHES = 40
# The highest `max_chars` of a call, to read a whole text.
WHOLE = 200_000
MOST_PAGES = 12
LINE_NUMBER = re.compile(r"^ *\d+(?:│|[:|]) ?", re.M)


class Run:
    """One task on one session, by one strategy."""

    def __init__(self, session, task, folder, recovery, reader="larger"):
        self.session = session
        # The kind of client, which decides the half of results that this run reads.
        self.reader = reader
        self.task = task
        self.folder = folder
        # The parameters of this gateway's `recover_text`.
        self.recovery = recovery
        self.first = len(session.calls)
        # Queries and aggregates by the index of their call.
        self.asked = {}
        self.edited = False

    @property
    def calls(self):
        return self.session.calls[self.first :]

    def done(self):
        """Returns true if a model would stop reading here."""
        if self.task.edit:
            return self.edit_from_texts() is not None
        return self.solved() is not None

    def solved(self):
        if self.task.edit:
            return "stated" if self.edited else None
        return stated_or_read(self.task, self.calls, self.asked, self.reader)

    def plain_steps(self, read):
        """Performs the steps of the task, with `read` for those whose results may be long."""
        for step in self.task.steps:
            if not isinstance(step, Do):
                read(step)
                continue
            call = self.session.use(step.server, step.tool, step.arguments)
            if step.expect and not re.search(step.expect, call.half(self.reader)):
                return

    def note(self, how):
        """Records the arguments of the last call."""
        self.asked[len(self.session.calls) - 1 - self.first] = how

    def query_arguments(self, query):
        wanted = {"query": query}
        if self.task.context is not None:
            wanted["context"] = self.task.context
        if self.task.figure:
            # Only matching rows are needed, without their context.
            wanted["context"] = 0
        elif "limit" in self.recovery:
            wanted["limit"] = MATCHES
        if self.task.figure and query == self.task.figure.counted_by and "count_only" in self.recovery:
            wanted = {"query": query, "count_only": True}
        return wanted

    def row_arguments(self, shown):
        """Returns arguments for a row query, if `shown` contains the names of all fields."""
        figure = self.task.figure
        usable = figure and figure.where and "where" in self.recovery
        if not usable or not all(re.search(rf"\b{name}\b", shown) for name in figure.fields):
            return None
        if figure.aggregate:
            return {"where": figure.where, "aggregate": figure.aggregate}
        return {"where": figure.where, "sort": figure.sort, "limit": 1}

    def all_queries(self):
        figure = self.task.figure
        if figure and figure.counted_by:
            return [figure.counted_by]
        return queries(self.task.question, MOST_QUERIES)

    def edit_from_texts(self):
        """Returns the text to replace and its replacement, or None if the exact text was not read yet."""
        edit = self.task.edit
        for call in reversed(self.calls):
            if call.error or call.discovery:
                continue
            for text in call.texts(self.reader):
                for shown in (text, LINE_NUMBER.sub("", text), without_escapes(text)):
                    if edit.whole and "⟦" in shown:
                        continue
                    if found := re.search(edit.pattern, shown):
                        return found.group(), edit.replace(found.group())
        return None

    def finish(self):
        """Makes the edit, if the task has one and its text was read."""
        if not self.task.edit:
            return
        change = self.edit_from_texts()
        if change is None:
            return
        old, new = change
        path = self.task.edit.path
        if self.task.edit.whole:
            self.session.use(FILES, "write_file", {"path": path, "content": new})
        else:
            self.session.use(FILES, "edit_file", {"path": path, "edits": [{"oldText": old, "newText": new}]})
        self.edited = (self.folder / path).read_bytes() == self.task.edit.after

    def halves_differ(self):
        """Returns true if the two halves of a result differ."""
        return any(call.structured not in (None, call.content) for call in self.calls if not call.discovery)

    def result(self):
        return {"solved": self.solved(), "calls": [call.row() for call in self.calls]}


def whole(run):
    """Reads each text with one plain call."""
    run.plain_steps(lambda step: run.session.use(step.server, step.tool, step.arguments))
    run.finish()


def goal(run):
    """Reads each text with one call that has the question as its goal."""
    run.plain_steps(lambda step: run.session.use(step.server, step.tool, step.arguments, goal=run.task.question))
    run.finish()


def find(run):
    """Reads each text with calls that have a query, until one returns the answer."""

    def read(step):
        use = lambda **own: run.session.use(step.server, step.tool, step.arguments, **own)
        if run.task.edit and run.task.edit.whole:
            if run.session.offers(step.server, step.tool, "max_chars"):
                return use(max_chars=WHOLE)
            call = use(find={"max_chars": WHOLE})
            return call.content_strings.append(recovered_text(call, run.reader))
        if run.task.compares:
            # No query finds a difference that the question does not name. The first text
            # is stored, and the second is compared with it.
            known = receipts_of(run)
            if known and "diff_with" in run.recovery:
                return use(find={"diff_with": known[0]})
            return use(find={"head": 1})
        if rows := run.row_arguments(run.task.question):
            use(find=rows)
            run.note(rows)
            if run.done():
                return
        for query in run.all_queries():
            wanted = run.query_arguments(query)
            use(find=wanted)
            run.note(wanted)
            if run.done():
                return

    run.plain_steps(read)
    run.finish()


def digest(run):
    """Reads each text with one plain call, then queries the receipts that its markers name."""
    run.plain_steps(lambda step: run.session.use(step.server, step.tool, step.arguments))
    if not run.done():
        query_receipts(run)
    run.finish()


def receipts_of(run):
    """Returns the receipts that the results of this run name, in order of first occurrence."""
    receipts = []
    for call in run.calls:
        receipts += [found for found in RECEIPT.findall(call.half(run.reader)) if found not in receipts]
    return receipts


def query_receipts(run):
    receipts = receipts_of(run)
    if run.task.edit and run.task.edit.whole:
        return read_pages(run, receipts)
    if run.task.compares and len(receipts) > 1 and "diff_with" in run.recovery:
        run.session.recover({"prune_id": receipts[0], "diff_with": receipts[1]})
        if run.done():
            return
    shown = "\n".join(call.half(run.reader) for call in run.calls) + run.task.question
    for receipt in receipts:
        if rows := run.row_arguments(shown):
            run.session.recover({"prune_id": receipt} | rows)
            run.note(rows)
            if run.done():
                return
        for query in run.all_queries():
            wanted = run.query_arguments(query)
            run.session.recover({"prune_id": receipt} | wanted)
            run.note(wanted)
            if run.done():
                return


def read_pages(run, receipts):
    """Reads a whole text back, and stores it so that an edit can copy from it."""
    for receipt in receipts:
        pages, arguments = [], {"prune_id": receipt}
        for _ in range(MOST_PAGES):
            call = run.session.recover(arguments)
            pages.append(recovered_text(call, run.reader))
            cursor = re.search(r"next[_ ]cursor\W+([\w=+/.:-]+)", call.half(run.reader))
            if not cursor:
                break
            arguments = {"prune_id": receipt, "cursor": cursor.group(1)}
        last = run.calls[-1]
        (last.structured_strings if last.reads_structured(run.reader) else last.content_strings).append("".join(pages))


def recovered_text(call, reader):
    """Returns the text of a `recover_text` result: `raw_text` in JSON, or the content after its first line."""
    strings = call.structured_strings if call.reads_structured(reader) else call.content_strings
    return max(strings, key=len) if strings else call.content.partition("\n")[2]


# Strategies whose calls depend on earlier results.
ADAPTIVE = {"find", "digest"}
STRATEGIES = {"whole": whole, "goal": goal, "find": find, "digest": digest}


def unavailable(name, session, recovery):
    """Returns the reason why a strategy is not available on this endpoint, or None."""
    if name != "whole" and session.endpoint == "raw":
        return "results are not cut on this endpoint"
    if name == "find" and not session.offers(FILES, "read_text_file", "find"):
        return "no parameter `find`"
    if name == "digest" and "query" not in recovery:
        return "recover_text has no query parameter"
    return None
