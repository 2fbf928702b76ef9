#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every relative link of a document leads to a file, and to a heading where it has a #part."""
import pathlib, re, subprocess, sys

LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def slug(heading):
    """As forges make anchors: lower case, no punctuation, blanks to dashes."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def prose(path):
    """Lines outside code blocks, with their numbers."""
    fenced = False
    for n, line in enumerate(path.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield n, line


def anchors(path):
    return {slug(l.lstrip("#")) for _, l in prose(path) if re.match(r"#+ ", l)}


def fault(doc, target):
    path, _, part = target.partition("#")
    if re.match(r"[a-z]+:", path):
        return None
    there = (doc.parent / path) if path else doc
    if not there.exists():
        return f"no such file: {target}"
    if part and there.suffix == ".md" and part not in anchors(there):
        return f"no such heading: {target}"
    return None


def documents():
    git = subprocess.run(["git", "ls-files", "-z", "*.md"], capture_output=True, check=False)
    names = git.stdout.decode().split("\0")[:-1] if git.returncode == 0 else []
    return [pathlib.Path(n) for n in names] or \
        [p for p in pathlib.Path(".").rglob("*.md") if p.parts[0] != "build"]


bad = 0
for doc in documents():
    for n, line in prose(doc):
        for m in LINK.finditer(re.sub(r"`[^`]*`", "", line)):
            if what := fault(doc, m[1] or m[2]):
                print(f"{doc}:{n}: {what}"); bad += 1
sys.exit(bad != 0)
