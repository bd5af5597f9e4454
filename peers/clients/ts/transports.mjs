// The transports of the TypeScript SDK, and two that it lacks: Content-Length frames,
// created by vscode-jsonrpc, and plain JSON-RPC.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";

// The packages are installed in the peer cache.
export const peer = createRequire(join(process.env.NARROWS_PEER_NPM, "peer.cjs"));
const { SSEClientTransport } = peer("@modelcontextprotocol/sdk/client/sse.js");
const { StdioClientTransport } = peer("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = peer("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { WebSocketClientTransport } = peer("@modelcontextprotocol/sdk/client/websocket.js");
const { StreamMessageReader, StreamMessageWriter } = peer("vscode-jsonrpc/node");

/** Returns a transport to a server, given as an entry of `mcpServers`. */
export function transportTo({ type, url, command, args, env, stdio_mode }) {
  if (command) {
    const started = { command, args, env: { ...process.env, ...env }, stderr: "ignore" };
    return stdio_mode === "content-length" ? new ContentLengthTransport(started) : new StdioClientTransport(started);
  }
  switch (type ?? guessed(url)) {
    case "sse":
      return new SSEClientTransport(new URL(url));
    case "ws":
      return new WebSocketClientTransport(new URL(url));
    case "rpc":
      return new RpcTransport(`${url}/rpc`);
    default:
      return new StreamableHTTPClientTransport(new URL(url));
  }
}

/** Guesses the transport by the URL, which is sufficient for the servers here. */
function guessed(url) {
  return url.endsWith("/sse") ? "sse" : "http";
}

class ContentLengthTransport {
  constructor({ command, args, env }) {
    this.begin = () => spawn(command, args, { env, stdio: ["pipe", "pipe", "ignore"] });
  }

  async start() {
    this.child = this.begin();
    this.child.on("error", (error) => this.onerror?.(error));
    this.child.on("close", () => this.onclose?.());
    this.writer = new StreamMessageWriter(this.child.stdin);
    new StreamMessageReader(this.child.stdout).listen((message) => this.onmessage?.(message));
  }

  send(message) {
    return this.writer.write(message);
  }

  async close() {
    const gone = new Promise((resolve) => this.child.on("close", resolve));
    this.child.stdin.end();
    await gone;
  }
}

class RpcTransport {
  constructor(url) {
    this.url = url;
  }

  async start() {}

  async send(message) {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(this.url, { method: "POST", headers, body: JSON.stringify(message) });
    const text = await response.text();
    if (text !== "") this.onmessage?.(JSON.parse(text));
  }

  async close() {
    this.onclose?.();
  }
}
