# SPDX-License-Identifier: Apache-2.0
"""A host of its own for benchmarks of a job's network, and jobs that are held while something is measured.

The host is a network namespace whose only way out is a veth that drops what leaves by it, so that
nothing but the way there is measured. Warder's records of slots are kept apart from the machine's.
"""
import contextlib, ctypes, json, os, pathlib, subprocess, tempfile, time

from wdr_bench import WARDER

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
SLOTS = "/run/warder/net"
DEADLINE_S = 20
LIBC = ctypes.CDLL(None, use_errno=True)


def must(result, what):
    if result:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def sh(*argv, **kw):
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True, **kw).stdout


@contextlib.contextmanager
def lab():
    """This process is in the lab until the end; what it starts, too."""
    home = [os.open(f"/proc/self/ns/{n}", os.O_RDONLY | os.O_CLOEXEC) for n in ("mnt", "net")]
    cwd = os.getcwd()
    must(LIBC.unshare(CLONE_NEWNS | CLONE_NEWNET), "unshare")
    try:
        sh("mount", "--make-rprivate", "/")
        os.makedirs(SLOTS, mode=0o700, exist_ok=True)
        sh("mount", "-t", "tmpfs", "-o", "mode=700", "none", SLOTS)
        sh("ip", "-batch", "-", input="""
            link set lo up
            link add up0 type veth peer name up1
            addr add 203.0.113.1/24 dev up0
            link set up0 up
            link set up1 up
            route add default via 203.0.113.2
            neigh add 203.0.113.2 lladdr 02:00:00:00:00:01 dev up0 nud permanent""")
        sh("nft", "-f", "-", input="""
            table netdev lab { chain out {
                type filter hook egress device up0 priority 0
                ip protocol udp counter drop
                drop
            }
            }""")
        yield
    finally:
        for fd in home:
            must(LIBC.setns(fd, 0), "setns")
            os.close(fd)
        os.chdir(cwd)


def sent():
    """UDP packets that have left the lab's host."""
    words = sh("nft", "list", "chain", "netdev", "lab", "out").split()
    return int(words[words.index("packets") + 1])


def children(pid):
    return [int(k) for k in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def tree(pid):
    """A process and all below it that have not ended meanwhile."""
    yield pid
    with contextlib.suppress(OSError):
        for kid in children(pid):
            yield from tree(kid)


def cgroup2():
    """Where cgroup2 is mounted."""
    return next(l.split()[4] for l in open("/proc/self/mountinfo") if " - cgroup2 " in l)


class Held:
    """A job that sleeps until the end of the `with`. pid is its program's."""

    def __init__(self, *options, warder=WARDER):
        self.argv = [str(warder), "run", "-q", "-b", "native", "-t", "10m", *map(str, options),
                     "--", "/usr/bin/sleep", "1000"]

    def __enter__(self):
        self.err = tempfile.TemporaryFile()
        self.supervisor = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stderr=self.err)
        until = time.monotonic() + DEADLINE_S
        while not (pid := self.find()):
            if self.supervisor.poll() is not None or time.monotonic() > until:
                self.err.seek(0)
                raise OSError(f"{' '.join(self.argv)}: {self.err.read().decode().strip() or 'no job'}")
            time.sleep(0.01)
        self.pid = pid
        return self

    def find(self):
        for pid in tree(self.supervisor.pid):
            with contextlib.suppress(OSError):
                if pathlib.Path(f"/proc/{pid}/comm").read_text() == "sleep\n":
                    return pid
        return None

    def __exit__(self, *_):
        self.supervisor.terminate()
        self.supervisor.wait()
        self.err.close()

    @property
    def netns(self):
        return f"/proc/{self.pid}/ns/net"

    @property
    def cgroup(self):
        """Its directory in cgroup2."""
        own = next(l.split(":", 2)[2] for l in open(f"/proc/{self.pid}/cgroup") if l.startswith("0::"))
        return cgroup2() + own.strip()

    @property
    def link(self):
        """The host end of its veth, by the alias that says whose it is."""
        name = os.path.basename(self.cgroup)
        links = json.loads(sh("ip", "-j", "-d", "link"))
        return next(l["ifname"] for l in links if name in l.get("ifalias", ""))
