#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# A runsc that is missing, wrong, hangs, babbles or dies at any step, and one whose parts are killed
# while it starts: a refusal with a name and in time, and nothing left behind.
# timeout: 420
import json, os, signal, subprocess, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import tap
from procs import alive, children, read, tree, wait_for
from tap import ok, skip_all

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WARDER = os.path.join(os.environ.get("WDR_BUILD", TOP + "/build/plain"), "bin/warder")
TMP = os.environ.get("TMPDIR", "/tmp")
# In runsc's place: does as NAME.do says at the step that it names, and else is runsc.
FAKE = """#!/bin/sh
step=other
for a; do case $a in --version) step=version ;; flags) step=flags ;; run) step=run ;; esac; done
read -r at what <"$0.do"
[ "$at" != "$step" ] || case $what in
silent) exit 1 ;;
words) echo "runsc: it is broken" >&2; exit 3 ;;
garbage) head -c 3000000 /dev/urandom >&2; exit 2 ;;
babble) head -c 3000000 /dev/urandom; head -c 3000000 /dev/urandom >&2; exit 0 ;;
nothing) exit 0 ;;
killed) kill -9 $$ ;;
hang) sleep 300 ;;
state) for a; do id=$a; done
	echo '{"sandbox":{"pid":1' >"/run/warder/state/${id}_sandbox:$id.state"; exit 0 ;;
log) tr '\\0' '{' </dev/zero | head -c 1000000 >/run/warder/log; exit 1 ;;
esac
exec REAL "$@"
"""
ANSWERS = ("does not answer", "failed with exit status", "it is broken", "killed by signal 9", "did not end within",
           "runsc: --version: ", "runsc: flags: ")


class Run:
    """One `warder run -b runsc`, by itself; what it must have said when it ends."""

    def __init__(self, name, runsc, do=None, policy=(), program=("true",)):
        self.path = runsc
        if do:
            self.path = f"{TMP}/{name}/runsc"
            os.makedirs(f"{TMP}/{name}", exist_ok=True)
            with open(self.path, "w") as f:
                f.write(FAKE.replace("REAL", runsc))
            os.chmod(self.path, 0o755)
            self.do("none none")
            if do.startswith("run"):  # of the job, not of the probe: that is asked before
                subprocess.run([WARDER, "run", "-b", "runsc", "true"], env=self.env(), check=True)
            self.do(do)
        self.result = f"{TMP}/{name}.json"
        self.began = time.monotonic()
        self.p = subprocess.Popen([WARDER, "run", "-b", "runsc", "--result", self.result, *policy, "--", *program],
                                  env=self.env(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)

    def env(self):
        return dict(os.environ, WARDER_RUNSC=self.path)

    def do(self, what):
        with open(self.path + ".do", "w") as f:
            f.write(what + "\n")

    def end(self, seconds=90):
        try:
            self.out, err = self.p.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.out, err = b"", b"HANGS"
            self.p.wait()
        self.err = err.decode(errors="replace")
        self.took = time.monotonic() - self.began
        r = json.loads(read(self.result) or "null")
        return r["exit"] if r else {"reason": None, "explanation": self.err}


def refused(what, run, want, seconds):
    e = run.end()
    text = e["explanation"] or ""
    ok(run.p.returncode == 125 and e["reason"] in ("error", None) and any(w in text for w in want) and run.took < seconds,
       f"{what}: refused by name ({run.took:.1f} s)", run.p.returncode, e, run.err, f"want one of {want}")
    ok(all(c.isprintable() or c == "\n" for c in run.err), f"{what}: in words that can be printed", repr(run.err))


def missing():
    for what, path, want in (("missing", f"{TMP}/none", "No such file"), ("a folder", TMP, "is not a program"),
                             ("not executable", "/etc/passwd", "Permission denied"),
                             ("no program", f"{TMP}/text", "Exec format error"),
                             ("another program", "/bin/true", "does not answer --version as a runsc does"),
                             ("one that echoes", "/bin/echo", "does not answer")):
        with open(f"{TMP}/text", "w") as f:
            f.write("no program\n")
        os.chmod(f"{TMP}/text", 0o755)
        refused(what, Run("m", path), (want,), 10)


def misbehaves(runsc):
    # a runsc that must be asked first: every answer is asked for anew
    table = [(step, what) for step in ("version", "flags")
             for what in ("silent", "words", "garbage", "babble", "nothing", "killed", "hang")]
    runs = [(f"{step} {what}", Run(f"{step}-{what}", runsc, f"{step} {what}")) for step, what in table]
    for what, run in runs:
        refused(what, run, ANSWERS, 30)


def fails_to_run(runsc):
    log, state, hang = "its log does not say why", "read runsc's state", "did not end within 30000 ms"
    # What it says goes where the job's own output will, which nobody reads before there is a job.
    full = "runsc wrote more than a pipe holds before the job ran"
    table = {"silent": (log,), "words": (log,), "garbage": (full,), "babble": (full,), "log": (log,),
             "nothing": (state,), "killed": (log,), "state": (state,), "hang": (hang,)}
    runs = [(what, want, Run(f"run-{what}", runsc, f"run {what}")) for what, want in table.items()]
    for what, want, run in runs:
        refused(f"run {what}", run, want, 20 if full in want else 60)


def role_of(pid):
    args = read(f"/proc/{pid}/cmdline").split("\0")
    if "boot" in args:
        return "sentry"
    if "gofer" in args:
        return "gofer"
    return "runsc" if "run" in args and "--detach" in args else None


def parts(pid):
    """Of a start: by role, and what is below the sentry."""
    found = {}
    for p in tree(pid)[1:]:
        role = role_of(p)
        if role:
            found.setdefault(role, p)
    found["stub"] = (children(found["sentry"]) or [None])[-1] if "sentry" in found else None
    return found


def killed_at_start(name, runsc):
    """As soon as it is there, and a little later: each part, whatever step that is."""
    for part in ("runsc", "gofer", "sentry", "stub"):
        for late_ms in (0, 20, 90):
            run = Run("k", runsc, program=("sh", "-c", "echo up; sleep 0.3"))
            pid = wait_for(lambda: parts(run.p.pid).get(part), 20)
            time.sleep(late_ms / 1000)
            seen = tree(run.p.pid)[1:]
            if pid:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pid = None
            e = run.end(60)
            what = f"{name}: {part} killed {late_ms} ms after its start"
            # What comes too late to matter changes nothing; anything else has a name.
            fine = e["reason"] == "exited" and e["code"] == 0 and run.out == b"up\n"
            named = e["reason"] in ("error", "signaled") and bool(e["explanation"])
            ok(fine or named, f"{what}: {e['reason']}: {e['explanation']}", run.p.returncode, run.out, run.err)
            ok(wait_for(lambda: not any(alive(p) for p in seen), 5) and run.took < 40, f"{what}: nothing runs on",
               run.took, [p for p in seen if alive(p)])


def stub_of_a_busy_guest(name, runsc):
    run = Run("busy", runsc, program=("sh", "-c", "echo up; while :; do :; done"), policy=("-t", "20s"))
    run.p.stdout.read(3)
    seen = tree(run.p.pid)[1:]
    busiest = max(children(parts(run.p.pid)["sentry"]), default=None,
                  key=lambda p: sum(map(int, read(f"/proc/{p}/stat").rpartition(")")[2].split()[11:13] or ["0"])))
    if busiest:
        os.kill(busiest, signal.SIGKILL)
    e = run.end()
    ok(e["reason"] in ("error", "signaled", "timeout") and e["explanation"], f"{name}: the stub of a busy guest killed: {e['explanation']}",
       e, run.err)
    ok(not any(alive(p) for p in seen), f"{name}: the stub of a busy guest killed: nothing runs on")


if os.geteuid() != 0:
    skip_all("needs root")
found = tap.runscs()
if not found:
    skip_all("needs build/runsc (packaging/runsc.sh)")
mounts, left = read("/proc/mounts"), tap.left()
missing()
misbehaves(found[0][1])
fails_to_run(found[0][1])
for age, path in found:
    killed_at_start(age, path)
    stub_of_a_busy_guest(age, path)
ok(read("/proc/mounts") == mounts and tap.left() == left, "no mount, cgroup or record is left", tap.left())
sys.exit(tap.end())
