"""An agent's day in real projects: every line is a call, what its text must hold, and what it must not."""

import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import zipfile

SERVER, HOME = sys.argv[1], pathlib.Path(sys.argv[2])
WHO = "root" if os.getuid() == 0 else "ordinary user"
failures = []
count = 0


class Client:
    """A server on stdio, spoken to line by line."""

    def __init__(self, directory, *arguments, path=None):
        variables = dict(os.environ, HOME=str(HOME), XDG_CACHE_HOME=str(HOME / ".cache"))
        variables.pop("XDG_STATE_HOME", None)
        if path:
            variables["PATH"] = path + ":" + variables["PATH"]
        self.process = subprocess.Popen(
            [SERVER, *arguments], cwd=directory, env=variables, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.next = 0
        self.request("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                    "clientInfo": {"name": "trial", "version": "1"}})
        self.send({"method": "notifications/initialized"})

    def send(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def request(self, method, params):
        self.next += 1
        self.send({"id": self.next, "method": method, "params": params})
        while True:
            line = self.process.stdout.readline()
            assert line, "the server ended: " + self.process.stderr.read()
            message = json.loads(line)
            if message.get("id") == self.next:
                return message

    def call(self, tool, **arguments):
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        if "error" in answer:
            return answer["error"]["message"], {}
        result = answer["result"]
        return result["content"][0]["text"], result.get("_meta", {})

    def tools(self):
        return [tool["name"] for tool in self.request("tools/list", {})["result"]["tools"]]

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def check(name, text, wanted, unwanted=None):
    global count
    count += 1
    if not re.search(wanted, text, re.S) or unwanted and re.search(unwanted, text, re.S):
        failures.append(name)
        print(f"FAILED ({WHO}) {name}: wanted {wanted!r}, got:\n{text[-1500:]}\n")


def script(client, name, command, wanted, unwanted=None, **arguments):
    text, _ = client.call("sandboxed_shell", command=command, **arguments)
    if text.startswith("started "):
        text, _ = client.call("await", timeout_seconds=300)
    check(name, text, wanted, unwanted)


def run(directory, *words):
    subprocess.run(words, cwd=directory, check=True, capture_output=True, env=dict(os.environ, HOME=str(HOME)))


def project(name, **files):
    directory = HOME / "src" / name
    directory.mkdir(parents=True)
    for file, content in files.items():
        (directory / file.replace("__", "/").replace("_DOT_", ".")).write_text(content)
    return directory


def has(program):
    return shutil.which(program) is not None


run(HOME, "git", "config", "--global", "user.name", "Trial")
run(HOME, "git", "config", "--global", "user.email", "trial@example.invalid")
run(HOME, "git", "config", "--global", "init.defaultBranch", "main")

# 2.1 to 2.11: calls.
plain = project("plain")
client = Client(plain)
script(client, "2.1 one call", "echo hello; ls", r"^hello\n")
text, _ = client.call("sandboxed_shell", command="sleep 1.5; echo pushed")
check("2.6 the deadline is named", text, r"^started op_.*300 s after its start")
text, _ = client.call("await")
check("2.2 await gives what nobody has read", text, r"^pushed\n")
text, _ = client.call("sandboxed_shell", command="echo one; sleep 3; echo two")
text, _ = client.call("await", timeout_seconds=0)
check("2.7 last lines so far", text, r"still running.*one", r"two")
text, _ = client.call("status")
check("2.5 status says what runs", text, r"echo one; sleep 3.*deadline.*for trial 1")
client.call("await")
script(client, "2.6 what is left behind is said", "sleep 300 & echo up", r"^up\n1 process .*service", execution_mode="sync")
text, _ = client.call("sandboxed_shell", command="read a; echo got $a", input=True, execution_mode="async")
operation = re.search(r"op_[a-z0-9]+", text).group(0)
client.call("send_input", operation_id=operation, text="word\n")
text, _ = client.call("await", operation_id=operation)
check("2.8 input to a running command", text, r"got word")
script(client, "2.9 a large script", "cat > big <<'END'\n" + "x" * 300_000 + "\nEND\nwc -c < big", r"^300001\n")
text, _ = client.call("sandboxed_shel", command="true")
check("2.11 unknown tool", text, r"did you mean `sandboxed_shell`")
server = "python3 -u -m http.server 18431 --bind 127.0.0.1"
text, _ = client.call("sandboxed_shell", command=server, execution_mode="service", ready={"port": 18431})
check("2.6 a service", text, r"ready: it listens on port 18431")
script(client, "2.6 and its client", "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:18431/\").status)'", r"^200")

# 3: tools.
tools = client.tools()
check("3 git_status is not there yet", " ".join(tools), r"find_tools", r"git_status")
client.call("call_tool", name="git_init", arguments={"execution_mode": "sync"})
for _ in range(50):
    tools = client.tools()
    if "git_status" in tools:
        break
    subprocess.run(["sleep", "0.1"])
check("3 and is after git_init", " ".join(tools), r"git_status")
client.close()

# 2: the table of what the sandbox breaks, and what is said of it.
(HOME / "Documents").mkdir()
(HOME / "Documents/notes.txt").write_text("notes")
(HOME / ".aws").mkdir()
(HOME / ".aws/credentials").write_text("secret")
local = HOME / ".local/bin"
local.mkdir(parents=True)
(local / "mytool").write_text("#!/bin/sh\necho mine\n")
(local / "mytool").chmod(0o755)
remote = HOME / "src/remote.git"
run(HOME, "git", "init", "-q", "--bare", str(remote))
client = Client(plain, path=str(local))
script(client, "programs of ~/.local/bin", "mytool", r"^mine\n")
for name, command, wanted in [
    ("a file outside", f"cat {HOME}/Documents/notes.txt", r"--sandbox-read"),
    ("a file of the home", "cat ~/Documents/notes.txt", r"--sandbox-read"),
    ("beside the scope", "touch ../sibling.txt", r"--sandbox-write"),
    ("a directory beside", "cd ../other", r"--sandbox-read"),
    ("Python, credentials", f"python3 -c 'open(\"{HOME}/.aws/credentials\")'", r"--pass-env|--sandbox-read"),
    ("a remote outside", f"git fetch {remote}", r"--sandbox-"),
    ("a push to a remote outside", f"git commit -q --allow-empty -m x; git push {remote} HEAD", r"--sandbox-write"),
    ("a worktree beside the scope", "git worktree add ../wt9", r"--sandbox-write"),
    ("a hook", "echo x > .git/hooks/pre-commit", r"--unprotect"),
]:
    script(client, name, command, wanted, r"\bnotes\n|secret\n")


class NobodyKnown(http.server.BaseHTTPRequestHandler):
    """A host that asks who the user is."""

    def do_GET(self):
        self.send_response(401)
        self.send_header("WWW-Authenticate", 'Basic realm="trial"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


host = http.server.ThreadingHTTPServer(("127.0.0.1", 0), NobodyKnown)
threading.Thread(target=host.serve_forever, daemon=True).start()
script(client, "a push without credentials", f"git push http://127.0.0.1:{host.server_port}/me/x.git HEAD",
       r"127\.0\.0\.1 asked who the user is.*--pass-env")
if has("docker"):
    script(client, "docker", "docker ps", r"outside the sandbox.*--sandbox-write \S*docker\.sock.*root")
if has("rustup"):
    # Nothing is downloaded: it fails before, and would be asked for here.
    script(client, "rustup", f"RUSTUP_DIST_SERVER=http://127.0.0.1:{host.server_port} rustup component add rustc-dev",
           r"can use and not change.*run rustup outside")
client.close()
client = Client(plain, "--network", "off")
script(client, "pip without network",
       "/usr/bin/python3 -m venv venv && venv/bin/pip install --retries 0 --disable-pip-version-check six", r"--network on")
if has("npm"):
    script(client, "npm without network", "npm install --fetch-retries=0 is-number", r"--network on")
if has("cargo"):
    script(client, "cargo without network", "cargo init -q --name app --vcs none app && cd app && "
           "CARGO_NET_RETRY=0 cargo add -q a-crate-that-nobody-has", r"--network on")
if has("curl"):
    script(client, "no network", "curl -sS http://api.example.invalid/", r"--network on")
script(client, "a loopback without network",
       "python3 -c 'import socket; s = socket.create_server((\"127.0.0.1\", 0)); "
       "socket.create_connection(s.getsockname()); print(\"talked\")'", r"^talked")
client.close()

# Real projects.
c = project("c", **{"main.c": "#include <stdio.h>\nint main(void) { puts(\"c\"); }\n", "Makefile": "main: main.c\n\tcc -o main main.c\n"})
client = Client(c)
script(client, "C with make", "make -s && ./main", r"^c\n")
client.close()

py = project("py", **{"test_it.py": "def test():\n    assert True\n", "pyproject.toml": "[project]\nname='x'\nversion='1'\n"})
client = Client(py)
script(client, "a venv", "python3 -m venv --without-pip .venv && .venv/bin/python -c 'print(\"venv\")'", r"^venv\n")
client.close()

if has("cargo"):
    rust = project("rust")
    client = Client(rust)
    script(client, "Rust", "cargo init -q --name trial --vcs none . && cargo run -q", r"Hello, world!")
    client.close()

if has("node"):
    node = project("node", **{"package.json": '{"name": "x", "version": "1.0.0", "scripts": {"test": "node -e 0 && echo tested"}}'})
    client = Client(node)
    script(client, "Node", "npm test --silent", r"tested")
    script(client, "npm -g has a prefix", "npm prefix -g", r"\.npm-global")
    client.close()

if has("javac"):
    java = project("java", **{"A.java": 'public class A { public static void main(String[] a) { System.out.println("java"); } }'})
    client = Client(java)
    script(client, "Java", "javac A.java && java A", r"java\n")
    client.close()

# What package managers install for the user, from what is here, is found at once and by the next server.
installing = project("installing", **{
    "package.json": '{"name": "by-npm", "version": "1.0.0", "bin": "by-npm.js"}',
    "by-npm.js": "#!/usr/bin/env node\nconsole.log('npm found')\n",
    "Cargo.toml": "[package]\nname = 'by-cargo'\nversion = '1.0.0'\nedition = '2021'\n"
                  "[[bin]]\nname = 'by-cargo'\npath = 'main.rs'\n",
    "main.rs": 'fn main() { println!("cargo found") }\n',
})
wheel = installing / "by_pip-1-py3-none-any.whl"
with zipfile.ZipFile(wheel, "w") as packed:
    packed.writestr("by_pip.py", "def main():\n    print('pip found')\n")
    packed.writestr("by_pip-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: by_pip\nVersion: 1\n")
    packed.writestr("by_pip-1.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: trial\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    packed.writestr("by_pip-1.dist-info/entry_points.txt", "[console_scripts]\nby-pip = by_pip:main\n")
    packed.writestr("by_pip-1.dist-info/RECORD", "")
pip = "/usr/bin/python3 -m pip"
INSTALLED = [
    ("npm", has("npm"), "npm install -g --offline --no-audit --no-fund ."),
    ("cargo", has("cargo"), "cargo install -q --offline --path ."),
    ("pip", subprocess.run(pip.split() + ["--version"], capture_output=True).returncode == 0,
     f"PIP_BREAK_SYSTEM_PACKAGES=1 {pip} install -q --user --no-index --no-warn-script-location ./{wheel.name}"),
    ("uv", has("uv"), f"uv tool install -q --offline ./{wheel.name}"),
]
INSTALLED = [(name, command) for name, is_there, command in INSTALLED if is_there]
for name, command in INSTALLED:
    client = Client(installing, "--network", "off")
    program = "by-pip" if name == "uv" else f"by-{name}"
    script(client, f"{name}: nothing before", program, r"command not found")
    script(client, f"{name}: found at once", f"{command} && cd / && {program}", r"\w+ found\n")
    client.close()
    client = Client(installing)
    script(client, f"{name}: found by the next server", f"cd / && {program}", r"^\w+ found\n")
    if name == "pip" and has("uv"):
        client.call("sandboxed_shell", command=f"{pip} uninstall -y by_pip --break-system-packages")
    client.close()

# Git: a remote, a linked worktree, a submodule.
main = project("main")
for words in ["init -q", "commit -q --allow-empty -m first", f"remote add origin {remote}", "worktree add -q ../linked -b linked"]:
    run(main, "git", *words.split())
client = Client(HOME / "src/linked")
script(client, "a commit in a linked worktree", "echo x > x && git add x && git commit -qm inside && git log --oneline | head -1", r"inside")
script(client, "a rebase there", "git checkout -q -b topic HEAD~1 && git commit -q --allow-empty -m topic && git rebase -q linked && "
       "git merge-base --is-ancestor linked topic && echo rebased", r"rebased\n")
script(client, "a branch that is deleted there", "git checkout -q linked; git branch -D topic", r"packed-refs\.lock can only be read.*outside")
script(client, "its hooks are not writable", "echo x > $(git rev-parse --git-path hooks)/pre-commit", r"Read-only|No such file|denied")
client.close()
client = Client(main, "--sandbox-write", str(remote))
script(client, "push to a granted remote", "git push -q origin main && git ls-remote origin", r"refs/heads/main")
script(client, "a worktree in the scope", "git worktree add -q wt -b wt && cd wt && git commit -q --allow-empty -m wt && git log --oneline | head -1", r"wt\n")
script(client, "a submodule of the scope", f"git -c protocol.file.allow=always submodule add -q {remote} sub && git commit -qm sub && git submodule status", r"sub \(heads/main\)")
client.close()
client = Client(main / "sub")
script(client, "a scope that is a submodule", "git commit -q --allow-empty -m sub && git branch x && git branch -d x && git log --oneline | head -1", r"sub\n")
script(client, "its settings are not writable", "git config user.color blue", r"is protected.*outside the sandbox")
client.close()

print(f"{count - len(failures)} passed, {len(failures)} failed")
print(f"ok: trial as {WHO}" if not failures else f"failed as {WHO}: {failures}")
sys.exit(bool(failures))
