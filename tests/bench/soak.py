#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""usage: soak.py [JOBS]: start JOBS (10000) jobs one after another, each with egress, system call counts, a
CPU budget and events, and compare what the machine holds before and after. Root.

Every fiftieth job loses its supervisor to SIGKILL. The lock that keeps tests of two checkouts apart
is held for a part of the jobs at a time, and what is left is the sum of the parts. Exit 1 if
anything is left. tests/e2e/47-many.py is the short form.
"""
import collections, contextlib, json, os, pathlib, signal, subprocess, sys, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.dont_write_bytecode = True
from wdr_bench import WARDER, alone
from wdr_lab import lab, sh

PART_JOBS, PART_S = 1500, 100  # whichever comes first
KILL_EACH = 50
WARM_UP = 20
FILES = "open files of the machine"
SETTLE_S = 15  # for what a job's end leaves to a child: its veth, and the kernel's own work queues
ALLOWED, REFUSED = "16.1.2.3", "9.9.9.9"
# A flow that is allowed, one that is refused, and a child.
JOB = f"echo x >/dev/udp/{ALLOWED}/9; echo x >/dev/tcp/{REFUSED}/9; /usr/bin/true"
ARGV = [WARDER, "run", "-q", "-b", "native", "--allow", f"{ALLOWED}:9/udp", "--syscalls", "--cpu-time", "1m",
        "--events", "/dev/null", "--result", "/dev/null", "--", "bash", "-c", JOB]
# Of these some remains that is the kernel's own, or other processes': how much more a job is too much.
ROUGH_BYTES = {"SUnreclaim": 2000, "Percpu": 200}


def lines(path):
    return pathlib.Path(path).read_text().splitlines()


def map_entries(m):
    """What a map holds; an array holds what is not zero."""
    if m["type"] in ("ringbuf", "task_storage", "array_of_maps", "percpu_array") or m.get("bytes_key") == 0:
        return 0
    out = subprocess.run(["bpftool", "-j", "map", "dump", "id", str(m["id"])], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, check=False).stdout
    with contextlib.suppress(ValueError):
        found = json.loads(out or b"[]")
        used = lambda e: m["type"] != "array" or any(int(b, 16) for b in e["value"])
        return sum(used(e) for e in found if isinstance(e, dict) and "value" in e)
    return 0


def kernel_objects():
    found = collections.Counter()
    for m in json.loads(sh("bpftool", "-j", "map", "list")):
        if m.get("name", "").startswith("wdr_"):
            found["maps"] += 1
            if m["name"] not in ("wdr_live", "wdr_sups", "wdr_shared", "wdr_policies"):
                found[f"entries of {m['name']}"] += map_entries(m)
    for kind in ("prog", "link"):
        found[f"{kind}s"] = len(json.loads(sh("bpftool", "-j", kind, "list")))
    return found


def snapshot():
    """name -> how much of it there is."""
    found = kernel_objects()
    found["links and namespaces of the host"] = len(lines("/proc/net/dev"))
    found["network namespaces"] = len(set(ns_links("net")))
    found["mounts"] = len(lines("/proc/self/mountinfo"))
    found["nftables rules"] = len(sh("nft", "list", "ruleset").splitlines())
    found["tracked flows"] = int(lines("/proc/sys/net/netfilter/nf_conntrack_count")[0])
    found["forwarding settings changed"] = len(lines("/run/warder/net/sysctls")
                                               if os.path.exists("/run/warder/net/sysctls") else [])
    found["cgroups"] = sum("/warder" in d for d, _, _ in os.walk("/sys/fs/cgroup"))
    found["files below /run/warder"] = sum(len(ds) + len(fs) for d, ds, fs in os.walk("/run/warder"))
    found["warder's processes"] = sum(is_ours(p) for p in pids())
    found["System V and POSIX objects"] = sum(len(lines(f"/proc/sysvipc/{k}")) for k in ("shm", "sem", "msg"))
    found[FILES] = int(lines("/proc/sys/fs/file-nr")[0].split()[0])
    return found


def pids():
    return [p for p in os.listdir("/proc") if p.isdigit()]


def is_ours(pid):
    """A process of Warder's that lives: an ended one waits for whoever is pid 1 here."""
    with contextlib.suppress(OSError):
        name, _, rest = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")
        return "(warder" in name and rest.split()[0] not in "ZX"
    return False


def ns_links(kind):
    for pid in pids():
        with contextlib.suppress(OSError):
            yield os.readlink(f"/proc/{pid}/ns/{kind}")


def memory():
    """Bytes of the kernel, once it has given back what it can."""
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3\n")
    words = {l.split(":")[0]: int(l.split()[1]) << 10 for l in lines("/proc/meminfo")}
    return {k: words[k] for k in ROUGH_BYTES}


def run_jobs(n, until=None):
    """Start up to n of them; returns how many, and those that ended otherwise than they should."""
    bad, done = [], 0
    while done < n and (until is None or time.monotonic() < until):
        done += 1
        job = subprocess.Popen(ARGV, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True)
        if done % KILL_EACH == 0:
            with contextlib.suppress(subprocess.TimeoutExpired):
                job.wait(0.001 * (done // KILL_EACH % 40))  # each time a little later in its life
            job.send_signal(signal.SIGKILL)
            job.communicate()
            continue
        err = job.communicate()[1]
        if job.returncode:
            bad.append(f"status {job.returncode}: {err.strip()[-300:]}")
    return done, bad


def differences(before, after):
    # The whole machine's files are counted by the kernel in batches, and not only ours.
    return {k: after[k] - before[k] for k in after.keys() | before.keys()
            if after[k] != before[k] and k != FILES}


def settle(before):
    """What there is more of than before, given time for what a job's end leaves to others."""
    until = time.monotonic() + SETTLE_S
    while (left := differences(before, snapshot())) and time.monotonic() < until:
        time.sleep(0.2)
    return left


def stable():
    """A snapshot that the next one does not differ from."""
    now, until = snapshot(), time.monotonic() + SETTLE_S
    while differences(now, again := snapshot()) and time.monotonic() < until:
        now = again
    return now


def part(n, seconds=None):
    """One stretch: jobs, bad ones, what is left, open files more, bytes of kernel memory more."""
    with lab():
        run_jobs(WARM_UP)
        before, memory_before = stable(), memory()
        done, bad = run_jobs(n, time.monotonic() + seconds if seconds else None)
        bad += run_jobs(1)[1]  # sweeps, if the last one was killed
        left, now = settle(before), memory()
        files = snapshot()[FILES] - before[FILES]
    return done, bad, left, files, {k: now[k] - memory_before[k] for k in now}


def main():
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    done, failed, seconds, files = 0, 0, 0, 0
    left, grown = collections.Counter(), collections.Counter()
    while done < total:
        with alone():
            began = time.monotonic()
            n, bad, more, more_files, more_bytes = part(min(PART_JOBS, total - done), PART_S)
            took = time.monotonic() - began
        done, failed, seconds, files = done + n, failed + len(bad), seconds + took, files + more_files
        left.update(more)
        grown.update(more_bytes)
        print(f"{done} jobs, {1e3 * took / n:.0f} ms each; left: {dict(more) or 'nothing'}; {more_files:+} open files, "
              + ", ".join(f"{k} {v / 1024:+.0f} kB" for k, v in more_bytes.items()), flush=True)
        print(*bad[:5], sep="\n", end="\n" if bad else "", flush=True)
    rough = {k: v / done for k, v in grown.items()}
    too_much = [k for k, v in rough.items() if v > ROUGH_BYTES[k]]
    print(f"{done} jobs in {seconds:.0f} s, {failed} ended badly; left: {dict(left) or 'nothing'}; {files:+} open files, "
          + ", ".join(f"{k} {v:+.0f} bytes a job" for k, v in rough.items())
          + (f"; too much: {', '.join(too_much)}" if too_much else ""))
    return bool(failed or any(left.values()) or too_much)


if __name__ == "__main__":
    sys.exit(main())
