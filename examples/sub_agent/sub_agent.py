"""Runs a command through the ahma_mcp server of the project that this directory belongs to."""
import hashlib, hmac, ipaddress, json, os, pathlib, secrets, sys, urllib.error, urllib.request

VERSION = "2026-07-28"
HERE = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy is somewhere else


def find_server():
    """Where the server of the nearest project is, and its token."""
    here = pathlib.Path.cwd().resolve()
    for root in [here, *here.parents]:
        try:
            state = json.loads((root / ".ahma/.mcp_server_state.json").read_text())
            return check(root, state)
        except (OSError, ValueError, KeyError, TypeError):
            continue  # none, left over, or somebody else's
    sys.exit("no server serves this project; start one with `ahma_mcp --mode http`")


def check(root, state):
    """The server that a state file names, if it proves to be the user's."""
    host = ipaddress.ip_address(state["host"])
    if state["project"]["root"] != str(root) or not host.is_loopback:
        raise ValueError("not the file of this project")
    token = os.environ.get("AHMA_HTTP_TOKEN")
    if not token:
        base = os.environ.get("XDG_STATE_HOME") or pathlib.Path.home() / ".local/state"
        name = hashlib.sha256(os.fsencode(root)).hexdigest()[:32]
        token = pathlib.Path(base, "ahma_mcp/http-tokens", name).read_text().strip()
    address = f"[{host}]:{state['port']}" if host.version == 6 else f"{host}:{state['port']}"
    challenge = secrets.token_hex(16)
    with HERE.open(f"http://{address}/health?challenge={challenge}", timeout=5) as answer:
        health = json.loads(answer.read(65536))
    message = f"ahma_mcp {address} {challenge}".encode()
    proof = hmac.new(token.encode(), message, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(proof, health["proof"]):
        raise ValueError("what answers there does not know the token")
    return f"http://{address}/mcp", token


def call(url, token, tool, arguments):
    """Calls a tool and returns its result."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "sub_agent", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": tool, "arguments": arguments, "_meta": meta},
    }
    headers = {
        "Accept": "application/json", "Content-Type": "application/json", "Authorization": f"Bearer {token}",
        "Mcp-Protocol-Version": VERSION, "Mcp-Method": "tools/call", "Mcp-Name": tool,
    }
    request = urllib.request.Request(url, json.dumps(message).encode(), headers)
    try:
        answer = json.load(HERE.open(request))
    except urllib.error.HTTPError as refusal:
        answer = json.load(refusal)
    if "error" in answer:
        sys.exit(answer["error"]["message"])
    return answer["result"]


def main():
    url, token = find_server()
    arguments = {"command": sys.argv[1], "execution_mode": "sync"}
    result = call(url, token, "sandboxed_shell", arguments)
    print(result["content"][0]["text"])
    sys.exit(1 if result.get("isError") else 0)


main()
