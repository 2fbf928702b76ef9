# SPDX-License-Identifier: Apache-2.0
"""Output: 1 GB through the supervisor, and through a plain pipe"""
from wdr_bench import Command, Row, WARDER, ms, ratio, run_in_turn

LEAST = 0.8  # of a plain pipe's speed
BYTES = 1_000_000_000


def rows(quick):
    n = BYTES // 10 if quick else BYTES
    source = f"head -c {n} /dev/zero"
    plain = Command("a plain pipe", ["bash", "-c", f"set -o pipefail; {source} | cat >/dev/null"])
    commands = [plain]
    if WARDER.exists():
        ours = f"{WARDER} run -q -b native --output 2G -- {source}"
        commands.append(Command("warder run", ["bash", "-c", f"set -o pipefail; {ours} | cat >/dev/null"]))
    run_in_turn(commands, 3 if quick else 10)
    for c in commands:
        if c.failed:
            yield Row(c.name, f"{c.failed} of {len(c.wall)} runs failed", met=False)
            continue
        text, met = "", None
        if c is not plain:
            mid, text = ratio(plain.wall, c.wall)  # speed is the inverse of time
            met = mid >= LEAST
        rate = n / sorted(c.wall)[len(c.wall) // 2] / 1e9
        yield Row(c.name, f"{ms(c.wall)}, {rate:.2f} GB/s", text and f"speed {text}",
                  f">= {LEAST}" if text else "", met)
