"""An agent of the Agent Client Protocol that does what the words of its prompt say, for tests of engines.

Usage: acp_agent.py [--load | --resume | --login]

It writes each prompt to prompts.jsonl and what else it is told to told.jsonl, in its working folder.
"""

import json
import os
import subprocess
import sys
import time

state = {"next": 1000, "servers": [], "prompt": None}


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def note(name, value):
    try:
        with open(name, "a", encoding="utf-8") as file:
            file.write(json.dumps(value) + "\n")
    except OSError:
        # Before a plan is approved, the folder is read-only.
        pass


def update(session, fields):
    send({"method": "session/update", "params": {"sessionId": session, "update": fields}})


def say(session, text):
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    update(session, chunk)


def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message = json.loads(line)
    if "method" in message:
        note("told.jsonl", message["method"])
    return message


def ask(session, command):
    """Asks for permission as some agents do, with an option first that would allow for good."""
    state["next"] += 1
    call = {"toolCallId": f"t{state['next']}", "title": command, "kind": "execute", "rawInput": {"command": command}}
    update(session, {"sessionUpdate": "tool_call", "status": "pending", **call})
    options = [
        {"optionId": "a", "name": "Always", "kind": "allow_always"},
        {"optionId": "b", "name": "Once", "kind": "allow_once"},
        {"optionId": "c", "name": "No", "kind": "reject_once"},
    ]
    params = {"sessionId": session, "toolCall": call, "options": options}
    send({"id": state["next"], "method": "session/request_permission", "params": params})
    while True:
        message = read()
        if message.get("id") == state["next"]:
            chosen = message["result"]["outcome"].get("optionId")
            break
        if message.get("method") == "session/cancel":
            state["cancelled"] = True
    output = ""
    if chosen == "b":
        ran = subprocess.run(command, shell=True, capture_output=True, text=True)
        output = f"{ran.stdout}{ran.stderr} exit {ran.returncode}"
    content = [{"type": "content", "content": {"type": "text", "text": output}}]
    status = "completed" if chosen == "b" else "failed"
    update(session, {"sessionUpdate": "tool_call_update", "toolCallId": call["toolCallId"], "status": status, "content": content})
    return chosen, output


def team_tools(calls):
    """Calls tools of the first server of the session."""
    server = state["servers"][0]
    variables = {**os.environ, **{pair["name"]: pair["value"] for pair in server["env"]}}
    program = subprocess.Popen([server["command"], *server["args"]], env=variables, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def request(number, method, params):
        program.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
        program.stdin.flush()
        while True:
            answer = json.loads(program.stdout.readline())
            if answer.get("id") == number:
                return answer.get("result", answer)

    about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    request(1, "initialize", about)
    program.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n")
    texts = []
    for number, (name, arguments) in enumerate(calls, 2):
        result = request(number, "tools/call", {"name": name, "arguments": arguments})
        texts.append(json.dumps(result))
    program.stdin.close()
    program.wait()
    return " ".join(texts)


def wait_for_cancel():
    while read().get("method") != "session/cancel":
        pass


def act(session, text):
    """Does what the prompt says. Returns the final text and the reason to stop."""
    order = text.split("DO:", 1)[1].split("\n")[0].strip() if "DO:" in text else ""
    if order == "die" and not os.path.exists("died"):
        note("died", True)
        say(session, "Half of ")
        os.kill(os.getpid(), 9)
    if order == "hang" and not os.path.exists("hanging"):
        subprocess.Popen(["sleep", "4321"], start_new_session=True)
        note("hanging", True)
        time.sleep(4321)
    if order == "wait" and not os.path.exists("waiting"):
        note("waiting", True)
        wait_for_cancel()
        note("cancelled", True)
        return "", "cancelled"
    if order == "spend":
        cost = {"amount": 0.25, "currency": "USD"}
        update(session, {"sessionUpdate": "usage_update", "used": 10, "size": 1000, "cost": cost})
        if not os.path.exists("spent"):
            note("spent", True)
            cost = {"amount": 2.75, "currency": "USD"}
            update(session, {"sessionUpdate": "usage_update", "used": 10, "size": 1000, "cost": cost})
            wait_for_cancel()
            return "", "cancelled"
        return "Spent.", "end_turn"
    if order == "stubborn":
        note("waiting", True)
        while True:
            read()
    if order == "flood":
        for number in range(20000):
            say(session, f"{number} ")
        return "", "end_turn"
    if order == "garbage":
        for line in ["{ not json", "[]", "\u0000", json.dumps({"id": 99, "result": {}}), "x" * 100000]:
            sys.stdout.write(line + "\n")
        send({"id": 4, "method": "fs/read_text_file", "params": {"path": "/etc/passwd"}})
        read()
        return "Still here.", "end_turn"
    if order == "late":
        time.sleep(4)
        return "Late.", "end_turn"
    if order.startswith("run "):
        chosen, output = ask(session, order[4:])
        return f"The answer was {chosen}: {output}", "end_turn"
    if order.startswith("team "):
        return team_tools(json.JSONDecoder().raw_decode(order[5:])[0]), "end_turn"
    return "Done.", "end_turn"


def prompt(message):
    session = message["params"]["sessionId"]
    text = "\n".join(part["text"] for part in message["params"]["prompt"])
    note("prompts.jsonl", text)
    final, stop = act(session, text)
    if final:
        say(session, final)
    usage = {"totalTokens": 30, "inputTokens": 20, "outputTokens": 10}
    send({"id": message["id"], "result": {"stopReason": stop, "usage": usage}})


def main():
    options = sys.argv[1:]
    while True:
        message = read()
        method = message.get("method")
        if method == "initialize":
            capabilities = {"loadSession": "--load" in options}
            if "--resume" in options:
                capabilities["sessionCapabilities"] = {"resume": {}}
            about = {"name": "scripted", "version": "1"}
            result = {"protocolVersion": 1, "agentCapabilities": capabilities, "agentInfo": about}
            send({"id": message["id"], "result": result})
        elif method in ("session/new", "session/load", "session/resume"):
            state["servers"] = message["params"]["mcpServers"]
            if "--login" in options:
                send({"id": message["id"], "error": {"code": -32000, "message": "Authentication required"}})
                continue
            if method == "session/load":
                say(message["params"]["sessionId"], "What was said before.")
            result = {"sessionId": f"s{os.getpid()}-{time.time_ns()}"} if method == "session/new" else {}
            send({"id": message["id"], "result": result})
        elif method == "session/prompt":
            prompt(message)
        elif "id" in message and method:
            send({"id": message["id"], "error": {"code": -32601, "message": "unknown"}})


main()
