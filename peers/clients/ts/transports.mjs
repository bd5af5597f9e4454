// The ways from the TypeScript SDK to a server. The SDK has most of them; the
// two that are not its own are here: Content-Length frames, which are
// vscode-jsonrpc's, and plain JSON-RPC.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";

// The packages live in the peer cache, not beside this file.
export const peer = createRequire(join(process.env.NARROWS_PEER_NPM, "peer.cjs"));
const { SSEClientTransport } = peer("@modelcontextprotocol/sdk/client/sse.js");
const { StdioClientTransport } = peer("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = peer("@modelcontextprotocol/sdk/client/streamableHttp.js");
const { WebSocketClientTransport } = peer("@modelcontextprotocol/sdk/client/websocket.js");
const { StreamMessageReader, StreamMessageWriter } = peer("vscode-jsonrpc/node");

/** A transport to a server, described as in `mcpServers` of a configuration. */
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

/** Good enough for the servers here; the gateway has to find out by asking. */
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
