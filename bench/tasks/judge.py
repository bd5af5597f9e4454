"""Decides whether the results that were read solve a task."""

import hashlib
import re
from decimal import Decimal, InvalidOperation

# Results of aggregates are short; a number in a longer text may belong to any row.
SHORT = 2_000


def stated_or_read(task, calls, asked, reader):
    """Returns `stated`, `read` or None.

    `stated`: the half of a result that `reader` reads contains the answer. `read`: all rows of a
    figure were read, but the reader has to compute the figure. `asked` has the arguments of
    queries by the index of their call."""
    texts = [unescaped(call.half(reader)) for call in calls if not call.discovery]
    if task.figure is None:
        everything = "\n".join(texts)
        return "stated" if all(part in everything for part in task.answer) else None
    places = [at for at, call in enumerate(calls) if not call.discovery]
    for at in places:
        if at in asked and states_figure(task, unescaped(calls[at].half(reader)), asked[at]):
            return "stated"
    return "read" if holds_rows(task.figure, texts) else None


def unescaped(text):
    """Returns a text without the escapes of a JSON string."""
    return without_escapes(text) if text[:1] in ("{", "[") else text


def without_escapes(text):
    return text.replace("\\n", "\n").replace('\\"', '"')


def states_figure(task, text, how):
    """Returns true if the result of a query or an aggregate states the figure."""
    (answer,) = task.answer
    if "aggregate" in how or "count_only" in how:
        return len(text) <= SHORT and any(is_figure(number, Decimal(answer)) for number in numbers(text))
    if "sort" in how:
        found = re.search(task.figure.id_pattern, text)
        return found is not None and found.group() == answer
    if how.get("query") == task.figure.counted_by:
        pattern = rf'(?:"matches": ?{answer}\b|\bmatches: {answer}\b|\b{answer} of [\d,]+ (?:lines|rows)|\b{answer} match)'
        return re.search(pattern, text) is not None
    return False


def is_figure(number, answer):
    """Returns true if a number is the answer, or the answer rounded to four decimals or more."""
    decimals = -number.as_tuple().exponent
    return number == answer or 4 <= decimals <= 12 and number == round(answer, decimals)


def numbers(text):
    # Receipts also contain digits.
    text = re.sub(r"\bprn_\w+", "", text)
    found = set()
    for number in re.findall(r"-?\d+(?:\.\d+)?", text):
        try:
            found.add(Decimal(number))
        except InvalidOperation:
            continue
    return found


def holds_rows(figure, texts):
    """Returns true if the texts contain every row, with its other values next to its id."""
    wanted = {row[0]: row[1:] for row in figure.rows}
    identifier = re.compile(rf"(?<!\w){figure.id_pattern}(?!\w)")
    for text in texts:
        ids = list(identifier.finditer(text))
        for at, found in enumerate(ids):
            beside = wanted.get(found.group())
            if beside is None:
                continue
            line = line_around(text, found.start())
            end = ids[at + 1].start() if at + 1 < len(ids) else len(text)
            after = text[found.start() : min(end, found.start() + SHORT)]
            if any(all(part in place for part in beside) for place in (line, after)):
                del wanted[found.group()]
    return not wanted


def line_around(text, at):
    """Returns the line around a position, or an empty text if the line is very long."""
    start = text.rfind("\n", max(0, at - SHORT), at) + 1
    end = text.find("\n", at, at + SHORT)
    if end < 0 and len(text) - at < SHORT:
        end = len(text)
    return text[start:end] if (start or at < SHORT) and end >= 0 else ""


def answered(task, text, edited):
    """Returns true if an answer in free text is right. Edits are judged only by the SHA-256 of the file."""
    if task.edit:
        return edited == hashlib.sha256(task.edit.after).hexdigest()
    if task.figure and re.fullmatch(r"-?\d+(\.\d+)?", task.answer[0]):
        return any(is_figure(number, Decimal(task.answer[0])) for number in numbers(text.replace(",", "")))
    return all(mentions(part.lstrip("* "), text) for part in task.answer)


def mentions(part, text):
    """Returns true if a free text contains a part of the answer. Seconds of times may be missing, and settings may be written in any form."""
    if re.fullmatch(r"\d\d:\d\d:00", part):
        return part[:5] in text
    return all(word in text for word in part.split(" = "))
