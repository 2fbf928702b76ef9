# SPDX-License-Identifier: Apache-2.0
"""Processes as /proc shows them, and waiting for what gives no event."""
import os, time


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read().decode(errors="replace")
    except OSError:
        return ""


def children(pid):
    """Of any thread. A process that goes away has none."""
    found = []
    for p in os.listdir("/proc"):
        if p.isdigit():
            stat = read(f"/proc/{p}/stat").rpartition(")")[2].split()
            if len(stat) > 1 and stat[1] == str(pid) and stat[0] != "Z":
                found.append(int(p))
    return found


def wait_for(what, seconds=15):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = what()
        if value:
            return value
        time.sleep(0.02)
    return None


def alive(pid):
    return read(f"/proc/{pid}/stat").rpartition(")")[2].split()[:1] not in ([], ["Z"])


def tree(pid):
    return [pid] + [q for c in children(pid) for q in tree(c)]
