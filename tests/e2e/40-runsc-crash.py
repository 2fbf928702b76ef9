#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# A job in gVisor that loses any of its parts: told by its name, and nothing of it left behind. Of its supervisor's
# death 38-runsc-crash.sh tells.
# timeout: 240
import json, os, signal, subprocess, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../lib"))
import tap
from procs import alive, children, read, tree, wait_for
from tap import ok, skip_all

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WARDER = os.path.join(os.environ.get("WDR_BUILD", TOP + "/build/plain"), "bin/warder")
RESULT = os.path.join(os.environ.get("TMPDIR", "/tmp"), "result.json")


def cgroups(job):
    return [d for r in ("unified", "memory", "pids", "cpu", "") for d in [f"/sys/fs/cgroup/{r}/warder/{job}"]
            if os.path.isdir(d)]


class Job:
    def __init__(self, runsc):
        env = dict(os.environ, WARDER_RUNSC=runsc)
        self.p = subprocess.Popen([WARDER, "run", "--allow-degraded", "-b", "runsc", "--result", RESULT, "--",
                                   "sh", "-c", "echo up; sleep 60"], env=env, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.p.stdout.readline()
        if line != "up\n":
            self.p.kill()
            raise RuntimeError("no start: " + line + self.p.stderr.read())
        self.keeper = children(self.p.pid)[0]
        by_role = {}
        for pid in children(self.keeper):
            args = read(f"/proc/{pid}/cmdline").split("\0")
            by_role["sentry" if "boot" in args else "gofer" if "gofer" in args else "other"] = pid
        self.sentry, self.gofer = by_role["sentry"], by_role["gofer"]
        stubs = children(self.sentry)
        self.stub = stubs[-1] if stubs else self.sentry
        self.all = tree(self.keeper)

    def end(self):
        try:
            out, err = self.p.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.p.kill()
            return None, "hangs"
        return json.loads(read(RESULT) or "null"), err

    def gone(self):
        return wait_for(lambda: not any(alive(p) for p in self.all), 5)


def lost(name, part, want, runsc):
    job = Job(runsc)
    os.kill(getattr(job, part), signal.SIGKILL)
    r, err = job.end()
    text = f'{r["exit"]["reason"]}: {r["exit"]["explanation"]}' if r else err
    ok(text in want, f"{name}: {part} killed", f"{text}\nwant one of {want}")
    ok(job.gone(), f"{name}: {part} killed: every process is gone", job.all)
    ok(not cgroups(r["job"]), f"{name}: {part} killed: no cgroup is left", cgroups(r["job"]))


if os.geteuid() != 0:
    skip_all("needs root")
found = tap.runscs()
if not found:
    skip_all("needs build/runsc (packaging/runsc.sh)")
before = read("/proc/mounts")
for age, path in found:
    lost(age, "sentry", ["error: the sandbox's sentry was killed by SIGKILL"], path)
    lost(age, "gofer", ["error: the sandbox's gofer was killed by SIGKILL"], path)
    # The kernel takes the whole pid namespace with its first process; so the job is just gone.
    lost(age, "keeper", ["error: the sandbox ended without a word", "signaled: ended by SIGKILL (Killed)",
                         "error: the job's first process ended without a word"], path)
ok(read("/proc/mounts") == before, "no mount is left")
sys.exit(tap.end())
