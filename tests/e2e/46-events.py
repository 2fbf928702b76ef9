#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--events: each kind of line comes, is what docs/events.schema.json says, and is whole or counted."""
# timeout: 240
# guest: yes
import copy, json, os, shutil, signal, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import procs, tap
from tap import ok

if os.geteuid():
    tap.skip_all("needs root")
BUILD = os.environ.get("WDR_BUILD", "build/plain")
# Who reads what a guest tells has neither the memory nor the calls that the sanitizers need.
RUNSCS = [] if tap.SANITIZED else [path for _, path in tap.runscs()]
IN_GUEST = os.getcwd() == "/warder"  # of check-kernels, which has no jsonschema
if not IN_GUEST:
    import jsonschema
    SCHEMA = json.load(open("docs/events.schema.json"))
    VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
TELLS_CAPABILITIES = b"\0btf_trace_cap_capable\0" in open("/sys/kernel/btf/vmlinux", "rb").read()
SLOW = int(os.environ.get("WDR_SLOW", "1"))
TMP = tempfile.mkdtemp()
seen = {}  # variant of a line: the first such line


def variant(line):
    return ("guest_" if line.get("origin") == "guest" else "") + line["event"]


def read_lines(text, what):
    """Lines as objects, each held against the schema; ends the test's patience with the first bad one."""
    lines, faults = [], []
    for raw in text.split(b"\n")[:-1]:
        try:
            lines.append(json.loads(raw.decode()))
        except ValueError as e:
            faults.append(f"{e}: {raw[:300]}")
            continue
        if not IN_GUEST:
            faults += [f"{e.json_path}: {e.message[:200]}" for e in VALIDATOR.iter_errors(lines[-1])]
        seen.setdefault(variant(lines[-1]), lines[-1])
    faults += [] if not text or text.endswith(b"\n") else [f"a part of a line: {text[-200:]}"]
    ok(not faults, f"{what}: every line is whole" + ("" if IN_GUEST else ", and what the schema says"), *faults)
    return lines


def policy(**sections):
    path = f"{TMP}/policy{tap.count}.json"
    with open(path, "w") as f:
        json.dump({"version": 1, **sections}, f)
    return path


def start(events, *args, **kw):
    kw = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kw}
    return subprocess.Popen([f"{BUILD}/bin/warder", "run", "--events", events, "--result", f"{TMP}/result", *args], **kw)


def end(p):
    """(exit status, what it said on stderr, the result object)"""
    out, err = p.communicate(timeout=60 * SLOW)
    return p.returncode, err.decode(), json.load(open(f"{TMP}/result")), out


def story(what, *args, env=None):
    """The lines of a job of its own."""
    path = f"{TMP}/events{tap.count}"
    rc, err, _, _ = end(start(path, *args, env={**os.environ, "WARDER_RUNSC": "/no/runsc", **(env or {})}))
    lines = read_lines(open(path, "rb").read(), what)
    if not lines:
        sys.exit(f"{what}: no lines: exit status {rc}: {err}")
    return lines


def of(lines, event, **keys):
    return [l for l in lines if l["event"] == event and all(l.get(k) == v for k, v in keys.items())]


LONG = "x" * 200
# Names that no terminal and no reader of lines should meet as they are.
HOSTILE = r"""
import ctypes, os, shutil, subprocess, sys
libc = ctypes.CDLL(None)
name = b"\x1b[2J\xff\n\"}{\\\xe2"
path = os.fsencode(os.environ["HOME"]) + b"/\x1b]0;\n\xff\"x" + b"y" * 200
with open(path, "wb") as f:
    f.write(b"#!/bin/sh\nexit 3\n")
os.chmod(path, 0o755)
subprocess.call([path, "a" * 20000, "b\nc"])
libc.prctl(15, name, 0, 0, 0)
if os.fork() == 0:
    os._exit(7)
os.wait()
with open(path, "rb"):
    pass
"""
NATIVE = r"""
import os, signal, socket, subprocess, sys, threading
subprocess.call(["/bin/sh", "-c", "exit 3"])
subprocess.call(["/bin/sh", "-c", "kill -9 $$"])
t = threading.Thread(target=lambda: None); t.start(); t.join()
try: os.nice(-5)
except OSError: pass
for to in (("203.0.113.9", 80), ("203.0.113.9", 80), ("192.0.2.5", 443)):
    try: socket.create_connection(to, timeout=5)
    except OSError: pass
for again in range(2):
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    u.connect(("198.51.100.1", 53))
    u.send(b"x")
    u.send(b"x")
"""


def check_native():
    rules = policy(network={"mode": "egress", "rules": [
        {"action": "deny", "to": "192.0.2.0/24", "name": "no-docs"}, {"action": "allow", "to": "198.51.100.1"}]})
    lines = story("native", "-p", rules, "python3", "-c", NATIVE)
    ok(len(of(lines, "started")) == 1 and lines[-1]["event"] == "ended", "one says started, the last ended")
    ok(len({l["job"] for l in lines}) == 1, "all name one job")
    ok(of(lines, "exec", path="/bin/sh"), "exec: the path as it was passed", of(lines, "exec"))
    ok([(l.get("code"), l.get("signal")) for l in of(lines, "exit", comm="sh")] == [(3, None), (None, "SIGKILL")],
       "exit: codes and signals", of(lines, "exit"))
    ok(len(of(lines, "fork", thread=True)) == 1 and len(of(lines, "fork", thread=False)) >= 2, "fork: threads, too")
    capabilities = [l["capability"] for l in of(lines, "capability")]
    ok(capabilities == (["CAP_SYS_NICE"] if TELLS_CAPABILITIES else []), "capability: by name, and none of our own",
       capabilities)
    denied = [(l["to"], l["reason"], l["rule_name"]) for l in of(lines, "denied")]
    ok(denied == [("203.0.113.9:80/tcp", "default", None), ("192.0.2.5:443/tcp", "rule", "no-docs")],
       "denied: once each, with the rule", denied)
    allowed = [(l["to"], l["reason"], l["rule"], l["comm"], l["pid"] > 1) for l in of(lines, "allowed")]
    ok(allowed == [("198.51.100.1:53/udp", "rule", 1, "python3", True)] * 2, "allowed: each time, with its process", allowed)
    ok(of(lines, "ended", reason="exited", code=0, lost_in_kernel=0, lost_in_writing=0), "nothing was lost", lines[-1])


def check_verdicts():
    spin = ("sh", "-c", "while :; do :; done")
    cpu = lambda action: policy(limits={"cpus": 0.4}, detect={"cpu": {"action": action, "above": 0.25, "for": "1s"}})
    lines = story("oom", "-m", "40M", "python3", "-c", "x = b'1' * 10**8")
    ok(of(lines, "oom") and lines[-1]["reason"] == "oom", "oom is told", lines[-1])
    kill = policy(syscalls={"on_deny": "kill"})
    lines = story("syscall", "-p", kill, "python3", "-c", "import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)")
    ok(of(lines, "syscall", syscall="ptrace"), "syscall is named", lines[-3:])
    lines = story("cpu alert", "-p", cpu("alert"), "-t", "3", *spin)
    ok(len(of(lines, "cpu", window_ns=10**9)) == 1, "cpu is told", lines[-1])
    lines = story("cpu kill", "-p", cpu("kill"), "-t", "9", *spin)
    ok(of(lines, "killed", why="detect.cpu"), "as is the kill for it", lines[-1])
    lines = story("cpu budget", "--cpu-time", "200ms", *spin)
    ok(of(lines, "killed", why="cpu-budget") and lines[-1]["reason"] == "cpu-budget", "and for the budget", lines[-1])
    lines = story("egress kill", "-p", policy(network={"mode": "egress", "on_deny": "kill"}), "python3", "-c", NATIVE)
    ok(of(lines, "killed", why="egress", value=0) and lines[-1]["reason"] == "egress", "and for a denial", lines[-1])
    lines = story("not found", "/no/such")
    ok(not of(lines, "started") and not of(lines, "exec") and lines[-1]["reason"] == "error",
       "what never ran has an end, and no start", lines)


def check_hostile():
    lines = story("hostile names", "python3", "-c", HOSTILE)
    execs = [l for l in of(lines, "exec") if r"/\x1b]0;\n\xff\"xyyy" in l["path"]]
    ok(len(execs) == 1 and execs[0].get("cut") is True, "a path is escaped, and says that it was cut", execs)
    ok(of(lines, "exit", code=7, comm=r'\x1b[2J\xff\n\"}{\\\xe2'), "a name is escaped", of(lines, "exit"))
    ok(not of(lines, "exec", path="/bin/sh", cut=True), "what is whole does not say so")


def check_lost_reader(runsc):
    """The lines of a job whose telemetry is read by nobody any more."""
    path = f"{TMP}/events{tap.count}"
    p = start(path, "-b", "runsc", "sh", "-c", "echo up; read x; exit 0", stdin=subprocess.PIPE,
              env={**os.environ, "WARDER_RUNSC": runsc})
    p.stdout.read(3)
    for pid in procs.children(p.pid):
        if procs.read(f"/proc/{pid}/cmdline").startswith("warder: reader"):
            os.kill(pid, signal.SIGKILL)
            procs.wait_for(lambda dead=pid: not procs.alive(dead), 10)
    end(p)
    return read_lines(open(path, "rb").read(), "a lost reader")


def check_guests():
    files = policy(audit={"events": ["file"]}, network={"mode": "egress", "rules": [
        {"action": "allow", "to": "198.51.100.1"}]})
    for runsc in RUNSCS:
        age = runsc.split("/")[-2]
        lines = story(f"{age} runsc", "-b", "runsc", "-p", files, "python3", "-c", NATIVE, env={"WARDER_RUNSC": runsc})
        ok(of(lines, "connect", origin="guest") and of(lines, "open", origin="guest"), f"{age}: what only a guest tells")
        ok(of(lines, "denied", origin="guest", to="203.0.113.9:80/tcp"), f"{age}: denied is joined with it")
        ok([l["to"] for l in of(lines, "allowed", origin="guest")] == ["198.51.100.1:53/udp"] * 2,
           f"{age}: and so is allowed, once for each flow", of(lines, "allowed"))
        ok(lines[-1].get("lost_in_sandbox") == 0, f"{age}: nothing was lost", lines[-1])
        # All bytes but those that are no UTF-8: of these gVisor tells nothing (docs/events.md).
        text = HOSTILE.replace(r"\xff", "\x7f").replace(r"\xe2", "")
        lines = story(f"{age} runsc, hostile names", "-b", "runsc", "-p", files, "python3", "-c", text,
                      env={"WARDER_RUNSC": runsc})
        ok(len([l for l in of(lines, "exec", cut=True) if r"/\x1b]0;\n\x7f\"xyyy" in l["path"] + l["args"]]) == 1,
           f"{age}: arguments are cut, and say so", of(lines, "exec"))
        ok(of(lines, "exit", code=7, comm=r'\x1b[2J\x7f\n\"}{\\'), f"{age}: a name is escaped", of(lines, "exit"))
        ok([l for l in of(lines, "open") if r"/\x1b]0;\n\x7f\"x" in l["path"]], f"{age}: so are paths")
        lines = story(f"{age} runsc, long arguments", "-b", "runsc", "sh", "-c", 'n=$(head -c 100000 /dev/zero | tr "\\0" a); /bin/true $n; exit 0',
                      env={"WARDER_RUNSC": runsc})
        ok(lines[-1]["lost_in_sandbox"] == 1 and of(lines, "exit", comm="true"),
           f"{age}: one that is too long is counted, and ends nothing", lines[-1])
        lines = check_lost_reader(runsc)
        ok(of(lines, "lost") and lines[-1]["lost_in_sandbox"] >= 1 and lines[-1]["reason"] == "exited",
           f"{age}: that the reader of it is lost is said", lines[-1])


def check_schema():
    """The schema takes nothing that is near to what was written, but wrong."""
    variants = {r["$ref"].rpartition("/")[2] for r in SCHEMA["oneOf"]}
    if not TELLS_CAPABILITIES:
        variants.remove("capability")
    missing = {v for v in variants - set(seen) if RUNSCS or not (v.startswith("guest_") or v == "lost")}
    ok(not missing, "every kind of line was seen", sorted(missing))
    faults = []
    for name, line in seen.items():
        for key in [*line, "surplus"]:
            less, more = copy.copy(line), {**line, key: 1.5}
            less.pop(key, None)
            # A fork and a denial have the same keys without the guest's mark.
            if key not in ("surplus", "cut", "lost_in_sandbox", "origin") and VALIDATOR.is_valid(less):
                faults.append(f"{name} can be without {key}")
            if VALIDATOR.is_valid(more):
                faults.append(f"{name} can have a {key} of 1.5")
    ok(not faults, "nothing of it can be left out, and nothing be added", *faults)


# Two halves of a job that does the same in each; between them it waits for its input.
HALVES = ("sh", "-c", "i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done; echo half; read x; "
          "while [ $i -gt 0 ]; do /bin/true; i=$((i-1)); done")


def wait_until(condition, what):
    until = time.monotonic() + 20 * SLOW
    while not condition():
        if time.monotonic() > until:
            ok(False, what)
            return
        time.sleep(0.01)


def halves(events, between, after=lambda: None):
    p = start(events, *HALVES, stdin=subprocess.PIPE)
    p.stdout.readline()
    between()
    p.stdin.write(b"go\n")
    p.stdin.flush()
    after()
    p.stdin = None
    return end(p)


def all_lines():
    path = f"{TMP}/whole"
    halves(path, lambda: None)
    return len(read_lines(open(path, "rb").read(), "with room for all"))


def check_disk(n_all):
    disk = f"{TMP}/disk"
    os.mkdir(disk)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", disk], check=True)
    free = lambda: os.statvfs(disk).f_bfree
    try:
        fill = lambda: subprocess.run(["head", "-c", "16k", "/dev/zero"], stdout=open(f"{disk}/filler", "wb"), check=True)
        fill()
        rc, err, result, _ = halves(f"{disk}/events", lambda: (wait_until(lambda: not free(), "the disk fills"),
                                                               os.unlink(f"{disk}/filler")))
        lines = read_lines(open(f"{disk}/events", "rb").read(), "a disk that was full for a while")
        ok(rc == 0, "costs the job nothing", rc, err)
        lost = n_all - len(lines)
        ok(result["events_lost"] >= lost > 0, "lines are lost, and counted", result["events_lost"], lost)
        os.unlink(f"{disk}/events")
        fill()
        rc, err, result, _ = halves(f"{disk}/events", lambda: None)
        lines = read_lines(open(f"{disk}/events", "rb").read(), "a disk that stays full")
        ok(rc == 0 and not of(lines, "ended"), "costs the job nothing, and the last line", rc, err)
        ok(result["events_lost"] == n_all - len(lines), "the result says how many", result["events_lost"], n_all - len(lines))
        ok(f"step=events lost={result['events_lost']} err=\"No space left on device\"" in err, "and a warning", err)
    finally:
        subprocess.run(["umount", disk], check=True)


def check_room_again(n_all):
    """Room comes back: the last line is there, and says what was lost."""
    disk = f"{TMP}/disk2"
    os.mkdir(disk)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], check=True)
    try:
        subprocess.run(["head", "-c", "240k", "/dev/zero"], stdout=open(f"{disk}/filler", "wb"), check=True)
        _, _, result, _ = halves(f"{disk}/events", lambda: (
            wait_until(lambda: not os.statvfs(disk).f_bfree, "the disk fills"), os.unlink(f"{disk}/filler")))
        lines = read_lines(open(f"{disk}/events", "rb").read(), "a disk with room again")
        last = lines[-1]
        ok(last["event"] == "ended" and last["lost_in_writing"] == n_all - len(lines) > 0,
           "the last line says how many were lost", last, n_all - len(lines))
        ok(result["events_lost"] == last["lost_in_writing"], "as the result does", result["events_lost"])
    finally:
        subprocess.run(["umount", disk], check=True)


def drain(fd):
    os.set_blocking(fd, True)
    return b"".join(iter(lambda: os.read(fd, 65536), b""))


def check_pipes(n_all):
    fifo = f"{TMP}/fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    began = time.monotonic()
    rc, err, result, _ = halves(fifo, lambda: None)
    took = time.monotonic() - began
    lines = read_lines(drain(reader), "a pipe that nobody empties")
    ok(rc == 0 and took < 15 * SLOW, "stops no job", rc, took)
    ok(result["events_lost"] == n_all - len(lines) > 0, "and costs lines, which are counted", result["events_lost"],
       n_all - len(lines))
    ok("step=events" in err and "Resource temporarily unavailable" in err, "and said", err)
    os.close(reader)

    reader, got = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), []
    _, err, result, _ = halves(fifo, lambda: None, lambda: got.append(drain(reader)))
    lines = read_lines(got[0], "a reader that comes late")
    ok(lines[-1]["event"] == "ended" and lines[-1]["lost_in_writing"] == n_all - len(lines) == result["events_lost"],
       "hears at the end what it missed", lines[-1], n_all - len(lines))
    ok("events" not in err, "so that no warning is due", err)
    os.close(reader)

    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    rc, err, result, out = halves(fifo, lambda: os.close(reader))
    ok(rc == 0 and not out, "a reader that leaves ends no job", rc, out)
    ok(result["events_lost"] > 0 and "Broken pipe" in err, "what it did not get is said", result["events_lost"], err)


check_native()
check_verdicts()
check_hostile()
if not IN_GUEST:  # what other kernels do no differently
    check_guests()
    check_schema()
    N_ALL = all_lines()
    check_disk(N_ALL)
    check_room_again(N_ALL)
    check_pipes(N_ALL)
shutil.rmtree(TMP)
sys.exit(tap.end())
