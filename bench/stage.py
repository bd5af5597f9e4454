"""Shared by all benchmarks: builds the programs, starts each of them when it is
first needed, and ends all of them with the command."""

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

# Seconds that a program may take to print its address, and to exit after SIGTERM.
START, END = 30, 10


class Failed(Exception):
    pass


def build():
    """Builds narrows-bench and the gateway, and returns the path of the gateway."""
    subprocess.run(["cargo", "build", "--release", "--package", "narrows-bench"], cwd=ROOT, check=True)
    return build_gateway()


def build_gateway():
    """Builds the gateway and returns its path. A separate build, because cargo would unify its features with those of narrows-bench."""
    TARGET.mkdir(exist_ok=True)
    if given := os.environ.get("NARROWS_BIN"):
        return Path(given).resolve()
    subprocess.run(["cargo", "build", "--release", "--package", "narrows"], cwd=ROOT, check=True)
    return BUILT / "narrows"


class Stage:
    """The running programs, each started when it is first needed."""

    def __init__(self, folder, gateway):
        self.folder = folder
        self.gateway = gateway
        self.started = []
        self.known = {}
        cores = sorted(os.sched_getaffinity(0))
        self.pinned = len(cores) > 1 and shutil.which("taskset") is not None
        # Client and upstreams share one core, so the gateway has its own.
        self.outer, self.inner = (pin(core) if self.pinned else [] for core in (cores + cores)[:2])
        # Proxy settings and NARROWS_* variables would distort the measurements.
        skip = lambda name: name.lower().endswith("_proxy") or name.startswith("NARROWS_")
        self.environment = {name: value for name, value in os.environ.items() if not skip(name)}

    @classmethod
    @contextlib.contextmanager
    def open(cls, gateway):
        """Opens a stage with a temporary folder; all its programs end with it."""
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: sys.exit(128 + number))
        with tempfile.TemporaryDirectory(dir=TARGET, prefix="run-") as folder:
            stage = cls(Path(folder), gateway)
            try:
                yield stage
            finally:
                # A second Ctrl-C would leave processes behind.
                signal.signal(signal.SIGINT, signal.SIG_IGN)
                stage.end()

    def upstream(self, *options, name="echo"):
        return self.once(name, lambda: self.outer + [BENCH, "echo", "--listen", "127.0.0.1:0", *options])

    def serve(self, name, config, around=(), **known):
        """Starts a gateway with this configuration, and returns its address and process."""

        def command():
            path = self.folder / f"{name}.json"
            path.write_text(json.dumps(config))
            options = ["--listen", "127.0.0.1:0", "--config", path, "--no-watch", "--log-format", "json"]
            return [*around, self.gateway, "serve", *options]

        return self.once(f"narrows-{name}", command, **known)

    def once(self, name, command, timeout=START):
        if name not in self.known:
            log = self.folder / f"{name}.log"
            with log.open("w") as lines:
                process = self.start(command(), stdin=subprocess.DEVNULL, stdout=lines, stderr=lines)
            self.known[name] = (wait_for_address(log, process, timeout), process)
        return self.known[name]

    def start(self, command, **streams):
        # In a separate session, so that Ctrl-C reaches only this script, which ends the process.
        process = subprocess.Popen(command, env=self.environment, start_new_session=True, **streams)
        self.started.append(process)
        return process

    def stop(self, process):
        """Ends one program before the others."""
        end(process)
        self.started.remove(process)
        self.known = {name: known for name, known in self.known.items() if known[1] is not process}

    def end(self):
        # In reverse order: a gateway before its upstream.
        for process in reversed(self.started):
            end(process)


def pin(core):
    return ["taskset", "-c", str(core)]


def wait_for_address(log, process, timeout):
    """Waits until the program prints its address, and returns HOST:PORT."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline and process.poll() is None:
        for line in log.read_text(errors="replace").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            # Lines of the gateway are events, and lines of narrows-bench are not.
            if record.get("event", "listening") == "listening":
                return record.get("payload", record)["url"].removeprefix("http://")
        time.sleep(0.02)
    raise Failed(f"{log.stem} did not start to listen: {log.read_text()[-300:].strip()}")


def end(process):
    """Ends a process with its process group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END)


def gateway_version(gateway):
    return subprocess.run([gateway, "--version"], capture_output=True, text=True, check=True).stdout.strip()


def cpu_s(pid):
    """Returns the CPU time of the current threads in seconds, with nanosecond resolution."""
    run = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            run += int((thread / "schedstat").read_text().split()[0])
    return run / 1e9


def memory(pid, key="VmRSS"):
    """Returns the memory of a process in bytes: VmRSS is the current size, VmHWM the peak."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise Failed(f"process {pid} has no {key}")


def shown(number):
    return "–" if number is None else f"{number:.0f}" if number >= 100 else f"{number:.1f}"


def command(main):
    """Runs the main function of a command and exits with its result."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
    except (subprocess.CalledProcessError, Failed) as error:
        sys.exit(f"{Path(sys.argv[0]).name}: {error}")
