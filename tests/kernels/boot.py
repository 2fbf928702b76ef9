#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 3000
"""usage: boot.py SERIES [systemd]: boot Debian's kernel of that series under emulation, with the tests
in its root file system, systemd as the first process where asked for, and tell what they said, as
TAP. See fetch.sh, root.sh and init.sh. WDR_ONLY='PATTERN' in the environment: only tests so named."""
import os, pathlib, select, signal, subprocess, sys, time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "lib"))
import run

SILENCE_S = 600  # of the console: init.sh ends what takes longer
# One thread for both processors: before QEMU 8.1 an instruction that one of them patches while the other's thread
# translates it stays translated as it was in between, and the guest's kernel dies of a breakpoint (int3) long gone.
QEMU = ["qemu-system-x86_64", "-machine", "q35", "-accel", "tcg,thread=single", "-cpu", "max",
        "-smp", "2", "-m", "1536", "-nodefaults", "-no-user-config", "-display", "none",
        "-serial", "stdio", "-no-reboot", "-net", "none"]
APPEND = "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off random.trust_cpu=on " \
    "lsm=landlock,lockdown,yama,apparmor,bpf"


def prepare(series, init):
    """Kernel folder and root file system, or the end of the test."""
    fetch = subprocess.run([HERE / "fetch.sh", series], stdout=subprocess.PIPE, text=True, check=False)
    if fetch.returncode:
        print(f"1..0 # SKIP {fetch.stdout.strip()}" if fetch.returncode == 77 else "1..1\nnot ok 1 - fetch")
        sys.exit(fetch.returncode)
    kernel = pathlib.Path(fetch.stdout.strip())
    root = pathlib.Path(os.environ.get("TMPDIR", "/tmp")) / "root.cpio"
    subprocess.run([HERE / "root.sh", kernel, root, *init], check=True)
    return kernel, root


def boot(kernel, root, init):
    """The lines of the console."""
    argv = [*QEMU, "-kernel", kernel / "vmlinuz", "-initrd", root, "-append",
            " ".join([APPEND, *(f"WDR_INIT={i}" for i in init), f"WDR_ONLY={os.environ.get('WDR_ONLY', '*')}"])]
    out = b""
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as qemu:
        try:
            while select.select([qemu.stdout], [], [], SILENCE_S)[0] and (more := os.read(qemu.stdout.fileno(), 65536)):
                out += more
        finally:
            qemu.kill()
    return out.decode(errors="replace").replace("\r", "").split("\n")


def sections(lines):
    """(test, its output, its exit status or None if it did not end), and whether all ended."""
    found, complete = [], False
    for line in (l.partition("WDR| ")[2] for l in lines if "WDR| " in l):
        if line.startswith("= "):
            found.append([line[2:], [], None])
        elif line == "end":
            complete = True
        elif line.startswith(". ") and found and found[-1][2] is None:
            found[-1][2] = int(line[2:])
        elif found and found[-1][2] is None:
            found[-1][1].append(line)
        else:
            print(line)
    return found, complete


def main():
    series, *init = sys.argv[1:]
    kernel, root = prepare(series, init)
    print(f"# {(kernel / 'version').read_text().strip()}, root of {root.stat().st_size >> 20} MiB")
    started = time.monotonic()
    lines = boot(kernel, root, init)
    print(f"# {time.monotonic() - started:.1f} s from power on to power off")
    found, complete = sections(lines)
    results = []
    for name, output, status in found:
        test = run.Test("kernels", [name], 0, False)
        # A skip in the guest goes up as a skip: whether it may be is decided once, outside.
        run.judge(test, 1 if status is None else status, "\n".join(output), [])
        results += [(f"{name}: {case}", verdict, why) for case, verdict, why in test.results]
        if test.count("fail"):
            print(*(f"# {name}: {l}" for l in output if not l.startswith("ok ")), sep="\n")
    if not complete or not found:
        print(*("# " + l for l in lines[-40:]), sep="\n")
        results.append((f"{series} runs all tests and powers off", "fail", ""))
    for n, (case, verdict, why) in enumerate(results, 1):
        tail = f" # SKIP {why}" if verdict == "skip" else f": {why}" if why else ""
        print(f"{'not ' if verdict == 'fail' else ''}ok {n} - {case}{tail}")
    print(f"1..{len(results)}")
    return any(verdict == "fail" for _, verdict, _ in results)


os.environ.pop("WDR_MUST_RUN", None)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that qemu ends with us
sys.exit(main())
