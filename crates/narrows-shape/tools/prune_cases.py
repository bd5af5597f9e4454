#!/usr/bin/env python3
"""Generates cases for training the ranking of code: `prune_cases.py OUT.jsonl FOLDER...`

Each FOLDER contains packages, one folder each (an unpacked wheel, crate or npm
tarball). A case is a source file, a question derived from the first sentence of the
comment of one function, and the lines of that function. Comments are removed from
most files (all of them, or only that one), so that the code itself has to match.
The question is reworded, because a user does not know the words of the code. Cases
stay on the machine that trains. Needs only the standard library.
"""
import ast
import json
import random
import re
import sys
from pathlib import Path

PER_PACKAGE = 14
LINES = range(150, 2500)
GOLD = range(6, 90)
# The relative number of cases that lose the comment of the function, all comments, or none.
DOCS = [4, 4, 1]

# Words of comments, and their replacements in questions.
REWORDED = {
    "return": "hand back|give back|yield|produce", "returns": "hands back|gives back|yields",
    "create": "construct|make|build|set up", "creates": "constructs|makes|builds",
    "compute": "calculate|work out|determine", "computes": "calculates|works out",
    "calculate": "compute|work out", "calculates": "computes|works out",
    "check": "verify|test|make sure", "checks": "verifies|tests",
    "get": "obtain|fetch|retrieve|look up", "gets": "obtains|fetches|retrieves",
    "given": "supplied|passed", "object": "thing|item", "value": "content", "values": "contents",
    "list": "sequence|array", "dict": "mapping|map", "dictionary": "mapping|table",
    "connection": "link", "connections": "links", "file": "document", "path": "location",
    "error": "failure|problem", "errors": "failures", "use": "employ", "update": "refresh|change",
    "updates": "refreshes|changes", "write": "save|output", "writes": "saves|outputs",
    "read": "load|take in", "find": "locate|search for|discover", "finds": "locates",
    "split": "divide|break up", "parse": "interpret|decode|analyse", "parses": "interprets",
    "convert": "transform|turn", "converts": "transforms|turns", "stop": "halt|end", "start": "begin|launch",
    "starts": "begins|launches", "close": "shut", "set": "assign|define", "sets": "assigns",
    "new": "fresh", "current": "present", "all": "every", "option": "setting", "options": "settings",
    "merge": "combine|join", "request": "call", "specified": "chosen|wanted", "configuration": "settings",
    "config": "settings", "user": "account", "timeout": "time limit", "remove": "discard|drop|take out",
    "removes": "discards|drops", "delete": "erase|remove", "deletes": "erases|removes",
    "add": "insert|append|attach", "adds": "inserts|attaches", "generate": "produce|make",
    "generates": "produces", "build": "assemble|construct", "send": "transmit", "sends": "transmits",
    "function": "routine", "string": "text", "number": "count|amount", "argument": "parameter|input",
    "arguments": "parameters|inputs", "initialize": "set up|prepare", "handle": "deal with|process",
    "handles": "deals with", "show": "display", "print": "display|output", "message": "text",
    "index": "position", "size": "length|extent", "directory": "folder", "element": "item",
    "elements": "items|members", "determine": "decide|figure out", "run": "execute", "execute": "run|perform",
    "apply": "use|perform", "call": "invoke", "calls": "invokes", "name": "label", "default": "standard",
}
VERB = re.compile(r"^[A-Z]?[a-z]+(?:s)$")
DESCRIBED_BASE = ["I need to modify the code used to {}", "Where do we {}?", "How does this module {}?",
                  "How do we {}", "Explain how to {}"]
DESCRIBED_THIRD = ["Which part of this module {}?", "Find where it {}", "I need the code that {}",
                   "The function which {}"]
DESCRIBED_ANY = ["I am looking for: {}", "Where is this implemented: {}?", "{}", "Task: {}"]
NAMED = ["Fix a bug in {s}", "What does `{s}` do exactly and where could it go wrong?",
         "Show me the implementation of {s}, I need to change how it works: {d}", "Refactor {s}",
         "Why does {s}() fail?"]


def main():
    out, folders = sys.argv[1], sys.argv[2:]
    dice = random.Random(7)
    made = 0
    with open(out, "w") as target:
        for folder in folders:
            for package in sorted(p for p in Path(folder).iterdir() if p.is_dir()):
                for case in of_package(package, dice):
                    target.write(json.dumps(case) + "\n")
                    made += 1
    if made == 0:
        sys.exit("no cases: each FOLDER must contain unpacked packages, one folder each")
    print(f"{made} cases")


def of_package(package, dice):
    files = [p for ext in ("py", "rs", "js", "cjs", "mjs") for p in package.rglob(f"*.{ext}")]
    files = sorted(p for p in files if not re.search(r"min\.js|bundle|(^|/)tests?/|_pb2|vendor", str(p.relative_to(package))))
    dice.shuffle(files)
    cases = []
    for path in files[:400]:
        if len(cases) >= PER_PACKAGE:
            break
        try:
            text = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, OSError):
            continue
        lines = text.split("\n")
        if len(lines) > 6000 or len(lines) < LINES.start or len(text) > 60 * len(lines):
            continue
        find = {".py": python, ".rs": rust}.get(path.suffix, javascript)
        try:
            found = find(text, lines)
        except (SyntaxError, ValueError, RecursionError):
            continue
        good = [f for f in found if usable(f)]
        if len(found) < 5 or not good:
            continue
        case = make(lines, found, dice.choice(good), dice)
        if case:
            case["meta"].update(package=package.name, lang=path.suffix[1:], path=str(path.relative_to(package)))
            cases.append(case)
    return cases


def usable(function):
    doc = function["doc"]
    return 4 <= len(doc.split()) <= 30 and doc.isascii() and not re.search(r"deprecated|alias|see also|same as|@|::$", doc, re.I)


def make(lines, found, target, dice):
    docs = dice.choices(["target_removed", "all_removed", "kept"], DOCS)[0]
    drop = set() if docs == "kept" else set(target["doc_lines"])
    if docs == "all_removed":
        for function in found:
            drop.update(function["doc_lines"])
    number, kept = {}, []
    for at, line in enumerate(lines):
        if at not in drop:
            number[at] = len(kept)
            kept.append(line)
    gold = [number[at] + 1 for at in range(target["start"], target["end"]) if at in number and lines[at].strip()]
    gold += [number[at] + 1 for at in target["doc_lines"] if at in number and at < target["start"]]
    if len(gold) not in GOLD or len(kept) not in LINES:
        return None
    named = dice.random() < 0.3
    return {
        "id": "", "source_type": "code", "text": "\n".join(kept), "goal_hint": question(target, named, dice),
        "gold_lines": gold, "must_keep": [],
        "meta": {"symbol": target["name"], "kind": "named" if named else "described",
                 "docs": docs, "original_doc": target["doc"]},
    }


def question(target, named, dice):
    doc = re.sub(r"\b%s\b" % re.escape(target["name"]), "it", target["doc"])
    doc = doc[0].lower() + doc[1:] if doc[1:2].islower() else doc

    def reword(match):
        choice = REWORDED.get(match[0].lower())
        return dice.choice(choice.split("|")) if choice and dice.random() < 0.6 else match[0]

    doc = re.sub(r"[A-Za-z]+", reword, doc)
    if named:
        return dice.choice(NAMED).format(s=target["name"], d=doc)
    first = target["doc"].split()[0]
    third = VERB.match(first) and not first.endswith("ss")
    return dice.choice(dice.choice([DESCRIBED_THIRD if third else DESCRIBED_BASE, DESCRIBED_ANY])
                       if dice.random() < 0.4 else DESCRIBED_THIRD if third else DESCRIBED_BASE).format(doc)


def sentence(doc):
    doc = re.sub(r"\s+", " ", doc.strip().split("\n\n")[0]).strip()
    return re.split(r"(?<=[a-z)`])\.(?:\s|$)", doc)[0].replace("`", "").rstrip(". :")


def python(text, lines):
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            doc = ast.get_docstring(node)
            if not doc or len(node.body) < 2:
                continue
            at = node.body[0]
            start = min([node.lineno] + [d.lineno for d in node.decorator_list]) - 1
            found.append(dict(name=node.name, doc=sentence(doc), doc_lines=range(at.lineno - 1, at.end_lineno),
                              start=start, end=node.end_lineno))
    return found


RUST = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:const\s+)?(?:unsafe\s+)?(?:async\s+)?fn\s+(\w+)")
JS = re.compile(r"^\s*(?:export\s+)?(?:default\s+)?(?:static\s+)?(?:async\s+)?(?:function\s*\*?\s*(\w+)|(?:const|let|var)\s+(\w+)\s*=\s*(?:async\s*)?(?:function|\([^)]*\)\s*=>)"
                r"|(?:[\w$.]+\.)?([\w$]+)\s*[=:]\s*(?:async\s+)?function|(?:get |set )?([\w$]+)\s*\([^;]*\)\s*\{\s*$)")
NOT_NAMES = {"if", "for", "while", "switch", "catch", "function", "return", "constructor"}


def rust(text, lines):
    return commented(lines, RUST, lambda line: line.startswith("///"), lambda line: line.startswith("#["))


def javascript(text, lines):
    inside = set()
    for match in re.finditer(r"/\*\*.*?\*/", text, re.S):
        first = text.count("\n", 0, match.start())
        inside.update(range(first, first + match[0].count("\n") + 1))
    return commented(lines, JS, lambda line, inside=inside: False, lambda line: False, inside)


def commented(lines, define, is_doc, is_attribute, inside=frozenset()):
    found = []
    for at, line in enumerate(lines):
        match = define.match(line)
        name = match and next((g for g in match.groups() if g), None)
        if not name or name in NOT_NAMES or at in inside:
            continue
        top = at
        while top and is_attribute(lines[top - 1].strip()):
            top -= 1
        first = top
        while first and (is_doc(lines[first - 1].strip()) or first - 1 in inside):
            first -= 1
        end = closing(lines, at)
        if first == top or end is None:
            continue
        doc = "\n".join(re.sub(r"^\s*(///|/\*\*|\*/|\*)", "", l).replace("*/", "") for l in lines[first:top])
        doc = re.sub(r"\[`?([^\]`]*)`?\](\([^)]*\))?", r"\1", re.split(r"\n\s*@", doc)[0])
        if doc.strip():
            found.append(dict(name=name, doc=sentence(doc), doc_lines=range(first, top), start=top, end=end))
    return found


def closing(lines, at):
    depth, opened = 0, False
    for end in range(at, min(len(lines), at + 200)):
        line = re.sub(r"//.*|'(?:\\.|[^'\\])'|\"(?:\\.|[^\"\\])*\"", "", lines[end])
        if not opened and "{" not in line and line.rstrip().endswith(";"):
            return None
        depth += line.count("{") - line.count("}")
        opened = opened or "{" in line
        if opened and depth <= 0:
            return end + 1
    return None


if __name__ == "__main__":
    main()
