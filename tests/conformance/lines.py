"""A client that speaks MCP with a server on its standard input and output, in either lifecycle.

Sends and hears messages and answers the questions of the server. Must not judge what it hears.
"""

import json
import queue
import subprocess
import threading

PREFIX = "io.modelcontextprotocol/"
CAPABILITIES = {"elicitation": {}, "sampling": {}, "roots": {}}
VALUES = {"string": "Ada", "boolean": True, "integer": 1, "number": 1.5}


def answer_to(method, params):
    """What a person who agrees to everything answers."""
    if method == "elicitation/create":
        fields = params["requestedSchema"]["properties"].items()
        content = {name: field["default"] if "default" in field else VALUES.get(field["type"]) for name, field in fields}
        for name, field in fields:
            if "enum" in field:
                content[name] = field["enum"][0]
            elif "oneOf" in field:
                content[name] = field["oneOf"][0]["const"]
            elif field["type"] == "array":
                content[name] = []
        return {"action": "accept", "content": content}
    if method == "sampling/createMessage":
        said = {"type": "text", "text": "Paris"}
        return {"role": "assistant", "model": "test", "content": said, "stopReason": "endTurn"}
    assert method == "roots/list", method
    return {"roots": [{"uri": "file:///tmp", "name": "tmp"}]}


class Refused(Exception):
    def __init__(self, error):
        super().__init__(error["message"])
        self.code = error["code"]
        self.data = error.get("data")


class Lines:
    def __init__(self, command, revision):
        self.revision = revision
        self.stateless = revision == "2026-07-28"
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.heard = queue.Queue()
        # Notifications that came and nobody has asked for, and what the server asked.
        self.told, self.asked = [], []
        self.number = 0
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            self.heard.put(json.loads(line))
        self.heard.put(None)

    def write(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def notify(self, method, **params):
        self.write({"method": method, "params": params})

    def send(self, method, params=None, capabilities=None, meta=None):
        """Sends a request and gives its id."""
        params = dict(params or {})
        about = dict(meta or {})
        if self.stateless:
            about = {
                PREFIX + "protocolVersion": self.revision,
                PREFIX + "clientInfo": {"name": "stdio", "version": "1"},
                PREFIX + "clientCapabilities": CAPABILITIES if capabilities is None else capabilities,
                **about,
            }
        if about:
            params["_meta"] = about
        self.number += 1
        self.write({"id": self.number, "method": method, "params": params})
        return self.number

    def next(self, seconds=30):
        message = self.heard.get(timeout=seconds)
        assert message is not None, "the server has ended"
        return message

    def answer(self, number):
        """The result of a request; what comes before it is kept, and what the server asks is answered."""
        while True:
            message = self.next()
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise Refused(message["error"])
                return message["result"]
            self.take(message)

    def take(self, message):
        if "method" in message and "id" in message:
            self.asked.append(message)
            self.write({"id": message["id"], "result": answer_to(message["method"], message.get("params"))})
        else:
            self.told.append(message)

    def request(self, method, params=None, **more):
        return self.answer(self.send(method, params, **more))

    def call(self, name, arguments=None, **more):
        """Calls a tool; in the lifecycle without sessions, questions are answered round by round."""
        params = {"name": name, "arguments": arguments or {}}
        while True:
            result = self.request("tools/call", params, **more)
            if result.get("resultType") != "input_required":
                return result
            params["inputResponses"] = {}
            for key, question in result["inputRequests"].items():
                self.asked.append(question)
                params["inputResponses"][key] = answer_to(question["method"], question.get("params"))
            params["requestState"] = result["requestState"]

    def until_told(self, method, seconds=30):
        """A notification, the first of its kind that nobody has asked for."""
        while True:
            for at, message in enumerate(self.told):
                if message["method"] == method:
                    return self.told.pop(at)
            self.take(self.next(seconds))

    def refused(self, method, params=None, **more):
        try:
            result = self.request(method, params, **more)
        except Refused as error:
            return error
        raise AssertionError(f"{method} was not refused: {result}")

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=10) == 0, self.process.returncode
