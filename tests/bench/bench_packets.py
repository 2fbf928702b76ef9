# SPDX-License-Identifier: Apache-2.0
"""Packets: what a small UDP packet costs a job's sender, with policies of 1 to 100,000 prefixes

Each way is a job with its veth, forwarding and NAT; on some of them our filter was taken off, and
nftables judges the same prefixes at the same place instead. One ratio is of two blocks of packets
that were sent one after the other.
"""
import contextlib, json, pathlib, random, tempfile

from wdr_bench import BUILD, WARDER, Row, ms, ns, ratio
from wdr_lab import Held, lab, sent, sh

SENDS = BUILD / "tests/bench/sends"
SIZES = (1, 1000, 100_000)
MOST = 1.15  # DESIGN 11: at the largest size, of no filter
BLOCK = 200
RATIO = ["this / no filter"]
AROUND = "16.0.0.0/4"  # all of them, public: "private" has no say
REFUSED = "9.9.9.9"
NO_FILTER, OURS, PEER = "no filter", f"warder, {SIZES[-1]:,}", f"nftables, {SIZES[-1]:,}"


def prefixes(n):
    """n different /24."""
    return [f"{16 + (p >> 16)}.{p >> 8 & 255}.{p & 255}.0/24" for p in random.Random(1).sample(range(1 << 20), n)]


def some(nets, n):
    return nets[:n] if n > 1 else [AROUND]


def policy(folder, nets):
    """A policy that allows these, by a list where there are many."""
    name = f"p{len(nets)}"
    folder.joinpath(f"{name}.list").write_text("\n".join(nets) + "\n")
    rule = {"action": "allow", "proto": "udp"}
    rule.update({"to": nets[0]} if len(nets) == 1 else {"list": f"{name}.list"})
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"version": 1, "network": {"mode": "egress", "rules": [rule]}}))
    return path


def take_filter_off(job):
    sh("tc", "qdisc", "del", "dev", job.link, "clsact")


def nft(job, nets):
    """The same prefixes as an interval set, looked up for each packet, on the same interface."""
    take_filter_off(job)
    chain(job, 0, "ip protocol != udp accept\nip daddr @s accept\ndrop",
          f"set s {{ type ipv4_addr; flags interval; elements = {{ {', '.join(nets)} }} ; }}")


def chain(job, priority, rules, more=""):
    """nftables rules for what comes out of a job, behind tc."""
    sh("nft", "-f", "-", input=f"""
        table netdev lab{priority}_{job.link} {{
            {more}
            chain c {{
                type filter hook ingress device {job.link} priority {priority}
                {rules}
            }}
        }}""")


def measure(mode, rounds, dests, ways, block=BLOCK):
    """Nanoseconds a packet: a list for each way, by rounds."""
    out = sh(SENDS, mode, str(rounds), str(block), dests, *ways).split()
    by_way = [[] for _ in ways]
    for index, ns in zip(out[::2], out[1::2]):
        by_way[int(index)].append(int(ns) / block)
    return by_way


def check(label, job, folder):
    """A packet to where nobody may: it must not leave, but where there is no filter."""
    before = sent()
    folder.joinpath("refused").write_text(f"{REFUSED}\n" * 64)
    sh(SENDS, "unconnected", "1", "1", folder / "refused", job.netns)
    passed = sent() - before
    if bool(passed) != (label == NO_FILTER):
        raise OSError(f"{label}: {passed} packets to a refused destination left")


def destinations(folder, nets, n):
    """n addresses inside of the prefixes, different from each other."""
    dests = [f"{nets[i % len(nets)][:-4]}{1 + i // len(nets)}" for i in range(n)]
    path = folder / f"d{n}-{len(nets)}"
    path.write_text("\n".join(dests) + "\n")
    return path


def ways(stack, folder, nets):
    """label -> job: no filter, ours and nftables', by size."""
    plan = {NO_FILTER: (1, take_filter_off)}
    plan |= {f"warder, {n:,}": (n, None) for n in SIZES}
    plan |= {f"nftables, {n:,}": (1, lambda j, n=n: nft(j, some(nets, n))) for n in SIZES}
    found = {}
    for label, (n, prepare) in plan.items():
        found[label] = job = stack.enter_context(Held("-p", policy(folder, some(nets, n))))
        if prepare:
            prepare(job)
        check(label, job, folder)
    return found


def compare(title, labels, found, most=None):
    """Each way beside no filter, and ours beside nftables at the largest size."""
    by = dict(zip(labels, found))
    for label, xs in by.items():
        text, target, met = "", "", None
        if label != NO_FILTER:
            mid, text = ratio(xs, by[NO_FILTER])
            if label == OURS and most:
                target, met = f"<= {most}", mid <= most
        yield Row(f"{title}: {label}", ns(xs), text, target, met)
    mid, text = ratio(by[OURS], by[PEER])
    yield Row(f"{title}: {OURS} / {PEER}", "", text, "< 1" if most else "", mid < 1 if most else None)


def packet_rows(folder, jobs, nets, quick):
    labels, rounds = list(jobs), 100 if quick else 600
    outside = [j.netns for j in jobs.values()]
    inside = [f"{j.netns},{j.cgroup}" if l.startswith("warder") else j.netns for l, j in jobs.items()]
    cycled = destinations(folder, nets[:64], 64)
    many = destinations(folder, nets[:1000], 3000)
    out = measure("connected", rounds, cycled, outside)
    yield from compare("known flow, all the way out", labels, out, MOST)
    out = measure("unconnected", rounds, cycled, inside)
    yield from compare("the same, sendto judged at the socket too", labels, out, MOST)
    out = measure("first", 60, many, outside, 50)
    yield from compare("first of its flow, all the way out", labels, out)
    for job in jobs.values():
        chain(job, 100, "counter drop")
    out = measure("connected", rounds, cycled, outside)
    yield from compare("known flow, dropped right behind the filter", labels, out, MOST)


def start_s(path, folder):
    sh(WARDER, "run", "-q", "-b", "native", "-p", path, "--result", folder / "r.json", "--", "/usr/bin/true")
    return json.loads((folder / "r.json").read_text())["usage"]["start_ns"] / 1e9


def map_bytes():
    """What all of Warder's maps take."""
    maps = [m for m in json.loads(sh("bpftool", "-j", "map", "list")) if m.get("name", "").startswith("wdr_")]
    return sum(m.get("bytes_memlock", 0) for m in maps)


def sharing_rows(folder, nets, rounds):
    """The start of a job whose policy must be loaded, of one whose policy is loaded, of one that has one."""
    first, second, one, grown = [], [], [], []
    for i in range(rounds):
        one.append(start_s(policy(folder, [AROUND]), folder))
        path = policy(folder, nets[i + 1:])  # not the one of the round before
        first.append(start_s(path, folder))
        with Held("-p", path):
            loaded = map_bytes()
            second.append(start_s(path, folder))
            with Held("-p", path):
                grown.append((map_bytes() - loaded) / 1e6)
    yield Row("start of a job, one prefix", ms(one))
    yield Row(f"start of a job, {SIZES[-1]:,} prefixes, first of its policy", ms(first))
    mid, text = ratio(second, first)
    yield Row("another job of the same policy meanwhile, / first", ms(second), text, "< 1", mid < 1)
    yield Row("memory of maps that another job takes", f"{max(grown):.2f} MB")


def rows(quick):
    nets = prefixes(SIZES[-1])
    with tempfile.TemporaryDirectory(prefix="wdr-bench-") as name:
        folder = pathlib.Path(name)
        with lab(), contextlib.ExitStack() as jobs:
            yield from packet_rows(folder, ways(jobs, folder, nets), nets, quick)
        with lab():
            yield from sharing_rows(folder, nets, 3 if quick else 8)
