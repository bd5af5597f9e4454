"""What all measuring commands stand on: the builds, and the programs that run,
each started when it is first needed and ended with the command."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# Measurements and temporary files of runs.
TARGET = HERE / "target"
BUILT = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release"
BENCH = BUILT / "narrows-bench"

# How long a program may take to say where it listens, and to end when told to.
START, END = 30, 10


class Failed(Exception):
    pass


def build():
    """Builds what is measured with, and what is measured; says where that is."""
    subprocess.run(["cargo", "build", "--release", "--package", "narrows-bench"], cwd=ROOT, check=True)
    return build_gateway()


def build_gateway():
    """Builds the gateway alone, because cargo would unify its features with those of narrows-bench, and returns its path."""
    TARGET.mkdir(exist_ok=True)
    if given := os.environ.get("NARROWS_BIN"):
        return Path(given).resolve()
    subprocess.run(["cargo", "build", "--release", "--package", "narrows"], cwd=ROOT, check=True)
    return BUILT / "narrows"


class Stage:
    """Everything that runs, each thing started when it is first needed."""

    def __init__(self, folder, gateway):
        self.folder = folder
        self.gateway = gateway
        self.started = []
        self.known = {}
        cores = sorted(os.sched_getaffinity(0))
        self.pinned = len(cores) > 1 and shutil.which("taskset") is not None
        # Client and upstreams share one core, so that what is between has its own.
        self.outer, self.inner = (pin(core) if self.pinned else [] for core in (cores + cores)[:2])
        # A proxy of the machine's is not to be between, nor a log of every call.
        skip = lambda name: name.lower().endswith("_proxy") or name.startswith("NARROWS_")
        self.environment = {name: value for name, value in os.environ.items() if not skip(name)}

    @classmethod
    @contextlib.contextmanager
    def open(cls, gateway):
        """A stage with a folder of its own; all that runs on it ends with it."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: sys.exit(128 + number))
        with tempfile.TemporaryDirectory(dir=TARGET, prefix="run-") as folder:
            stage = cls(Path(folder), gateway)
            try:
                yield stage
            finally:
                # Once more Ctrl-C would leave processes behind.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                stage.end()

    def upstream(self, *options, name="echo"):
        return self.once(name, lambda: self.outer + [BENCH, "echo", "--listen", "127.0.0.1:0", *options])

    def serve(self, name, config, around=(), **known):
        """A gateway of this name with this configuration: where it listens, and its process."""

        def command():
            path = self.folder / f"{name}.json"
            path.write_text(json.dumps(config))
            options = ["--listen", "127.0.0.1:0", "--config", path, "--no-watch", "--log-format", "json"]
            return [*around, self.gateway, "serve", *options]

        return self.once(f"narrows-{name}", command, **known)

    def once(self, name, command, patience=START):
        if name not in self.known:
            log = self.folder / f"{name}.log"
            with log.open("w") as lines:
                process = self.start(command(), stdin=subprocess.DEVNULL, stdout=lines, stderr=lines)
            self.known[name] = (said_site(log, process, patience), process)
        return self.known[name]

    def start(self, command, **streams):
        # A session of its own: Ctrl-C is for us, and we end it.
        process = subprocess.Popen(command, env=self.environment, start_new_session=True, **streams)
        self.started.append(process)
        return process

    def stop(self, process):
        """Ends one of those that run, before all the others end."""
        end(process)
        self.started.remove(process)
        self.known = {name: known for name, known in self.known.items() if known[1] is not process}

    def end(self):
        # The last first: a gateway before its upstream.
        for process in reversed(self.started):
            end(process)


def pin(core):
    return ["taskset", "-c", str(core)]


def said_site(log, process, patience):
    """HOST:PORT, as soon as the program has said where it listens."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and process.poll() is None:
        for line in log.read_text(errors="replace").splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                continue
            # The gateway's lines are events, ours are not.
            if said.get("event", "listening") == "listening":
                return said.get("payload", said)["url"].removeprefix("http://")
        time.sleep(0.02)
    raise Failed(f"{log.stem} does not listen: {log.read_text()[-300:].strip()}")


def end(process):
    """Ends a process of ours with its group, which is its own."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END)


def said_version(gateway):
    return subprocess.run([gateway, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def cpu_s(pid):
    """Time of the threads that run now on the processor, to the nanosecond."""
    run = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            run += int((thread / "schedstat").read_text().split()[0])
    return run / 1e9


def memory(pid, key="VmRSS"):
    """A figure of a process in bytes: VmRSS is what it has, VmHWM the most it had."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise Failed(f"no {key} of {pid}")


def shown(number):
    return "–" if number is None else f"{number:.0f}" if number >= 100 else f"{number:.1f}"


def command(main):
    """Runs a command's main, whose result is the exit code."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except (subprocess.CalledProcessError, Failed) as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
