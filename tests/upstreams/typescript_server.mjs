// A server on the TypeScript SDK 2, on standard streams.
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const server = new McpServer({ name: 'typescript', version: '1.0.0' });

server.registerTool(
    'echo',
    { description: 'Says it again.', inputSchema: z.object({ message: z.string() }) },
    async ({ message }) => ({ content: [{ type: 'text', text: `Echo: ${message}` }] })
);
server.registerTool(
    'add',
    {
        description: 'Adds two numbers.',
        inputSchema: z.object({ a: z.number(), b: z.number() }),
        outputSchema: z.object({ sum: z.number() })
    },
    async ({ a, b }) => {
        const sum = { sum: a + b };
        return { content: [{ type: 'text', text: JSON.stringify(sum) }], structuredContent: sum };
    }
);
server.registerTool('image', { description: 'Shows a pixel.', inputSchema: z.object({}) }, async () => ({
    content: [{ type: 'image', data: PIXEL, mimeType: 'image/png' }]
}));

await server.connect(new StdioServerTransport());
