#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# warder-runsc given a hostile bundle or a broken runsc, or killed on the way: the engine hears why
# in the form that it reads, and nothing is left.
# timeout: 240
import ctypes, glob, json, os, shutil, signal, socket, subprocess, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import tap
from procs import alive, read, tree, wait_for
from tap import ok, skip_all

if os.geteuid() != 0:
    skip_all("needs root")
if "WDR_OWN_MOUNTS" not in os.environ:  # /etc/warder is ours alone
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", "env", "WDR_OWN_MOUNTS=1", sys.executable,
                          *sys.argv])
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHIM = os.path.join(os.environ.get("WDR_BUILD", TOP + "/build/plain"), "bin/warder-runsc")
TMP = os.environ.get("TMPDIR", "/tmp")
RUNSC = os.environ.get("WDR_RUNSC", TOP + "/build/runsc/new/runsc")
if not os.access(RUNSC, os.X_OK):
    skip_all("needs build/runsc (packaging/runsc.sh)")
NETNS = "wdr-shim-faults"
LOG, STATE, BUNDLE, REPORT = f"{TMP}/log", f"{TMP}/root", f"{TMP}/bundle", f"{TMP}/report"
STARTED = set()
PTRACE_SYSCALL, PTRACE_SEIZE, PTRACE_O_TRACESYSGOOD, PTRACE_INTERRUPT = 24, 0x4206, 1, 0x4207
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
ptrace.argtypes = [ctypes.c_long] * 4


def shell(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def no_sockets():
    """Where runsc puts a sandbox' socket if that of one that was killed is in the way; there is no fourth place."""
    for path in glob.glob("/run/runsc-f1.sock") + glob.glob("/tmp/runsc-f1.sock"):
        os.unlink(path)


def left():
    return glob.glob("/sys/fs/cgroup/**/c-f1-*", recursive=True) + glob.glob("/run/warder/shim/*")


def of_state():
    """Processes that a runsc of our state directory left."""
    return [p for p in os.listdir("/proc") if p.isdigit() and STATE in read(f"/proc/{p}/cmdline") and alive(int(p))]


def reap():
    """As engines do: a sandbox comes to us when its runsc has ended, which waits until its end is waited for."""
    try:
        while (it := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) and it.si_pid not in STARTED:
            os.waitpid(it.si_pid, 0)
    except ChildProcessError:
        pass


def start(*words, runsc=RUNSC, err=subprocess.DEVNULL):
    p = subprocess.Popen([SHIM, "--root", STATE, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=err,
                         env=dict(os.environ, WARDER_RUNSC=runsc))
    STARTED.add(p.pid)
    return p


def engine(*words, runsc=RUNSC, seconds=30):
    """As an engine calls it. Exit status, stderr, and what its log says."""
    if os.path.exists(LOG):
        os.unlink(LOG)
    with open(f"{TMP}/err", "wb") as f:  # a sandbox keeps it
        p = start("--log", LOG, "--log-format", "json", *words, runsc=runsc, err=f)
    if not wait_for(lambda: reap() or p.poll() is not None, seconds):
        p.kill()
        p.wait()
        return "hangs", "", []
    err = read(f"{TMP}/err")
    lines = []
    for line in read(LOG).splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            lines.append({"level": "garbled", "msg": line})
    return p.returncode, err, lines


def config(policy="closed", **more):
    return {"ociVersion": "1.0.2", "root": {"path": "rootfs"}, "annotations": {"dev.warder.policy": policy},
            "process": {"user": {"uid": 0, "gid": 0}, "cwd": "/", "args": ["/bin/sh", "-c", "sleep 60"], "env": []},
            "linux": {"namespaces": [{"type": "pid"}, {"type": "mount"},
                                     {"type": "network", "path": f"/run/netns/{NETNS}"}]}, **more}


def write(content):
    path = f"{BUNDLE}/config.json"
    shutil.rmtree(path, ignore_errors=True) if os.path.isdir(path) else os.path.lexists(path) and os.unlink(path)
    if callable(content):
        content(path)
        return
    with open(path, "wb") as f:
        f.write(content if isinstance(content, bytes) else json.dumps(content).encode())


def netns(path):
    return config(linux={"namespaces": [{"type": "network", "path": path}]})


HOSTILE = {
    # what: (config.json, what the engine reads)
    "empty": (b"", "config.json: "),
    "no JSON": (b"\x7fELF" + bytes(1000), "config.json: "),
    "no object": (b"[1]", "config.json: no object"),
    "cut short": (json.dumps(config()).encode()[:-9], "config.json: "),
    "deeper than any": (b'{"a":' * 100000 + b"1" + b"}" * 100000, "config.json: maximum parsing depth"),
    "of 17 MiB": (b'{"a":"' + b"x" * (17 << 20) + b'"}', "config.json: File too large"),
    "with a key twice": (b'{"annotations":{},"annotations":{"dev.warder.policy":"closed"}}', "duplicate object key"),
    "that is no UTF-8": (b'{"annotations":{"dev.warder.policy":"\xff"}}', "config.json: "),
    "that is a folder": (os.mkdir, "config.json is no file"),
    "that is a fifo": (os.mkfifo, "config.json is no file"),
    "that is a link to itself": (lambda p: os.symlink("config.json", p), "Too many levels"),
    "a policy of a number": (config(7), "is no string"),
    "a policy with a NUL": (config("a\0b"), "config.json: "),
    "a policy that is a path": (config("../../etc/passwd"), "no name of a policy"),
    "a policy of a megabyte": (config("x" * (1 << 20)), "no name of a policy"),
    "a policy that is not there": (config("none-such"), 'no policy "none-such"'),
    "a policy in control characters": (config("\x1b[2J\n\r"), "no name of a policy"),
    "a network of a file": (netns("/etc/passwd"), "network namespace"),
    "a network that is not there": (netns("/run/netns/none-such"), "network namespace"),
    "a network of a megabyte": (netns("/" + "x" * (1 << 20)), "network namespace"),
    "a network of another kind": (netns("/proc/self/ns/mnt"), "network namespace"),
}


def hostile():
    for what, (content, want) in HOSTILE.items():
        write(content)
        for command in (("create",), ("run", "--detach")):
            code, err, log = engine(*command, "--bundle", BUNDLE, "f1")
            ok(code not in (0, "hangs") and code > 0 and want in err and err.startswith("warder: ") and len(err) < 1000
               and all(c.isprintable() or c == "\n" for c in err),
               f"{command[0]}: a bundle {what} is refused by name", code, err[:300])
            ok(len(log) == 1 and log[0]["level"] == "error" and want in log[0]["msg"] and "time" in log[0],
               f"{command[0]}: a bundle {what}: the engine reads it in its log", log)
        ok(not left(), f"a bundle {what} leaves nothing", left())


def bad_id():
    write(config())
    for what, name in (("bytes that are no text", b"f1-\xff\xfe"), ("control characters", b"f1-\x1b[2J")):
        write(config("none-such"))
        code, err, log = engine("create", "--bundle", BUNDLE, name)
        ok(code not in (0, "hangs") and len(log) == 1 and "none-such" in log[0]["msg"]
           and all(c.isprintable() or c == "\n" for c in err), f"an id of {what} does no harm to the log", code, err, log)


FAKE = """#!/bin/sh
case $* in *create*) ;; *) exec REAL "$@" ;; esac
WHAT
"""


def broken():
    write(config())
    for what, do, want in (("fails", "exit 37", 37), ("is killed", "kill -9 $$", 128 + signal.SIGKILL),
                           ("babbles", "head -c 3000000 /dev/urandom >&2; exit 3", 3)):
        with open(f"{TMP}/runsc", "w") as f:
            f.write(FAKE.replace("REAL", RUNSC).replace("WHAT", do))
        os.chmod(f"{TMP}/runsc", 0o755)
        code, _, _ = engine("create", "--bundle", BUNDLE, "f1", runsc=f"{TMP}/runsc")
        ok(code in (want, -(want - 128)), f"a runsc that {what}: its status is the engine's", code)
        ok(not left(), f"a runsc that {what}: nothing is left", left())
    for what, path in (("not there", f"{TMP}/none"), ("no program", "/etc/passwd"), ("the shim itself", SHIM)):
        code, err, log = engine("create", "--bundle", BUNDLE, "f1", runsc=path)
        ok(code not in (0, "hangs") and len(log) == 1 and log[0]["level"] == "error" and path in log[0]["msg"],
           f"a runsc that is {what} is named to the engine", code, err, log)
        ok(not left(), f"a runsc that is {what}: nothing is left", left())


def killed():
    write(config())
    for ms in (0, 2, 5, 10, 20, 40, 80, 160):
        p = start("create", "--bundle", BUNDLE, "f1")
        time.sleep(ms / 1000)
        begun = tree(p.pid)[1:]
        p.kill()
        p.wait()
        # What engines do with a create that died.
        wait_for(lambda: not any(alive(q) and "create" in read(f"/proc/{q}/cmdline") for q in begun), 10)
        code, err, _ = engine("delete", "--force", "f1")
        # Its lock and its socket are runsc's to leave.
        ok(code == 0 and not left() and not glob.glob(f"{STATE}/*.state") and not of_state(),
           f"killed {ms} ms into a creation: delete --force leaves nothing", code, err, left(), os.listdir(STATE), of_state())


def lines():
    return [json.loads(line) for line in read(REPORT).splitlines()]


def kill_at(p, there):
    """Stop @p at each of its system calls, and kill it at the first one at which @there is true."""
    if ptrace(PTRACE_SEIZE, p.pid, 0, PTRACE_O_TRACESYSGOOD) or ptrace(PTRACE_INTERRUPT, p.pid, 0, 0):
        raise OSError(ctypes.get_errno(), "ptrace")
    while True:
        until = time.monotonic() + 30
        while not (stop := os.waitpid(p.pid, os.WNOHANG))[0] and time.monotonic() < until:
            reap()
            time.sleep(0.001)
        status = stop[1]
        if not stop[0] or os.WIFEXITED(status) or os.WIFSIGNALED(status):
            p.returncode = status
            return False
        if there():
            p.kill()
            p.wait()
            return True
        mine = status >> 16 or os.WSTOPSIG(status) == signal.SIGTRAP | 0x80
        ptrace(PTRACE_SYSCALL, p.pid, 0, 0 if mine else os.WSTOPSIG(status))


def reported_once():
    """Between the line about a container and the end of its note: whoever comes next says that it may be the second."""
    write(config())
    settings(report=REPORT)
    code, err, _ = engine("create", "--bundle", BUNDLE, "f1")
    ok(code == 0, "with a report a container is made", code, err)
    p = start("delete", "--force", "f1")
    ok(kill_at(p, lambda: os.path.getsize(REPORT) > 0) and left(), "its deletion is killed behind the line", left())
    code, err, _ = engine("delete", "--force", "f1")
    ok(code == 0 and not left(), "deleted again, nothing is left", code, err, left())
    got = [(line["container"], line["end"], line["again"]) for line in lines()]
    ok(got == [("f1", "deleted", False), ("f1", "deleted", True)], "the second line says that there may be a first", got)
    os.unlink(REPORT)
    engine("create", "--bundle", BUNDLE, "f1")
    engine("delete", "--force", "f1")
    got = [(line["container"], line["again"]) for line in lines()]
    ok(got == [("f1", False)], "one that nobody kills has one", got)


def no_file():
    """A report that could hold an engine up."""
    settings(report=REPORT)
    for what, make in (("fifo", os.mkfifo), ("socket", lambda p: socket.socket(socket.AF_UNIX).bind(p))):
        os.path.exists(REPORT) and os.unlink(REPORT)
        make(REPORT)
        code, err, log = engine("create", "--bundle", BUNDLE, "f1", seconds=10)
        ok(code == 128 and f"report {REPORT} is no regular file" in err and len(log) == 1,
           f"a report that is a {what} is refused by name, and not waited for", code, err)
        ok(not left(), f"a report that is a {what}: nothing is left", left())
    settings()


def settings(**more):
    with open("/etc/warder/runsc.json", "w") as f:
        json.dump({"version": 1, "default": "closed", **more}, f)


def set_up():
    os.makedirs(f"{BUNDLE}/rootfs/bin", exist_ok=True)
    os.makedirs(STATE, exist_ok=True)
    os.makedirs("/etc/warder", exist_ok=True)
    shutil.copy("/bin/busybox", f"{BUNDLE}/rootfs/bin/sh")
    shell("mount", "-t", "tmpfs", "none", "/etc/warder")
    os.makedirs("/etc/warder/policies")
    settings()
    with open("/etc/warder/policies/closed.json", "w") as f:
        f.write('{"version": 1, "network": {"mode": "egress"}}')
    subprocess.run(["ip", "netns", "del", NETNS], check=False, stderr=subprocess.DEVNULL)
    shell("ip", "netns", "add", NETNS)


ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
made = not os.path.isdir("/etc/warder")
set_up()
no_sockets()
try:
    hostile()
    bad_id()
    broken()
    killed()
    if not tap.SANITIZED:  # their leak checker is a tracer, too
        reported_once()
    no_file()
finally:
    no_sockets()
    shell("ip", "netns", "del", NETNS)
    shell("umount", "/etc/warder")
    if made:
        os.rmdir("/etc/warder")
sys.exit(tap.end())
