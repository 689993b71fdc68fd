"""The server as the Python SDK sees it, in both lifecycles: by a command, or by a URL."""

import asyncio
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


def text(result):
    return result.content[0].text


def transport(arguments):
    if len(arguments) == 1:
        return streamable_http_client(arguments[0])
    server, project = arguments
    return stdio_client(StdioServerParameters(command=server, args=["--sandbox-scope", project]))


async def use(mode, arguments):
    async with Client(transport(arguments), mode=mode) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert "greet" in names and "sandboxed_shell" in names, names

        greeted = await client.call_tool("greet", {"who": "world"})
        assert text(greeted).startswith("hello world\n") and not greeted.is_error, greeted

        wrong = await client.call_tool("greet", {"whom": "world"})
        assert wrong.is_error and "who" in text(wrong), wrong

        heard = []

        async def hear(progress, total, message):
            heard.append(message)

        script = "for i in 1 2 3; do echo line $i; sleep 0.6; done"
        arguments = {"command": script, "execution_mode": "sync"}
        told = await client.call_tool("sandboxed_shell", arguments, progress_callback=hear)
        assert text(told).startswith("line 1\nline 2\nline 3\n"), told
        assert any(message and message.startswith("line") for message in heard), heard

        # A quick one is answered at once, a slow one is handed over, and nothing is lost.
        quick = await client.call_tool("sandboxed_shell", {"command": "echo now"})
        assert text(quick).startswith("now\n"), quick
        started = await client.call_tool("sandboxed_shell", {"command": "sleep 1.5; echo later"})
        assert text(started).startswith("started op_"), started
        waited = await client.call_tool("await", {})
        assert text(waited).startswith("later\n"), waited

        found = await client.call_tool("find_tools", {"query": "git clone"})
        assert text(found).startswith("git_clone: "), found

        outside = {"command": "cat /etc/shadow", "execution_mode": "sync"}
        denied = await client.call_tool("sandboxed_shell", outside)
        assert denied.is_error, denied
    print(f"ok: python, {mode}")


async def main():
    for mode in ["legacy", "auto", "2026-07-28"]:
        await use(mode, sys.argv[1:])


asyncio.run(main())
