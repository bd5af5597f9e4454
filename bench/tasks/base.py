"""Types of the task set, and the vocabulary of generated files."""

import random
import re
from dataclasses import dataclass, field

FILES = "files"


@dataclass
class Read:
    """A call whose result may be long. Each strategy makes it in its own way."""

    server: str
    tool: str
    arguments: dict


@dataclass
class Do:
    """A call that every strategy makes unchanged.

    `expect` is a regular expression. If the result does not match it, the other steps are
    skipped, because a model would not know what to do next."""

    server: str
    tool: str
    arguments: dict
    expect: str | None = None


@dataclass
class Figure:
    """An answer that no line contains, because it is counted or computed from rows.

    `rows` has the id of each row that contributes, with the other texts that must be
    next to it. `where`, `aggregate` and `sort` are arguments of `recover_text`; `fields`
    are the names in them, which must occur in the question or in the digest before they may be used."""

    rows: list
    id_pattern: str
    where: str | None = None
    aggregate: str | None = None
    sort: str | None = None
    select: str | None = None
    fields: list = field(default_factory=list)
    # A query of words of the question. The number of matching lines is the answer.
    counted_by: str | None = None


@dataclass
class Edit:
    """A change to a file that requires its exact text.

    `pattern` finds the exact text in a result, and `replace` returns the new text for the
    match. With `whole`, the file is rewritten with `write_file`."""

    path: str
    before: bytes
    after: bytes
    pattern: str
    replace: object
    whole: bool = False


@dataclass
class Task:
    id: str
    kind: str
    question: str
    # A text answers the question if it contains all of these.
    answer: list
    steps: list
    figure: Figure | None = None
    edit: Edit | None = None
    # Recomputes the answer from the files alone.
    recompute: object = None
    # Lines around a match that the task needs.
    context: int | None = None
    # The task compares two files.
    compares: bool = False


class Source(random.Random):
    """A random number generator with a text as its seed.

    The integers are derived from `random()`, because the standard library guarantees only the
    sequence of `random()`. These methods are also several times faster."""

    def randrange(self, stop):
        return int(self.random() * stop)

    def randint(self, least, most):
        return least + int(self.random() * (most - least + 1))

    def choice(self, items):
        return items[int(self.random() * len(items))]


class Writer:
    """Writes files below a folder, and provides a random number generator for each task."""

    def __init__(self, seed, folder):
        self.seed = seed
        self.folder = folder

    def random(self, name):
        return Source(f"narrows-agent/{self.seed}/{name}")

    def write(self, path, text):
        full = self.folder / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(text if isinstance(text, bytes) else text.encode())

    def text(self, path):
        return (self.folder / path).read_text()


def read_file(path, **arguments):
    return Read(FILES, "read_text_file", {"path": path, **arguments})


# Words of a question that do not help a search.
STOP = set(
    """a about across after all among an and any are as at be been before beside between but by can change contains count did do
    does during each edit exactly file files find first for from give had has have how if in into is it its last line lines
    long many much name named names no not of on one only or other others out read says several so than that the their them
    then there these they this to two under up use was were what when where which who whose why will with write""".split()
)


@dataclass
class Words:
    quoted: list
    marked: list
    plain: list


def words_of(question):
    """Groups the words of a question: quoted texts, words that look like identifiers or
    numbers, and the others without stop words and file names."""
    quoted = re.findall(r'"([^"]+)"', question)
    rest = re.sub(r'"[^"]+"', " ", question)
    marked, plain = [], []
    for word in re.findall(r"[\w./:+-]*\w", rest):
        if "/" in word or re.search(r"\.[a-z]{1,5}$", word):
            continue
        if re.search(r"\d|_|[a-z][A-Z]|[A-Z]{2}", word):
            marked.append(word)
        elif word.lower() not in STOP and len(word) > 2:
            plain.append(word)
    return Words(quoted, list(dict.fromkeys(marked)), list(dict.fromkeys(plain)))


def queries(question, most=4):
    """Returns queries that use only words of the question, in the order in which they are tried."""
    words = words_of(question)
    sharp = words.quoted + words.marked
    tries = [" ".join(sharp)]
    # A single number matches too many lines.
    tries += words.quoted + [word for word in words.marked if re.search("[A-Za-z]", word)]
    tries.append(" ".join(words.plain))
    tries += sorted(words.plain, key=lambda word: (-len(word), word))
    return list(dict.fromkeys(query for query in tries if query))[:most]


FIRST = "Ada Bela Cora Dario Edda Ferid Gala Hanno Iris Jora Kamil Lena Milo Nadia Oren Petra Quirin Rosa Sami Tilda".split()
LAST = "Aalto Brandt Cseri Dumas Eklund Farkas Gruber Horvat Ilves Jansen Kovac Lindt Moser Novak Okafor Petit Ruiz Sato".split()
PLACES = "Arven Borlo Calder Dunmore Eskil Farrow Gledhill Harrow Ister Jarrow Kelso Larch Morven Nairn Orford Penrith".split()
THINGS = "valve pump boiler gauge rotor hopper winch turbine cutter feeder mixer dryer press kiln crane lift".split()
VERBS = "opened closed checked moved cleaned loaded unloaded started paused resumed measured sealed tested drained filled".split()
PLAIN = (
    "water level season harbour ridge timber morning station surface winter steel carriage bridge engine garden copper "
    "market letter corner river window summer ladder bottle candle mirror needle paper signal harvest meadow quarry "
    "canal lantern orchard saddle thread whistle barrel anchor basket cellar"
).split()


def sentence(rng, least=8, most=16):
    words = [rng.choice(PLAIN) for _ in range(rng.randint(least, most))]
    words[2] = rng.choice(VERBS)
    return (" ".join(words)).capitalize() + "."


def clock(second):
    """Returns a time of day on 4 March 2026 in log format."""
    return f"2026-03-{4 + second // 86400:02}T{second // 3600 % 24:02}:{second // 60 % 60:02}:{second % 60:02}"
