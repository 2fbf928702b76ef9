#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""System calls that fail while a job with a network starts: netlink, bpf, and samples of all others.

One run each, a call fails once. Either nothing starts, the reason is named and nothing is left, at
once; or the job runs as always: what it is allowed goes out, what it is not is refused and told, its
calls are counted, or it is said that this can't be read. Where it ran and an undo was what failed, the next command leaves nothing.
"""
# timeout: 240
import collections, contextlib, errno, glob, json, os, pathlib, shutil, subprocess, sys, time

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(TESTS / "bench"), str(TESTS / "lib")]
os.environ["PATH"] += ":/usr/sbin:/sbin"
import tap
from wdr_bench import BUILD, WARDER
from wdr_lab import lab, sh

FAULT = f"{BUILD}/tests/helpers/fault"
ALLOWED, REFUSED = "16.1.2.3", "9.9.9.9"
JOB = f"echo x >/dev/udp/{ALLOWED}/9; echo x >/dev/tcp/{REFUSED}/9; echo ran"
RUN = [str(WARDER), "run", "-b", "native", "--json", "--allow", f"{ALLOWED}:9/udp", "--syscalls", "--cpu-time", "1m",
       "--events", "/dev/null", "--", "bash", "-c", JOB]
NETLINK = "socket,bind,sendto,sendmsg,recvmsg,recvfrom,ioctl,setsockopt,getsockname,connect,unshare,setns"
BPF = "bpf,perf_event_open,mmap"
ERRORS = [errno.ENOMEM, errno.EPERM, errno.ENOBUFS, errno.EINTR]
BOUND_S, SETTLE_S, HANG_S = 10.0, 10.0, 30.0
SYSCTLS = ["/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv4/conf/*/forwarding", "/proc/sys/net/ipv4/conf/*/rp_filter",
           "/proc/sys/net/ipv6/conf/*/forwarding", "/proc/sys/net/ipv6/conf/*/accept_ra"]
# What can't be read at the end is said, and not taken for nothing; what is lost is counted.
TOLD = {"denials": "step=denials", "counted": "step=syscalls"}
# Of struct wdr_shared: where the bits of slots and supervisors begin and end.
BITS, SHARED_SIZE = {"slots": (88, 600), "supervisors": (600, 856)}, 1368


def pins():
    return next((p for p in ("/run/warder/bpf/warder", "/sys/fs/bpf/warder") if os.path.isdir(p)), "")


def kernel_side():
    for shared in glob.glob(f"{pins()}/*/wdr_shared"):
        cell = json.loads(sh("bpftool", "-j", "map", "dump", "pinned", shared))[0]["value"]
        assert len(cell) == SHARED_SIZE, f"struct wdr_shared has {len(cell)} bytes: BITS are of another"
        for name, (begin, end) in BITS.items():
            yield name, sum(int(b, 16).bit_count() for b in cell[begin:end])
    yield "pins of jobs", len(glob.glob(f"{pins()}/jobs/*"))
    yield "half a load", os.path.exists(f"{pins()}/new")
    yield "links", collections.Counter(l["type"] for l in json.loads(sh("bpftool", "-j", "link", "list")))


def namespaces():
    for p in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            yield os.readlink(f"/proc/{p}/ns/net")


def snapshot():
    found = dict(kernel_side())
    found["interfaces"] = [l.split(":")[0].strip() for l in open("/proc/net/dev")][2:]
    found["nft"] = [t for t in sh("nft", "list", "tables").splitlines() if "warder" in t]
    found |= {f: pathlib.Path(f).read_text() for g in SYSCTLS for f in glob.glob(g)}
    found["namespaces"] = len(set(namespaces()))
    found["jobs"] = tap.left()
    found["slots of networks"] = sorted(f for f in os.listdir("/run/warder/net") if f.startswith("slot"))
    return found


def differences(clean):
    now = snapshot()
    return {k: now.get(k) for k in now.keys() | clean.keys() if now.get(k) != clean.get(k)}


def stable():
    """One that holds for a moment."""
    now = snapshot()
    while True:
        time.sleep(0.5)
        if not differences(now):
            return now
        now = snapshot()


def settled(clean):
    """What is left when the kernel had time for what it does later."""
    until = time.monotonic() + SETTLE_S
    while (left := differences(clean)) and time.monotonic() < until:
        time.sleep(0.02)
    return left


def run(*fault):
    """Exit status (None: it hangs), the result, what warder said, which call failed, time."""
    began = time.monotonic()
    p = subprocess.Popen([*fault, *RUN], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True, start_new_session=True)
    try:
        out, err = p.communicate(timeout=HANG_S)
        status = p.returncode
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, 9)
        (out, err), status = p.communicate(), None
    said = [l for l in err.splitlines() if not l.startswith("fault: ")]
    call = next((l for l in err.splitlines() if l.startswith("fault: ")), "")
    result = json.loads(out) if out.endswith("}\n") else None
    return status, result, said, call, time.monotonic() - began


def facts(result):
    """What must be as always of a job that ran."""
    return {"stdout": result["stdout"], "protections": result["protections"], "exit": result["exit"]["reason"],
            "denials": sorted((d["to"] if "to" in d else str(d)) for d in result["denials"]),
            "sent": result["usage"]["egress"]["packets"] > 0, "counted": bool(result["usage"]["syscalls"]),
            "lost": [result[k] for k in ("denials_lost", "findings_lost", "events_lost")]}


def judge(status, result, said, call, expected, clean):
    """None, or what is wrong with a run that had one fault."""
    if status is None:
        return "it hangs"
    if status == 0:
        is_ = facts(result)
        differ = {k: v for k, v in is_.items()
                  if v != expected[k] and not (k in TOLD and any(TOLD[k] in l for l in said))}
        if differ and not (list(differ) == ["lost"] and any(differ["lost"])):
            return f"not as always: {differ}"
        if settled(clean):
            run()
            left = settled(clean)
            return f"one command later there is {left}" if left else None
        return None
    told = status != 137 or "sendmsg" not in call  # the program's end, which pid 1 could not tell
    if told and status not in (125, 126, 127):
        return f"status {status}"
    if told and not any(": " in l for l in said):
        return "refused without a reason"
    left = settled(clean)
    return f"left {left}" if left else None


def check_each(what, calls, step=1, first=False, least=20):
    run()
    expected = facts(run()[1])
    clean = stable()
    seen, slow, wrong, n = collections.Counter(), [], [], 1
    while True:
        if first:
            sh(WARDER, "unload")
        prefix = f"{n}:{calls}" if calls else str(n)
        status, result, said, call, took = run(FAULT, f"{prefix}={ERRORS[n // step % len(ERRORS)]}")
        if "only" in call:
            break
        n += step
        seen[status] += 1
        if first and status:
            run()  # a load that failed half way is done again from the beginning
        why = judge(status, result, said, call, expected, clean)
        if why:
            wrong.append(f"{call}: {why}: {said}")
            run()
        if took > BOUND_S:
            slow.append(f"{call}: {took:.1f} s")
    tap.ok(n > least, f"{n} calls {what}, {seen[0]} ran, {seen[125]} refused", seen)
    tap.ok(not wrong, f"each that fails {what} is refused and leaves nothing, or changes nothing", *wrong)
    tap.ok(not slow, f"and holds nothing up {what}", *slow)


missing = [p for p in ("ip", "nft", "bpftool", "bash") if not shutil.which(p)]
if os.geteuid() or missing:
    tap.skip_all(f"needs root, {', '.join(missing)}")
with lab():
    check_each("to netlink", NETLINK)
    check_each("to bpf and for its memory", BPF)
    check_each("of a start with a network", None, step=11)
    check_each("of a first load", "bpf", step=17, first=True)
sys.exit(tap.end())
