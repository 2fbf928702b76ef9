# SPDX-License-Identifier: Apache-2.0
"""Tasks that are no job: what it costs them that Warder's programs are there

Loops of system calls, of forks, of programs that end at once, and of memory that an ordinary user
maps; a ratio is of two loops of one round.
"""
from bench_syscalls import CALLS, against, run
from wdr_bench import WARDER, Row, ns
from wdr_lab import Held, sh

MOST = 1.02  # 1.00 but for noise
RATIO = ["this / nothing loaded"]
LOOPS = {"getppid": ("60", "1000"), "fork": ("60", "20"), "exec": ("40", "10"), "map": ("60", "500")}  # as calls.c has them
NONE, KEPT = "nothing loaded", "programs pinned, those for events attached, no job"
HELD, COUNTING = "job with budget, egress, events", "job that is counted"


def rows(quick):
    took = {}

    def measure(state, *loops):
        for name in loops or LOOPS:
            took.setdefault((state, name), []).append(run(CALLS, *LOOPS[name], name))

    for _ in range(6 if quick else 40):
        sh(WARDER, "unload")
        measure(NONE)
        sh(WARDER, "run", "-q", "-b", "native", "--cpu-time", "1h", "--events", "/dev/null", "--", "/usr/bin/true")
        measure(KEPT)
        with Held("--cpu-time", "1h", "--allow", "192.0.2.1", "--events", "/dev/null"):
            measure(HELD)
        with Held("--syscalls"):
            measure(COUNTING, "getppid")
    for name in LOOPS:
        base = took[NONE, name]
        yield Row(f"{name}: {NONE}", ns(base))
        yield against(f"{name}: {KEPT}", took[KEPT, name], base, MOST)
        yield against(f"{name}: {HELD}", took[HELD, name], base)
    yield against(f"getppid: {COUNTING}", took[COUNTING, "getppid"], took[NONE, "getppid"])
