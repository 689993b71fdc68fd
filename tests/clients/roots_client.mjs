// A session with a scope of its own, as the first TypeScript SDK gets it: from the roots that it names.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [url, project] = process.argv.slice(2);
const client = new Client({ name: "clients", version: "1" }, { capabilities: { roots: { listChanged: true } } });
let roots = [project];
const asked = [];
client.setRequestHandler(ListRootsRequestSchema, () => {
  asked.shift()?.();
  return { roots: roots.map((path) => ({ uri: `file://${path}` })) };
});
const changed = async (next) => {
  roots = next;
  const answered = new Promise((resolve) => asked.push(resolve));
  await client.sendRootsListChanged();
  await answered;
};
const transport = new StreamableHTTPClientTransport(new URL(url));
await client.connect(transport);
const shell = (command) =>
  client.callTool({ name: "sandboxed_shell", arguments: { command, execution_mode: "sync" } });
const result = await shell("pwd");
assert.equal(result.content[0].text.split("\n")[0], project);
// A folder more changes nothing; another first one ends the session.
await changed([project, `${project}-more`]);
assert.equal((await shell("pwd")).content[0].text.split("\n")[0], project);
await changed([`${project}-more`, project]);
const ended = async () => {
  for (;;) await shell("true");
};
await assert.rejects(ended(), /session has ended|403|scope/);
await client.close();
console.log("ok: TypeScript SDK 1, roots");
