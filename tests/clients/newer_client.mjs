// The server as the second TypeScript SDK sees it, in both lifecycles: by a command, or by a URL.
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [server, project] = process.argv.slice(2);
const text = (result) => result.content[0].text;
for (const options of [{}, { versionNegotiation: { mode: "auto" } }]) {
  const client = new Client({ name: "clients", version: "1" }, { capabilities: {}, ...options });
  const transport = project
    ? new StdioClientTransport({ command: server, args: ["--sandbox-scope", project] })
    : new StreamableHTTPClientTransport(new URL(server));
  await client.connect(transport);
  const names = (await client.listTools()).tools.map((tool) => tool.name);
  assert(names.includes("greet"), names.join());
  assert.match(text(await client.callTool({ name: "greet", arguments: { who: "world" } })), /^hello world\n/);
  const failed = await client.callTool({
    name: "sandboxed_shell",
    arguments: { command: "echo oh; exit 3", execution_mode: "sync" },
  });
  assert(failed.isError && /exit code 3/.test(text(failed)), text(failed));
  await client.close();
  console.log(`ok: TypeScript SDK 2, ${options.versionNegotiation?.mode ?? "as it is"}`);
}
