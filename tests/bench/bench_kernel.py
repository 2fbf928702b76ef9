# SPDX-License-Identifier: Apache-2.0
"""Start with the kernel side: what each part of it adds to the start of a job, programs already pinned

Each start is paired with the one without any of it just before, since the end of a job leaves the
kernel work that the next may wait for; "again" is a start just after one like it.
"""
from wdr_bench import WARDER, Command, Row, ms, ratio, run_in_turn
from wdr_lab import Held, lab

MOST = 1.3
RATIO = ["with / without"]
PARTS = {
    "CPU budget": ["--cpu-time", "1m"],
    "syscalls": ["--syscalls"],
    "events": ["--events", "/dev/null"],
    "egress": ["--allow", "16.0.0.0/4"],
}
ALL = [o for options in PARTS.values() for o in options]
NO_NET = [o for name, options in PARTS.items() if name != "egress" for o in options]


def start(name, options):
    return Command(name, [str(WARDER), "run", "-q", "-b", "native", *options, "/usr/bin/true"])


def pairs(plan, rounds, targets=()):
    """plan: (name, options, whether it comes just after the one before it)."""
    commands = []
    for name, options, again in plan:
        commands += [] if again else [start("", [])]
        commands.append(start(name, options))
    run_in_turn(commands, rounds)
    base = None
    for c in commands:
        if c.failed:
            yield Row(c.name or "none of it", f"{c.failed} of {len(c.wall)} runs failed", met=False)
            return
        if not c.name:
            base = c
            continue
        mid, text = ratio(c.wall, base.wall)
        target = c.name in targets
        yield Row(c.name, f"{ms(c.wall)}, without {ms(base.wall)}", f"{text}, CPU {ratio(c.cpu, base.cpu)[0]:.2f}",
                  f"<= {MOST}" if target else "", mid <= MOST if target else None)


def rows(quick):
    rounds = 15 if quick else 80
    with lab():
        plan = [(name, options, False) for name, options in PARTS.items()]
        plan += [("all but egress", NO_NET, False), ("all of it", ALL, False), ("all of it, again", ALL, True)]
        yield from pairs(plan, rounds, {"all but egress", "all of it"})
        with Held("--allow", "192.0.2.1"):
            plan = [(f"{name}, another networked job runs", options, False)
                    for name, options in (("egress", PARTS["egress"]), ("all of it", ALL))]
            yield from pairs(plan, rounds)
        with Held("--syscalls", "--events", "/dev/null", "--allow", "192.0.2.1"):
            name = "all of it, another such job runs"
            yield from pairs([(name, ALL, False)], rounds, {name})
