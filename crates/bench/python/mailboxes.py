"""Mailboxes that a user could pick instead, to measure beside ours.

tutorial       send() appends one line of JSON. take() reads the whole file, parses every line and
               then empties the file: what arrives between the two last steps is gone.
sqlite         A table of messages. take() moves the rows of a reader to its journal table in one
               transaction. The reader asks every millisecond whether the file has changed.
               synchronous=OFF: survives the death of any process, not a power cut.
sqlite-synced  The same with synchronous=FULL: a finished transaction survives a power cut.
clawteam       ClawTeam's own MailboxManager, run by the Python that it is installed for.
agent-mail     Calls of the tools of a server of MCP Agent Mail, as its manual tells agents to make them:
               fetch_inbox with the time of the newest message so far. Its port is in the file `port`.

usage: mailboxes.py KIND DIR ME PEER ping | echo | read | write NUMBER | collect FILE | idle POLL

It says `ready` and then obeys lines on its input, as the other processes of a benchmark do.
"""

import http.client
import json
import os
import random
import sqlite3
import sys
import threading
import time
from pathlib import Path

# Rounds at the start of a block that are not counted.
WARM_UP = 5
# After so long a message counts as lost.
LOST = 2


class Tutorial:
    """Looks every 0.1 s; the tutorial itself looks every 5 s."""

    poll = 0.1

    def __init__(self, folder, me, peer):
        self.me = me
        self.inbox = folder / f"{me}.jsonl"
        self.outbox = folder / f"{peer}.jsonl"

    def send(self, content):
        message = {"type": "message", "from": self.me, "content": content, "timestamp": time.time()}
        with open(self.outbox, "a") as file:
            file.write(json.dumps(message) + "\n")

    def take(self):
        if not self.inbox.exists():
            return []
        try:
            text = self.inbox.read_text()
            messages = [json.loads(line) for line in text.splitlines() if line]
        except ValueError:
            # Half of a line; the file was not emptied yet.
            return []
        self.inbox.write_text("")
        return [message["content"] for message in messages]


class Sqlite:
    poll = 0.001

    def __init__(self, folder, me, peer, synced):
        self.me = me
        self.peer = peer
        self.base = sqlite3.connect(folder / "mail.db", isolation_level=None, timeout=120)
        self.base.execute("PRAGMA journal_mode=WAL")
        self.base.execute(f"PRAGMA synchronous={'FULL' if synced else 'OFF'}")
        for table in ("messages", "journal"):
            self.base.execute(
                f"CREATE TABLE IF NOT EXISTS {table}"
                " (id INTEGER PRIMARY KEY, recipient TEXT, sender TEXT, time REAL, content TEXT)"
            )
        self.base.execute("CREATE INDEX IF NOT EXISTS unread ON messages (recipient, id)")
        self.version = None

    def send(self, content):
        self.base.execute(
            "INSERT INTO messages (recipient, sender, time, content) VALUES (?, ?, ?, ?)",
            (self.peer, self.me, time.time(), content),
        )

    def take(self):
        version = self.base.execute("PRAGMA data_version").fetchone()[0]
        if version == self.version:
            return []
        self.version = version
        found = "FROM messages WHERE recipient = ?"
        if self.base.execute(f"SELECT 1 {found} LIMIT 1", (self.me,)).fetchone() is None:
            return []
        self.base.execute("BEGIN IMMEDIATE")
        rows = self.base.execute(f"SELECT content {found} ORDER BY id", (self.me,)).fetchall()
        moved = "recipient, sender, time, content"
        self.base.execute(
            f"INSERT INTO journal ({moved}) SELECT {moved} {found} ORDER BY id", (self.me,)
        )
        self.base.execute(f"DELETE {found}", (self.me,))
        self.base.execute("COMMIT")
        return [content for (content,) in rows]


class ClawTeam:
    """Looks every millisecond; `clawteam inbox watch` looks every second by default."""

    poll = 0.001

    def __init__(self, folder, me, peer):
        os.environ["CLAWTEAM_DATA_DIR"] = str(folder.resolve() / "clawteam")
        os.environ["HOME"] = str(folder.resolve())
        from clawteam.team.mailbox import MailboxManager

        self.me = me
        self.peer = peer
        self.box = MailboxManager("bench")

    def send(self, content):
        self.box.send(self.me, self.peer, content)

    def take(self):
        return [message.content for message in self.box.receive(self.me)]


class AgentMail:
    poll = 0.01
    # More than ever come between two looks. What is more than this is never shown.
    limit = 1000
    tries = 50

    def __init__(self, folder, me, peer):
        self.project = str(folder.resolve())
        self.me = me
        self.peer = peer
        self.newest = None
        self.until_open(int((folder / "port").read_text()))
        for name in (me, peer):
            self.call("register_agent", name=name, program="bench", model="bench")

    def until_open(self, port):
        while True:
            try:
                self.connection = http.client.HTTPConnection("127.0.0.1", port)
                self.connection.connect()
                return
            except ConnectionRefusedError:
                time.sleep(0.05)

    def call(self, tool, **arguments):
        params = {"name": tool, "arguments": {"project_key": self.project, **arguments}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self.connection.request("POST", "/mcp/", json.dumps(body), headers)
        answer = json.loads(self.connection.getresponse().read())
        if "result" not in answer or answer["result"].get("isError"):
            raise RuntimeError(f"{tool}: {answer}")
        return answer["result"].get("structuredContent")

    def send(self, content):
        message = {"to": [self.peer], "subject": "m", "body_md": content}
        for _ in range(self.tries):
            try:
                return self.call("send_message", sender_name=self.me, **message)
            except RuntimeError:
                # Writers at the same time may be in each other's way: whoever is told so tries again.
                time.sleep(self.poll)
        raise RuntimeError("send_message fails again and again")

    def take(self):
        since = {} if self.newest is None else {"since_ts": self.newest}
        found = self.call(
            "fetch_inbox", agent_name=self.me, limit=self.limit, include_bodies=True, **since
        )["result"]
        if found:
            self.newest = found[0]["created_ts"]
        return [message["body_md"] for message in reversed(found)]


def say(answer):
    print(json.dumps(answer), flush=True)


def pad(text):
    """As long as the content of ours, with which a line has 300 bytes."""
    return (text + " ").ljust(182, "x")


def wait(mailbox, limit):
    """The next messages; none after so long."""
    until = time.monotonic() + limit
    while True:
        contents = mailbox.take()
        if contents or time.monotonic() > until:
            return contents
        time.sleep(mailbox.poll)


def ping(mailbox):
    is_slow = mailbox.poll > 0.01
    for line in sys.stdin:
        count, pause = (int(word) for word in line.split())
        one_way, round_trip = [], []
        for number in range(count if is_slow else count + WARM_UP):
            # A moment that has nothing to do with when the other looks.
            time.sleep(random.uniform(0, mailbox.poll) if is_slow else pause / 1e6)
            started = time.monotonic_ns()
            mailbox.send(pad(str(started)))
            answers = wait(mailbox, LOST)
            now = time.monotonic_ns()
            if not answers or (number < WARM_UP and not is_slow):
                continue
            answered, took = (int(word) for word in answers[0].split()[:2])
            one_way.append(took)
            # The way back begins when the other has just looked: no fair sample if it seldom does.
            if not is_slow:
                one_way.append(now - answered)
            round_trip.append(now - started)
        say({"one_way": one_way, "round_trip": round_trip})


def echo(mailbox):
    while True:
        contents = wait(mailbox, 60)
        now = time.monotonic_ns()
        for content in contents:
            took = now - int(content.split()[0])
            mailbox.send(pad(f"{time.monotonic_ns()} {took}"))


def write(mailbox, writer):
    until = int(sys.stdin.readline())
    sent = 0
    while time.monotonic_ns() < until:
        mailbox.send(pad(f"{writer} {sent}"))
        sent += 1
    say({"sent": sent, "refused": 0})


def read(mailbox):
    """Takes all until it has been told how much was sent, and nothing has come for a while."""
    total = []

    def listen():
        for line in sys.stdin:
            total.append(int(line))
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    # A reader with much to do does not rest in between.
    mailbox.poll = min(mailbox.poll, 0.0005)
    seen = set()
    repeated = 0
    last = 0
    while True:
        contents = wait(mailbox, 0.02)
        for content in contents:
            before = len(seen)
            seen.add(tuple(content.split()[:2]))
            repeated += before == len(seen)
        if contents:
            last = time.monotonic_ns()
        quiet = time.monotonic_ns() - last > LOST * 1e9
        if total and (len(seen) >= total[0] or quiet):
            break
    say({"different": len(seen), "repeated": repeated, "last": last})
    # The listener ends the process together with the one that started it.
    threading.Event().wait()


def collect(mailbox, path):
    """Takes all until it is killed, and writes down at once what it has."""
    mailbox.poll = min(mailbox.poll, 0.01)
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    while True:
        contents = wait(mailbox, 60)
        lines = "".join(" ".join(content.split()[:2]) + "\n" for content in contents)
        os.write(file, lines.encode())


def main():
    kind, folder, me, peer, role = sys.argv[1:6]
    if kind == "tutorial":
        mailbox = Tutorial(Path(folder), me, peer)
    elif kind == "clawteam":
        mailbox = ClawTeam(Path(folder), me, peer)
    elif kind == "agent-mail":
        mailbox = AgentMail(Path(folder), me, peer)
    else:
        mailbox = Sqlite(Path(folder), me, peer, kind == "sqlite-synced")
    print("ready", flush=True)
    if role == "ping":
        ping(mailbox)
    elif role == "echo":
        echo(mailbox)
    elif role == "read":
        read(mailbox)
    elif role == "collect":
        collect(mailbox, sys.argv[6])
    elif role == "idle":
        mailbox.poll = float(sys.argv[6])
        while True:
            wait(mailbox, 3600)
    else:
        write(mailbox, int(sys.argv[6]))


main()
