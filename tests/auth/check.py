#!/usr/bin/env python3
"""Signs in to a server behind `oidc-provider`, as a person does: forms, consent, and the last page in Chromium. Then uses,
renews, keeps in a keyring, and forgets the tokens.

Usage: check.py AHMA_MCP SCRATCH [SCREENSHOT]; inside a D-Bus session with an unlocked keyring."""

import html.parser
import http.cookiejar
import json
import os
import pathlib
import queue
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

SERVER, SCRATCH = sys.argv[1], pathlib.Path(sys.argv[2])
SCREENSHOT = sys.argv[3] if len(sys.argv) > 3 else str(SCRATCH / "page.png")
HERE = pathlib.Path(__file__).parent
PROJECT, HOME, STATE = SCRATCH / "project", SCRATCH / "home", SCRATCH / "state"
LIFE = 5
FAILED = []


def check(what, is_right, seen=""):
    print(f"{'ok  ' if is_right else 'FAIL'} {what}", flush=True)
    if not is_right:
        FAILED.append(what)
        print(f"     {seen}", flush=True)


def free_port():
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return it.getsockname()[1]


def until(what, is_so, seconds=60):
    end = time.time() + seconds
    while time.time() < end:
        if is_so():
            return True
        time.sleep(0.2)
    raise SystemExit(f"waited in vain for: {what}")


class Forms(html.parser.HTMLParser):
    """The form of a page, filled in as far as it is."""

    def __init__(self, page):
        super().__init__()
        self.action, self.fields = None, {}
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "form" and self.action is None:
            self.action = given.get("action")
        if tag == "input" and given.get("name"):
            self.fields[given["name"]] = given.get("value", "")


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def sign_in_as_a_person(url):
    """Goes from the URL to where the provider sends the browser in the end, filling in what it is asked for."""
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    browser = urllib.request.build_opener(NoRedirects, cookies)
    pages = []
    for _ in range(20):
        if "/callback?" in url:
            return url, pages
        try:
            with browser.open(url) as answer:
                page = answer.read().decode()
        except urllib.error.HTTPError as error:
            if error.code not in (302, 303, 307):
                raise SystemExit(f"{url}: {error} {error.read().decode()[:500]}") from error
            url = urllib.parse.urljoin(url, error.headers["Location"])
            continue
        form = Forms(page)
        pages.append(form.fields.get("prompt"))
        for name, value in (("login", "ada"), ("password", "any")):
            if name in form.fields:
                form.fields[name] = value
        target = urllib.parse.urljoin(url, form.action)
        try:
            with browser.open(target, urllib.parse.urlencode(form.fields).encode()) as answer:
                raise SystemExit(f"{target} leads nowhere: {answer.read().decode()[:300]}")
        except urllib.error.HTTPError as error:
            url = urllib.parse.urljoin(target, error.headers["Location"])
    raise SystemExit("it never ends")


def chromium(url):
    """Opens a URL in Chromium, which reaches nothing but this machine; the page as it is then."""
    words = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--window-size=720,220",
             f"--user-data-dir={SCRATCH / 'chromium'}", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
             f"--screenshot={SCREENSHOT}", "--dump-dom", url]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    return done.stdout


def environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_") or name == "XDG_RUNTIME_DIR"}
    return {**kept, "HOME": str(HOME), "XDG_STATE_HOME": str(STATE), "NO_COLOR": "1"}


def auth(*words, **more):
    command = [SERVER, "--sandbox-scope", str(PROJECT), "--mcp-config", str(SCRATCH / "mcp.json"), "auth", *words]
    return subprocess.Popen(command, cwd=PROJECT, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **more)


def said(*words):
    output, errors = auth(*words).communicate(timeout=60)
    return output + errors


def log_in(*words, with_chromium=False):
    login = auth("login", "notes", "--no-browser", *words)
    back, pages = sign_in_as_a_person(login.stdout.readline().strip())
    if with_chromium:
        shown = chromium(back)
    else:
        with urllib.request.urlopen(back) as answer:
            shown = answer.read().decode()
    output, errors = login.communicate(timeout=60)
    return login.returncode, output + errors, shown, pages


class Client:
    """Speaks with a server of ours, line by line."""

    def __init__(self):
        command = [SERVER, "--sandbox-scope", str(PROJECT), "--mcp-config", str(SCRATCH / "mcp.json")]
        self.process = subprocess.Popen(command, cwd=PROJECT, env=environment(), stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.lines, self.number = queue.Queue(), 0
        threading.Thread(target=lambda: [self.lines.put(it) for it in self.process.stdout], daemon=True).start()
        self.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "check", "version": "1"}})

    def request(self, method, params):
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        while True:
            answer = json.loads(self.lines.get(timeout=60))
            if answer.get("id") == self.number:
                return answer

    def echo(self, text):
        # However long a sign-in is renewed for: a result is what is wanted.
        arguments = {"text": text, "execution_mode": "sync"}
        result = self.request("tools/call", {"name": "notes_echo", "arguments": arguments})
        return result.get("result", {}).get("content", [{}])[0].get("text", json.dumps(result))

    def tools(self):
        return [it["name"] for it in self.request("tools/list", {})["result"]["tools"]]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)


def records():
    return "".join(it.read_text() for it in (STATE / "ahma_mcp/auth").glob("*.json"))


def main():
    for directory in (PROJECT, HOME, STATE):
        directory.mkdir()
    issuer, server = free_port(), free_port()
    entry = {"type": "http", "url": f"http://127.0.0.1:{server}/mcp"}
    (SCRATCH / "mcp.json").write_text(json.dumps({"servers": {"notes": entry}}))
    node = subprocess.Popen(["node", str(SCRATCH / "provider.mjs"), str(issuer), str(server), str(LIFE)], stdout=subprocess.PIPE,
                            text=True)
    try:
        node.stdout.readline()
        in_files(issuer)
        in_the_keyring()
    finally:
        node.kill()
    print(f"{'FAILED' if FAILED else 'all'}: {len(FAILED)} failed")
    return 1 if FAILED else 0


def in_files(issuer):
    check("nobody is signed in", "nobody is signed in" in said("status"), said("status"))
    code, text, page, pages = log_in("--no-keyring", with_chromium=True)
    check("a person signs in and consents", code == 0 and pages == ["login", "consent"], (code, text, pages))
    check("Chromium shows the last page as it is meant", "<h1>Signed in</h1>" in page and "<style>" in page, page)
    check("Chromium made a picture of it", os.path.getsize(SCREENSHOT) > 5000)
    check("the issuer and the file are named", f"http://127.0.0.1:{issuer}" in text and "kept in /" in text, text)
    check("the record is a file", '"access"' in records(), records())
    client = Client()
    until("tools", lambda: "notes_echo" in client.tools())
    heard = client.echo("hello")
    check("a tool can be called", heard.startswith("hello"), heard)
    before = records()
    time.sleep(LIFE + 1)
    heard = client.echo("again")
    check("it can be called after the life of a token", heard.startswith("again"), heard)
    check("the refresh token was exchanged for another one", records() != before)
    client.close()
    client = Client()
    time.sleep(LIFE + 1)
    heard = client.echo("later")
    check("and by a new server", heard.startswith("later"), heard)
    client.close()
    check("signing out is possible", "forgotten" in said("logout", "notes"))
    check("then there is no record", records() == "", records())


def in_the_keyring():
    code, text, _, _ = log_in()
    check("a person signs in, and the tokens go into the keyring", code == 0 and "kept in the keyring" in text, (code, text))
    check("no token is in a file", '"access"' not in records() and '"keyring"' in records(), records())
    client = Client()
    heard = client.echo("hello")
    check("a tool can be called with a token of the keyring", heard.startswith("hello"), heard)
    time.sleep(LIFE + 1)
    heard = client.echo("again")
    check("a renewed token is kept there too", heard.startswith("again"), heard)
    check("and in no file", '"access"' not in records(), records())
    client.close()
    check("`auth status` says so", "kept in the keyring" in said("status"), said("status"))
    check("signing out is possible there", "forgotten" in said("logout", "notes"))
    check("and leaves nothing", "nobody is signed in" in said("status"), said("status"))


sys.exit(main())
