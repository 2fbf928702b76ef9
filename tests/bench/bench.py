#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""usage: bench.py [--quick] [NAME...]: run the benchmarks (all, or bench_NAME.py), print a table each
in Markdown and keep them in build/results/bench.md. A benchmark waits for tests of other checkouts
to end, and they for it. Exit 1 if a run failed or a target was missed.
"""
import importlib, os, pathlib, platform, sys

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
os.environ["PATH"] += ":/usr/sbin:/sbin"
import wdr_bench


def machine():
    model = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "?")
    return f"Linux {platform.release()}, {os.cpu_count()} x {model}, load {os.getloadavg()[0]:.1f} at the start"


def main():
    quick = "--quick" in sys.argv
    names = [a for a in sys.argv[1:] if not a.startswith("-")]
    names = names or sorted(p.stem[6:] for p in HERE.glob("bench_*.py"))
    parts, bad = [machine()], False
    print(parts[0], flush=True)
    for name in names:
        module = importlib.import_module(f"bench_{name}")
        with wdr_bench.alone():
            rows = list(module.rows(quick))
        of = getattr(module, "RATIO", [])  # what its ratios are of, where not ours to a peer's
        bad |= any(r.met is False for r in rows)
        parts.append(f"### {module.__doc__.strip()}\n\n{wdr_bench.table(rows, *of)}")
        print(f"\n{parts[-1]}", flush=True)
    out = wdr_bench.TOP / "build/results/bench.md"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("\n\n".join(parts) + "\n")
    return bad


sys.exit(main())
