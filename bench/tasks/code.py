"""Tasks about long source files and about two files that differ in one place."""

from .base import PLACES, PLAIN, THINGS, VERBS, Task, read_file


def make(writer):
    return [
        ledger_function(writer),
        constant(writer),
        odd_handler(writer),
        type_of_field(writer),
        changed_setting(writer),
        added_rule(writer),
    ]


def identifiers(rng, count):
    """Returns unique names of two words and a number."""
    return [f"{rng.choice(VERBS)}_{rng.choice(PLAIN)}_{at}" for at in range(count)]


def handler(name, table):
    return f'''def handle_{name}(request, store):
    """Stores one record of {table}."""
    record = request.body
    if not record:
        return reply(400, "empty")
    store.insert("{table}", record)
    return reply(201, record["id"])
'''


PYTHON_HEAD = '"""Handlers of the web service."""\n\nfrom service.http import reply\nfrom service.store import Store\n\n\n'


def ledger_function(writer):
    rng = writer.random("ledger-function")
    blocks = [handler(name, rng.choice(PLAIN)) for name in identifiers(rng, 700)]
    wanted = f"settle_{rng.choice(PLACES).lower()}_{rng.randint(100, 999)}"
    blocks[rng.randint(250, 600)] = f'''def {wanted}(account, ledger):
    """Books the balance of an account into the audit ledger."""
    balance = account.debits - account.credits
    ledger.append(account.number, balance)
    return balance
'''
    writer.write("src/handlers.py", PYTHON_HEAD + "\n\n".join(blocks))
    question = "One function in src/handlers.py books a balance into the audit ledger. What is it called?"
    return Task("code-function", "in source code", question, [wanted], [read_file("src/handlers.py")], context=4)


def constant(writer):
    rng = writer.random("constant")
    lines = ["// Limits of all parts of the plant, in milliseconds.", "#pragma once", ""]
    names = set()
    while len(names) < 5_000:
        names.add(
            f"{rng.choice(PLACES)}_{rng.choice(THINGS)}_{rng.choice(PLAIN)}_{rng.choice(['LIMIT', 'FLOOR', 'STEP'])}_{rng.randint(1, 99)}".upper()
        )
    names = sorted(names)
    rng.shuffle(names)
    values = rng.sample(range(100_000, 999_999), len(names))
    lines += [f"constexpr int {name} = {value};" for name, value in zip(names, values)]
    at = rng.randint(1_500, 4_000)
    writer.write("src/limits.hpp", "\n".join(lines) + "\n")
    question = f"Which value has the constant {names[at]} in src/limits.hpp?"
    return Task("code-constant", "in source code", question, [str(values[at])], [read_file("src/limits.hpp")])


def odd_handler(writer):
    rng = writer.random("odd-handler")
    blocks = []
    for name in identifiers(rng, 900):
        blocks.append(f"func {name}(w Writer, r Request) {{\n\tcheck(r)\n\tsave(r.Body)\n\tw.Status(204)\n}}\n")
    wanted = f"{rng.choice(VERBS)}_{rng.choice(PLAIN)}_{rng.randint(1000, 9999)}"
    blocks[rng.randint(300, 700)] = f"func {wanted}(w Writer, r Request) {{\n\tsave(r.Body)\n\tw.Status(204)\n}}\n"
    writer.write("src/routes.go", "package routes\n\n" + "\n".join(blocks))
    question = (
        "All functions of src/routes.go are built alike, but one leaves out a step that the others take. Name that function."
    )
    return Task("code-unlike", "in source code", question, [wanted], [read_file("src/routes.go")])


def type_of_field(writer):
    rng = writer.random("type-of-field")
    blocks = []
    for at in range(800):
        fields = rng.sample(PLAIN, 5)
        body = "".join(f"    pub {name}: {rng.choice(['u32', 'String', 'bool', 'f64'])},\n" for name in fields)
        blocks.append(f"/// Message {at} of the wire format.\npub struct Message{at:04} {{\n{body}}}\n")
    wanted = f"BTreeMap<u16, Span{rng.randint(1000, 9999)}>"
    at = rng.randint(250, 600)
    blocks[at] = (
        f"/// Message {at} of the wire format.\npub struct Message{at:04} {{\n    pub harvest: bool,\n    pub calibration_offsets: {wanted},\n}}\n"
    )
    writer.write("src/messages.rs", "\n".join(blocks))
    question = "What is the type of the field calibration_offsets in src/messages.rs?"
    return Task("code-field", "in source code", question, [wanted], [read_file("src/messages.rs")])


def setting_lines(rng, count):
    return [f"{rng.choice(THINGS)}.{rng.choice(PLAIN)}.{at:04} = {rng.randint(100, 999)}" for at in range(count)]


def changed_setting(writer):
    rng = writer.random("changed-setting")
    lines = setting_lines(rng, 6_000)
    at = rng.randint(2_000, 5_000)
    old, new = rng.sample(range(10_000, 99_999), 2)
    name = lines[at].split(" = ")[0]
    lines[at] = f"{name} = {old}"
    writer.write("conf/monday.properties", "\n".join(lines) + "\n")
    lines[at] = f"{name} = {new}"
    writer.write("conf/tuesday.properties", "\n".join(lines) + "\n")
    question = "conf/monday.properties and conf/tuesday.properties differ in one setting. Which values has it in each of the two?"
    steps = [read_file("conf/monday.properties"), read_file("conf/tuesday.properties")]
    return Task("diff-setting", "difference", question, [f"{name} = {old}", f"{name} = {new}"], steps, compares=True)


def added_rule(writer):
    rng = writer.random("added-rule")
    lines = [
        f"allow {rng.choice(THINGS)} from 10.{rng.randint(0, 255)}.{rng.randint(0, 255)}.0/24 to port {rng.randint(1000, 9999)}"
        for _ in range(2_500)
    ]
    writer.write("conf/rules.old", "\n".join(lines) + "\n")
    wanted = (
        f"allow {rng.choice(THINGS)} from 172.{rng.randint(16, 31)}.{rng.randint(0, 255)}.0/24 to port {rng.randint(1000, 9999)}"
    )
    lines.insert(rng.randint(700, 2_000), wanted)
    writer.write("conf/rules.new", "\n".join(lines) + "\n")
    question = "A rule was added between conf/rules.old and conf/rules.new. Which rule?"
    return Task(
        "diff-added", "difference", question, [wanted], [read_file("conf/rules.old"), read_file("conf/rules.new")], compares=True
    )
