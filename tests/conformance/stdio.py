"""The scenarios of the conformance suite that make sense on standard input and output, which the suite itself cannot speak.

Runs each in the revisions that it belongs to, against the same files. Scenarios about HTTP (headers, sessions, streams, caches, foreign
origins) are left to the suite.

    stdio.py AHMA_MCP PROJECT
"""

import base64
import os
import pathlib
import sys
import tempfile

from lines import PREFIX, Lines

SESSIONS, STATELESS = "2025-11-25", "2026-07-28"
TASKS = {"extensions": {PREFIX + "tasks": {}}}
SCENARIOS = []


def scenario(*revisions):
    def add(function):
        SCENARIOS.append((function, revisions or (SESSIONS, STATELESS)))
        return function

    return add


def text(result):
    """What a tool said, without the last line, which is the server's."""
    blocks = list(result["content"])
    lines = "\n".join(block.get("text", "") for block in blocks).split("\n")
    assert lines[-1].startswith("[op_"), lines
    return "\n".join(lines[:-1])


def same(found, wanted):
    assert found == wanted, f"{found!r} instead of {wanted!r}"


@scenario(SESSIONS)
def server_initialize(client):
    same(client.hello["protocolVersion"], SESSIONS)
    assert {"tools", "prompts", "resources", "logging", "completions"} <= client.hello["capabilities"].keys(), client.hello


@scenario(STATELESS)
def server_discover(client):
    found = client.request("server/discover")
    assert STATELESS in found["supportedVersions"], found
    assert {"tools", "prompts", "resources", "completions"} <= found["capabilities"].keys(), found


@scenario(SESSIONS)
def ping(client):
    same(client.request("ping"), {})


@scenario(STATELESS)
def methods_of_sessions_are_not_known(client):
    # A ping before anything else is answered to whoever asks.
    client.request("tools/list")
    for method in ("ping", "logging/setLevel", "resources/subscribe"):
        same(client.refused(method, {"level": "info", "uri": "test://static-text"}).code, -32601)


@scenario(STATELESS)
def other_versions_are_refused_with_those_that_are_known(client):
    error = client.refused("tools/list", meta={PREFIX + "protocolVersion": "1900-01-01"})
    same(error.code, -32022)
    assert STATELESS in error.data["supported"], error.data


@scenario(SESSIONS)
def logging_set_level(client):
    same(client.request("logging/setLevel", {"level": "info"}), {})


@scenario()
def completion_complete(client):
    reference = {"type": "ref/prompt", "name": "test_prompt_with_arguments"}
    found = client.request("completion/complete", {"ref": reference, "argument": {"name": "arg1", "value": "te"}})
    assert isinstance(found["completion"]["values"], list), found


@scenario()
def tools_list(client):
    tools = client.request("tools/list")["tools"]
    assert all(tool["name"] and tool["description"] and tool["inputSchema"]["type"] == "object" for tool in tools), tools
    assert "test_simple_text" in [tool["name"] for tool in tools]


@scenario()
def json_schema_2020_12(client):
    tools = client.request("tools/list")["tools"]
    schema = next(tool for tool in tools if tool["name"] == "json_schema_2020_12_tool")["inputSchema"]
    assert {"$schema", "$defs", "additionalProperties"} <= schema.keys(), schema


@scenario()
def tools_call_simple_text(client):
    same(text(client.call("test_simple_text")), "This is a simple text response for testing.")


@scenario()
def tools_call_image(client):
    block = client.call("test_image_content")["content"][0]
    same((block["type"], block["mimeType"]), ("image", "image/png"))
    assert base64.b64decode(block["data"]).startswith(b"\x89PNG"), block


@scenario()
def tools_call_audio(client):
    block = client.call("test_audio_content")["content"][0]
    same((block["type"], block["mimeType"]), ("audio", "audio/wav"))
    assert base64.b64decode(block["data"]).startswith(b"RIFF"), block


@scenario()
def tools_call_embedded_resource(client):
    block = client.call("test_embedded_resource")["content"][0]
    same((block["type"], block["resource"]["uri"]), ("resource", "test://embedded-resource"))


@scenario()
def tools_call_mixed_content(client):
    blocks = client.call("test_multiple_content_types")["content"]
    same([block["type"] for block in blocks], ["text", "image", "resource", "text"])


@scenario()
def tools_call_error(client):
    result = client.call("test_error_handling")
    assert result["isError"] and "This tool intentionally returns an error for testing" in text(result), result


@scenario()
def tools_call_with_progress(client):
    client.told.clear()
    client.call("test_tool_with_progress", meta={"progressToken": "p"})
    told = [it["params"] for it in client.told if it["method"] == "notifications/progress"]
    assert told and all(it["progressToken"] == "p" for it in told), told
    done = [it["progress"] for it in told]
    same(done, sorted(done))
    same(done[-1], 100)


@scenario(SESSIONS)
def tools_call_with_logging(client):
    client.request("logging/setLevel", {"level": "debug"})
    client.told.clear()
    client.call("test_tool_with_logging")
    said = [it["params"]["data"] for it in client.told if it["method"] == "notifications/message"]
    same(said[:3], ["Tool execution started", "Tool processing data", "Tool execution completed"])


@scenario(STATELESS)
def a_call_that_wants_no_messages_gets_none(client):
    client.told.clear()
    client.call("test_logging_tool")
    same([it for it in client.told if it["method"] == "notifications/message"], [])
    client.call("test_logging_tool", meta={PREFIX + "logLevel": "debug"})
    assert [it for it in client.told if it["method"] == "notifications/message"]


@scenario(SESSIONS)
def tools_call_sampling(client):
    same(text(client.call("test_sampling", {"prompt": "What is it?"})), "LLM response: Paris")


@scenario(SESSIONS)
def tools_call_elicitation(client):
    result = text(client.call("test_elicitation", {"message": "Who?"}))
    assert "action=accept" in result and "Ada" in result, result


@scenario(SESSIONS)
def elicitation_sep1034_defaults(client):
    client.asked.clear()
    client.call("test_elicitation_sep1034_defaults")
    fields = client.asked[0]["params"]["requestedSchema"]["properties"]
    same([field["default"] for field in fields.values()], ["John Doe", 30, 95.5, "active", True])


@scenario(SESSIONS)
def elicitation_sep1330_enums(client):
    client.asked.clear()
    client.call("test_elicitation_sep1330_enums")
    fields = client.asked[0]["params"]["requestedSchema"]["properties"]
    same(list(fields), ["untitledSingle", "titledSingle", "legacyEnum", "untitledMulti", "titledMulti"])


@scenario(STATELESS)
def input_required_basic_elicitation(client):
    same(text(client.call("test_input_required_result_elicitation")), "Hello, Ada!")


@scenario(STATELESS)
def input_required_basic_sampling(client):
    same(text(client.call("test_input_required_result_sampling")), "Paris")


@scenario(STATELESS)
def input_required_basic_list_roots(client):
    assert "file:///tmp" in text(client.call("test_input_required_result_list_roots"))


@scenario(STATELESS)
def input_required_request_state(client):
    assert "state-ok" in text(client.call("test_input_required_result_request_state"))


@scenario(STATELESS)
def input_required_multiple_input_requests(client):
    client.asked.clear()
    client.call("test_input_required_result_multiple_inputs")
    methods = sorted(question["method"] for question in client.asked)
    same(methods, ["elicitation/create", "roots/list", "sampling/createMessage"])


@scenario(STATELESS)
def input_required_multi_round(client):
    client.asked.clear()
    client.call("test_input_required_result_multi_round")
    same(len(client.asked), 2)


@scenario(STATELESS)
def input_required_tampered_state(client):
    params = {"name": "test_input_required_result_tampered_state", "arguments": {}}
    asked = client.request("tools/call", params)
    key = next(iter(asked["inputRequests"]))
    params["inputResponses"] = {key: {"action": "accept", "content": {"ok": True}}}
    same(client.refused("tools/call", {**params, "requestState": asked["requestState"] + "x"}).code, -32602)


@scenario(STATELESS)
def input_required_missing_input_response(client):
    params = {"name": "test_input_required_result_elicitation", "arguments": {}}
    asked = client.request("tools/call", params)
    again = client.request("tools/call", {**params, "inputResponses": {"other": {}}, "requestState": asked["requestState"]})
    same(again["resultType"], "input_required")


@scenario(STATELESS)
def input_required_capability_check(client):
    params = {"name": "test_input_required_result_capabilities", "arguments": {}}
    asked = client.request("tools/call", params, capabilities={"elicitation": {}})
    methods = [question["method"] for question in asked.get("inputRequests", {}).values()]
    assert "sampling/createMessage" not in methods, asked


@scenario(STATELESS)
def input_required_non_tool_request(client):
    params = {"name": "test_input_required_result_prompt"}
    asked = client.request("prompts/get", params)
    same(asked["resultType"], "input_required")
    responses = {key: {"action": "accept", "content": {key: "Ada"}} for key in asked["inputRequests"]}
    got = client.request("prompts/get", {**params, "inputResponses": responses, "requestState": asked["requestState"]})
    assert "Ada" in got["messages"][0]["content"]["text"], got


@scenario(STATELESS)
def a_tool_that_needs_more_than_the_client_has_is_refused(client):
    error = client.refused("tools/call", {"name": "test_missing_capability", "arguments": {}}, capabilities={})
    same(error.code, -32021)
    assert "sampling" in error.data["requiredCapabilities"], error.data


@scenario(STATELESS)
def tasks_lifecycle(client):
    started = client.request("tools/call", {"name": "slow_compute", "arguments": {"seconds": 2}}, capabilities=TASKS)
    same((started["resultType"], started["status"]), ("task", "working"))
    task = {"taskId": started["taskId"]}
    client.send("subscriptions/listen", {"notifications": {"taskIds": [started["taskId"]]}}, capabilities=TASKS)
    client.request("tasks/cancel", task, capabilities=TASKS)
    while client.until_told("notifications/tasks")["params"]["status"] == "working":
        pass
    same(client.request("tasks/get", task, capabilities=TASKS)["status"], "cancelled")


@scenario(STATELESS)
def tasks_are_told_to_subscribers(client):
    started = client.request("tools/call", {"name": "failing_job", "arguments": {}}, capabilities=TASKS)
    client.send("subscriptions/listen", {"notifications": {"taskIds": [started["taskId"]]}}, capabilities=TASKS)
    while (told := client.until_told("notifications/tasks")["params"])["status"] == "working":
        pass
    same((told["taskId"], told["status"]), (started["taskId"], "completed"))
    assert told["result"]["isError"], told


@scenario(STATELESS)
def tasks_mrtr_input(client):
    started = client.request("tools/call", {"name": "confirm_delete", "arguments": {}}, capabilities={**TASKS, "elicitation": {}})
    task = {"taskId": started["taskId"]}
    client.send("subscriptions/listen", {"notifications": {"taskIds": [started["taskId"]]}}, capabilities=TASKS)
    while (told := client.until_told("notifications/tasks")["params"])["status"] == "working":
        pass
    same(told["status"], "input_required")
    responses = {key: {"action": "accept", "content": {"confirm": True}} for key in told["inputRequests"]}
    client.request("tasks/update", {**task, "inputResponses": responses}, capabilities=TASKS)
    while (told := client.until_told("notifications/tasks")["params"])["status"] != "completed":
        pass
    assert "deleted" in text(told["result"]), told


@scenario(STATELESS)
def tasks_required_task_error(client):
    error = client.refused("tools/call", {"name": "failing_job", "arguments": {}}, capabilities={})
    same(error.code, -32021)


@scenario()
def resources_list(client):
    listed = client.request("resources/list")["resources"]
    assert {"test://static-text", "test://static-binary"} <= {resource["uri"] for resource in listed}, listed


@scenario()
def resources_read_text(client):
    same(client.request("resources/read", {"uri": "test://static-text"})["contents"][0]["mimeType"], "text/plain")


@scenario()
def resources_read_binary(client):
    content = client.request("resources/read", {"uri": "test://static-binary"})["contents"][0]
    same((content["mimeType"], base64.b64decode(content["blob"])[:4]), ("image/png", b"\x89PNG"))


@scenario()
def resources_templates_read(client):
    content = client.request("resources/read", {"uri": "test://template/123/data"})["contents"][0]
    assert "123" in content["text"], content


@scenario()
def sep_2164_resource_not_found(client):
    code = -32602 if client.stateless else -32002
    same(client.refused("resources/read", {"uri": "test://nothing"}).code, code)


@scenario(SESSIONS)
def resources_subscribe_and_unsubscribe(client):
    watched = {"uri": "test://watched-resource"}
    same(client.request("resources/subscribe", watched), {})
    (client.project / "data/watched.txt").write_text("changed")
    same(client.until_told("notifications/resources/updated")["params"]["uri"], watched["uri"])
    same(client.request("resources/unsubscribe", watched), {})


@scenario()
def prompts_list(client):
    names = {prompt["name"] for prompt in client.request("prompts/list")["prompts"]}
    assert {"test_simple_prompt", "test_prompt_with_arguments"} <= names, names


@scenario()
def prompts_get(client):
    got = client.request("prompts/get", {"name": "test_simple_prompt"})
    same(got["messages"][0]["content"]["text"], "This is a simple prompt for testing.")
    arguments = {"arg1": "one", "arg2": "two"}
    got = client.request("prompts/get", {"name": "test_prompt_with_arguments", "arguments": arguments})
    assert "one" in str(got) and "two" in str(got), got
    arguments = {"resourceUri": "test://example"}
    got = client.request("prompts/get", {"name": "test_prompt_with_embedded_resource", "arguments": arguments})
    assert "test://example" in str(got["messages"]), got
    got = client.request("prompts/get", {"name": "test_prompt_with_image"})
    assert "image" in [message["content"]["type"] for message in got["messages"]], got


@scenario()
def changed_lists_are_told(client):
    if client.stateless:
        wanted = {"toolsListChanged": True, "promptsListChanged": True}
        client.send("subscriptions/listen", {"notifications": wanted})
        client.until_told("notifications/subscriptions/acknowledged")
    for kind in ("tool", "prompt"):
        client.call(f"test_trigger_{kind}_change")
        client.until_told(f"notifications/{kind}s/list_changed")


@scenario(SESSIONS)
def unknown_methods_and_tools_are_errors(client):
    same(client.refused("nothing/at_all").code, -32601)
    same(client.refused("tools/call", {"name": "nothing_at_all", "arguments": {}}).code, -32602)


def serve(server, project, revision):
    client = Lines([server, "--sandbox-scope", str(project)], revision)
    client.project = project
    if not client.stateless:
        about = {"name": "stdio", "version": "1"}
        params = {"protocolVersion": revision, "capabilities": {"elicitation": {}, "sampling": {}, "roots": {}}, "clientInfo": about}
        client.hello = client.request("initialize", params)
        client.notify("notifications/initialized")
    return client


def main():
    server, project = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as private:
        os.environ.update(XDG_CACHE_HOME=f"{private}/cache", XDG_STATE_HOME=f"{private}/state", XDG_CONFIG_HOME=f"{private}/config")
        failed = 0
        for revision in (SESSIONS, STATELESS):
            client = serve(server, project, revision)
            count = 0
            for run, revisions in SCENARIOS:
                if revision not in revisions:
                    continue
                count += 1
                try:
                    run(client)
                except Exception as error:  # noqa: BLE001
                    failed += 1
                    print(f"✗ {revision} {run.__name__}: {type(error).__name__}: {error}")
            client.end()
            print(f"stdio, {revision}: {count} scenarios")
    if failed:
        sys.exit(f"{failed} failed")


main()
