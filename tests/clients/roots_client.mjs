// A session with a scope of its own, as the first TypeScript SDK gets it: from the roots that it names.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [url, project] = process.argv.slice(2);
const client = new Client({ name: "clients", version: "1" }, { capabilities: { roots: { listChanged: true } } });
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file://${project}` }] }));
const transport = new StreamableHTTPClientTransport(new URL(url));
await client.connect(transport);
const shell = (command) =>
  client.callTool({ name: "sandboxed_shell", arguments: { command, execution_mode: "sync" } });
const result = await shell("pwd");
assert.equal(result.content[0].text.split("\n")[0], project);
// A change afterwards ends the session.
await assert.rejects(client.sendRootsListChanged(), /403|scope/);
await assert.rejects(shell("pwd"));
await client.close();
console.log("ok: TypeScript SDK 1, roots");
