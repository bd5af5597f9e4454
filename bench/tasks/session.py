"""The configuration of a gateway whose servers work on a generated folder, and a client that
counts the characters of all results."""

import json
import os
import re
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from client import Client
from stage import ROOT, Failed

from .history import REPOSITORY
from .small import GRAPH

# The configuration of each endpoint of the measured gateway; `None` for endpoints that always exist.
ENDPOINTS = {
    "raw": {"shape": False},
    "all": None,
    "params": {"shape": {"goal_param": True}},
    "lazy": None,
    "search": {"expose": "search"},
}
# High enough that a slow build or machine does not change what is cut.
PRUNE_TIMEOUT_MS = 60_000
RECEIPT = re.compile(r"\bprn_\w+")
# Phrases with which a model searches for a tool on the search endpoint.
PURPOSES = {
    "read_text_file": "read a text file",
    "edit_file": "edit a text file",
    "write_file": "write a file",
    "directory_tree": "tree of a directory",
    "list_directory_with_sizes": "list a directory with file sizes",
    "git_log": "show the commit log",
    "git_show": "show a commit",
    "git_branch": "list git branches",
    "create_entities": "store new entities in memory",
    "open_nodes": "open nodes of the memory graph by name",
    "read_graph": "read the whole knowledge graph",
    "convert_time": "convert a time between time zones",
    "get-sum": "add two numbers",
}


def peers():
    """Installs the pinned servers if they are missing, and returns their environment variables."""
    prepared = subprocess.run([ROOT / "peers/prepare", "node", "python"], stdout=subprocess.PIPE, text=True, check=True)
    values = {}
    for line in (Path(prepared.stdout.strip()) / "env").read_text().splitlines():
        name, _, value = line.removeprefix("export ").partition("=")
        values[name] = shlex.split(value)[0]
    return values


def configuration(folder, max_chars=None):
    """Returns the configuration of a gateway with six real servers that work on `folder`."""
    installed = peers()
    node, modules, programs = (installed[f"NARROWS_PEER_{name}"] for name in ("NODE", "NPM", "BIN"))
    reference = lambda name: f"{modules}/@modelcontextprotocol/{name}/dist/index.js"
    in_folder = {"cwd": str(folder)}
    servers = {
        "files": {"command": node, "args": [reference("server-filesystem"), str(folder)]},
        "git": {
            "command": f"{programs}/mcp-server-git",
            "args": ["--repository", str(folder / REPOSITORY)],
            "env": {"GIT_CONFIG_GLOBAL": "/dev/null"},
        },
        "memory": {"command": node, "args": [reference("server-memory")], "env": {"MEMORY_FILE_PATH": str(folder / GRAPH)}},
        "time": {"command": f"{programs}/mcp-server-time", "args": ["--local-timezone", "UTC"]},
        "everything": {"command": node, "args": [reference("server-everything"), "stdio"]},
        "thinking": {"command": node, "args": [reference("server-sequential-thinking")]},
    }
    shape = {"prune": {"timeout_ms": PRUNE_TIMEOUT_MS}} | ({"max_chars": max_chars} if max_chars else {})
    return {
        "mcpServers": {name: server | in_folder for name, server in servers.items()},
        "endpoints": {name: settings for name, settings in ENDPOINTS.items() if settings is not None},
        "shape": shape,
        "initialize_wait_s": 30,
        "list_wait_s": 60,
    }


def path_of(endpoint):
    return "/mcp" if endpoint == "all" else f"/mcp/{endpoint}"


@dataclass
class Call:
    """One call with the text of each half of its result."""

    tool: str
    arguments: dict
    content: str
    structured: str | None
    error: bool
    # Unescaped string values of the JSON in each half.
    content_strings: list = field(default_factory=list)
    structured_strings: list = field(default_factory=list)
    # True if the call looks up a tool and is not a step of a task.
    discovery: bool = False

    def half(self, reader):
        """Returns the text that a client of this kind passes to its model."""
        return self.structured if self.reads_structured(reader) else self.content

    def reads_structured(self, reader):
        return self.structured is not None and (
            reader == "structured" or reader == "larger" and len(self.structured) > len(self.content)
        )

    def texts(self, reader):
        """Returns the texts from which a reader may copy: its half, and the strings of JSON in it."""
        return self.structured_strings if self.reads_structured(reader) else [self.content, *self.content_strings]

    def row(self):
        chars = {reader: len(self.half(reader)) for reader in READERS}
        return {"tool": self.tool, "arguments": self.arguments, "chars": chars, "error": self.error, "discovery": self.discovery}


READERS = ["larger", "content", "structured"]


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def leaves(value):
    if isinstance(value, str):
        return [value]
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [leaf for child in children for leaf in leaves(child)]


def json_strings(text):
    if text[:1] not in ("{", "["):
        return []
    try:
        return leaves(json.loads(text))
    except ValueError:
        return []


def as_call(tool, arguments, answer):
    """Converts the response to `tools/call`, which is a result or a JSON-RPC error."""
    if "error" in answer:
        error = answer["error"]
        text = error.get("message", "") + (compact(error["data"]) if "data" in error else "")
        return Call(tool, arguments, text, None, True)
    result = answer["result"]
    texts = [item.get("text") or item.get("resource", {}).get("text") or "" for item in result.get("content", [])]
    structured = result.get("structuredContent")
    written = None if structured is None else compact(structured)
    strings = [leaf for text in texts for leaf in json_strings(text)]
    return Call(tool, arguments, "\n".join(texts), written, bool(result.get("isError")), strings, leaves(structured))


class Session:
    """A client of one endpoint. Another process can resume its session."""

    def __init__(self, site, endpoint, resumed=None):
        self.endpoint = endpoint
        self.client = Client(site, path_of(endpoint), resumed=resumed)
        self.calls = []
        # Tools that have been looked up.
        self.known = set()
        if resumed is None:
            self.instructions = self.client.welcome.get("instructions", "")
            self.tools = self.listed()

    def listed(self):
        return {tool["name"]: tool for tool in self.client.ask("tools/list", {})["tools"]}

    def list_chars(self):
        return len(compact(list(self.tools.values())))

    def send(self, tool, arguments, goal=None, discovery=False):
        """Calls a listed tool and records the result."""
        params = {"name": tool, "arguments": arguments}
        if goal is not None:
            params["_meta"] = {"narrows/goal": goal}
        call = as_call(tool, arguments, self.client.answer("tools/call", params))
        call.discovery = discovery
        self.calls.append(call)
        return call

    @property
    def executes(self):
        return "exec" in self.tools

    def parameters(self, tool):
        """Returns the parameter names of a listed tool."""
        return set(self.tools.get(tool, {}).get("inputSchema", {}).get("properties", {}))

    def offers(self, server, tool, parameter):
        """Returns true if calls of this tool accept the given gateway parameter on this endpoint."""
        listed = "exec" if self.executes else f"{server}__{tool}"
        return self.endpoint != "raw" and parameter in self.parameters(listed)

    def use(self, server, tool, arguments, goal=None, **own):
        """Calls a server's tool, directly or through `exec`. `own` has gateway parameters."""
        if goal is not None and self.offers(server, tool, "goal"):
            own["goal"], goal = goal, None
        if not self.executes:
            return self.send(f"{server}__{tool}", arguments | own, goal)
        self.discover(server, tool)
        return self.send("exec", {"server_name": server, "tool_name": tool, "arguments": arguments} | own, goal)

    def discover(self, server, tool):
        """Looks up a tool before its first use, unless the list shows its parameters."""
        if (server, tool) in self.known:
            return
        self.known.add((server, tool))
        if "search_tools" in self.tools:
            found = self.send("search_tools", {"query": PURPOSES[tool]}, discovery=True)
            if tool in found.half("larger"):
                return
        elif f"{tool}(" in self.tools["inspect"]["description"]:
            return
        self.send("inspect", {"server_name": server, "tool_name": tool}, discovery=True)

    def recover(self, arguments):
        if not self.executes:
            name = next((name for name in self.tools if name.endswith("recover_text")), None)
            if name is None:
                raise Failed(f"{self.endpoint} lists no recover_text")
            return self.send(name, arguments)
        return self.send("exec", {"server_name": "narrows", "tool_name": "recover_text", "arguments": arguments})


def recovery_parameters(site):
    """Returns the parameters of `recover_text`."""
    session = Session(site, "all")
    return next((session.parameters(name) for name in session.tools if name.endswith("recover_text")), set())


def gateway_binary():
    """Returns NARROWS_BIN, or the newest build of this checkout."""
    if given := os.environ.get("NARROWS_BIN"):
        return Path(given).resolve()
    target = ROOT / os.environ.get("CARGO_TARGET_DIR", "target")
    built = [path for path in (target / "release/narrows", target / "debug/narrows") if path.exists()]
    if not built:
        raise Failed("no gateway is built: run cargo build -p narrows, or set NARROWS_BIN")
    return max(built, key=lambda path: path.stat().st_mtime)
