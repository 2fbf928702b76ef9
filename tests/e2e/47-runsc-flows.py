#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# A denied or allowed connection of a guest names the process that made it, or none: never another one.
# timeout: 240
import json, os, subprocess, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import tap
from procs import read
from tap import ok, skip_all

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WARDER = os.path.join(os.environ.get("WDR_BUILD", TOP + "/build/plain"), "bin/warder")
TMP = os.environ.get("TMPDIR", "/tmp")
EVENTS, POLICY = f"{TMP}/events", f"{TMP}/drop.json"
V4, V6 = "203.0.113.9", "2001:db8:9::9"

# Each child does one thing, on a port of its own, and says under which pid.
STORY = """
import os, socket, subprocess, sys, threading
V4, V6 = "203.0.113.9", "2001:db8:9::9"
def tcp(port, addr=V4, blocking=True):
    s = socket.socket(socket.AF_INET6 if ":" in addr else socket.AF_INET)
    s.settimeout(5)
    if not blocking:
        s.setblocking(False)
    try: s.connect((addr, port))
    except OSError: pass
    if not blocking:
        import select
        select.select([], [s], [], 5)
def begin(port, addr):
    s = socket.socket()
    s.setblocking(False)
    try: s.connect((addr, port))
    except OSError: pass
def udp(port, connect):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        if connect:
            s.connect((V4, port)); s.send(b"x")
        else:
            s.sendto(b"x", (V4, port))
    except OSError: pass
def child(name, what, wait=True):
    pid = os.fork()
    if not pid:
        what()
        os._exit(0)
    print(name, pid, flush=True)
    if wait:
        os.waitpid(pid, 0)
    return pid
def in_thread(f):
    t = threading.Thread(target=f)
    t.start()
    t.join()
def only_connect():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.connect((V4, 1008))
child("blocking", lambda: tcp(1001))
child("non-blocking", lambda: tcp(1002, blocking=False))
child("in-thread", lambda: in_thread(lambda: tcp(1003)))
child("mapped", lambda: tcp(1004, "::ffff:" + V4))
child("ipv6", lambda: tcp(1005, V6))
child("sendto", lambda: udp(1006, False))
child("datagrams", lambda: udp(1007, True))
child("two-1", only_connect)
child("two", lambda: tcp(1008))
p = subprocess.Popen([sys.executable, "-c", "import socket\\ntry: socket.create_connection((\\"203.0.113.9\\", 1009), 5)\\nexcept OSError: pass"])
print("executed", p.pid, flush=True)
p.wait()
child("again", lambda: tcp(1010))
child("again-2", lambda: tcp(1010))
child("another-address", lambda: tcp(1011, "203.0.113.10"))
child("same-port", lambda: tcp(1011))
child("let-through", lambda: begin(80, "198.51.100.1"))
child("let-through-too", lambda: begin(80, "198.51.100.1"))
"""
# name of the child or None: not known -> destination
WANT = {
    f"{V4}:1001/tcp": "blocking", f"{V4}:1002/tcp": "non-blocking", f"{V4}:1003/tcp": "in-thread",
    f"{V4}:1004/tcp": "mapped", f"[{V6}]:1005/tcp": "ipv6", f"{V4}:1006/udp": None, f"{V4}:1007/udp": None,
    f"{V4}:1008/tcp": None, f"{V4}:1009/tcp": "executed", f"{V4}:1010/tcp": "again",
    "203.0.113.10:1011/tcp": "another-address", f"{V4}:1011/tcp": "same-port",
}
SOLE = """
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("203.0.113.9", 53))
"""
AGAIN = """
import os, socket, time
if not os.fork():
    s = socket.socket()
    s.settimeout(4.5)
    try: s.connect(("203.0.113.9", 80))
    except OSError as e: print(e, flush=True)
    os._exit(0)
os.wait()
"""


def run(runsc, code, *options):
    if os.path.exists(EVENTS):
        os.unlink(EVENTS)
    p = subprocess.run([WARDER, "run", "-b", "runsc", "--allow", "198.51.100.1:80", "--allow", "[2001:db8:1::1]:80",
                        "--events", EVENTS, *options, "--", "python3", "-c", code], capture_output=True, text=True,
                       env=dict(os.environ, WARDER_RUNSC=runsc), stdin=subprocess.DEVNULL)
    events = [json.loads(line) for line in read(EVENTS).splitlines()]
    return p, [e for e in events if e["event"] == "denied"], [e for e in events if e["event"] == "allowed"]


def stories(age, runsc):
    p, denied, allowed = run(runsc, STORY)
    pids = {name: int(pid) for name, pid in (line.split() for line in p.stdout.splitlines())}
    seen = {}
    for e in denied:
        seen.setdefault(e["to"], []).append(e)
    for to, name in WANT.items():
        got = seen.get(to, [])
        want = pids.get(name) if name else None
        what = f"is that of {name}" if name else "has no name"
        ok(len(got) == 1 and got[0]["origin"] == "guest" and got[0]["pid"] == want
           and (got[0]["comm"] or "").startswith("python3" if name else ""),
           f"{age}: {to} {what}", want, got, p.stdout, p.stderr)
    # Whose the second connection to one address is can't be told from the first one's.
    ok([(e["to"], e["reason"], e["rule"], e["pid"]) for e in allowed] ==
       [("198.51.100.1:80/tcp", "rule", 0, pids["let-through"]), ("198.51.100.1:80/tcp", "rule", 0, None)],
       f"{age}: what is let through is that of its process, or has no name", allowed, pids, p.stderr)


def one_process(age, runsc):
    p, denied, _ = run(runsc, SOLE)
    ok([(e["to"], e["pid"]) for e in denied] == [(f"{V4}:53/udp", 1)],
       f"{age}: of a guest with one process even a datagram has a name", denied, p.stderr)


def sent_again(age, runsc):
    with open(POLICY, "w") as f:
        json.dump({"version": 1, "network": {"mode": "egress", "on_deny": "drop"}}, f)
    p, denied, _ = run(runsc, AGAIN, "-p", POLICY)
    ok(p.stdout == "timed out\n" and len(denied) == 1 and denied[0]["pid"] == 2,
       f"{age}: what is sent again and again is told once, with its process", p.stdout, denied, p.stderr)


if os.geteuid() != 0:
    skip_all("needs root")
found = tap.runscs()
if not found:
    skip_all("needs build/runsc (packaging/runsc.sh)")
for age, path in found:
    stories(age, path)
    one_process(age, path)
    sent_again(age, path)
sys.exit(tap.end())
