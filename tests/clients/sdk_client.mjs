// The server as the first TypeScript SDK sees it: by a command, or by a URL.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [server, project] = process.argv.slice(2);
const transport = project
  ? new StdioClientTransport({ command: server, args: ["--sandbox-scope", project] })
  : new StreamableHTTPClientTransport(new URL(server));
const client = new Client({ name: "clients", version: "1" }, { capabilities: {} });
const faults = [];
client.onerror = (error) => faults.push(error);
const pushed = new Promise((resolve) =>
  client.setNotificationHandler(LoggingMessageNotificationSchema, (message) => resolve(message.params)),
);
await client.connect(transport);
const text = (result) => result.content[0].text;

const names = (await client.listTools()).tools.map((tool) => tool.name);
assert(names.includes("greet"), names.join());
assert.match(text(await client.callTool({ name: "greet", arguments: { who: "world" } })), /^hello world\n/);

const heard = [];
const long = { name: "sandboxed_shell", arguments: { command: "echo one; sleep 1.5; echo two", execution_mode: "sync" } };
const told = await client.callTool(long, undefined, { onprogress: (progress) => heard.push(progress.message) });
assert.match(text(told), /^one\ntwo\n/);
assert(heard.length > 0, "progress is heard");

const controller = new AbortController();
const endless = { name: "sandboxed_shell", arguments: { command: "sleep 600", execution_mode: "sync" } };
const cancelled = client.callTool(endless, undefined, { signal: controller.signal });
setTimeout(() => controller.abort("enough"), 200);
await assert.rejects(cancelled);

const quick = await client.callTool({ name: "sandboxed_shell", arguments: { command: "echo now" } });
assert.match(text(quick), /^now\n/);
const started = await client.callTool({ name: "sandboxed_shell", arguments: { command: "sleep 1.5; echo pushed" } });
assert.match(text(started), /^started op_/);
assert.match((await pushed).data, /^pushed\n/);

await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), /no tool/);
assert.deepEqual(faults, []);
if (!project) await transport.terminateSession();
await client.close();
console.log("ok: TypeScript SDK 1");
