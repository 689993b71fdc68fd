#!/usr/bin/python3
"""The programs behind the tools of the conformance suite: each writes events (docs/events.md) and reads answers."""

import json
import sys
import time

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)
TEXT = {"type": "string"}


def event(kind, **fields):
    print(json.dumps({"type": kind, **fields}), flush=True)


def content(kind, **fields):
    event("content", content={"type": kind, **fields})


def text(line):
    content("text", text=line)


def ask(**questions):
    event("ask", questions=questions)
    return json.loads(sys.stdin.readline())["answers"]


def form(message, properties, required=None):
    schema = {"type": "object", "properties": properties}
    schema["required"] = list(properties) if required is None else required
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def sample(prompt, most=100):
    message = {"role": "user", "content": {"type": "text", "text": prompt}}
    return {"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": most}}


def said(answer):
    block = answer["content"]
    block = block[0] if isinstance(block, list) else block
    return block.get("text", "")


def progress(_):
    for done in (0, 50, 100):
        event("progress", progress=done, total=100, message=f"{done} of 100")
        time.sleep(0.05)
    text("done")


def logging(_):
    for line in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        event("log", level="info", data=line)
        time.sleep(0.05)
    text("logged")


def mixed(_):
    text("Multiple content types test:")
    content("image", data=PIXEL, mimeType="image/png")
    resource = {"uri": "test://mixed-content-resource", "mimeType": "application/json"}
    content("resource", resource={**resource, "text": '{"test":"data","value":123}'})


def embedded(_):
    resource = {"uri": "test://embedded-resource", "mimeType": "text/plain"}
    content("resource", resource={**resource, "text": "This is an embedded resource content."})


def sampling(arguments):
    text("LLM response: " + said(ask(q=sample(arguments["prompt"]))["q"]))


def elicitation(arguments):
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    answer = ask(q=form(arguments["message"], fields))["q"]
    text(f"User response: action={answer['action']}, content={json.dumps(answer.get('content'))}")


def defaults(_):
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    answer = ask(q=form("Please review", fields, []))["q"]
    text(f"Elicitation completed: action={answer['action']}, content={json.dumps(answer.get('content'))}")


def enums(_):
    names = ["First", "Second", "Third"]
    options = [f"option{number}" for number in (1, 2, 3)]
    titled = [{"const": f"value{at}", "title": f"{name} Option"} for at, name in enumerate(names, 1)]
    choices = [{"const": f"value{at}", "title": f"{name} Choice"} for at, name in enumerate(names, 1)]
    fields = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": choices}},
    }
    answer = ask(q=form("Pick", fields, []))["q"]
    text(f"Elicitation completed: action={answer['action']}, content={json.dumps(answer.get('content'))}")


def name(_):
    answer = ask(user_name=form("What is your name?", {"name": TEXT}))["user_name"]
    text(f"Hello, {(answer.get('content') or {}).get('name')}!")


def capital(_):
    text(said(ask(capital_question=sample("What is the capital of France?"))["capital_question"]))


def roots(_):
    answer = ask(client_roots={"method": "roots/list", "params": {}})["client_roots"]
    text(json.dumps(answer["roots"]))


def state(_):
    ask(confirm=form("Please confirm", {"ok": {"type": "boolean"}}))
    text("state-ok")


def several(_):
    answers = ask(
        user_name=form("What is your name?", {"name": TEXT}),
        greeting=sample("Generate a greeting", 50),
        client_roots={"method": "roots/list", "params": {}},
    )
    text(json.dumps(answers))


def rounds(_):
    first = ask(step1=form("Step 1: What is your name?", {"name": TEXT}))
    second = ask(step2=form("Step 2: What is your favorite color?", {"color": TEXT}))
    text(json.dumps([first, second]))


def capabilities(_):
    ask(sampled=sample("hi", 10), asked=form("Name?", {"name": TEXT}))
    text("ok")


def compute(arguments):
    seconds = arguments.get("seconds", 1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(min(0.1, max(0, end - time.monotonic())))
        event("progress", progress=seconds - max(0, end - time.monotonic()), total=seconds)
    text(f"computed for {seconds} s")


def failing(_):
    time.sleep(1)
    event("error", message="job failed")


def broken(_):
    time.sleep(0.3)
    event("error", message="internal failure", code=-32603)


def confirm(_):
    answer = ask(confirm=form("Delete it?", {"confirm": {"type": "boolean"}}))
    text("deleted " + json.dumps(answer))


def inputs(_):
    yes = {"confirm": {"type": "boolean"}}
    text(json.dumps(ask(first=form("The first?", yes), second=form("The second?", yes))))


def task(_):
    answer = ask(user_name=form("What is your name?", {"name": TEXT}))["user_name"]
    event("detach")
    time.sleep(0.5)
    text("Hello, " + answer["content"]["name"])


def greet(arguments):
    text(f"Hello, {arguments['name']}!")


def main():
    arguments = json.loads(sys.stdin.readline())["arguments"]
    globals()[sys.argv[1]](arguments)


main()
