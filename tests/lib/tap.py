# SPDX-License-Identifier: Apache-2.0
"""TAP for tests in Python, as tap.sh is for the shell's: ok() for each check, then sys.exit(end())."""
import glob, os, sys

count = bad = 0
# Our programs carry the sanitizers (check-san-e2e), which need memory and /proc of their own.
SANITIZED = os.path.basename(os.environ.get("WDR_BUILD", "")) == "san"


def ok(condition, what, *notes):
    """One check; what the notes say is shown if it fails."""
    global count, bad
    count += 1
    bad += not condition
    print(f"{'' if condition else 'not '}ok {count} - {what}", flush=True)
    for note in notes[:20] if not condition else ():
        print("# " + str(note)[:2000].replace("\n", "\n# "), flush=True)


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(77)


def end():
    """The plan, and the status to exit with."""
    print(f"1..{count}")
    return int(bad != 0)


def left():
    """What is left of jobs, of any Warder."""
    return glob.glob("/sys/fs/cgroup/**/warder*/**/j-*", recursive=True) + glob.glob("/run/warder/jobs/*")


def runscs():
    """(age, path) of each runsc that packaging/runsc.sh has brought."""
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    found = [(age, f"{top}/build/runsc/{age}/runsc") for age in ("new", "latest", "old")]
    return [(age, path) for age, path in found if os.access(path, os.X_OK)]
