"""A session with a scope of its own, as the Python SDK gets it: from the roots that it names."""

import asyncio
import sys

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ListRootsResult, Root


async def use(url, project):
    async def roots(context):
        return ListRootsResult(roots=[Root(uri=f"file://{project}")])

    async with Client(streamable_http_client(url), mode="legacy", list_roots_callback=roots) as client:
        arguments = {"command": "pwd; ls ..", "execution_mode": "sync"}
        result = await client.call_tool("sandboxed_shell", arguments)
        lines = result.content[0].text.splitlines()
        assert lines[:2] == [project, project.rsplit("/", 1)[1]], lines
    print("ok: python, roots")


asyncio.run(use(*sys.argv[1:]))
