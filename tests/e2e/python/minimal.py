"""The least a member needs: minimal.py TEAM_FOLDER NAME, or spawn --exec. Echoes mail, ends when asked."""
import fcntl, json, os, sys, time, uuid
TEAM, ME = sys.argv[1:] or (os.environ["TEAM_DIR"], os.environ["TEAM_MEMBER"])
BOX, HOME, INCARNATION = f"{TEAM}/inbox", f"{TEAM}/members/{ME}", int(os.environ.get("TEAM_INCARNATION", 0))
def lock(path):
    file = open(path, "a"); fcntl.flock(file, fcntl.LOCK_EX); return file
def send(to, **fields):
    if INCARNATION: fields["from_incarnation"] = INCARNATION
    line = json.dumps({"id": uuid.uuid4().hex, "from": ME, "to": to, **fields}).encode() + b"\n"
    with lock(f"{BOX}/.{to}.lock"):
        fd = os.open(f"{BOX}/{to}.jsonl", os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        if (size := os.fstat(fd).st_size) and os.pread(fd, 1, size - 1) != b"\n": line = b"\n" + line  # a torn tail
        if os.write(fd, line) != len(line): raise OSError("not sent")
    os.fsync(fd); os.close(fd)
def take():
    inbox, taken = f"{BOX}/{ME}.jsonl", f"{BOX}/.{ME}.1.jsonl"
    if not os.path.exists(taken):  # otherwise a former incarnation was killed: its mail comes first
        if not os.path.exists(inbox) or not os.path.getsize(inbox): return
        with lock(f"{BOX}/.{ME}.lock"): os.rename(inbox, taken)
    yield from [json.loads(line) for line in open(taken) if line.startswith("{")]
    os.unlink(taken)
os.makedirs(HOME, exist_ok=True)
alive = INCARNATION or lock(f"{HOME}/lock")  # the lock is what being alive means; spawn --exec holds it for me
print(f"{ME} is here", flush=True)
while alive:
    for message in take():
        if message.get("type") == "shutdown_request":
            send("lead", type="shutdown_response", request_id=message["request_id"], approve=True); alive = None
        elif "content" in message: send(message["from"], type="message", content=message["content"])
    time.sleep(0.02)
