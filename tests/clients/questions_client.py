"""Questions of servers behind ours, as the Python SDK gets them over HTTP: where both speak the same lifecycle it is asked,
where not the result says why."""

import asyncio
import sys

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

# The lifecycle of the client, the server, and what of the answer the result holds.
EXPECTED = [
    ("legacy", "old", True, '"name": "Ada"'),
    ("auto", "new", True, '"name": "Ada"'),
    ("legacy", "new", False, "does not speak"),
    ("auto", "old", False, "by results only"),
]


async def use(url):
    for mode, server, is_asked, said in EXPECTED:
        asked = []

        async def answer(context, params):
            asked.append(params.message)
            return ElicitResult(action="accept", content={"name": "Ada"})

        async with Client(streamable_http_client(url), mode=mode, elicitation_callback=answer) as client:
            result = await client.call_tool(f"{server}_ask", {})
            assert said in result.content[0].text, (mode, server, result)
            assert asked == (["Who?"] if is_asked else []), (mode, server, asked)
    print("ok: python, questions")


asyncio.run(use(*sys.argv[1:]))
