"""A server on the Python SDK, on standard streams, or over HTTP on a port that it is given. All else is as the SDK has it."""

import base64
import sys

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image
from pydantic import BaseModel

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

server = MCPServer("python")


class Sum(BaseModel):
    sum: int


@server.tool()
def echo(message: str) -> str:
    """Says it again."""
    return f"Echo: {message}"


@server.tool()
def add(a: int, b: int) -> Sum:
    """Adds two numbers."""
    return Sum(sum=a + b)


@server.tool()
def image() -> Image:
    """Shows a pixel."""
    return Image(data=base64.b64decode(PIXEL), format="png")


@server.tool()
async def steps(context: Context, count: int) -> str:
    """Tells how far it is."""
    for step in range(count):
        await context.report_progress(step + 1, count, f"step {step + 1}")
    return "done"


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run()
