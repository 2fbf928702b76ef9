#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Many jobs one after another, with egress, system call counts, CPU budget and events, some of them
# without their supervisor at the end: nothing of them is left. The short form of `make soak`.
# timeout: 180
import os, pathlib, shutil, sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(TESTS / "bench"), str(TESTS / "lib")]
os.environ["PATH"] += ":/usr/sbin:/sbin"
import soak, tap
from wdr_lab import Held, lab

JOBS = 200
OPTIONS = ["--allow", f"{soak.ALLOWED}:9/udp", "--syscalls", "--cpu-time", "1m", "--events", "/dev/null"]
SEEN = ["cgroups", "network namespaces", "links and namespaces of the host", "nftables rules", "entries of wdr_slots",
        "entries of wdr_cgroups", "entries of wdr_ifaces", "links", "files below /run/warder", "warder's processes"]

missing = [p for p in ("ip", "nft", "bpftool", "bash") if not shutil.which(p)]
if missing:
    tap.skip_all(f"needs {', '.join(missing)}")
with lab():
    soak.run_jobs(1)
    before = soak.stable()
    with Held(*OPTIONS):
        seen = soak.differences(before, soak.snapshot())
    tap.ok(all(seen.get(k, 0) > 0 for k in SEEN), "what a job has is seen while it runs", seen)
done, bad, left, _, grown = soak.part(JOBS)
tap.ok(done == JOBS and not bad, f"{JOBS} jobs ran", *bad)
tap.ok(not left, "and left nothing", left)
tap.ok(grown["Percpu"] <= JOBS * soak.ROUGH_BYTES["Percpu"], "nor memory of the kernel's", grown)
sys.exit(tap.end())
