#!/usr/bin/env python3
"""A small MCP server over HTTP: two tools, nothing to install. Usage: server.py --port PORT

What a server has to do to be run as `managed_http` is all here:
  - it listens on the port that it is given, on this machine's own address only;
  - it serves POST /mcp, and answers a message with a message;
  - it refuses requests that a web page of somebody else has made (Origin);
  - it exits with code 2 when the port is taken, so that it is given another one.
"""

import argparse
import errno
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

# The newest first; a client that asks for another one is answered with the newest.
VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26"]
PORT_TAKEN = 2
MAX_BODY = 1 << 20

TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "The text"}},
    "required": ["text"],
}
TOOLS = {
    "echo": ("Says the text again", lambda text: text),
    "reverse": ("Says the text backwards", lambda text: text[::-1]),
}


class Refused(Exception):
    """An error of the protocol: a code and why."""


def initialize(params):
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "echo_server", "version": "0.1.0"},
    }


def list_tools(_params):
    tools = [{"name": name, "description": about, "inputSchema": TEXT} for name, (about, _) in TOOLS.items()]
    return {"tools": tools}


def call_tool(params):
    if params.get("name") not in TOOLS:
        raise Refused(-32602, f"there is no tool {params.get('name')!r}")
    text = (params.get("arguments") or {}).get("text")
    # A mistake in the arguments is for the model to read: a result, not an error of the protocol.
    if not isinstance(text, str):
        return {"content": [{"type": "text", "text": "`text` has to be a string"}], "isError": True}
    _, run = TOOLS[params["name"]]
    return {"content": [{"type": "text", "text": run(text)}], "isError": False}


METHODS = {
    "initialize": initialize,
    "ping": lambda _params: {},
    "tools/list": list_tools,
    "tools/call": call_tool,
}


def answer(message):
    """The answer to a message; none to a notification."""
    if not isinstance(message, dict) or "method" not in message:
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "this is not a request"}}
    if "id" not in message:
        return None
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        method = METHODS.get(message["method"])
        if method is None:
            raise Refused(-32601, f"there is no method {message['method']!r}")
        return {**reply, "result": method(message.get("params") or {})}
    except Refused as refused:
        code, why = refused.args
        return {**reply, "error": {"code": code, "message": why}}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Or every answer waits for an acknowledgement of its first part.
    disable_nagle_algorithm = True

    def log_message(self, *_):
        """Nothing for each request."""

    def reply(self, status, value=None):
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def is_from_here(self):
        """Browsers say which page asks. Programs need not say anything."""
        origin = self.headers.get("Origin")
        return origin is None or urlsplit(origin).hostname in ("localhost", "127.0.0.1")

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 <= length <= MAX_BODY:
            self.close_connection = True
            return self.reply(413)
        body = self.rfile.read(length)
        if not self.is_from_here():
            return self.reply(403)
        if self.path != "/mcp":
            return self.reply(404)
        try:
            message = json.loads(body)
        except ValueError:
            return self.reply(400, {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "this is not JSON"}})
        said = answer(message)
        return self.reply(202) if said is None else self.reply(200, said)

    def do_GET(self):
        # There is nothing that it says unasked.
        self.reply(405)


def main():
    parser = argparse.ArgumentParser(description="A small MCP server over HTTP")
    parser.add_argument("--port", type=int, required=True)
    # Its own exit code for a wrong command line is 2 as well.
    parser.error = lambda why: sys.exit(f"server.py: {why}")
    port = parser.parse_args().port
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        print(f"port {port} is taken", file=sys.stderr)
        sys.exit(PORT_TAKEN)
    print(f"listening on http://127.0.0.1:{server.server_address[1]}/mcp", file=sys.stderr, flush=True)
    server.serve_forever()


main()
