#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""System calls of a start that fail: nothing starts and the thing is named, or it is as always.

First each of a table always fails; then, one run each, every single call that warder makes fails
once. A job that runs all the same must have every protection: it prints what surrounds it.
"""
# timeout: 240
import collections, errno, json, os, re, shutil, signal, subprocess, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
from tap import end, left, ok, skip_all

BUILD = os.environ["WDR_BUILD"]
HELPERS = f"{BUILD}/tests/helpers"
FAULT = f"{HELPERS}/fault"
NAMESPACES = [os.readlink(f"/proc/self/ns/{n}") for n in os.listdir("/proc/self/ns")]
AS_ALWAYS = "as always"
BOUND_S = 1.0

# The call, how it fails, and what is said of it. ENOSYS: an old kernel. EPERM: another's filter.
TABLE = """
rt_sigaction            EINVAL  reset signals: Invalid argument
clone3                  ENOSYS  clone3 with new namespaces: Function not impl
clone3                  EPERM   clone3 with new namespaces: Operation not perm
clone                   ENOMEM  start the main process: Cannot allocate
setresuid               EPERM   become the job's uid \\d+: Operation not perm
open_tree               ENOSYS  cgroup .*: Function not impl
open_tree               EMFILE  cgroup .*: Too many open files
move_mount              ENOSYS  root: .*: Function not impl
mount_setattr           ENOSYS  cgroup .*: Function not impl
pivot_root              EPERM   pivot_root: Operation not perm
fsopen                  ENOSYS  tmpfs: Function not impl
fsconfig                ENOMEM  tmpfs of size=\\d+: Cannot allocate
fsmount                 EPERM   mount tmpfs: Operation not perm
umount2                 EPERM   leave the host's root: Operation not perm
openat2                 ENOSYS  root: .*: Function not impl
statx                   ENOSYS  Operation not supported
unshare                 EPERM   namespace: Operation not perm
unshare                 ENOSPC  namespace: No space left
sethostname             EPERM   host name: Operation not perm
setgroups               EPERM   drop groups: Operation not perm
setresgid               EPERM   become 1000:1000: Operation not perm
landlock_create_ruleset ENOSYS  missing protection landlock: this kernel has no Landlock
landlock_create_ruleset EPERM   missing protection landlock: Operation not perm
landlock_add_rule       ENOMEM  landlock: Cannot allocate
landlock_restrict_self  E2BIG   landlock: Argument list too long
seccomp                 ENOSYS  seccomp: Function not impl
seccomp                 EPERM   seccomp: Operation not perm
keyctl                  EDQUOT  keyring: Disk quota
keyctl                  ENOSYS  as always
capset                  EPERM   capabilities: Operation not perm
prlimit64               EPERM   resource limits: Operation not perm
personality             EPERM   personality: Operation not perm
setsid                  EPERM   new session: Operation not perm
close_range             ENOSYS  descriptors: Function not impl
dup2                    EMFILE  stdio: Too many open files
socket                  EACCES  loopback: Permission
socketpair              EMFILE  control socket: Too many open files
sendto                  ENOBUFS speak to pid 1: No buffer space
recvfrom                ENOMEM  first process was killed
recvmsg                 ENOMEM  hear the job's first process: Cannot allocate
sendmsg                 ENOBUFS first process was killed
wait4                   EPERM   wait for the program: Operation not perm
ppoll                   ENOSYS  wait for the program: Function not impl
pipe2                   EMFILE  stdio pipes: Too many open files
epoll_create1           EMFILE  event loop: Too many open files
epoll_ctl               ENOSPC  watch the job: No space left
epoll_pwait2            ENOSYS  event loop: Function not impl
signalfd4               EMFILE  signals: Too many open files
rt_sigprocmask          EPERM   signals: Operation not perm
getrandom               ENOSYS  job id: Function not impl
flock                   ENOLCK  lock job j-.*: No locks
fcntl                   ENOLCK  lock a uid: No locks
mkdirat                 EROFS   make /run/warder: Read-only
splice                  EINVAL  as always
pidfd_send_signal       ENOSYS  as always
waitid                  EPERM   as always
statfs                  ENOSYS  as always
unlinkat                EPERM   as always
"""


def surroundings(text):
    """What must be the same. A root that is kept ready has fewer mounts than one that is made."""
    made = re.compile(r"mount (/etc/\S+ ro,.*|/dev/\S+ .* devtmpfs|/ ro,.*)$")
    return sorted(l for l in text.splitlines() if not made.match(l))


def run(*fault, options=(), program=None):
    """Exit status (None: it had to be killed), stdout, what warder said, which call failed, time."""
    program = program or ["sh", "-c", 'cat >f && chmod +x f && exec ./f "$@"', "sh", *NAMESPACES]
    began = time.monotonic()
    with open(f"{HELPERS}/facts", "rb") as facts:
        p = subprocess.Popen([*fault, "warder", "run", *options, "--", *program], stdin=facts,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             start_new_session=True)
    try:
        out, err = p.communicate(timeout=10 * BOUND_S)
        status = p.returncode
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        out, err = p.communicate()
        status = None
    if "--json" in options and out.endswith("}\n"):
        out = json.loads(out)["stdout"]
    lines = err.splitlines()
    said = [l for l in lines if not l.startswith("fault: ")]
    call = next((l for l in lines if l.startswith("fault: ")), "")
    return status, out, said, call, time.monotonic() - began


def check_table():
    for row in TABLE.strip().splitlines():
        call, error, want = re.match(r"(\S+)\s+(\S+)\s+(.*)", row).groups()
        status, out, said, _, took = run(FAULT, f"{call}={getattr(errno, error)}", program=["echo", "hi"])
        if want == AS_ALWAYS:
            good = (status, out) == (0, "hi\n")
        else:
            good = status == 125 and any(re.search(want, l) for l in said)
        ok(good and took < BOUND_S, f"{call} {error}: {want}", status, out, said, took)
    status, out, said, *_ = run(FAULT, f"memfd_create={errno.EMFILE}", options=["--json"], program=["echo"])
    ok(status == 125 and "relay stdout: Too many open files" in said[0], "memfd_create EMFILE", status, said)
    run()
    ok(not left(), "one command later nothing is left", *left())


def judge(status, out, said, call, expected):
    """None, or what is wrong with a run that had one fault."""
    if status is None:
        return "it hangs"
    if status == 0:
        missing = [l for l in expected if l not in surroundings(out)]
        added = [l for l in surroundings(out) if l not in expected]
        return f"not as always: -{missing} +{added}" if missing or added else None
    if status in (125, 126, 127):
        return None if said else "refused without a word"
    # The program's end, which pid 1 could not tell: as if it were killed.
    return None if status == 137 and "sendmsg" in call else f"status {status}"


def check_each(what, errors, step=1, cold=False, **job):
    """Every call once: the N-th, until there is no N-th any more."""
    expected = surroundings(run(FAULT, "1000000=1", **job)[1])
    seen, slow, wrong, n = collections.Counter(), [], [], 1
    while True:
        if cold:
            shutil.rmtree("/run/warder/cache", ignore_errors=True)
        status, out, said, call, took = run(FAULT, f"{n}={errors[n // step % len(errors)]}", **job)
        if "only" in call:
            break
        n += step
        seen[status] += 1
        why = judge(status, out, said, call, expected)
        if why:
            wrong.append(f"{call}: {why}: {said}")
        if took > 2 * BOUND_S:
            slow.append(f"{call}: {took:.1f} s")
    ok(n > 300, f"{n} calls {what}, {seen[0]} ran, {seen[125]} refused", seen)
    ok(not wrong, f"each failing call {what} is refused or changes nothing", *wrong)
    ok(not slow, f"and holds nothing up {what}", *slow)
    run()
    ok(not left(), f"and leaves nothing {what}", *left())


def main():
    # Our own /run: nobody else's jobs and cache, nor ours theirs.
    if "WDR_OWN_RUN" not in os.environ:
        script = 'mount -t tmpfs -o mode=0755 none /run && exec "$@"'
        os.execvpe("unshare", ["unshare", "-m", "sh", "-c", script, "sh", sys.executable, __file__],
                   {**os.environ, "WDR_OWN_RUN": "1"})
    os.environ["PATH"] = f"{BUILD}/bin:{os.environ['PATH']}"
    check_table()
    check_each("of a start", [errno.ENOMEM, errno.EPERM, errno.EMFILE, errno.EINTR, errno.ENOSYS])
    check_each("with a cold cache", [errno.EPERM, errno.ENOSPC, errno.EMFILE], step=3, cold=True)
    check_each("with a mount and a result", [errno.ENOMEM, errno.ENOSPC, errno.EMFILE], step=3,
               options=["--json", "-v", f"{HELPERS}:/h"], program=["/h/facts", *NAMESPACES])
    return end()


if os.geteuid():
    skip_all("needs root")
sys.exit(main())
