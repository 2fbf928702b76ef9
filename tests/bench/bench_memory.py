# SPDX-License-Identifier: Apache-2.0
"""Memory: of a supervisor whose job sleeps, its own helpers included"""
import os, pathlib, subprocess, time

from wdr_bench import Row, WARDER

MOST_KB = 8 << 10
SETTLE_S = 5


def resident(pid):
    """(VmHWM, Pss) in kB."""
    read = lambda name, key: next((int(l.split()[1]) for l in
                                   pathlib.Path(f"/proc/{pid}/{name}").read_text().splitlines()
                                   if l.startswith(key)), 0)
    return read("status", "VmHWM:"), read("smaps_rollup", "Pss:")


def tree(pid):
    """A process and all below it, by /proc's children lists."""
    yield pid
    for kid in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield from tree(int(kid))


def is_ours(pid):
    return os.path.basename(os.readlink(f"/proc/{pid}/exe")).startswith("warder")


def runs_sleep(pid):
    return any(pathlib.Path(f"/proc/{p}/comm").read_text() == "sleep\n" for p in tree(pid))


def rows(_quick):
    if not WARDER.exists():
        return
    job = subprocess.Popen([WARDER, "run", "-q", "-b", "native", "/usr/bin/sleep", "30"],
                           stdin=subprocess.DEVNULL)
    try:
        until = time.monotonic() + SETTLE_S
        while job.poll() is None and not runs_sleep(job.pid) and time.monotonic() < until:
            time.sleep(0.02)
        if job.poll() is not None:
            yield Row("warder run", f"ended with {job.returncode}", met=False)
            return
        ours = [p for p in tree(job.pid) if is_ours(p)]
        sizes = [resident(p) for p in ours]
    finally:
        job.terminate()
        job.wait()
    peak = sizes[0][0]
    yield Row("warder run: peak resident", f"{peak / 1024:.1f} MiB", "", f"<= {MOST_KB >> 10} MiB", peak <= MOST_KB)
    yield Row(f"warder run and its helpers ({len(ours)}): proportional", f"{sum(s[1] for s in sizes) / 1024:.1f} MiB")
