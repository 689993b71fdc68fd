// An MCP server that wants tokens of `oidc-provider`, which runs beside it in this process. Everybody may sign in, with the
// forms that the provider brings along for development.
//
// Usage: provider.mjs PROVIDER_PORT SERVER_PORT TOKEN_LIFE_SECONDS
import { createServer } from "node:http";
import { Provider } from "oidc-provider";

const [issuerPort, serverPort, life] = process.argv.slice(2).map(Number);
const issuer = `http://127.0.0.1:${issuerPort}`;
const base = `http://127.0.0.1:${serverPort}`;
const resource = `${base}/mcp`;

const provider = new Provider(issuer, {
  scopes: ["openid", "offline_access", "notes:read"],
  pkce: { required: () => true },
  issueRefreshToken: async () => true,
  rotateRefreshToken: () => true,
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, asked) => {
        if (asked !== resource) throw new Error("another resource");
        return { scope: "notes:read", audience: resource, accessTokenFormat: "opaque", accessTokenTTL: life };
      },
    },
  },
});
provider.on("server_error", (_, error) => console.error("provider:", error));
provider.on("grant.error", (_, error) => console.error("grant:", error.message));
await new Promise((ready) => provider.listen(issuerPort, "127.0.0.1", ready));

const tools = [{ name: "echo", description: "Says it again.", inputSchema: { type: "object", properties: { text: { type: "string" } } } }];
const answer = ({ method, params }) => {
  switch (method) {
    case "initialize":
      return { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "notes", version: "1" } };
    case "tools/list":
      return { tools };
    case "tools/call":
      return { content: [{ type: "text", text: params.arguments.text }] };
  }
};

createServer(async (request, response) => {
  const json = (status, value, headers = {}) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(value));
  };
  if (request.url === "/.well-known/oauth-protected-resource/mcp") {
    return json(200, { resource, authorization_servers: [issuer], scopes_supported: ["notes:read"] });
  }
  if (request.method !== "POST" || request.url !== "/mcp") return json(405, {});
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const value = (request.headers.authorization ?? "").replace("Bearer ", "");
  const token = value && (await provider.AccessToken.find(value));
  if (!token || token.aud !== resource || !token.scope?.split(" ").includes("notes:read")) {
    const where = `${base}/.well-known/oauth-protected-resource/mcp`;
    return json(401, {}, { "www-authenticate": `Bearer resource_metadata="${where}", scope="notes:read"` });
  }
  const message = JSON.parse(Buffer.concat(chunks).toString());
  if (message.id === undefined) return json(202, {});
  const result = answer(message);
  const said = result ? { result } : { error: { code: -32601, message: "no such method" } };
  json(200, { jsonrpc: "2.0", id: message.id, ...said });
}).listen(serverPort, "127.0.0.1", () => console.log("ready"));
