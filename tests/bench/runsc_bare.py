# SPDX-License-Identifier: Apache-2.0
"""runsc without Warder in the place that a Warder job had: its bundle, root, flags and limits.

A job that sleeps makes the place, a mount namespace that is a copy of its keeper's holds it, and
cgroups with the job's limits are what bare sandboxes, and the program that starts them, live in.
"""
import contextlib, json, os, pathlib, subprocess, time

BOX = "/run/warder"
LIMIT_FILES = ("memory.limit_in_bytes", "pids.max", "memory.max")
NAME = "wdr-bench"
SETTLE_S = 10


def children(pid):
    return [int(p) for t in pathlib.Path(f"/proc/{pid}/task").iterdir() for p in (t / "children").read_text().split()]


def tree(pid):
    """A process and all below it."""
    return [pid] + [q for c in children(pid) for q in tree(c)]


def pss_kb(pid):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(l.split()[1]) for l in text.splitlines() if l.startswith("Pss:"))


def comm(pid):
    return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()


def wait_for(what, seconds=SETTLE_S):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        value = what()
        if value:
            return value
        time.sleep(0.02)
    raise TimeoutError


def hierarchies(pid):
    """(mount point, path of the process in it) of each cgroup file system where it is not where we are."""
    where, ours = {}, pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, tail = line.partition(" - ")
        kind, _, options = tail.split(" ", 2)
        if kind in ("cgroup", "cgroup2"):
            key = "" if kind == "cgroup2" else frozenset(options.split(","))
            where[key] = fields.split()[4]
    for line in set(pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines()) - set(ours):
        _, names, path = line.split(":", 2)
        for key, mount in where.items():
            if (key == names == "") or (names and key and names.split(",")[0] in key):
                yield pathlib.Path(mount), path.lstrip("/")


class Sleeper:
    """A job under runsc that sleeps, with its options."""

    def __init__(self, warder, *options):
        self.p = subprocess.Popen([warder, "run", "-q", "-b", "runsc", "-t", "1h", *options, "--", "sh", "-c",
                                   "echo; exec sleep 3600"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        if self.p.stdout.readline() != b"\n":
            raise OSError("no sandbox was started")
        self.keeper = next(q for q in children(self.p.pid) if comm(q) == "warder-keeper")
        self.box = pathlib.Path(f"/proc/{self.keeper}/root{BOX}")
        self.id = next((self.box / "state").glob("*.state")).name.split("_")[0]

    def command_flags(self):
        """Those before the sub-command, as the sentry got them from us; it has some of its own, too."""
        for pid in tree(self.keeper):
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if "boot" in words:
                flags = words[1:words.index("boot")]
                return [f for f in flags if not f.startswith(("--log-fd", "--panic-log-fd", "--root", "--log="))]
        raise OSError("no sentry")

    def end(self):
        self.p.terminate()
        self.p.wait()


class Bare:
    def __init__(self, runsc, job):
        self.runsc, self.enter, self.dirs = runsc, [], []
        self.holder = subprocess.Popen(["nsenter", "-m", "-t", str(job.keeper), "unshare", "-m", "--propagation",
                                        "private", "sh", "-c", "mount -t proc proc /proc && echo && exec cat"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.holder.stdout.readline() != b"\n":
            raise OSError("no copy of the keeper's mount namespace")
        self.ns = f"/proc/{self.holder.pid}/ns/mnt"
        self.box = pathlib.Path(f"/proc/{self.holder.pid}/root{BOX}")
        self.flags = [f"--root={BOX}/bare", f"--log={BOX}/bare.log", *job.command_flags()]
        for folder in ("bare", "bare-bundle"):
            (self.box / folder).mkdir()
        for mount, path in hierarchies(job.keeper):
            self.copy_cgroup(mount, path)

    def copy_cgroup(self, mount, path):
        own = mount / NAME
        own.mkdir(exist_ok=True)
        self.dirs.append(own)
        self.enter.append(own / "cgroup.procs")
        for name in LIMIT_FILES:
            with contextlib.suppress(OSError):
                (own / name).write_text((mount / path / name).read_text())

    def command(self, *args):
        return [self.runsc, *self.flags, *args]

    def bundle(self, *argv):
        """The job's bundle with another program; returns where it is."""
        config = json.loads((self.box / "bundle/config.json").read_text())
        config["process"]["args"] = list(argv)
        (self.box / "bare-bundle/config.json").write_text(json.dumps(config))
        return f"{BOX}/bare-bundle"

    def inside(self, argv, **kwargs):
        """Run it to its end in the mount namespace, in the cgroups."""
        into = [f"echo 0 >{f};" for f in self.enter]
        script = " ".join(into) + ' exec nsenter -m -t "$0" "$@"'
        return subprocess.run(["sh", "-c", script, str(self.holder.pid), *argv], stdin=subprocess.DEVNULL,
                              check=True, **kwargs)

    def start(self, name):
        """A sandbox that sleeps, its processes."""
        self.inside(self.command("run", "--detach", f"--bundle={self.bundle('/usr/bin/sleep', '3600')}", name),
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        state = json.loads(next((self.box / "bare").glob(f"{name}_*.state")).read_text())
        sandbox = state["sandbox"]
        sentry = sandbox["pid"] if isinstance(sandbox["pid"], int) else sandbox["pid"]["pid"]
        return [q for p in (sentry, state["goferPid"]) for q in tree(p)]

    def stop(self, name):
        self.inside(self.command("delete", "--force", name), stdout=subprocess.DEVNULL)

    def end(self):
        self.holder.kill()
        self.holder.wait()
        for d in self.dirs:
            with contextlib.suppress(OSError):
                d.rmdir()


@contextlib.contextmanager
def places(warder, runsc, *options):
    """(a sleeping job, Bare in its place)"""
    os.environ["WARDER_RUNSC"] = str(runsc)
    job = Sleeper(warder, *options)
    bare = None
    try:
        bare = Bare(runsc, job)
        yield job, bare
    finally:
        if bare:
            bare.end()
        job.end()
