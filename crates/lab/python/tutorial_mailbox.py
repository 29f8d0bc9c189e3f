"""A mailbox as tutorials build it, to measure beside ours.

send() appends one line of JSON. read_inbox() reads the whole file, parses every line and then
empties the file: what arrives between the two last steps is gone.

usage: tutorial_mailbox.py DIR read POLL | trickle COUNT | flood NUMBER
"""

import json
import os
import random
import sys
import threading
import time
from pathlib import Path


def send(inbox, sender, content):
    message = {"type": "message", "from": sender, "content": content, "timestamp": time.time()}
    with open(inbox, "a") as file:
        file.write(json.dumps(message) + "\n")


def read_inbox(inbox):
    if not inbox.exists():
        return []
    messages = [json.loads(line) for line in inbox.read_text().splitlines() if line]
    inbox.write_text("")
    return messages


def say(answer):
    print(json.dumps(answer), flush=True)


def read(inbox, poll):
    """Reads until it has been told how much was sent, and nothing has come for a while."""
    total = []

    def listen():
        for line in sys.stdin:
            total.append(int(line))
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    seen = set()
    latencies = []
    last = time.monotonic()
    while True:
        try:
            messages = read_inbox(inbox)
        except ValueError:
            # Half of a line; the file was not emptied yet.
            messages = []
        now = time.monotonic_ns()
        for message in messages:
            sender, number, sent_at = message["content"].split()[:3]
            seen.add((sender, number))
            latencies.append(now - int(sent_at))
            last = time.monotonic()
        if total and (len(seen) >= total[0] or time.monotonic() - last > 1):
            break
        if poll:
            time.sleep(poll)
    say({"got": len(seen), "latencies": latencies if poll else []})
    # The listener ends the process together with the one that started it.
    threading.Event().wait()


def content(sender, number):
    return f"{sender} {number} {time.monotonic_ns()} ".ljust(208, "x")


def trickle(inbox, count):
    """Sends at moments that have nothing to do with the reader's."""
    sys.stdin.readline()
    for number in range(count):
        time.sleep(random.uniform(0.01, 0.05))
        send(inbox, "alice", content("alice", number))
    say({"sent": count})


def flood(inbox, sender):
    until = time.monotonic() + float(sys.stdin.readline())
    number = 0
    while time.monotonic() < until:
        send(inbox, sender, content(sender, number))
        number += 1
    say({"sent": number})


def main():
    inbox = Path(sys.argv[1]) / "bob.jsonl"
    what, argument = sys.argv[2:4]
    print("ready", flush=True)
    if what == "read":
        read(inbox, float(argument))
    elif what == "trickle":
        trickle(inbox, int(argument))
    else:
        flood(inbox, argument)


main()
