# SPDX-License-Identifier: Apache-2.0
"""CPU budget: CPU time of a job beyond its budget, when the kernel has ended it

What the job used is its cgroup's figure, taken when its last process is gone.
"""
import json, os, pathlib, select, signal, subprocess, tempfile, time

from wdr_bench import WARDER, Row
from wdr_lab import DEADLINE_S, tree

BUDGET_S = 0.1
RATIO = ["ratio"]
MOST_MS = 10  # DESIGN 11: for each core that was busy
SPIN = "while :; do :; done"


def start(busy, folder):
    """A job of so many busy processes; its budget is for all of them together."""
    script = f"{SPIN} &\n" * (busy - 1) + SPIN
    return subprocess.Popen([WARDER, "run", "-q", "-b", "native", "--cpus", "unlimited", "--cpu-time",
                             f"{int(BUDGET_S * 1000)}ms", "--result", f"{folder}/r.json", "--", "sh", "-c", script],
                            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def over_ms(folder):
    result = json.loads(pathlib.Path(folder, "r.json").read_text())
    if result["exit"]["reason"] != "cpu-budget":
        raise OSError(f"the job ended otherwise: {result['exit']}")
    return (result["usage"]["cpu_ns"] / 1e9 - BUDGET_S) * 1e3


def kill(busy, folder):
    start(busy, folder).wait(DEADLINE_S)
    return over_ms(folder)


def spinning(pid):
    """Processes of the job that run its program."""
    found = []
    for p in tree(pid):
        try:
            if os.path.basename(os.readlink(f"/proc/{p}/exe")) in ("dash", "bash", "sh"):
                found.append(p)
        except OSError:
            pass
    return found


def wait_for(what, seconds=DEADLINE_S):
    until = time.monotonic() + seconds
    while not (found := what()):
        if time.monotonic() > until:
            raise OSError("the job did not do as expected")
        time.sleep(0.001)
    return found


def kill_stopped(busy, folder):
    """The same with the supervisor stopped as soon as the job spins, until the job is gone."""
    supervisor = start(busy, folder)
    try:
        pids = wait_for(lambda: spinning(supervisor.pid))
        supervisor.send_signal(signal.SIGSTOP)
        fd = os.pidfd_open(pids[0])
        gone = select.select([fd], [], [], DEADLINE_S)[0]
        os.close(fd)
        if not gone:
            raise OSError("the job went on while its supervisor was stopped")
    finally:
        supervisor.send_signal(signal.SIGCONT)
        supervisor.wait(DEADLINE_S)
    return over_ms(folder)


def row(what, xs, busy):
    xs = sorted(xs)
    p95 = xs[min(len(xs) - 1, int(len(xs) * 0.95))]
    limit = MOST_MS * min(busy, os.cpu_count())
    return Row(f"{what}, {len(xs)} kills", f"{xs[len(xs) // 2]:.1f} ms, p95 {p95:.1f}, max {xs[-1]:.1f}", "",
               f"max <= {limit} ms", xs[-1] <= limit)


def rows(quick):
    kills, stopped = (20, 5) if quick else (100, 20)
    with tempfile.TemporaryDirectory(prefix="wdr-bench-") as folder:
        for busy in (1, 2):
            yield row(f"{busy} busy", [kill(busy, folder) for _ in range(kills)], busy)
        for busy in (1, 2):
            yield row(f"{busy} busy, supervisor stopped", [kill_stopped(busy, folder) for _ in range(stopped)], busy)
