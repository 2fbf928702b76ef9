# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share. A bench_NAME.py has a function `rows(quick)` that yields Row objects.

A figure counts only beside another from the same run: compare() starts its commands in turn and
pairs them round by round, so that what the machine does meanwhile hits both.
"""
import contextlib, fcntl, os, pathlib, shutil, statistics, subprocess
from dataclasses import dataclass, field

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("WDR_BUILD", TOP / "build/plain"))
AB = BUILD / "tests/bench/ab"
WARDER = BUILD / "bin/warder"
WARM_UP = 2  # rounds that are not counted
LOCK = os.environ.get("WDR_TEST_LOCK", "/run/lock/warder-tests.lock")  # as tests/lib/run.py has it


@dataclass
class Row:
    what: str
    value: str  # with its unit
    ratio: str = ""  # median and quartiles; of what, its table's head says
    target: str = ""
    met: object = None  # True, False, or None where there is no target

    def cells(self):
        verdict = {True: "yes", False: "**no**", None: ""}[self.met]
        return [self.what, self.value, self.ratio, self.target, verdict]


@dataclass
class Command:
    name: str
    argv: list
    ns: str = ""  # path of the mount namespace to start it in
    wall: list = field(default_factory=list)  # seconds, a run each
    cpu: list = field(default_factory=list)
    failed: int = 0


@contextlib.contextmanager
def alone():
    """No test of another checkout runs meanwhile."""
    with open(LOCK, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def quartiles(xs):
    xs = sorted(xs)
    return statistics.quantiles(xs, n=4) if len(xs) > 1 else [xs[0]] * 3


def run_in_turn(commands, rounds, enter=()):
    """Fill wall, cpu and failed of each command. A run that fails is counted, and no figure.

    All are started from the cgroups whose cgroup.procs files are in @enter.
    """
    argv = [str(AB), str(rounds + WARM_UP)]
    for c in commands:
        argv += (["-n", c.ns] if c.ns else []) + ["--", *c.argv]
    if enter:
        argv = ["sh", "-c", " ".join(f"echo 0 >{f};" for f in enter) + ' exec "$0" "$@"', *argv]
    out = subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True, cwd=TOP).stdout
    for line in out.splitlines()[WARM_UP * len(commands):]:
        index, wall, user, system, _, status = map(int, line.split())
        commands[index].wall.append(wall / 1e9)
        commands[index].cpu.append((user + system) / 1e9)
        commands[index].failed += status != 0
    return commands


def ratio(ours, peer):
    """Median and quartiles of ours/peer, pair by pair."""
    low, mid, high = quartiles([a / b for a, b in zip(ours, peer)])
    return mid, f"{mid:.2f} ({low:.2f}..{high:.2f})"


def ms(xs):
    low, mid, high = quartiles([x * 1e3 for x in xs])
    return f"{mid:.2f} ms ({low:.2f}..{high:.2f})"


def ns(xs):
    low, mid, high = quartiles(xs)
    return f"{mid:.0f} ns ({low:.0f}..{high:.0f})"


def compare(commands, rounds, ours=None, targets=None, enter=()):
    """Rows of all commands, and beside each the ratio of ours to it, with targets by name."""
    run_in_turn(commands, rounds, enter)
    for c in commands:
        if c.failed:
            yield Row(c.name, f"{c.failed} of {len(c.wall)} runs failed", met=False)
            continue
        text, target, met = "", "", None
        if ours and c is not ours and not ours.failed:
            mid, text = ratio(ours.wall, c.wall)
            limit = (targets or {}).get(c.name)
            if limit:
                target, met = f"<= {limit}", mid <= limit
        yield Row(c.name, ms(c.wall), text, target, met)


def have(program):
    return shutil.which(program) is not None


def table(rows, of="ours / this"):
    head = ["what", "time or size: median (quartiles)", of, "target", "met"]
    lines = [head, ["---"] * len(head), *(r.cells() for r in rows)]
    return "\n".join("| " + " | ".join(l) + " |" for l in lines)
