# SPDX-License-Identifier: Apache-2.0
"""gVisor: what Warder adds to runsc, both in one place: the same bundle, flags and limits"""
import os, pathlib, subprocess

from wdr_bench import BUILD, Command, Row, TOP, WARDER, compare, ms, quartiles, ratio, run_in_turn
import runsc_bare

START, SHIM, CONTROL = 1.05, 1.03, 0.3  # most, of runsc's own time
CONTROL_MS = 10
AHEAD_MS = 15
SHIM_PROGRAM, CONTROL_PROGRAM = BUILD / "bin/warder-runsc", BUILD / "tests/helpers/control_try"
AHEAD = BUILD / "tests/helpers/ahead_try"
LOOP = BUILD / "tests/bench/call_loop"
CALLS = 20_000
CONTAINER = "wdr-bench"


def find_runsc():
    for path in (TOP / "build/runsc/new/runsc", pathlib.Path(os.environ.get("WARDER_RUNSC", "/nowhere"))):
        if os.access(path, os.X_OK):
            return path
    return None


def start_rows(bare, rounds):
    bundle = bare.bundle("/usr/bin/true")
    ours = Command("warder run -b runsc true", [str(WARDER), "run", "-q", "-b", "runsc", "/usr/bin/true"])
    run = Command("runsc run", list(map(str, bare.command("run", f"--bundle={bundle}", CONTAINER))), ns=bare.ns)
    yield from compare([ours, run], rounds, ours, {run.name: START}, enter=bare.enter)


def exec_rows(bare, rounds):
    bare.start(CONTAINER)
    flags = [*bare.flags, "exec", CONTAINER, "/usr/bin/true"]
    socket = f"/proc/{bare.holder.pid}/root{runsc_bare.BOX}/bare/runsc-{CONTAINER}.sock"
    direct = Command("runsc exec", [str(bare.runsc), *flags], ns=bare.ns)
    shim = Command("warder-runsc exec", [str(SHIM_PROGRAM), *flags], ns=bare.ns)
    control = Command("exec by the control socket, its client's start included",
                      [str(CONTROL_PROGRAM), socket, CONTAINER, "exec", "/usr/bin/true"])
    try:
        run_in_turn([direct, shim, control], rounds, enter=bare.enter)
    finally:
        bare.stop(CONTAINER)
    yield Row(direct.name, ms(direct.wall), met=False if direct.failed else None)
    for c, most, most_ms in ((shim, SHIM, None), (control, CONTROL, CONTROL_MS)):
        mid, text = ratio(c.wall, direct.wall)
        target = f"<= {most}" + (f", {most_ms} ms" if most_ms else "")
        met = mid <= most and not c.failed and (not most_ms or quartiles(c.wall)[1] <= most_ms / 1e3)
        yield Row(c.name, ms(c.wall), f"{text} of runsc exec", target, met)


def call_rows(rounds):
    """A getppid loop in the guest, by its own clock, and the whole job by ours."""
    times = {"off": [], "on": []}
    for _ in range(rounds):
        for name, options in (("off", ()), ("on", ("--syscalls",))):
            out = subprocess.run([WARDER, "run", "-q", "-b", "runsc", *options, "-v", f"{LOOP}:/opt/loop", "--",
                                  "/opt/loop", str(CALLS)], check=True, stdout=subprocess.PIPE).stdout
            times[name].append(int(out) / 1e3)
    for name, xs in times.items():
        low, mid, high = quartiles(xs)
        text = ratio(times["on"], times["off"])[1] + " of off" if name == "on" else ""
        yield Row(f"a call in the guest, counting {name}", f"{mid:.1f} us ({low:.1f}..{high:.1f})", text)


def ahead_rows(rounds):
    """A sandbox made ahead, one a round, beside a cold start; with CPUs enough that no quota is measured."""
    limits = ("--cpus", "2")
    out = subprocess.run([AHEAD, "-n", str(rounds), *limits, "::", *limits, "--", "/usr/bin/true"], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    execs, ends, all_ends = ([int(w) / 1e6 for w in column] for column in zip(*map(str.split, out.splitlines())))
    mid = quartiles(execs)[1]
    yield Row("a job in a sandbox made ahead: to its exec", ms(execs), "", f"<= {AHEAD_MS} ms", mid <= AHEAD_MS / 1e3)
    yield Row("to the end of true", ms(ends))
    yield Row("to the end of the sandbox", ms(all_ends))


def memory_rows(job, bare):
    mib = lambda kb: f"{kb / 1024:.1f} MiB"
    theirs = bare.start(CONTAINER)
    try:
        # In one breath: what is shared is divided by how many share it.
        sizes = [sum(map(runsc_bare.pss_kb, pids)) for pids in (
            theirs, [q for q in runsc_bare.tree(job.keeper) if q != job.keeper], [job.keeper], [job.p.pid])]
    finally:
        bare.stop(CONTAINER)
    yield Row("a sandbox that sleeps, of runsc alone: proportional", mib(sizes[0]))
    yield Row("a sandbox that sleeps, of ours: proportional", mib(sizes[1]), f"{sizes[1] / sizes[0]:.2f}")
    yield Row("its keeper: proportional", mib(sizes[2]))
    yield Row("its supervisor: proportional", mib(sizes[3]))


def rows(quick):
    runsc = find_runsc()
    if not WARDER.exists() or not runsc:
        yield Row("runsc", "none here: make runsc")
        return
    with runsc_bare.places(WARDER, runsc) as (job, bare):
        yield from start_rows(bare, 5 if quick else 40)
        yield from exec_rows(bare, 5 if quick else 150)
        yield from memory_rows(job, bare)
    yield from ahead_rows(4 if quick else 40)
    yield from call_rows(2 if quick else 8)
