# SPDX-License-Identifier: Apache-2.0
"""System calls: what counting them by name adds to a loop of getppid

Each round runs every loop once; a ratio is of two loops of one round. Some are not counted, so that
they follow each other: a tracepoint that somebody uses is paid for by every task.
"""
import re, subprocess, tempfile

from wdr_bench import BUILD, WARDER, Row, have, ns, ratio

CALLS = BUILD / "tests/bench/calls"
MOST = 1.2  # DESIGN 11
RATIO = ["this / not counted"]
FAST, SLOW = ("60", "1000"), ("5", "400")  # blocks, and calls in each
COUNT = "tracepoint:raw_syscalls:sys_enter /pid == cpid/ { @[args->id] = count(); }"


def run(*argv):
    out = subprocess.run([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         stdin=subprocess.DEVNULL, check=False).stdout
    found = re.search(r"^calls ([\d.]+)$", out, re.M)
    if not found:
        raise OSError(f"{argv[0]}: {out.strip()[-200:]}")
    return float(found[1])


def in_job(*options):
    return run(WARDER, "run", "-q", "-b", "native", "--cpus", "unlimited", "-v", f"{CALLS}:/calls", *options,
               "--", "/calls", *FAST)


def peers(folder):
    """name -> argv before the loop's own, and how long a loop it can take."""
    all_of_them = {
        "bpftrace, count by number": (["bpftrace", "-c"], FAST),
        "perf trace -s": (["perf", "trace", "-s", "-o", f"{folder}/perf"], SLOW),
        "strace -c -f": (["strace", "-c", "-f", "-o", f"{folder}/strace"], SLOW)}
    return {name: p for name, p in all_of_them.items() if have(p[0][0])}


def run_peer(argv, size):
    if argv[0] == "bpftrace":
        return run(*argv, " ".join([str(CALLS), *size]), "-e", COUNT)
    return run(*argv, CALLS, *size)


def against(what, xs, base, most=None):
    mid, text = ratio(xs, base)
    return Row(what, ns(xs), text, f"<= {most}" if most else "", mid <= most if most else None)


def counting_rows(folder, rounds):
    alone, job, counted, by = [], [], [], {name: [] for name in peers(folder)}
    refused = {}
    for _ in range(rounds):
        alone.append(run(CALLS, *FAST))
        job.append(in_job())
        counted.append(in_job("--syscalls"))
        for name, (argv, size) in peers(folder).items():
            try:
                by[name].append(run_peer(argv, size))
            except OSError as e:
                refused[name] = str(e)
    yield Row("no job, nobody counts", ns(alone))
    yield Row("job, not counted (seccomp)", ns(job))
    yield against("job, counted / not counted", counted, job, MOST)
    without = [a + c - j for a, c, j in zip(alone, counted, job)]
    yield against("what that adds, to a call without seccomp", without, alone, MOST)
    for name, xs in by.items():
        yield against(name, xs, alone) if len(xs) == rounds else Row(name, "does not work here: " + refused[name])


def rows(quick):
    with tempfile.TemporaryDirectory(prefix="wdr-bench-") as folder:
        yield from counting_rows(folder, 5 if quick else 15)
