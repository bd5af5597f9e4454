"""Tasks that change a file. The exact text must be found first, and the bytes on disk are compared."""

import json
import re

from .base import PLACES, PLAIN, THINGS, Edit, Task, read_file, sentence


def make(writer):
    return [
        timeout_of_section(writer),
        rate_of_function(writer),
        quota_of_tenant(writer),
        pier_of_ferry(writer),
        added_registration(writer),
        removed_host(writer),
        renamed_depot(writer),
    ]


def task(writer, name, path, question, before, after, pattern, replace, context, whole=False):
    writer.write(path, before)
    edit = Edit(path, before.encode(), after.encode(), pattern, replace, whole)
    return Task(name, "edit", question, [], [read_file(path)], edit=edit, context=context)


def timeout_of_section(writer):
    rng = writer.random("edit-timeout")
    sections = []
    for at in range(1_100):
        sections.append(
            (f"{rng.choice(THINGS)}-{rng.choice(PLAIN)}-{at}", rng.randint(1, 255), rng.choice([500, 1000, 1500, 2000]))
        )
    chosen = rng.randint(300, 900)
    name, _, old = sections[chosen]
    new = rng.randint(2_101, 2_999)
    render = lambda values: "\n".join(
        f"[service {name}]\nhost = 10.0.0.{host}\ntimeout_ms = {timeout}\nretries = 3\n" for name, host, timeout in values
    )
    before = render(sections)
    sections[chosen] = (name, sections[chosen][1], new)
    question = f'Set timeout_ms to {new} for the service "{name}" in conf/services.ini, and leave all others as they are.'
    pattern = rf"\[service {re.escape(name)}\]\nhost = [\d.]+\ntimeout_ms = {old}\n"
    replace = lambda found: found.replace(f"timeout_ms = {old}", f"timeout_ms = {new}")
    return task(writer, "edit-timeout", "conf/services.ini", question, before, render(sections), pattern, replace, 4)


def rate_of_function(writer):
    rng = writer.random("edit-rate")
    functions = [(f"fee_{rng.choice(PLACES).lower()}_{at}", f"0.0{rng.randint(10, 99)}") for at in range(900)]
    chosen = rng.randint(250, 700)
    name, old = functions[chosen]
    new = f"0.1{rng.randint(10, 99)}"
    render = lambda values: "\n\n".join(
        f"def {name}(amount):\n    rate = {rate}\n    return round(amount * rate, 2)\n" for name, rate in values
    )
    before = render(functions)
    functions[chosen] = (name, new)
    question = f"In src/fees.py the function {name} has a wrong rate. Change it to {new}."
    pattern = rf"def {name}\(amount\):\n    rate = {re.escape(old)}\n"
    return task(
        writer, "edit-rate", "src/fees.py", question, before, render(functions), pattern, lambda found: found.replace(old, new), 4
    )


def quota_of_tenant(writer):
    rng = writer.random("edit-quota")
    tenants = [
        {"tenant": f"{rng.choice(PLACES)}-{at:04}", "plan": rng.choice(["basic", "full"]), "quota": rng.randint(10, 60)}
        for at in range(1_500)
    ]
    chosen = rng.randint(400, 1_200)
    name, old, new = tenants[chosen]["tenant"], tenants[chosen]["quota"], rng.randint(110, 190)
    before = json.dumps({"tenants": tenants}, indent=2) + "\n"
    tenants[chosen] = tenants[chosen] | {"quota": new}
    after = json.dumps({"tenants": tenants}, indent=2) + "\n"
    question = f'Raise the quota of the tenant "{name}" in conf/tenants.json to {new}.'
    pattern = rf'"tenant": "{name}",\n      "plan": "\w+",\n      "quota": {old}\n'
    replace = lambda found: found.replace(f'"quota": {old}', f'"quota": {new}')
    return task(writer, "edit-quota", "conf/tenants.json", question, before, after, pattern, replace, 4)


def pier_of_ferry(writer):
    rng = writer.random("edit-pier")
    paragraphs = [" ".join(sentence(rng) for _ in range(5)) for _ in range(500)]
    old, new = rng.sample(range(11, 99), 2)
    wanted = f"The night ferry to Sandvik leaves from pier {old}."
    at = rng.randint(150, 400)
    paragraphs[at] += f" {wanted} {sentence(rng)}"
    before = "# Timetable\n\n" + "\n\n".join(paragraphs) + "\n"
    after = before.replace(wanted, wanted.replace(str(old), str(new)))
    question = f"docs/timetable.md says from which pier the night ferry to Sandvik leaves. Correct it to pier {new}."
    return task(
        writer,
        "edit-pier",
        "docs/timetable.md",
        question,
        before,
        after,
        re.escape(wanted),
        lambda found: found.replace(f"pier {old}", f"pier {new}"),
        0,
    )


def added_registration(writer):
    rng = writer.random("edit-registration")
    lines = [f'register("{rng.choice(PLAIN)}-{rng.choice(THINGS)}-{at}", plugin{rng.randint(100, 999)});' for at in range(2_200)]
    chosen = rng.randint(700, 1_600)
    name = lines[chosen].split('"')[1]
    line = f'register("zinc-relay", plugin{rng.randint(1000, 9999)});'
    head = 'import { register } from "./registry";\n\n'
    before = head + "\n".join(lines) + "\n"
    after = before.replace(lines[chosen] + "\n", lines[chosen] + "\n" + line + "\n")
    question = f'In src/plugins.ts, put the line {line.replace(chr(34), chr(39))} (with double quotes) directly after the registration of "{name}".'
    return task(
        writer,
        "edit-insert",
        "src/plugins.ts",
        question,
        before,
        after,
        re.escape(lines[chosen]) + "\n",
        lambda found: found + line + "\n",
        1,
    )


def removed_host(writer):
    rng = writer.random("edit-host")
    lines = [
        f"10.{rng.randint(0, 9)}.{rng.randint(0, 255)}.{rng.randint(1, 254)} {rng.choice(THINGS)}-{at:04}.{rng.choice(PLACES).lower()}.example"
        for at in range(3_000)
    ]
    chosen = rng.randint(900, 2_400)
    host = lines[chosen].split()[1]
    before = "\n".join(lines) + "\n"
    after = before.replace(lines[chosen] + "\n", "")
    question = f'Delete the entry of the host "{host}" from conf/hosts, with its line.'
    return task(
        writer, "edit-delete", "conf/hosts", question, before, after, re.escape(lines[chosen]) + "\n", lambda found: "", 1
    )


def renamed_depot(writer):
    rng = writer.random("edit-depot")
    old, new = rng.sample(PLACES, 2)
    lines = ["vehicles:"]
    for at in range(800):
        lines += [f"  - plate: {rng.choice(PLAIN)[:3].upper()}-{at:04}", f"    depot: {rng.choice(PLACES)}"]
    before = "\n".join(lines) + "\n"
    after = before.replace(f"depot: {old}\n", f"depot: {new}\n")
    question = f'Write conf/fleet.yaml again with every depot "{old}" changed to "{new}".'
    replace = lambda text: text.replace(f"depot: {old}\n", f"depot: {new}\n")
    return task(
        writer, "edit-rewrite", "conf/fleet.yaml", question, before, after, rf"(?s)\Avehicles:\n.*\Z", replace, None, whole=True
    )
