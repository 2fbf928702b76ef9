# SPDX-License-Identifier: Apache-2.0
"""Start: from the command to the end of `true`"""
import json, os, pathlib, subprocess, tempfile

from wdr_bench import Command, Row, WARDER, compare, have

# DESIGN 11.
TARGETS = {"crun run": 0.4, "bwrap --unshare-all": 0.5}
LIMITS = {"memory": {"limit": 512 << 20, "swap": 512 << 20}, "pids": {"limit": 100},
          "cpu": {"quota": 50000, "period": 100000}}


class PureV2:
    """A mount namespace with cgroup2 alone on /sys/fs/cgroup, for the peers that refuse a hybrid.

    Where controllers are bound to version 1, there are none in it: the peers then set no limits.
    """

    def __enter__(self):
        self.holder = subprocess.Popen(
            ["unshare", "-m", "--propagation", "private", "sh", "-c",
             "umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup && echo && exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if not self.holder.stdout.read(1):
            raise OSError("no mount namespace with cgroup2 can be made")
        root = pathlib.Path(f"/proc/{self.holder.pid}/root/sys/fs/cgroup")
        self.controllers = (root / "cgroup.controllers").read_text().split()
        self.path = f"/proc/{self.holder.pid}/ns/mnt"
        return self

    def __exit__(self, *_):
        self.holder.kill()
        self.holder.wait()


def bundle(folder, controllers):
    """An OCI bundle of what a Warder job has: the host's /usr read-only, all namespaces, no rights."""
    root = pathlib.Path(folder, "rootfs")
    for d in ("usr", "proc", "dev", "sys", "tmp"):
        (root / d).mkdir(parents=True)
    for link in ("bin", "lib", "lib64", "sbin"):
        (root / link).symlink_to(f"usr/{link}")
    spec = json.loads(subprocess.run(["crun", "spec", "-f", "/dev/stdout"], cwd=folder, check=False,
                                     capture_output=True, text=True).stdout or "null")
    if spec is None:
        subprocess.run(["runc", "spec"], cwd=folder, check=True)
        spec = json.loads(pathlib.Path(folder, "config.json").read_text())
    spec["process"].update(terminal=False, args=["/usr/bin/true"], noNewPrivileges=True, capabilities={})
    spec["process"]["user"] = {"uid": 1000, "gid": 1000}
    spec["root"] = {"path": "rootfs", "readonly": True}
    spec["mounts"] = [m for m in spec["mounts"] if m["destination"] != "/sys/fs/cgroup"]
    spec["mounts"] += [
        {"destination": "/usr", "type": "none", "source": "/usr", "options": ["rbind", "ro"]},
        {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["size=256m"]}]
    kinds = ("pid", "network", "ipc", "uts", "mount", "cgroup", "user")
    linux = spec["linux"]
    linux["namespaces"] = [{"type": k} for k in kinds]
    linux["uidMappings"] = linux["gidMappings"] = [{"containerID": 0, "hostID": 100000, "size": 65536}]
    linux["resources"] = {k: v for k, v in LIMITS.items() if k in controllers}
    pathlib.Path(folder, "config.json").write_text(json.dumps(spec))
    for path in (root, pathlib.Path(folder)):
        os.chmod(path, 0o755)


def peers(folder, v2):
    found = [Command("fork and exec of true alone", ["/usr/bin/true"])]
    for name in ("crun", "runc"):
        if have(name):
            state = f"{folder}/{name}"
            found.append(Command(f"{name} run", [name, "--root", state, "run", "-b", f"{folder}/bundle",
                                                 f"wdr-bench-{name}"], ns=v2.path))
    if have("bwrap"):
        found.append(Command("bwrap --unshare-all", ["bwrap", "--unshare-all", "--ro-bind", "/", "/",
                                                     "/usr/bin/true"]))
    if have("firejail"):
        found.append(Command("firejail", ["firejail", "--quiet", "--noprofile", "--net=none", "--seccomp",
                                          "--caps.drop=all", "--nonewprivs", "/usr/bin/true"]))
    return found


def rows(quick):
    with PureV2() as v2, tempfile.TemporaryDirectory(prefix="wdr-bench-") as folder:
        os.chmod(folder, 0o755)
        os.mkdir(f"{folder}/bundle")
        bundle(f"{folder}/bundle", v2.controllers)
        commands = peers(folder, v2)
        ours = None
        if WARDER.exists():
            ours = Command("warder run -b native", [str(WARDER), "run", "-q", "-b", "native", "/usr/bin/true"])
            commands.insert(0, ours)
        yield from compare(commands, 20 if quick else 200, ours, TARGETS)
        if not {"cpu", "memory", "pids"} <= set(v2.controllers):
            yield Row("crun and runc had no controllers here and set no limits", "")
