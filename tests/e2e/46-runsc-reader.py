#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# What reads a sandbox's telemetry has no rights, and costs no job anything but the telemetry.
# timeout: 240
import contextlib, ctypes, json, os, shutil, signal, socket, subprocess, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import tap
from procs import alive, children, read, wait_for
from tap import ok, skip_all

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WARDER = os.path.join(os.environ.get("WDR_BUILD", TOP + "/build/plain"), "bin/warder")
TMP = os.environ.get("TMPDIR", "/tmp")
RESULT, EVENTS = f"{TMP}/result.json", f"{TMP}/events"
ROLE = "warder: reader"
MAX_RSS_KB = 16384
SYS_PIDFD_GETFD = 438
libc = ctypes.CDLL(None, use_errno=True)
# Says that it runs; a few calls each tenth of a second until it is told to end.
BUSY = """
import os, select, sys
print("up", flush=True)
n = 0
while not select.select([sys.stdin], [], [], 0.1)[0]:
    os.getppid()
    n += 1
print("down", flush=True)
"""


def readers(pid):
    return [p for p in children(pid) if read(f"/proc/{p}/cmdline").split("\0")[0] == ROLE]


class Job:
    """One that runs until end(); with a reader."""

    def __init__(self, runsc, *options, warder=WARDER, code=BUSY, after=None):
        for path in (RESULT, EVENTS):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        env = dict(os.environ, WARDER_RUNSC=runsc)
        self.p = subprocess.Popen([warder, "run", "-b", "runsc", "--result", RESULT, *options, "--", "python3", "-c",
                                   code], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        if after:
            after()
        line = self.p.stdout.readline()
        if line != "up\n":
            self.p.kill()
            raise RuntimeError("no start: " + line + self.p.stderr.read())
        self.reader = (readers(self.p.pid) or [None])[0]

    def end(self, seconds=20):
        began = time.monotonic()
        try:
            self.out, self.err = self.p.communicate("x\n", timeout=seconds)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.out, self.err = self.p.communicate()
        self.took = time.monotonic() - began
        self.result = json.loads(read(RESULT) or "null")
        self.events = [json.loads(line) for line in read(EVENTS).splitlines()]
        return self.result

    def told(self, event):
        return [e for e in self.events if e["event"] == event]


ASK = ("--syscalls", "--events", EVENTS)


def status(pid):
    return dict(line.split(":\t", 1) for line in read(f"/proc/{pid}/status").splitlines() if ":\t" in line)


def has_no_rights(runsc):
    job = Job(runsc, *ASK)
    st = status(job.reader)
    uids = st["Uid"].split()
    jobs = {u for p in children(job.p.pid) if p != job.reader for u in status(p)["Uid"].split()}
    ok(len(set(uids)) == 1 and int(uids[0]) > 1000 and uids == st["Gid"].split() and not st["Groups"].strip()
       and uids[0] not in jobs, "the reader lives as a user of its own", st)
    ok(all(int(st[c], 16) == 0 for c in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")), "without capabilities", st)
    ok(st["NoNewPrivs"] == "1" and st["Seccomp"] == "2", "without new privileges, under seccomp", st)
    limits = {line[:26].strip(): line[26:].split()[0] for line in read(f"/proc/{job.reader}/limits").splitlines()[1:]}
    ok(int(limits["Max address space"]) <= MAX_RSS_KB << 10 and limits["Max processes"] == "0"
       and limits["Max file size"] == "0" and int(limits["Max open files"]) <= 16, "with little memory and no files",
       limits)
    fds = {int(f): os.readlink(f"/proc/{job.reader}/fd/{f}") for f in os.listdir(f"/proc/{job.reader}/fd")}
    ok(all(n < 3 and to == "/dev/null" or to.startswith(("socket:", "anon_inode:[eventpoll]")) for n, to in fds.items()),
       "holding the sockets it was handed", fds)
    ok(read(f"/proc/{job.reader}/environ") == "" and os.readlink(f"/proc/{job.reader}/cwd") == "/",
       "and nothing of the caller's")
    r = job.end()
    ok(r["usage"]["syscalls"]["lost"] < 50 and r["usage"]["syscalls"]["total"] > 100
       and job.told("ended")[0]["lost_in_sandbox"] < 50, "it tells what happened", r["usage"]["syscalls"])
    ok(not alive(job.reader), "it ends with the job")


def is_told_apart(job, what, why):
    """Of a job whose reader was lost on the way."""
    r = job.end()
    ok(r and r["exit"]["reason"] == "exited" and r["exit"]["code"] == 0 and job.out == "down\n",
       f"{what}: the job goes on to its end", r and r["exit"], job.out)
    ok(r["usage"]["syscalls"]["lost"] >= 1 and {"syscall_count", "proc_events"} <= set(r["protections"]["degraded"]),
       f"{what}: the result says that counts are missing", r["usage"]["syscalls"]["lost"], r["protections"]["degraded"])
    ended, lost = job.told("ended")[0], job.told("lost")
    ok(ended["lost_in_sandbox"] >= 1 and len(lost) == 1 and why in lost[0]["why"] and why in job.err,
       f"{what}: and why", ended, lost, job.err)


def killed(runsc):
    job = Job(runsc, *ASK)
    os.kill(job.reader, signal.SIGKILL)
    ok(wait_for(lambda: not os.path.exists(f"/proc/{job.reader}"), 5), "killed: it is reaped while the job runs")
    is_told_apart(job, "killed", "it was killed by SIGKILL")


def killed_before_the_program(runsc):
    p = subprocess.Popen([WARDER, "run", "-b", "runsc", "--result", RESULT, *ASK, "--", "true"], stdin=subprocess.DEVNULL,
                         env=dict(os.environ, WARDER_RUNSC=runsc), stderr=subprocess.PIPE, text=True)
    reader = wait_for(lambda: readers(p.pid), 10)
    if reader:
        os.kill(reader[0], signal.SIGKILL)
    err = p.communicate(timeout=20)[1]
    ok(p.returncode == 125 and "the reader of what the sandbox tells is lost: it was killed by SIGKILL" in err,
       "killed before the program runs: the job does not start without what was asked for", p.returncode, err)


def stopped(runsc):
    job = Job(runsc, *ASK)
    os.kill(job.reader, signal.SIGSTOP)
    ok(wait_for(lambda: not os.path.exists(f"/proc/{job.reader}"), 15), "stopped: it is given up")
    is_told_apart(job, "stopped", "it does not answer")
    job = Job(runsc, *ASK)
    os.kill(job.reader, signal.SIGSTOP)
    is_told_apart(job, "stopped at the end", "in time")
    ok(job.took < 8, "stopped at the end: nobody waits for long", job.took)
    ok(not alive(job.reader), "stopped at the end: it is gone")


def its_socket(pid):
    """What only the reader has, for a test to lie with."""
    pidfd = os.pidfd_open(pid)
    fd = libc.syscall(SYS_PIDFD_GETFD, pidfd, 3, 0)
    os.close(pidfd)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    return socket.socket(fileno=fd)


def lies(runsc):
    event = (3).to_bytes(4, "little") + (3).to_bytes(4, "little") + bytes(576)
    for what, message, times, why in (
            ("garbage", b"garbage", 1, "of type 1651663207"),
            ("half an event", event[:-1], 1, "with 583 bytes, want 584"),
            ("an answer to nothing", (4).to_bytes(4, "little") + bytes(4140), 1, "to what was not asked|out of turn"),
            ("a flood of events", event, 30000, "more events than it may send")):
        job = Job(runsc, *ASK)
        sock = its_socket(job.reader)
        with contextlib.suppress(OSError):
            for _ in range(times):
                sock.send(message)
        sock.close()
        wait_for(lambda: not alive(job.reader), 10)
        grown = int(status(job.p.pid)["VmHWM"].split()[0])
        r = job.end()
        lost = job.told("lost")
        ok(r["exit"]["code"] == 0 and job.out == "down\n" and lost and any(w in lost[0]["why"] for w in why.split("|")),
           f"who tells {what} is cut off by name, and the job goes on", r["exit"], lost, job.err)
        ok(grown < MAX_RSS_KB, f"{what}: the supervisor's memory is bounded ({grown} kB)")


FLOODER = """#!/usr/bin/python3
# In runsc's place: floods the sink, then is runsc.
import os, socket, sys
if "run" in sys.argv and os.fork() == 0:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect("/run/warder/sink")
    s.send(b"\\x08\\x01")
    s.recv(16)
    event = bytes([8, 0, 5, 0, 0, 0, 0, 0, 0x10, 7])
    call = bytes([8, 0, 6, 0, 0, 0, 0, 0, 0x20, 39])
    for i in range(1 << 40):
        try: s.send((event, b"x" * 40000, call, bytes(31000), event * 20)[i % 5])
        except OSError: os._exit(0)
os.execv(REAL, [REAL] + sys.argv[1:])
"""


def flooded(runsc):
    fake = f"{TMP}/runsc-flood"
    with open(fake, "w") as f:
        f.write(FLOODER.replace("REAL", repr(runsc)))
    os.chmod(fake, 0o755)
    job = Job(fake, *ASK)
    time.sleep(2)
    rss = {who: int(status(pid)["VmHWM"].split()[0]) for who, pid in (("supervisor", job.p.pid),
                                                                       ("reader", job.reader))}
    r = job.end()
    ok(r["exit"]["code"] == 0 and job.out == "down\n", "flooded by its sandbox: the job goes on", r["exit"], job.err)
    ok(max(rss.values()) < MAX_RSS_KB, "flooded by its sandbox: memory is bounded", rss)
    ok(r["usage"]["syscalls"]["lost"] > 100 and job.told("ended")[0]["lost_in_sandbox"] > 100
       and len(job.events) < 4000 * 10, "flooded by its sandbox: what is too much is counted", r["usage"]["syscalls"],
       job.told("ended"), len(job.events))


def dies_with_supervisor(runsc):
    for stop in (False, True):
        job = Job(runsc, *ASK)
        if stop:
            os.kill(job.reader, signal.SIGSTOP)
        os.kill(job.p.pid, signal.SIGKILL)
        ok(bool(wait_for(lambda: not alive(job.reader), 1)), f"{'stopped' if stop else 'running'}, it dies with its supervisor")
        job.p.communicate()


def is_of_the_running_binary(runsc):
    other = f"{TMP}/other"
    with open(other, "w") as f:
        f.write("#!/bin/false\n")
    os.chmod(other, 0o755)
    for what, change in (("deleted", os.unlink), ("replaced", lambda path: os.replace(other, path))):
        copy = f"{TMP}/warder-copy"
        shutil.copy2(WARDER, copy)
        job = Job(runsc, *ASK, warder=copy, after=lambda: change(copy))
        r = job.end()
        ok(r and r["usage"]["syscalls"]["lost"] < 50 and r["protections"]["syscall_count"] == "on",
           f"a binary that is {what} meanwhile still reads", r and r["usage"]["syscalls"], job.err)


def not_by_hand():
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if not pid:
        os.dup2(b.fileno(), 3)
        os.dup2(os.open("/dev/null", os.O_RDWR), 2)
        os.execv(WARDER, [ROLE])
    a.send((1).to_bytes(4, "little") + (0).to_bytes(8, "little"))
    b.close()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    said = b""
    with contextlib.suppress(ConnectionResetError):  # what it did not read
        said = a.recv(64)
    ok(code == 125 and said == b"", "nobody else can start one", code, said)
    p = subprocess.run(["bash", "-c", f"exec -a '{ROLE}' {WARDER} </dev/null"], capture_output=True, text=True)
    ok(p.returncode == 125 and p.stderr == "warder: reader: a part of warder, which starts it by itself: try warder help\n",
       "and who tries is told", p.returncode, p.stderr)
    p = subprocess.run([WARDER, "reader"], capture_output=True, text=True)
    ok(p.returncode == 125 and "unknown command" in p.stderr, "it is no command", p.stderr)


if os.geteuid() != 0:
    skip_all("needs root")
found = tap.runscs()
if not found:
    skip_all("needs build/runsc (packaging/runsc.sh)")
RUNSC = found[0][1]
has_no_rights(RUNSC)
killed(RUNSC)
killed_before_the_program(RUNSC)
stopped(RUNSC)
lies(RUNSC)
flooded(RUNSC)
dies_with_supervisor(RUNSC)
is_of_the_running_binary(RUNSC)
not_by_hand()
job = Job(RUNSC)
ok(job.reader is None and job.end()["exit"]["code"] == 0, "a job that asks for nothing has none")
sys.exit(tap.end())
