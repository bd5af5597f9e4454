// Child processes of a test run. They count as ready when they print a given text, and
// they are killed when the run ends, even if it fails.
import { spawn } from "node:child_process";

const running = new Set();

/**
 * Starts a program and waits until its output (stdout and stderr) matches `ready`.
 * Returns `{ child, match, output() }`.
 */
export function start(command, args, { env = {}, cwd, ready, seconds = 30 } = {}) {
  // In a separate process group, so that its children are killed with it.
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  running.add(child);
  let printed = "";
  return new Promise((resolve, reject) => {
    const fail = (why) => {
      clearTimeout(timer);
      reject(new Error(`${command} ${args.join(" ")}: ${why}\n${printed}`));
    };
    const timer = setTimeout(() => fail(`did not print ${ready} in ${seconds} s`), seconds * 1000);
    let seen = false;
    const onOutput = (chunk) => {
      printed += chunk;
      const match = !seen && ready.exec(printed);
      if (!match) return;
      seen = true;
      clearTimeout(timer);
      resolve({ child, match, output: () => printed });
    };
    child.stdout.on("data", onOutput);
    child.stderr.on("data", onOutput);
    child.on("error", (error) => fail(error.message));
    child.on("exit", (code, signal) => {
      running.delete(child);
      fail(`ended early (${signal ?? code})`);
    });
  });
}

/** Starts `narrows serve`. `upstreams` are addresses that it may print before its own. */
export async function startGateway(narrows, config, upstreams = []) {
  const ports = upstreams.map((url) => `(?!${new URL(url).port}\\b)`).join("");
  const gateway = await start(narrows, ["serve", "--listen", "127.0.0.1:0", "--config", config], {
    ready: new RegExp(`http://127\\.0\\.0\\.1:${ports}(\\d+)`),
  });
  return { ...gateway, port: Number(gateway.match[1]) };
}

/**
 * Runs a program to its end and returns `{ code, output, stdout, seconds }`. `output`
 * includes stderr; `code` is null if the program was killed at the time limit.
 */
export function run(command, args, { env = {}, cwd, seconds = 120 } = {}) {
  const began = Date.now();
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  running.add(child);
  let output = "";
  let stdout = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => (output += chunk));
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      output += `\nstopped after ${seconds} s\n`;
      end(child);
    }, seconds * 1000);
    const done = (code) => {
      clearTimeout(timer);
      running.delete(child);
      resolve({ code, output, stdout, seconds: (Date.now() - began) / 1000 });
    };
    child.on("error", (error) => {
      output += error.message;
      done(127);
    });
    child.on("close", done);
  });
}

/** Kills a process and its children. */
export function end(child) {
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // The process has already ended.
  }
}

/** Kills all processes that still run. */
export function endAll() {
  running.forEach(end);
}

/** Sends SIGTERM and waits for the end of the process; returns false if it had to be killed. */
export async function stop(child, seconds = 10) {
  if (child.exitCode !== null || child.signalCode !== null) return true;
  const gone = new Promise((resolve) => child.on("exit", () => resolve(true)));
  child.kill("SIGTERM");
  const limit = new Promise((resolve) => setTimeout(resolve, seconds * 1000, false).unref());
  const stopped = await Promise.race([gone, limit]);
  end(child);
  return stopped;
}

process.on("exit", endAll);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));
