"""A member of a team, written from crates/protocol/README.md: python3 member.py TEAM_FOLDER NAME,
or team-lead spawn NAME ROLE --exec 'python3 member.py', which tells it the rest in its environment.

It sends each message back to its sender, and ends when the lead asks it to. Killed at any moment
and started again, it loses nothing, and each of its answers arrives once.
"""
import fcntl, json, os, sys, time
TEAM, ME = sys.argv[1:] or (os.environ["TEAM_DIR"], os.environ["TEAM_MEMBER"])
BOX, HOME, CONFIG = f"{TEAM}/inbox", f"{TEAM}/members/{ME}", f"{TEAM}/config.json"

def lock(path, flags=fcntl.LOCK_EX):
    file = open(path, "a+")
    fcntl.flock(file, flags)
    return file if os.path.samestat(os.fstat(file.fileno()), os.stat(path)) else lock(path, flags)

def sync(path):
    fd = os.open(path, os.O_RDONLY); os.fsync(fd); os.close(fd)

def append(path, record):
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    size = os.fstat(fd).st_size
    torn = size > 0 and os.pread(fd, 1, size - 1) != b"\n"  # a writer was killed in its line
    line = b"\n" * torn + json.dumps(record).encode() + b"\n"
    if os.write(fd, line) != len(line): raise OSError(f"no room for {path}")
    os.close(fd); sync(path); size or sync(os.path.dirname(path))

def change_me(status, starts=0):
    def stamp(): s = os.stat(CONFIG); return s.st_ino, s.st_size, s.st_ctime_ns
    with lock(f"{TEAM}/.config.lock"):
        while True:
            before, roster = stamp(), json.load(open(CONFIG))
            if roster.get("version", 1) != 1: sys.exit(f"version {roster['version']} is newer than 1")
            me = next(member for member in roster["members"] if member["name"] == ME)
            me.update(status=status, incarnation=me.get("incarnation", 0) + starts)
            roster["rev"] = roster.get("rev", 0) + 1
            with open(f"{TEAM}/.config.json.{ME}.tmp", "w") as new: json.dump(roster, new, indent=2)
            sync(new.name)
            if stamp() == before: os.rename(new.name, CONFIG); sync(TEAM); return me["incarnation"]

def send(to, id, **fields):
    if to != "lead" and to not in [m["name"] for m in json.load(open(CONFIG))["members"]]: return
    known = {"id": id, "from": ME, "to": to, "timestamp": time.time(), "from_incarnation": incarnation}
    with lock(f"{BOX}/.{to}.lock"): append(f"{BOX}/{to}.jsonl", {**known, **fields})

def bury(place, reason, line):
    entry = {"id": place, "time": time.time(), "inbox": ME, "reason": reason, "raw": line.decode(errors="replace")}
    with lock(f"{TEAM}/.dead_letters.lock"): append(f"{TEAM}/dead_letters.jsonl", entry)

def act(line, place):  # returns whether to leave; may happen twice, with the same ids
    try: message = json.loads(line) if line.strip().startswith(b"{") else {}
    except ValueError as error: bury(place, str(error), line); return False
    id, kind = message.get("id", place), message.get("type", "message")
    key = [message.get(name) for name in ("from", "id", "type", "content", "request_id")]
    if key in seen: return False
    if "id" in message: seen.append(key)
    if kind in ("message", "broadcast") and "content" in message:
        send(message.get("from"), f"{id}/echo", type="message", content=message["content"], in_reply_to=id)
    if kind != "shutdown_request": return False
    if message.get("to_incarnation", incarnation) != incarnation: bury(place, "it is for another incarnation", line); return False
    send("lead", f"{id}/answer", type="shutdown_response", request_id=message["request_id"], approve=True,
         reason="Nothing is left to do.")
    return True

def numbers():  # of the files that were set aside
    names = [name.split(".") for name in os.listdir(BOX)]
    return sorted(int(part[2]) for part in names if part[:2] == ["", ME] and part[3:] == ["jsonl"])

def receive(inbox=f"{BOX}/{ME}.jsonl"):
    if os.path.exists(inbox) and os.path.getsize(inbox):
        number = max([0, *ends, *numbers()]) + 1
        with lock(f"{BOX}/.{ME}.lock"): os.rename(inbox, f"{BOX}/.{ME}.{number}.jsonl"); sync(BOX)
    for number in numbers():
        with open(f"{BOX}/.{ME}.{number}.jsonl", "rb") as file:
            file.seek(ends.setdefault(number, 0))
            for line in file.read().split(b"\n")[:-1]:  # whole lines only
                leave = act(line, f"{ME}/{number}/{ends[number]}")
                ends[number] += len(line) + 1
                append(TAKEN, [number, ends[number], seen[-1:]])
                if leave: return True
            if time.time() - os.fstat(file.fileno()).st_ctime < 60: continue
            try: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            except OSError: continue  # somebody may still write to it
            if os.fstat(file.fileno()).st_size == ends[number]: os.unlink(file.name)

os.umask(0o077); os.makedirs(HOME, exist_ok=True)
def live():  # take the lock for incarnation, count the incarnation, and say who holds the lock
    for patience in range(100, -1, -1):  # whoever looks whether I live holds it for a moment
        try: mine = lock(f"{HOME}/lock", fcntl.LOCK_EX | fcntl.LOCK_NB); break
        except BlockingIOError: time.sleep(0.01) if patience else sys.exit(7)
    incarnation = change_me("idle", starts=1)
    ticks = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19])
    boot = open("/proc/sys/kernel/random/boot_id").read().strip()
    mine.truncate(0)
    json.dump({"pid": os.getpid(), "start_time": ticks, "boot_id": boot, "incarnation": incarnation}, mine); mine.flush()
    return incarnation, mine

if "TEAM_INCARNATION" in os.environ: incarnation = int(os.environ["TEAM_INCARNATION"])  # my parent has done all that
else: incarnation, alive = live()
TAKEN, ends, seen = f"{HOME}/taken.jsonl", {}, []
for line in open(TAKEN) if os.path.exists(TAKEN) else []:
    try: number, end, keys = json.loads(line)
    except ValueError: continue  # torn when a former incarnation was killed
    ends[number] = end; seen += keys
print(f"{ME} runs as incarnation {incarnation}", flush=True)
while not receive(): time.sleep(0.02)
change_me("shutdown")
