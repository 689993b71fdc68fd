"""Servers that others have written, behind ours: what a client sees of them. One line for each check.

  check.py AHMA_MCP SCRATCH PYTHON REPOSITORY

SCRATCH/project holds `node_modules` and what is beside this file; PYTHON has the package `mcp`.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid

AHMA_MCP, SCRATCH, PYTHON, REPOSITORY = sys.argv[1:]
PROJECT = os.path.join(SCRATCH, "project")
OF_NODE = os.path.join(PROJECT, "node_modules/@modelcontextprotocol")
EVERYTHING = os.path.join(OF_NODE, "server-everything/dist/index.js")
FILESYSTEM = os.path.join(OF_NODE, "server-filesystem/dist/index.js")
# The variables of everything that is started here hold it.
MARK = uuid.uuid4().hex
PATIENCE = 60
results = []


def check(what, holds, seen=""):
    results.append(bool(holds))
    print(f"ok: {what}" if holds else f"FAILED: {what}: {str(seen)[:2000]}", flush=True)


def in_project(server):
    """The entries name their parts relative to the project; one that is not confined works elsewhere by itself."""
    if "command" in server and not server.get("sandbox"):
        return {"cwd": PROJECT, **server}
    return server


class Client:
    """A client that writes lines and reads lines, and knows no SDK."""

    def __init__(self, servers, **variables):
        config = os.path.join(SCRATCH, f"mcp-{uuid.uuid4().hex}.json")
        with open(config, "w") as file:
            json.dump({"servers": {name: in_project(server) for name, server in servers.items()}}, file)
        command = [AHMA_MCP, "--sandbox-scope", PROJECT, "--mcp-config", config]
        environment = {**os.environ, "UPSTREAMS_MARK": MARK, **variables}
        environment["XDG_STATE_HOME"] = config + ".state"
        self.process = subprocess.Popen(
            command, cwd=PROJECT, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        self.last_id = 0
        self.notified = []
        client = {"name": "lines", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self.write({"method": "notifications/initialized"})

    def write(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.last_id += 1
        self.write({"id": self.last_id, "method": method, "params": params})
        # One that never answers ends the run, not the patience of whoever waits for it.
        too_long = threading.Timer(PATIENCE, self.process.kill)
        too_long.start()
        try:
            while True:
                line = self.process.stdout.readline()
                if not line:
                    raise SystemExit(f"FAILED: {method} was not answered")
                message = json.loads(line)
                if message.get("id") == self.last_id:
                    return message.get("result") or message
                self.notified.append(message)
        finally:
            too_long.cancel()

    def call(self, tool, arguments=None, **meta):
        params = {"name": tool, "arguments": arguments or {}}
        if meta:
            params["_meta"] = meta
        return self.ask("tools/call", params)

    def names(self):
        return [tool["name"] for tool in self.ask("tools/list", {})["tools"]]

    def names_with(self, wanted):
        """The names, as soon as these are among them: some servers are slow to start."""
        until = time.monotonic() + PATIENCE
        names = self.names()
        while not set(wanted) <= set(names) and time.monotonic() < until:
            time.sleep(0.2)
            names = self.names()
        return names

    def behind(self):
        told = json.loads(text(self.call("get_server_info")))["downstream"]
        return {server["name"]: server for server in told}

    def close(self):
        self.process.stdin.close()
        return self.process.wait(PATIENCE)


def text(result):
    return "".join(block.get("text", "") for block in result.get("content", []))


def is_image(result):
    blocks = [block for block in result.get("content", []) if block["type"] == "image"]
    return len(blocks) == 1 and blocks[0]["mimeType"] == "image/png" and len(blocks[0]["data"]) > 50


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def listening(command, port, **variables):
    """A server that runs elsewhere, once it listens."""
    environment = {**os.environ, **variables}
    process = subprocess.Popen(
        command, cwd=PROJECT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return process
        except OSError:
            time.sleep(0.05)
    process.kill()
    raise SystemExit(f"FAILED: nothing listens on {port}: {command}")


def left():
    """Processes that were started by what was started here."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = file.read()
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read()
        except OSError:
            continue
        # Confined ones have other variables; their words name the project.
        if MARK.encode() in variables or (PROJECT.encode() in words and int(pid) not in elsewhere):
            found.append(words.replace(b"\0", b" ").decode(errors="replace"))
    return found


def everything(client, prefix, revision):
    """What the reference server offers."""
    of_it = [name for name in names if name.startswith(f"{prefix}_")]
    check(f"{prefix}: its tools are listed", {f"{prefix}_echo", f"{prefix}_get-sum"} <= set(of_it), of_it)
    said = client.call(f"{prefix}_echo", {"message": "hello"})
    check(f"{prefix}: echo", text(said) == "Echo: hello", said)
    check(f"{prefix}: an image passes", is_image(seen := client.call(f"{prefix}_get-tiny-image")), seen)
    seen = client.call(f"{prefix}_get-structured-content", {"location": "Chicago"})
    shaped = seen.get("structuredContent", {})
    check(f"{prefix}: structured content passes", set(shaped) == {"temperature", "conditions", "humidity"}, seen)
    client.notified.clear()
    seen = client.call(f"{prefix}_trigger-long-running-operation", {"duration": 1, "steps": 4}, progressToken=prefix)
    told = [it["params"] for it in client.notified if it["method"] == "notifications/progress"]
    told = [(it["progressToken"], it["progress"], it["total"]) for it in told]
    check(f"{prefix}: progress passes", told == [(prefix, step, 4) for step in (1, 2, 3, 4)], (told, seen))
    spoken = client.behind()[prefix]["revision"]
    check(f"{prefix}: speaks {revision}", spoken == revision, spoken)


def small(client, prefix, revision):
    """What the two small servers offer."""
    wanted = {f"{prefix}_{name}" for name in ("echo", "add", "image")}
    check(f"{prefix}: its tools are listed", wanted <= set(names), names)
    said = client.call(f"{prefix}_echo", {"message": "hello"})
    check(f"{prefix}: echo", text(said) == "Echo: hello", said)
    check(f"{prefix}: an image passes", is_image(seen := client.call(f"{prefix}_image")), seen)
    seen = client.call(f"{prefix}_add", {"a": 2, "b": 3})
    check(f"{prefix}: structured content passes", seen.get("structuredContent") == {"sum": 5}, seen)
    spoken = client.behind()[prefix]["revision"]
    check(f"{prefix}: speaks {revision}", spoken == revision, spoken)


def steps(client, prefix):
    client.notified.clear()
    seen = client.call(f"{prefix}_steps", {"count": 3}, progressToken=7)
    told = [it["params"] for it in client.notified if it["method"] == "notifications/progress"]
    told = [(it["progressToken"], it["progress"], it["message"]) for it in told]
    check(f"{prefix}: progress passes", told == [(7, step, f"step {step}") for step in (1, 2, 3)], (told, seen))


def entries(document):
    """The first file that a document shows, as it stands there; others are about servers that somebody has to sign in to."""
    with open(os.path.join(REPOSITORY, document)) as file:
        blocks = re.findall(r"```json\n(.*?)```", file.read(), re.S)
    blocks = [block for block in blocks if '"servers"' in block and '"Ahama"' not in block]
    return blocks[0]


port, other_port, python_port = free_port(), free_port(), free_port()
with open(os.path.join(PROJECT, "inside.txt"), "w") as file:
    file.write("inside\n")
outside = os.path.join(SCRATCH, "outside.txt")
with open(outside, "w") as file:
    file.write("outside\n")

web = listening(["node", EVERYTHING, "streamableHttp"], port, PORT=str(port))
fixture = "tests/fixtures/upstream/server.py"
tracker = listening([sys.executable, fixture, f"--http={other_port}", "--token=a-token"], other_port)
snake = listening([PYTHON, "python_server.py", str(python_port)], python_port)
elsewhere = {os.getpid(), web.pid, tracker.pid, snake.pid}
try:
    client = Client({
        "everything": {"type": "stdio", "command": "node", "args": [EVERYTHING]},
        "web": {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"},
        "open": {"type": "managed_http", "command": "node", "args": [EVERYTHING, "streamableHttp"],
                 "env": {"PORT": "${PORT}"}},
        # Whatever it may reach by itself, the kernel decides for the second.
        "free": {"type": "stdio", "command": "node", "args": [FILESYSTEM, "/"]},
        "files": {"type": "stdio", "command": "node", "args": [FILESYSTEM, "/"], "sandbox": True},
        "python": {"type": "stdio", "command": PYTHON, "args": ["python_server.py"]},
        "python_web": {"type": "http", "url": f"http://127.0.0.1:{python_port}/mcp"},
        "python_managed": {"type": "managed_http", "command": PYTHON, "args": ["python_server.py", "${PORT}"]},
        "managed": {"type": "managed_http", "command": "node",
                    "args": ["--import", "./loopback.mjs", EVERYTHING, "streamableHttp"], "env": {"PORT": "${PORT}"}},
        "typescript": {"type": "stdio", "command": "node", "args": ["typescript_server.mjs"]},
    })
    pythons = ["python", "python_web", "python_managed"]
    servers = ["everything", "web", "free", "files", *pythons, "managed", "typescript"]
    firsts = [f"{it}_read_text_file" if it in ("free", "files") else f"{it}_echo" for it in servers]
    names = client.names_with(firsts)
    everything(client, "everything", "2025-11-25")
    everything(client, "web", "2025-11-25")
    everything(client, "managed", "2025-11-25")
    for python in pythons:
        small(client, python, "2026-07-28")
        steps(client, python)
    small(client, "typescript", "2025-11-25")
    for prefix in ("free", "files"):
        said = client.call(f"{prefix}_read_text_file", {"path": os.path.join(PROJECT, "inside.txt")})
        check(f"{prefix}: reads a file of the scope", text(said) == "inside\n", said)
    said = client.call("free_read_text_file", {"path": outside})
    check("free: reads a file outside", text(said) == "outside\n", said)
    said = client.call("files_read_text_file", {"path": outside})
    check("files: confined, it does not", said.get("isError") and "outside\n" not in text(said), said)
    told = client.behind()
    refused = told["open"]
    check("open: listens for other machines, and is not used",
          refused["status"] == "error" and "for other machines too" in (refused["error"] or ""), refused)
    for server in servers:
        check(f"{server}: connected", told[server]["status"] == "connected", told[server])
    held = {name: it["held"] for name, it in told.items() if it["held"]}
    check("nothing is held", not held, held)
    # Two of them run by themselves.
    check("all of them run", len(left()) > len(servers) - 2, left())
    check("it ends by itself when its client goes", (code := client.close()) == 0, code)

    shown = json.loads(entries("docs/downstream.md").replace("8931", str(other_port)))["servers"]
    # Nobody here has that name; the fixture answers in its place.
    readme = entries("README.md").replace("https://issues.example.com/", f"http://127.0.0.1:{other_port}/")
    shown |= json.loads(readme)["servers"]
    client = Client(shown, NOTES_KEY="a-key", TRACKER_TOKEN="a-token", ISSUES_TOKEN="a-token")
    names = client.names_with([f"{name}_echo" for name in shown if name != "files"] + ["files_read_text_file"])
    for server in shown:
        if server == "files":
            said = client.call("files_read_text_file", {"path": "inside.txt"})
            check("README: files", text(said) == "inside\n", said)
        else:
            said = client.call(f"{server}_echo", {"text": "hello"})
            document = "README" if server in ("issues", "echo") else "docs/downstream.md"
            check(f"{document}: {server}", text(said) == "hello", said)
    said = client.call("notes_env", {"name": "API_KEY"})
    check("docs/downstream.md: a reference is filled in", text(said) == "a-key", said)
    client.process.send_signal(signal.SIGKILL)
    client.process.wait()

    until = time.monotonic() + 10
    while left() and time.monotonic() < until:
        time.sleep(0.05)
    check("nothing is left running", not left(), left())
finally:
    for process in (web, tracker, snake):
        process.kill()
        process.wait()

failed = results.count(False)
print(f"{len(results)} checks, {failed} failed")
sys.exit(1 if failed else 0)
