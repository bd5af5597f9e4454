"""Tests the admin API of a separate gateway with valid and invalid requests that
Schemathesis generates from the API description. Usage:

    python admin.py NARROWS FOLDER COMMAND [ARG...]

FOLDER is an empty folder for this test; COMMAND starts a reference server over stdio.
"""

import contextlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, urlsplit

import schemathesis
import schemathesis.cli
from schemathesis import GenerationMode

DESCRIPTION = Path(__file__).resolve().parents[3] / "docs/openapi.json"
EVENTS = "/api/v1/events"
# The number of requests of each kind per operation, and the seed of other random data.
EXAMPLES, SEED = 25, 7420
# Seconds; long enough for every operation on a slow machine.
TIMEOUT = 30
# The gateway may reject larger bodies without reading them.
LARGE = 100_000
COMMENTS = ["// The strait, and who may pass it.", "/* this server is down */", "// for readers only"]
# Objects that requests may change, and objects that they must not change, because
# other tests need them.
SPARE = "spare"
SPARE_SERVER = {"type": "builtin", "name": "demo"}
SPARE_PRESET = {"tools": ["demo/*"], "prompts": None, "resources": []}
KEPT = ["demo", "ref", "down", "all", "few", "default"]


class Gateway:
    """`narrows serve` with a configuration, two clients, and a session of each."""

    def __init__(self, narrows, folder, command):
        self.narrows = narrows
        self.file = folder / "narrows.json"
        runtime = folder / "run"
        runtime.mkdir(mode=0o700)
        # An empty PATH, so that invented commands cannot start a program.
        (folder / "empty").mkdir()
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "PATH": str(folder / "empty")}
        made = {name: self.made_token(name) for name in ("cursor", "reader")}
        self.tokens = {name: token for name, (token, _) in made.items()}
        self.file.write_text(configuration(command, {name: digest for name, (_, digest) in made.items()}))
        self.original = self.file.read_bytes()
        options = ["--listen", "127.0.0.1:0", "--config", str(self.file), "--log-format", "json"]
        self.log = (folder / "log").open("w+")
        self.process = subprocess.Popen(
            [narrows, "serve", *options], env=self.environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log
        )
        self.site = self.runtime_site(runtime)
        runtime_file = json.loads((runtime / "narrows" / f"{self.site.partition(':')[2]}.json").read_text())
        self.admin = runtime_file["token"]
        self.sessions = [Session(self, name) for name in self.tokens]

    def made_token(self, name):
        done = subprocess.run([self.narrows, "token", name], capture_output=True, text=True, timeout=TIMEOUT, check=True)
        entry = json.loads(done.stderr[done.stderr.index("{") : done.stderr.rindex("}") + 1])
        return done.stdout.strip(), entry["clients"][name]["token"]

    def runtime_site(self, runtime):
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end and self.process.poll() is None:
            for file in runtime.glob("narrows/*.json"):
                with contextlib.suppress(ValueError):
                    return json.loads(file.read_text())["url"].removeprefix("http://")
            time.sleep(0.05)
        raise AssertionError(f"the gateway did not start: {self.log_tail()}")

    def log_tail(self):
        self.log.flush()
        return Path(self.log.name).read_text()[-2000:]

    def ask(self, method, path, body=None, token="", headers=None):
        """Sends a request and returns status, headers and JSON. Uses the admin token by default, and none if it is `None`."""
        token = self.admin if token == "" else token
        headers = {} if headers is None else dict(headers)
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None and not isinstance(body, bytes):
            headers["Content-Type"] = "application/json"
            body = json.dumps(body).encode()
        connection = http.client.HTTPConnection(self.site, timeout=TIMEOUT)
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        content = json.loads(text) if (answer.getheader("content-type") or "").startswith("application/json") else text
        return answer.status, answer.headers, content

    def api(self, method, path, body=None):
        status, _, content = self.ask(method, f"/api/v1{path}", body)
        check(status < 300, f"{method} {path}: {status} {content}")
        return content

    def listen(self):
        """Opens the endless event stream on a separate connection, which closes with the stream."""
        connection = http.client.HTTPConnection(self.site, timeout=TIMEOUT)
        headers = {"Authorization": f"Bearer {self.admin}", "Connection": "close"}
        connection.request("GET", f"{EVENTS}?calls=true", headers=headers)
        return connection.getresponse()

    def state(self):
        """Returns the state that an operator can change, without parts that change by themselves."""
        servers = [(one["id"], one["state"] == "disabled") for one in self.api("GET", "/servers")["servers"]]
        sessions = [(one["number"], one["own_preset"]) for one in self.api("GET", "/sessions")["sessions"]]
        presets = [(one["id"], one["tools"]) for one in self.api("GET", "/presets")["presets"]]
        endpoints = [(one["name"], one["preset"]) for one in self.api("GET", "/endpoints")["endpoints"]]
        return servers, sessions, presets, endpoints, self.api("GET", "/status")["configuration"]["unsaved"]


class Session:
    """A session of a client with a token."""

    def __init__(self, gateway, name):
        self.gateway = gateway
        self.headers = {"Accept": "application/json, text/event-stream"}
        self.token = gateway.tokens[name]
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
        self.ask("initialize", hello)
        self.number = max(one["number"] for one in gateway.api("GET", "/sessions")["sessions"])

    def ask(self, method, params):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        status, headers, content = self.gateway.ask("POST", "/mcp", body, self.token, self.headers)
        if isinstance(content, bytes):
            data = [line[5:] for line in content.split(b"\n") if line.startswith(b"data:") and line[5:].strip()]
            content = json.loads(data[-1])
        check(status == 200 and "result" in content, f"{method}: {status} {content}")
        self.headers["Mcp-Session-Id"] = headers["mcp-session-id"] or self.headers.get("Mcp-Session-Id")
        return content["result"]

    def names(self):
        return {tool["name"] for tool in self.ask("tools/list", {})["tools"]}


class Spare:
    """Makes requests address existing and missing objects in turn, and keeps them away from
    objects that other tests need."""

    def __init__(self, gateway, save):
        self.gateway = gateway
        self.save = save
        self.turn = 0

    def before(self, case):
        # Requests with `save` are tested separately.
        if str((case.query or {}).get("save")).lower() == "true":
            case.query["save"] = "false"
        right = case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE
        if right and self.save and any(parameter.name == "save" for parameter in case.operation.query):
            case.query = {**(case.query or {}), "save": "true"}
        self.turn += right
        given = case.path_parameters or {}
        kept = {str(word) for word in given.values()} & {*KEPT, *(str(session.number) for session in self.gateway.sessions)}
        if case.method != "GET" and kept or right and given and self.turn % 2:
            case.path_parameters = self.existing(case.path)
        if right and self.turn % 3 == 0:
            case.body = self.accepted(case)

    def existing(self, path):
        """Returns parameters for an existing object, which is created if it is missing."""
        if "/servers/" in path:
            self.gateway.ask("POST", "/api/v1/servers", {"id": SPARE, "config": SPARE_SERVER})
            return {"id": SPARE}
        if "/presets/" in path:
            self.gateway.ask("PUT", f"/api/v1/presets/{SPARE}", SPARE_PRESET)
            return {"id": SPARE}
        if "/endpoints/" in path:
            return {"name": "other"}
        return {"number": Session(self.gateway, "cursor").number}

    def accepted(self, case):
        """Replaces a generated body that would hardly ever be a valid configuration."""
        body = case.body
        if not isinstance(body, dict):
            return body
        if "preset" in body:
            return {"preset": "all"}
        if isinstance(body.get("config"), dict):
            fine = {key: body["config"][key] for key in ("args", "enabled") if key in body["config"]}
            named = {"id": f"made-{self.turn}"} if "id" in body else {}
            return {**body, **named, "config": {**fine, "command": "no-such-program"}}
        return {**{key: value for key, value in body.items() if key != "id"}, **SPARE_PRESET}

    def after(self, case, response):
        # Removes the added object, because hundreds of failing servers would slow down
        # the test.
        if response.status_code == 201:
            path = urlsplit(response.request.url).path
            path = f"{path}/{quote(case.body['id'], safe='')}" if case.path.endswith("/servers") else path
            self.gateway.api("DELETE", f"{path.removeprefix('/api/v1')}?save={str(self.save).lower()}")


def features(gateway, folder):
    described = json.loads(DESCRIPTION.read_text())
    operations = [
        (method.upper(), path)
        for path, methods in described["paths"].items()
        for method in methods
        if method in ("get", "put", "post", "delete")
    ]
    usual = [(method, path) for method, path in operations if path != EVENTS]

    def the_description_matches_the_documents():
        check(len(operations) > 20, f"only {operations}")
        same(gateway.api("GET", "/openapi.json"), described, "the description")

    def every_operation_answers_as_described():
        run_schemathesis(gateway, folder, "all", EXAMPLES, save=False)

    def events_are_sent_immediately():
        answer = gateway.listen()
        same(answer.status, 200, "the status")
        check(answer.getheader("content-type").startswith("text/event-stream"), answer.getheader("content-type"))
        gateway.sessions[0].ask("tools/list", {})
        lines = iter(answer.readline, b"")
        check(any(line.strip() == b"event: call" for line in lines), "the stream ended without a call")
        data = json.loads(next(lines).removeprefix(b"data:"))
        answer.close()
        same((data["event"], data["method"], data["client"]), ("call", "tools/list", "cursor"), "the event")

    def closed_listeners_make_room_for_others():
        listening = [gateway.listen() for _ in range(20)]
        same({answer.status for answer in listening}, {200, 429}, "the statuses")
        check(all(answer.getheader("retry-after") for answer in listening if answer.status == 429), "no Retry-After header")
        for answer in listening:
            answer.close()

        def accepted():
            answer = gateway.listen()
            answer.close()
            return answer.status == 200

        until(accepted, "no room for a listener")

    def requests_without_the_admin_token_are_rejected():
        before = gateway.state()
        wrong = "nra_" + "A" * 43
        tries = {
            "no token": {},
            "a client's": {"Authorization": f"Bearer {gateway.tokens['cursor']}"},
            "a wrong one": {"Authorization": f"Bearer {wrong}"},
            "half of it": {"Authorization": f"Bearer {gateway.admin[:-1]}"},
            "more than it": {"Authorization": f"Bearer {gateway.admin}A"},
            "another scheme": {"Authorization": f"Basic {gateway.admin}"},
            "no scheme": {"Authorization": gateway.admin},
            "nothing": {"Authorization": ""},
            "Bearer alone": {"Authorization": "Bearer "},
            "bytes": {"Authorization": b"Bearer \xff\xfe\x80".decode("latin-1")},
            "a long one": {"Authorization": "Bearer " + "A" * 8000},
            "another header": {"X-Authorization": f"Bearer {gateway.admin}"},
        }

        def one(asked):
            (method, path), (name, headers) = asked
            body = sample(method, path)
            status, answer, content = gateway.ask(method, filled(path), body, None, headers)
            bad = status != 401 or not (answer["www-authenticate"] or "").startswith("Bearer")
            bad |= not isinstance(content, dict) or content["error"]["code"] != "unauthorized"
            return f"{method} {path} with {name}: {status} {str(content)[:200]}" if bad else None

        # Fewer at a time than the limit for delayed rejections.
        with ThreadPoolExecutor(6) as pool:
            found = list(pool.map(one, [(operation, tried) for operation in operations for tried in tries.items()]))
        bad = [one for one in found if one]
        check(not bad, f"{len(bad)} of {len(found)}:\n" + "\n".join(bad[:20]))
        same(gateway.state(), before, "what an operator could change")

    def garbage_is_rejected_without_delay():
        chance = random.Random(SEED)
        bodies = {
            "nothing": b"",
            "bytes": chance.randbytes(5000),
            "half": b'{"id": "x", "config": {"command": ',
            "deep": b"[" * 200_000,
            "deep objects": b'{"config":' * 100_000,
            "not UTF-8": b'{"id": "\xff\xfe", "config": {}}',
            "half a surrogate": b'{"id": "\\ud800", "config": {"command": "x"}}',
            "twice": b'{"id": "a", "id": "b", "config": {}, "config": {}}',
            "two of them": b"{}{}",
            "a large number": b'{"preset": ' + b"9" * 5000 + b"}",
            "null": b"null",
            "too large": b'"' + b"x" * 3_000_000 + b'"',
            "zeros": b"\0" * 1000,
        }
        kinds = [None, "", "application/json", "application/json; charset=utf-16"]
        kinds += ["text/plain", "application/xml", "multipart/form-data", "\xff/;;="]
        statuses = {400, 404, 409, 411, 413, 415, 422}

        def one(asked):
            (method, path), name, kind = asked
            headers = {} if kind is None else {"Content-Type": kind}
            began = time.monotonic()
            try:
                status, _, content = gateway.ask(method, filled(path), bodies[name], headers=headers)
            except ConnectionError:
                # The gateway may reject the request without reading all of it.
                return None if len(bodies[name]) > LARGE else f"{method} {path}, {name} as {kind}: the connection broke"
            except Exception as error:
                return f"{method} {path}, {name} as {kind}: {error!r}"
            if status not in statuses or time.monotonic() - began > TIMEOUT / 2:
                return f"{method} {path}, {name} as {kind}: {status} {str(content)[:200]}"
            return None

        takes = [(method, path) for method, path in usual if "requestBody" in described["paths"][path][method.lower()]]
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(one, [(operation, name, kind) for operation in takes for name in bodies for kind in kinds]))
        bad = [one for one in found if one]
        check(not bad, f"{len(bad)} of {len(found)}:\n" + "\n".join(bad[:20]))

    def invalid_http_closes_only_its_connection():
        host, _, port = gateway.site.partition(":")
        auth = f"Authorization: Bearer {gateway.admin}\r\nHost: {gateway.site}\r\nConnection: close\r\n".encode()
        chance = random.Random(SEED)
        put = b"PUT /api/v1/presets/x HTTP/1.1\r\n" + auth + b"Content-Type: application/json\r\n"
        raw = [
            put + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n{}\r\n\r\n",
            put + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
            b"GET /api/v1/servers/%ff%fe HTTP/1.1\r\n" + auth + b"\r\n",
            b"GET /api/v1/servers/%zz HTTP/1.1\r\n" + auth + b"\r\n",
            b"GET /api/v1/calls?limit=%00&failed=%ff HTTP/1.1\r\n" + auth + b"\r\n",
            b"BREW /api/v1/status HTTP/1.1\r\n" + auth + b"\r\n",
            b"GET /api/v1/../../etc/passwd HTTP/1.1\r\n" + auth + b"\r\n",
            b"GET /api/v1/status HTTP/9.9\r\n" + auth + b"\r\n",
            chance.randbytes(4000),
        ]
        for request in raw:
            with socket.create_connection((host, int(port)), TIMEOUT) as connection:
                connection.sendall(request)
                content = b""
                with contextlib.suppress(ConnectionError):
                    while chunk := connection.recv(65536):
                        content += chunk
            status = re.match(rb"HTTP/1\.[01] (\d)\d\d", content)
            check(status and status[1] == b"4", f"{request[:60]}: {content[:200]}")
        gateway.api("GET", "/status")

    def calls_still_work():
        gateway.api("PUT", "/endpoints/default/preset", {"preset": None})
        for name in gateway.tokens:
            session = Session(gateway, name)
            until(lambda: {"demo", "ref"} <= {tool.partition("__")[0] for tool in session.names()}, f"tools are missing for {name}")
        for session in gateway.sessions:
            result = session.ask("tools/call", {"name": "ref__get-sum", "arguments": {"a": 20, "b": 22}})
            check("42" in result["content"][0]["text"], f"wrong result: {result}")

    def nothing_was_written_without_save():
        same(gateway.file.read_bytes(), gateway.original, "the file")
        check(gateway.api("GET", "/status")["configuration"]["problems"] == [], "the configuration has problems")

    def saved_changes_are_valid_and_keep_comments():
        run_schemathesis(gateway, folder, "positive", EXAMPLES // 3, save=True)
        gateway.api("PUT", "/presets/saved?save=true", {"tools": ["demo/*", "!demo/add"]})
        gateway.api("PUT", "/endpoints/other/preset?save=true", {"preset": "saved"})
        gateway.api("POST", "/servers/down/disable?save=true")
        gateway.api("POST", "/servers?save=true", {"id": "new", "config": SPARE_SERVER})
        text = gateway.file.read_text()
        lost = [comment for comment in COMMENTS if comment not in text]
        check(not lost, f"comments are missing: {lost}")
        checked = [gateway.narrows, "check", "--config", gateway.file]
        done = subprocess.run(checked, env=gateway.environment, capture_output=True, text=True, timeout=TIMEOUT)
        check(done.returncode == 0, f"the file is invalid: {done.stdout}{done.stderr}\n{text}")
        for word in ('"saved"', '"new"', '"disabled": true'):
            check(word in text, f"{word} is not in the file")

    def the_gateway_stops_on_sigterm():
        gateway.process.send_signal(signal.SIGTERM)
        same(gateway.process.wait(TIMEOUT), 0, "the exit code")
        check("panicked" not in Path(gateway.log.name).read_text(), "the gateway panicked")

    return [
        the_description_matches_the_documents,
        every_operation_answers_as_described,
        events_are_sent_immediately,
        closed_listeners_make_room_for_others,
        requests_without_the_admin_token_are_rejected,
        garbage_is_rejected_without_delay,
        invalid_http_closes_only_its_connection,
        calls_still_work,
        nothing_was_written_without_save,
        saved_changes_are_valid_and_keep_comments,
        the_gateway_stops_on_sigterm,
    ]


def run_schemathesis(gateway, folder, mode, examples, save):
    """Runs all checks of Schemathesis on all operations except the endless one."""
    settings, report, log = (folder / f"{mode}.{kind}" for kind in ("toml", "json", "log"))
    # A request that matches the schema may still have an invalid configuration, or
    # address an object that is missing or already exists.
    settings.write_text(
        f"""
        [cache]
        enabled = false
        [auth.openapi.token]
        bearer = "{gateway.admin}"
        [checks.positive_data_acceptance]
        expected-statuses = ["2xx", 404, 409, 422]
        [checks.negative_data_rejection]
        expected-statuses = [400, 401, 404, 405, 409, 411, 413, 415, 422]
        """
    )
    command = ["--config-file", settings, "run", DESCRIPTION, "--url", f"http://{gateway.site}"]
    command += ["--exclude-path", EVENTS, "--mode", mode, "--max-examples", examples]
    command += ["--phases", "examples,coverage,fuzzing", "--generation-deterministic", "--no-shrink"]
    command += ["--request-timeout", TIMEOUT, "--continue-on-failure", "--report-json-path", report, "--no-color"]
    spare = Spare(gateway, save)

    @schemathesis.hook
    def before_call(context, case, kwargs):
        spare.before(case)

    @schemathesis.hook
    def after_call(context, case, response):
        spare.after(case, response)

    try:
        with log.open("w") as lines, contextlib.redirect_stdout(lines), contextlib.redirect_stderr(lines):
            schemathesis.cli.schemathesis.main([str(word) for word in command], standalone_mode=False)
    except SystemExit:
        # The report has more information than the exit code.
        pass
    finally:
        schemathesis.hooks.unregister_all()
    output = log.read_text()
    check(report.exists(), output[-2000:])
    results = json.loads(report.read_text())
    check(results["complete"] and not results["errors"], f"the run is incomplete: {results['errors']}\n{output[-2000:]}")
    same(results["operations"]["tested"], results["operations"]["total"] - 1, "the number of tested operations")
    never = [name for name, phases in results["valid_rates"].items() if not any(rates["accepted"] for rates in phases.values())]
    check(not never, f"no request was accepted: {never}")
    check(results["exit_code"] == 0 and not results["failures"], failures_of(output))
    print(f"   {results['test_cases']['generated']} requests to {results['operations']['tested']} operations")


def failures_of(output):
    """Returns the part of the output about failures, without empty lines."""
    part = re.search(r"=+ FAILURES =+\n(.*?)\n=+ [A-Z]+ =+", output, re.DOTALL)
    return "\n".join(line for line in (part[1] if part else output).splitlines() if line.strip())


def filled(path):
    """Fills in a path with existing objects."""
    known = {"id": "few" if "presets" in path else "demo", "name": "default", "number": "1"}
    return re.sub(r"\{(\w+)\}", lambda found: known[found[1]], path)


def sample(method, path):
    """Returns a valid body for an operation."""
    if method not in ("PUT", "POST"):
        return None
    if path.endswith("/preset"):
        return {"preset": None}
    if "presets" in path:
        return {"tools": []}
    if path.endswith("/servers"):
        return {"id": "intruder", "config": SPARE_SERVER}
    return {"config": SPARE_SERVER} if path.endswith("{id}") else None


def configuration(command, digests):
    program, *rest = command
    return f"""{{
  {COMMENTS[0]}
  "mcpServers": {{
    "demo": {{ "type": "builtin" }},
    "ref":  {{ "command": {json.dumps(program)}, "args": {json.dumps(rest)} }},
    {COMMENTS[1]}
    "down": {{ "type": "http", "url": "http://127.0.0.1:9/mcp" }}
  }},
  "presets": {{
    "all": {{ "tools": ["*/*"] }},
    "few": {{ "tools": ["demo/*"] }} {COMMENTS[2]}
  }},
  "endpoints": {{ "default": {{}}, "other": {{ "preset": "few" }} }},
  "clients": {{
    "cursor": {{ "token": "{digests['cursor']}" }},
    "reader": {{ "token": "{digests['reader']}", "endpoints": ["default", "other"],
                "preset": "all", "rate": {{ "per_minute": 6000 }} }}
  }}
}}
"""


def until(holds, why):
    end = time.monotonic() + TIMEOUT
    while not holds():
        check(time.monotonic() < end, why)
        time.sleep(0.1)


def same(found, wanted, what):
    check(found == wanted, f"{what}: {str(found)[:800]} instead of {str(wanted)[:800]}")


def check(holds, why):
    if not holds:
        raise AssertionError(why)


def main():
    narrows, folder, *command = sys.argv[1:]
    gateway = Gateway(narrows, Path(folder), command)
    failed = 0
    try:
        wanted = features(gateway, Path(folder))
        for feature in wanted:
            name = feature.__name__.replace("_", " ")
            try:
                began = time.monotonic()
                feature()
                print(f"ok {name} ({time.monotonic() - began:.0f} s)", flush=True)
            except Exception as error:
                failed += 1
                print(f"FAIL {name}: {error}", flush=True)
    finally:
        gateway.process.kill()
        gateway.process.wait(TIMEOUT)
    print(f"{len(wanted) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
