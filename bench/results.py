"""Typical tool results: generated ones, which are the same on every machine, and
the output of real commands on this machine."""

import base64
import json
import random
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from stage import ROOT

WORDS = (
    "request served cache miss retry worker queue token session upstream timeout page index user order invoice "
    "stock region build deploy image volume node cluster metric alert policy schema table column row batch commit"
).split()


@dataclass
class Case:
    name: str
    # The text blocks of the result; `structured` is its structured content as JSON text.
    texts: list
    goal: str
    # The text that answers the goal, which the model has to see.
    answer: str = ""
    structured: str = ""
    images: list = field(default_factory=list)
    # Source code without a goal has a separate budget.
    is_code: bool = False

    def result(self):
        """Returns the result as JSON text."""
        items = [{"type": "text", "text": text} for text in self.texts]
        items += [{"type": "image", "data": data, "mimeType": "image/png"} for data in self.images]
        rest = f',"structuredContent":{self.structured}' if self.structured else ""
        return f'{{"content":{json.dumps(items, ensure_ascii=False)}{rest}}}'

    def counted(self):
        """Returns the texts that count toward a budget: all texts, and structured content that no text repeats."""
        return self.texts + ([self.structured] if self.structured and not self.repeats() else [])

    def repeats(self):
        value = json.loads(self.structured)
        return any(text[:1] in "{[" and json.loads(text) == value for text in self.texts if text)


def stored(folder, goals):
    """Yields the results in a folder, one JSON-RPC response per file."""
    for path in sorted(Path(folder).glob("*.json")):
        answer = json.loads(path.read_text())
        result = answer["result"]
        structured = result.get("structuredContent")
        yield Case(
            path.stem,
            [item["text"] for item in result["content"]],
            goals.get(path.stem, path.stem.replace("_", " ")),
            structured=json.dumps(structured, ensure_ascii=False, separators=(",", ":")) if structured is not None else "",
            is_code=path.stem == "source_file",
        )


def made():
    """Yields generated results of 0.2 to 5 MB, which are the same on every machine."""
    pretty, short = {"indent": 2}, {"separators": (",", ":")}
    yield Case("issues, pretty JSON", [json.dumps(issues(1_300), **pretty)], "the issue about the lost websocket frame", "lost websocket frame")
    yield Case("issues, JSON on one line", [json.dumps(issues(900), **short)], "the issue about the lost websocket frame", "lost websocket frame")
    yield Case("pods, pretty JSON", [json.dumps(pods(680), **pretty)], "which pod is in CrashLoopBackOff", "CrashLoopBackOff")
    rows = table(29_500)
    yield Case("rows, pretty JSON", [json.dumps(rows, **pretty)], "the order that was refused as fraud", "refused as fraud")
    yield Case(
        "rows, as text and structured",
        [json.dumps({"rows": rows[:3_500]}, **pretty)],
        "orders of customer 1733",
        '"customer 1733"',
        json.dumps({"rows": rows[:3_500]}, **short),
    )
    yield Case("rows, JSON lines", ["\n".join(json.dumps(row, **short) for row in table(13_000))], "the order that was refused as fraud", "refused as fraud")
    yield Case("rows, CSV", [csv(11_000)], "the order that was refused as fraud", "refused as fraud")
    yield Case("journal", [journal(30_000)], "why was payment 48213 refused", "payment 48213 refused")
    yield Case("nested settings, pretty JSON", [json.dumps(settings(5), **pretty)], "the value of max_inflight", "max_inflight")
    yield Case("prose on one line", [prose(50_000)], "what the harbour master decided", "harbour master decided")
    yield Case("base64", [base64.b64encode(random.Random(7).randbytes(380_000)).decode()], "the picture")
    yield Case("60 text blocks of a journal", [journal(90, seed) for seed in range(60)], "why was payment 48213 refused", "payment 48213 refused")


def taken():
    """Yields the output of real commands, up to 5 MB each, which differs between machines."""
    where = {"cwd": ROOT}
    metadata = output(["cargo", "metadata", "--format-version", "1", "--offline"], limit=None, **where)
    yield Case("`git log -p`", [output(["git", "log", "-p"], limit=3_000_000, **where)], "when did receipts get an owner", is_code=True)
    yield Case("`find /etc /usr -ls`", [output(["find", "/etc", "/usr", "-xdev", "-ls"], limit=5_000_000)], "where is the configuration of the host names", "/etc/hosts\n")
    yield Case("`dpkg -l`", [output(["dpkg", "-l"])], "which version of openssl is there", " openssl ")
    yield Case("`cargo metadata`, one line", [metadata], "which features has rustls", '"name":"rustls"')
    yield Case("`cargo metadata`, pretty", [json.dumps(json.loads(metadata or "{}"), indent=2)[:5_000_000]], "which features has rustls", '"name": "rustls"')
    sources = sorted((ROOT / "crates/narrows-gateway/src").rglob("*.rs"))
    yield Case("`cat` of a crate's sources", ["".join(path.read_text() for path in sources)], "where are expired receipts dropped", "fn drop_oldest", is_code=True)
    yield Case("`cargo tree -e all`", [output(["cargo", "tree", "-e", "all", "--no-dedupe", "--offline"], limit=2_000_000, **where)], "who depends on ring")


def output(command, limit=5_000_000, **where):
    try:
        done = subprocess.run(command, capture_output=True, timeout=120, check=False, **where)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace")[:limit]


def sentence(chance, words=12):
    return " ".join(chance.choice(WORDS) for _ in range(words))


def issues(count):
    chance, wanted = random.Random(1), count * 7 // 10

    def issue(number):
        title = "lost websocket frame after a ping" if number == wanted else sentence(chance, 6)
        return {
            "id": 2_000_000_000 + number,
            "number": number,
            "title": title,
            "state": chance.choice(["open", "closed"]),
            "user": {"login": f"user-{chance.randrange(60)}", "id": chance.randrange(10**6), "site_admin": False},
            "labels": [{"id": chance.randrange(10**6), "name": chance.choice(WORDS), "color": "d73a4a"} for _ in range(chance.randrange(3))],
            "assignee": None,
            "comments": chance.randrange(30),
            "created_at": f"2025-0{1 + number % 9}-1{number % 10}T08:00:00Z",
            "body": "\n".join(sentence(chance) for _ in range(chance.randrange(2, 9))),
        }

    return [issue(number) for number in range(count)]


def pods(count):
    chance, wanted = random.Random(2), count * 3 // 5

    def pod(number):
        broken = number == wanted
        waiting = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}}
        return {
            "metadata": {
                "name": f"{chance.choice(WORDS)}-{number:05}",
                "namespace": chance.choice(["default", "shop", "infra"]),
                "uid": f"{chance.getrandbits(128):032x}",
                "labels": {"app": chance.choice(WORDS), "pod-template-hash": f"{chance.getrandbits(40):010x}"},
            },
            "spec": {
                "nodeName": f"node-{chance.randrange(12)}",
                "containers": [
                    {
                        "name": name,
                        "image": f"registry.example/{name}:1.{chance.randrange(40)}",
                        "resources": {"limits": {"cpu": "500m", "memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
                        "env": [{"name": f"{word.upper()}_URL", "value": f"http://{word}.svc:8080"} for word in chance.sample(WORDS, 6)],
                    }
                    for name in ("main", "sidecar")
                ],
            },
            "status": {
                "phase": "Running",
                "podIP": f"10.0.{number // 250}.{number % 250}",
                "containerStatuses": [{"name": "main", "ready": not broken, "restartCount": 41 if broken else 0, "state": waiting if broken else {"running": {"startedAt": "2025-05-01T10:00:00Z"}}}],
            },
        }

    return {"apiVersion": "v1", "kind": "PodList", "items": [pod(number) for number in range(count)]}


def table(count):
    chance, wanted = random.Random(3), count * 2 // 3
    return [
        {
            "order_id": number,
            "customer": f"customer {number % 4_000}",
            "amount": round(chance.uniform(1, 900), 2),
            "currency": "EUR",
            "status": "refused as fraud" if number == wanted else chance.choice(["paid", "open", "shipped"]),
            "city": chance.choice(["Oslo", "Lyon", "Ghent", "Porto", "Graz"]),
            "note": None,
        }
        for number in range(count)
    ]


def csv(count):
    rows = table(count)
    return "\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]) + "\n"


def journal(count, seed=4):
    chance, wanted = random.Random(seed), count * 3 // 4
    lines = []
    for number in range(count):
        when = f"Mar {1 + number // 4000:02} {number // 3600 % 24:02}:{number // 60 % 60:02}:{number % 60:02}"
        unit = chance.choice(["gate", "shop", "mail", "cron", "kernel"])
        message = sentence(chance, 8)
        if seed == 4 and number == wanted:
            unit, message = "shop", "payment 48213 refused by the bank: limit of the card reached"
        elif number % 997 == 0:
            message = f"ERROR {message}: connection reset by peer"
        lines.append(f"{when} host-{chance.randrange(4)} {unit}[{chance.randrange(900, 9999)}]: {message}")
    return "\n".join(lines) + "\n"


def settings(depth, chance=None):
    """Returns a tree without lists of similar items."""
    chance = chance or random.Random(5)
    if depth == 0:
        return {word: chance.choice([True, chance.randrange(1000), sentence(chance, 4)]) for word in chance.sample(WORDS, 5)}
    tree = {f"{word}_{number}": settings(depth - 1, chance) for number, word in enumerate(chance.sample(WORDS, 5))}
    return {**tree, "limits": {"max_inflight": 512}} if depth == 3 else tree


def prose(words):
    chance = random.Random(6)
    sentences = [f"The {sentence(chance, 9)}." for _ in range(words // 10)]
    sentences[len(sentences) * 2 // 5] = "At noon the harbour master decided that no ship may leave."
    return " ".join(sentences)
