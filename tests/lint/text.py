#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What holds for every file of the tree, whatever its language: one rule a row of RULES."""
import ast, json, pathlib, re, subprocess, sys

SKIP = ("build/", ".git/")
# Inputs that a parser must survive or refuse, and what others wrote, are as they are.
RAW = ("tests/fuzz/corpus/", "LICENSE", "tests/unit/golden/")
GPL = "(GPL-2.0-only OR BSD-2-Clause)"
COMMENTED = {".c", ".h", ".sh", ".py", ".bash", ".zsh", ".fish", ".proto", ".mk", ".service"}
COMMENTED_NAMES = {"Makefile", "run", "before-stop"}
# Written apart, so that this file does not name them either.
HOSTS = r"(?:deb|security)\.debian\." + r"org|archive\.ubuntu\." + r"com|pypi\." + r"org|" \
    r"files\.pythonhosted\." + r"org|registry\.npmjs\." + r"org|proxy\.golang\." + r"org|" \
    r"crates\." + r"io\b|repo1?\.maven|packages\.cloud\.google|deb\.nodesource"
PLACES = r"(?<![\w.$}-])/(?:work|farm)/|/tmp/" + r"bash_jobs|\.libr" + r"ary/|/root/\.(?:py|cargo|npm)"
# STYLE 16: an external tool by the shell; and what cannot bound its output or report an error.
BANNED = r"(?<![\w.>])(system|popen|sprintf|vsprintf|strcat|gets|atoi|atol|atoll|alloca|tmpnam|mktemp)\("


def tree():
    git = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         capture_output=True, check=False)
    if git.returncode == 0 and git.stdout:
        names = git.stdout.decode().split("\0")[:-1]
    else:  # a tarball
        names = [str(p) for p in pathlib.Path(".").rglob("*")]
    return sorted(n for n in names if not n.startswith(SKIP) and pathlib.Path(n).is_file())


def spdx(name, text):
    path = pathlib.Path(name)
    man = re.fullmatch(r"\.[1-8]", path.suffix)
    if path.suffix not in COMMENTED and path.name not in COMMENTED_NAMES and not man:
        return
    want = GPL if name.startswith("bpf/") else "Apache-2.0"
    head = [l for l in text.splitlines()[:3] if not l.startswith(("#!", "# shellcheck", "#compdef"))]
    if not head or f"SPDX-License-Identifier: {want}" not in head[0]:
        yield 1, f"first line must be SPDX-License-Identifier: {want}"


def places(name, text):
    for n, line in enumerate(text.splitlines(), 1):
        if m := re.search(f"{HOSTS}|{PLACES}", line):
            yield n, f"'{m[0]}': no registry's host and no path of one machine"


def white(name, text):
    lines = text.split("\n")
    if text and lines[-1] != "":
        yield len(lines), "no newline at the end"
    for n, line in enumerate(lines, 1):
        if line.endswith((" ", "\t", "\r")):
            yield n, "white space at the end of the line"
        if name.endswith((".sh", "Makefile")) and re.match(" {2,}\t| {8}", line):
            yield n, "indent with tabs"


def banned(name, text):
    if name.endswith((".c", ".h")):
        for n, line in enumerate(text.splitlines(), 1):
            if m := re.search(BANNED, re.sub(r'"(?:\\.|[^"\\])*"|/\*.*?\*/|^\s*\*.*', "", line)):
                yield n, f"{m[1]}() is not used here"


def undone(name, text):
    for n, line in enumerate(text.splitlines(), 1):
        if re.search(r"\b(TODO|FIXME|XXX)" + r"\b(?!:? when )", line) and name != "tests/lint/text.py":
            yield n, "due when? write 'TODO when CONDITION: ...'"


def parses(name, text):
    try:
        if name.endswith(".json"):
            json.loads(text)
        elif name.endswith(".py"):
            ast.parse(text)
    except (ValueError, SyntaxError) as e:
        yield getattr(e, "lineno", 1), str(e)


RULES = (spdx, places, white, banned, undone, parses)

bad = 0
for name in tree():
    if name.startswith(RAW):
        continue
    try:
        text = pathlib.Path(name).read_bytes().decode()
    except UnicodeDecodeError:
        print(f"{name}: not UTF-8 text"); bad += 1; continue
    for rule in RULES:
        for line, what in rule(name, text):
            print(f"{name}:{line}: {what} [{rule.__name__}]"); bad += 1
sys.exit(bad != 0)
