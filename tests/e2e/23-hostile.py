#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A hostile job neither slows, grows nor confuses its supervisor, nor keeps a neighbour from running.

Each job of the table runs beside a neighbour that must end well in time. The bounds are wide: they
tell a supervisor that waits for the job's pleasure from one that does not, not a fast from a slow one.
"""
# timeout: 120
import json, os, re, shutil, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from tap import end, left, ok, skip_all

WALL_S = 2
LATE_S = 2            # after the wall clock: the job's processes die, and its files go
NEIGHBOUR_S = 2
SUPERVISOR_KIB = 8192
SAN = "/san" in os.environ["WDR_BUILD"]  # its shadow memory is not the supervisor's

# Name, options, the job (python unless a list), why it may end, what it prints when it did its worst.
TABLE = [
    ("fork bomb", [], ["sh", "-c", "f() { f | f & }; f; while :; do sleep 1; done"], "timeout", ""),
    ("fork in a loop, each child too", [], """
import os
print('began', flush=True)
while True:
    try: os.fork()
    except OSError: pass""", "timeout", "began"),
    ("output without end", [], ["yes", "x" * 4000], "output-limit", "xxx"),
    ("output in single bytes", ["--output", "1G"], """
import os
while True: os.write(1, b'x')""", "timeout", "xxx"),
    ("zombies nobody reaps", [], """
import os, time
n = 0
try:
    while True:
        if os.fork() == 0: os._exit(0)
        n += 1
except OSError: print('zombies', n > 20, flush=True)
time.sleep(60)""", "timeout", "zombies True"),
    ("hundreds of orphans", [], """
import os
for i in range(300):
    if os.fork() == 0:
        try: os.fork()
        finally: os._exit(0)
    os.wait()
print('orphans', flush=True)""", "exited", "orphans"),
    ("daemons that ignore TERM outlive the job", [], """
import os, signal, time
for i in range(16):
    if os.fork() == 0:
        os.setsid()
        for s in range(1, 32):
            if s not in (9, 19, 17): signal.signal(s, signal.SIG_IGN)
        while True: pass
time.sleep(0.5)
print('daemons', flush=True)""", "exited", "daemons"),
    ("daemons that write outlive the job", ["--output", "1G"], """
import os, time
for i in range(4):
    if os.fork() == 0:
        while True: os.write(1, b'x' * 65536)
time.sleep(0.3)""", "exited", "xxx"),
    ("SIGKILL to all", [], """
import os, time
if os.fork() == 0: time.sleep(60)
os.kill(-1, 9)
print('killed', os.WTERMSIG(os.wait()[1]), flush=True)""", "exited", "killed 9"),
    ("SIGSTOP to all and itself", [], """
import os, time
if os.fork() == 0: time.sleep(60)
print('stopping', flush=True)
os.kill(-1, 19)
os.kill(os.getpid(), 19)""", "timeout", "stopping"),
    ("signals to pid 1", [], """
import os, time
for s in range(1, 65):
    try: os.kill(1, s)
    except OSError: pass
print('alive', flush=True)
time.sleep(60)""", "timeout", "alive"),
    ("100,000 symlinks", [], """
import os
os.chdir('/tmp')
n = 0
try:
    while n < 100000:
        os.symlink('x', str(n))
        n += 1
except OSError: pass
print('symlinks', n > 1000, flush=True)""", "exited timeout", ""),
    ("directories as deep as they go", [], """
import os
os.chdir('/tmp')
n = 0
try:
    while n < 20000:
        os.mkdir('d')
        os.chdir('d')
        n += 1
except OSError: pass
print('deep', n > 1000, flush=True)""", "exited timeout", ""),
    ("every descriptor closed", [], """
import os, time
print('closing', flush=True)
os.closerange(0, 65536)
time.sleep(60)""", "timeout", "closing"),
    ("every tmpfs filled", ["-m", "256M"], """
import os
full = 0
for where in '/tmp', '/dev/shm':
    try:
        with open(where + '/f', 'wb', buffering=0) as f:
            while f.write(bytes(1 << 20)): pass
    except OSError: full += 1
print('full', full, flush=True)""", "exited oom", ""),
]


def peak_kib(pid):
    """The most memory that a process ever had resident; 0 once it is gone."""
    try:
        with open(f"/proc/{pid}/status") as f:
            return int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1))
    except (OSError, AttributeError):
        return 0


def neighbour():
    began = time.monotonic()
    p = subprocess.run(["warder", "run", "--", "echo", "here"], capture_output=True, text=True, timeout=30)
    return (p.returncode, p.stdout) == (0, "here\n"), time.monotonic() - began


def hostile(folder, options, program):
    """The result, what it printed first, the supervisor's peak, the time, and the neighbour's lot."""
    program = program if isinstance(program, list) else ["python3", "-c", program]
    result = f"{folder}/result.json"
    began = time.monotonic()
    with open(f"{folder}/out", "w+b") as out:
        p = subprocess.Popen(["warder", "run", "-t", f"{WALL_S}s", "--result", result, *options, "--", *program],
                             stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
        time.sleep(0.2)
        fine, took = neighbour()
        peak = 0
        while p.poll() is None and time.monotonic() - began < 30:
            peak = max(peak, peak_kib(p.pid))
            time.sleep(0.02)
        lasted = time.monotonic() - began
        p.kill()
        p.wait()
        out.seek(0)
        said = out.read(4096).decode("utf-8", "replace")
    with open(result) as f:
        return json.load(f), said, peak, lasted, fine and took < NEIGHBOUR_S, took


def main():
    if os.geteuid() != 0:
        skip_all("needs root")
    os.environ["PATH"] = f"{os.environ['WDR_BUILD']}/bin:{os.environ['PATH']}"
    folder = tempfile.mkdtemp()
    try:
        for name, options, program, why, worst in TABLE:
            result, said, peak, lasted, fine, took = hostile(folder, options, program)
            ok(result["exit"]["reason"] in why.split(), f"{name}: ends as {why}", result["exit"], said[:200])
            ok(worst in said, f"{name}: did its worst", said[:200], result["exit"])
            ok(lasted < WALL_S + LATE_S, f"{name}: ends in time", lasted)
            ok(fine, f"{name}: a neighbour runs", took)
            ok(SAN or peak < SUPERVISOR_KIB, f"{name}: the supervisor stays small", f"{peak} KiB")
            ok(not left(), f"{name}: nothing is left", *left())
    finally:
        shutil.rmtree(folder)
    return end()


sys.exit(main())
