#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Run tests of all tiers and count them.

usage: run.py [-j N] [--wrap CMD] --tier NAME TEST... [--tier NAME TEST...]...
       run.py --total

A TEST is a program, or PROGRAM@ARG@ARG. It prints TAP (cmocka's, or a shell test's through
tests/lib/tap.sh); one that prints none counts as one test by its exit status. Exit 77 is a skip,
which WDR_MUST_RUN=1 makes a failure. A test fails too if it ends before its plan, outlives its
deadline or leaves a process or a mount behind. In its first 20 lines a test may say

    # timeout: SECONDS      instead of its tier's
    # parallel: yes         it may share the machine with others (tiers lint, unit, fuzz, san, kernels do)

Each test gets TMPDIR of its own and WDR_BUILD. Results go to build/results/TIER.jsonl; --total
sums them up and prints the one line "N passed, N failed, N skipped".
"""
import contextlib, ctypes, fcntl, json, os, pathlib, re, select, shlex, shutil, signal, subprocess
import sys, tempfile, time
from dataclasses import dataclass, field

TOP = pathlib.Path(__file__).resolve().parents[2]
RESULTS = TOP / "build/results"
# Two checkouts must not share the kernel at the same time.
LOCK = os.environ.get("WDR_TEST_LOCK", "/run/lock/warder-tests.lock")
SHOW_LINES = 200  # of a failing test's output
GRACE_S = 1.0  # for what a test started and is ending anyway


@dataclass
class Tier:
    timeout: int = 60
    parallel: bool = False
    root: bool = False
    times: int = 1  # as long as a test itself says


TIERS = {
    "lint": Tier(120, parallel=True), "unit": Tier(30, parallel=True),
    "fuzz": Tier(60, parallel=True), "san": Tier(120, parallel=True),
    "valgrind": Tier(300, parallel=True), "fuzz-smoke": Tier(3700, parallel=True),
    "bpf": Tier(60, root=True), "integration": Tier(60, root=True),
    "e2e": Tier(120, root=True), "san-e2e": Tier(120, root=True, times=3),
    "engines": Tier(120, root=True), "kernels": Tier(3000, parallel=True),
}
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
}


IN_FLIGHT = []  # a dict of running tests for each tier


@dataclass
class Test:
    tier: str
    argv: list
    timeout: int
    parallel: bool
    started: float = 0
    proc: subprocess.Popen = None
    out: object = None
    tmp: str = ""
    results: list = field(default_factory=list)  # (name, "pass"|"fail"|"skip", why)

    @property
    def name(self):
        parts = [pathlib.Path(self.argv[0]).name, *self.argv[1:]]
        return "@".join(pathlib.Path(p).name for p in parts)

    def add(self, status, name, why=""):
        if status == "skip" and os.environ.get("WDR_MUST_RUN") == "1":
            status, why = "fail", f"skipped, and WDR_MUST_RUN=1: {why}"
        self.results.append((name, status, why))

    def count(self, status):
        return sum(s == status for _, s, _ in self.results)


def load(tier, spec):
    path, *args = spec.split("@")
    head = b""
    with contextlib.suppress(OSError), open(path, "rb") as f:
        head = b"\n".join(f.read(2000).split(b"\n")[:20])
    said = re.search(rb"^# timeout: (\d+)$", head, re.M)
    return Test(tier, [path, *args], int(said[1]) * TIERS[tier].times if said else TIERS[tier].timeout,
                TIERS[tier].parallel or bool(re.search(rb"^# parallel: yes$", head, re.M)))


def read_tap(test, text):
    """Turn TAP into results. Returns whether there was any."""
    plan, seen = None, 0
    for line in text.splitlines():
        if m := re.match(r"1\.\.(\d+)(?:\s*# *SKIP\b:?\s*(.*))?$", line, re.I):
            plan = (plan or 0) + int(m[1])  # cmocka prints a plan for each group
            if m[2] is not None and m[1] == "0":
                test.add("skip", test.name, m[2] or "no reason given")
        elif m := re.match(r"(not )?ok\b\s*\d*\s*(?:- )?\s*(.*)$", line):
            seen += 1
            what, _, directive = m[2].partition("#")
            skip = re.match(r"\s*SKIP\b:?\s*(.*)", directive, re.I)
            if skip:
                test.add("skip", what.strip() or skip[1], skip[1] or "no reason given")
            else:
                test.add("fail" if m[1] else "pass", m[2].strip())
        elif line.startswith("Bail out!"):
            test.add("fail", test.name, line)
    if plan is not None and plan != seen:
        test.add("fail", test.name, f"planned {plan} tests, ran {seen}")
    if plan is None and seen:
        test.add("fail", test.name, "no plan: it ended early")
    return plan is not None or seen > 0


def judge(test, status, text, faults):
    tap = read_tap(test, text)
    last = next((l for l in reversed(text.splitlines()) if l.strip()), "")
    if status == 77 and not test.count("fail"):
        if not test.results:
            test.add("skip", test.name, last or "no reason given")
    elif status and not test.count("fail"):
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        test.add("fail", test.name, how)
    elif not tap:
        test.add("fail" if status else "pass", test.name)
    for fault in faults:
        test.add("fail", test.name, fault)


def stat_of(pid):
    """(state, parent, session) of a process, or None once it is gone."""
    try:
        rest = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return rest[0], int(rest[1]), int(rest[3])
    except (OSError, ValueError, IndexError):
        return None


def reap(pid, stat):
    """An orphan that came to us and has ended; a test's own process is its Popen's to wait for."""
    own = {t.proc.pid for running in IN_FLIGHT for t in running.values()}
    if stat[1] == os.getpid() and pid not in own:
        with contextlib.suppress(OSError):
            os.waitpid(pid, os.WNOHANG)


def left_behind(test, alone):
    """Processes that the ended test still has: by session, by mark, or adopted by us meanwhile."""
    mark, found = f"WDR_TEST_PID={test.proc.pid}\0".encode(), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        stat = stat_of(pid)
        if not stat or int(pid) == os.getpid():
            continue
        if stat[0] in "ZX":
            reap(int(pid), stat)
            continue
        with contextlib.suppress(OSError):
            if stat[2] == test.proc.pid or (alone and stat[1] == os.getpid()) or \
                    mark in pathlib.Path(f"/proc/{pid}/environ").read_bytes():
                found.append(int(pid))
    return found


def sweep(test, alone):
    """End what a test left, and say so."""
    faults, until = [], time.monotonic() + GRACE_S
    while (pids := left_behind(test, alone)) and time.monotonic() < until:
        time.sleep(0.02)
    for pid in pids:
        with contextlib.suppress(OSError):
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
            faults.append(f"left process {pid} behind: {words.decode(errors='replace')[:100]}")
            os.kill(pid, signal.SIGKILL)
    mounts = [l.split()[4] for l in open("/proc/self/mountinfo")]
    for m in sorted((m for m in mounts if m.startswith(test.tmp + "/")), reverse=True):
        faults.append(f"left a mount behind: {m}")
        subprocess.run(["umount", "-l", m], check=False)
    mounts = [l.split()[4] for l in open("/proc/self/mountinfo")]
    if not any(m.startswith(test.tmp) for m in mounts):  # never delete through a mount
        shutil.rmtree(test.tmp, ignore_errors=True)
    return faults


INTERPRETERS = {".sh": ["sh"], ".py": ["/usr/bin/python3"]}  # for a file that is not executable
# The child marks itself, so that what it leaves is found by its environment.
MARK = 'WDR_TEST_PID=$$; export WDR_TEST_PID; exec "$@"'


def start(test, wrap):
    test.tmp = tempfile.mkdtemp(prefix="wdr-test-")
    os.chmod(test.tmp, 0o755)
    test.out = tempfile.TemporaryFile()
    env = {**SANITIZERS, **os.environ, "TMPDIR": test.tmp, "CMOCKA_MESSAGE_OUTPUT": "TAP",
           "LC_ALL": "C.UTF-8"}
    by = INTERPRETERS.get(pathlib.Path(test.argv[0]).suffix, [])
    by = [] if os.access(test.argv[0], os.X_OK) else by
    argv = [*wrap, *by, os.path.abspath(test.argv[0]), *test.argv[1:]]
    test.started = time.monotonic()
    test.proc = subprocess.Popen(["sh", "-c", MARK, "sh", *argv], stdin=subprocess.DEVNULL,
                                 stdout=test.out, stderr=subprocess.STDOUT, env=env, cwd=TOP,
                                 start_new_session=True)


def finish(test, timed_out, alone, results_file):
    status = test.proc.wait()
    faults = sweep(test, alone)
    if timed_out:
        faults = [f"no end after {test.timeout} s"]
    test.out.seek(0)
    text = test.out.read().decode(errors="replace")
    test.out.close()
    judge(test, 0 if timed_out else status, text, faults)
    report(test, text, time.monotonic() - test.started, results_file)


def report(test, text, seconds, results_file):
    skipped = "; ".join(sorted({w for _, s, w in test.results if s == "skip" and w}))
    word = "FAIL" if test.count("fail") else "ok" if test.count("pass") else "skip"
    print(f"  {word:5} {test.tier + '/' + test.name:44} {test.count('pass'):4} ok"
          f" {seconds:6.2f} s{'  skipped: ' + skipped if skipped else ''}", flush=True)
    if word == "FAIL":
        lines = [l for l in text.splitlines() if not re.match(r"ok\b", l)]
        if len(lines) > SHOW_LINES:
            print(f"    ... {len(lines) - SHOW_LINES} lines not shown")
        print(*("    | " + l for l in lines[-SHOW_LINES:]), sep="\n")
        for name, status, why in test.results:
            if status == "fail":
                print(f"    failed: {name}{': ' + why if why else ''}", flush=True)
    for name, status, why in test.results:
        json.dump({"tier": test.tier, "test": test.name, "case": name, "status": status,
                   "why": why, "seconds": round(seconds, 3)}, results_file)
        results_file.write("\n")
    results_file.flush()


def stop(signo, _frame):
    for test in (t for running in IN_FLIGHT for t in running.values()):
        with contextlib.suppress(OSError):
            os.killpg(test.proc.pid, signal.SIGKILL)
        sweep(test, True)
    print(f"run.py: stopped by {signal.Signals(signo).name}", flush=True)
    os._exit(128 + signo)


def may_start(test, running, jobs):
    if not running:
        return True
    return test.parallel and len(running) < jobs and all(r.parallel for r in running.values())


def run_tier(tier, tests, jobs, wrap):
    queue, running = list(tests), {}
    with open(RESULTS / f"{tier}.jsonl", "w") as results_file:
        if TIERS[tier].root and os.geteuid():
            for test in tests:
                test.add("skip", test.name, "needs root")
                report(test, "", 0, results_file)
            return
        IN_FLIGHT.append(running)
        while queue or running:
            while queue and may_start(queue[0], running, jobs):
                test = queue.pop(0)
                try:
                    start(test, wrap)
                except OSError as e:
                    test.add("fail", test.name, str(e))
                    report(test, "", 0, results_file)
                    continue
                running[os.pidfd_open(test.proc.pid)] = test
            now = time.monotonic()
            ends = [t.started + t.timeout - now for t in running.values()]
            ready, _, _ = select.select(list(running), [], [], max(0, min(ends, default=0)))
            for fd, test in list(running.items()):
                late = time.monotonic() > test.started + test.timeout
                if fd not in ready and not late:
                    continue
                if fd not in ready:
                    os.killpg(test.proc.pid, signal.SIGKILL)
                os.close(fd)
                del running[fd]
                finish(test, fd not in ready, not running, results_file)


def wait_for_lock(lock):
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"  another checkout's tests hold {LOCK}: waiting", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)


def total():
    n = {"pass": 0, "fail": 0, "skip": 0}
    for path in sorted(RESULTS.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            n[json.loads(line)["status"]] += 1
    print(f"{n['pass']} passed, {n['fail']} failed, {n['skip']} skipped")
    return 1 if n["fail"] or not n["pass"] else 0


def parse(argv):
    jobs, wrap, tiers, name = os.cpu_count() or 1, [], {}, None
    args = iter(argv)
    for a in args:
        if a == "-j":
            jobs = int(next(args))
        elif a == "--wrap":
            wrap = shlex.split(next(args))
        elif a == "--tier":
            name = next(args)
            if name not in TIERS:
                sys.exit(f"run.py: no tier {name}: want one of {', '.join(TIERS)}")
            tiers[name] = []
        elif name is None or a.startswith("-"):
            sys.exit(__doc__)
        else:
            tiers[name].append(load(name, a))
    return jobs, wrap, tiers


def main():
    if sys.argv[1:] == ["--total"]:
        return total()
    jobs, wrap, tiers = parse(sys.argv[1:])
    RESULTS.mkdir(parents=True, exist_ok=True)
    for signo in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signo, stop)
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER: orphans come to us
    lock = None
    for tier, tests in tiers.items():
        if TIERS[tier].root and tests and not os.geteuid() and not lock:
            lock = open(LOCK, "w")
            wait_for_lock(lock)
        run_tier(tier, tests, jobs, wrap)
    done = [t for tests in tiers.values() for t in tests]
    n = {s: sum(t.count(s) for t in done) for s in ("pass", "fail", "skip")}
    print(f"  {n['pass']} ok, {n['fail']} not ok, {n['skip']} skipped, in {len(done)} files")
    return 1 if n["fail"] else 0


if __name__ == "__main__":
    sys.exit(main())
