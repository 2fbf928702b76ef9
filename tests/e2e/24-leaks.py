#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A supervisor that ends has given back every descriptor and, with the leak sanitizer, every byte, whatever became of its job."""
# timeout: 120
import ctypes, json, os, shutil, signal, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import tap
from tap import ok

if os.geteuid():
    tap.skip_all("needs root")
BUILD = os.environ.get("WDR_BUILD", "build/plain")
RUNSC = os.path.abspath("build/runsc/new/runsc")
TMP = tempfile.mkdtemp()
PTRACE_CONT, PTRACE_SEIZE, PTRACE_O_TRACEEXIT, PTRACE_EVENT_EXIT = 7, 0x4206, 0x40, 6
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
ptrace.argtypes = [ctypes.c_long] * 4


def policy(name, **sections):
    path = f"{TMP}/{name}.json"
    with open(path, "w") as f:
        json.dump({"version": 1, **sections}, f)
    return path


KILL = policy("kill", syscalls={"on_deny": "kill"})
CUT = policy("cut", limits={"stdout": "1K", "on_output": "truncate"})
DIAL = "import socket, sys\nfor a in ('203.0.113.9', '::1'):\n try: socket.create_connection((a, 80), 5)\n except OSError: pass"
KINDS = (  # name, options and command, exit status
    ("plain", ("true",), 0),
    ("with output", ("seq", "100000"), 0),
    ("with an object", ("--json", "echo", "x"), 0),
    ("with files", ("--result", f"{TMP}/r", "--events", f"{TMP}/e", "sh", "-c", "true; false"), 1),
    ("with a terminal", ("-i", "true"), 0),
    ("cut", ("-p", CUT, "seq", "100000"), 0),
    ("timeout", ("-t", "200ms", "sleep", "9"), 124),
    ("CPU budget", ("--cpu-time", "200ms", "sh", "-c", "while :; do :; done"), 137),
    ("oom", ("-m", "40M", "python3", "-c", "x = b'1' * 10**8"), 137),
    ("output limit", ("--output", "4K", "yes"), 137),
    ("refused call", ("-p", KILL, "python3", "-c", "import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)"), 137),
    ("counted", ("--syscalls", "--json", "true"), 0),
    ("egress", ("--allow", "198.51.100.1:80", "--json", "python3", "-c", DIAL), 0),
    ("the host's network", ("--net", "host", "--allow", "198.51.100.1:80", "python3", "-c", DIAL), 0),
    ("mounts", ("-v", "/usr/share:/data", "-v", f"{TMP}:/tmp/here:ro", "true"), 0),
    ("not found", ("--json", "/no/such"), 127),
    ("no policy", ("-p", "no-such", "true"), 125),
    ("no mount", ("-v", "/no/such:/x", "true"), 125),
    ("no option", ("--no-such", "true"), 125),
)
GUESTS = (
    ("runsc", ("true",), 0),
    ("runsc, counted", ("--syscalls", "--json", "--events", f"{TMP}/e", "true"), 0),
    ("runsc, egress", ("--allow", "198.51.100.1:80", "--json", "true"), 0),
    ("runsc, timeout", ("-t", "2s", "sleep", "90"), 124),
    ("runsc, not found", ("/no/such",), 127),
)


def say(pid):
    """What descriptors @pid has beside its three."""
    names = ((fd, os.readlink(f"/proc/{pid}/fd/{fd}")) for fd in os.listdir(f"/proc/{pid}/fd"))
    return [f"{fd}: {name}" for fd, name in names if int(fd) > 2]


def run(args, env, stop=None):
    """(exit status, descriptors at its end, standard error)"""
    err = f"{TMP}/err{tap.count}"
    go, gone = os.pipe()
    files = [(os.POSIX_SPAWN_OPEN, fd, path, os.O_RDWR | os.O_CREAT, 0o600)
             for fd, path in ((1, "/dev/null"), (2, err))]
    # It waits until it is traced: some end sooner than that can be asked for.
    argv = ["/bin/sh", "-c", 'read -r _ && exec "$@" </dev/null', "sh", f"{BUILD}/bin/warder", "run", *args]
    pid, left = os.posix_spawn(argv[0], argv, env, file_actions=[(os.POSIX_SPAWN_DUP2, go, 0), *files]), None
    # The leak sanitizer can't look at a process that is traced: then it looks, and we do not.
    if not tap.SANITIZED and ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXIT):
        raise OSError(ctypes.get_errno(), "ptrace")
    os.write(gone, b"\n")
    os.close(go)
    os.close(gone)
    if stop:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, stop))
    while True:
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            return os.waitstatus_to_exitcode(status), left, open(err, errors="replace").read()
        if status >> 16 == PTRACE_EVENT_EXIT:
            left = say(pid)
        ptrace(PTRACE_CONT, pid, 0, 0 if status >> 16 else os.WSTOPSIG(status))


def check(name, args, status, env, stop=None):
    rc, left, err = run(args, env, stop)
    ok(rc == status, f"{name}: ends with {status}", rc, err)
    ok("Sanitizer" not in err if tap.SANITIZED else left == [], f"{name}: nothing is left open", left, err)


ENV = {**os.environ, "WARDER_RUNSC": "/no/runsc"}
for kind in KINDS:
    check(*kind, ENV)
for signo in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    check(signo.name, ("sleep", "90"), 128 + signo, ENV, signo)
# Who reads what a guest tells has neither the memory nor the calls that the sanitizers need.
if os.access(RUNSC, os.X_OK) and not tap.SANITIZED:
    for kind, options, status in GUESTS:
        check(kind, ("-b", "runsc", *options), status, {**ENV, "WARDER_RUNSC": RUNSC})
shutil.rmtree(TMP)
sys.exit(tap.end())
