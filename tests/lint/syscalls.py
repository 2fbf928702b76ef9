#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Hold the tables of loader/base/wdr_syscall.c against every number the installed headers know."""
import os, pathlib, re, subprocess, sys

SRC = pathlib.Path("loader/base/wdr_syscall.c").read_text()
CC = os.environ.get("CC", "gcc")
MULTIARCH = subprocess.run([CC, "-dumpmachine"], check=True, capture_output=True, text=True).stdout.strip()
# What arm64's own asm/unistd.h defines before it includes the generic list.
ARM64 = ("__BITS_PER_LONG=64", "__ARCH_WANT_RENAMEAT", "__ARCH_WANT_NEW_STAT", "__ARCH_WANT_SYS_CLONE3",
         "__ARCH_WANT_SET_GET_RLIMIT", "__ARCH_WANT_MEMFD_SECRET")
NOT_CALLS = {"syscalls", "arch_specific_syscall"}


def words(start, stop):
    text = SRC[SRC.index(start):]
    return "".join(re.findall(r'"([^"]*)"', text[:text.index(stop)])).split()


def table(arch):
    own = words(f"defined({arch})", "#e")
    named = dict(enumerate(own)) | dict(enumerate(words("common[] =", ";"), 424))
    return {name: nr for nr, name in named.items() if name != "-"}


def header(include, defines):
    """Names from -dM; numbers by letting the preprocessor expand each, since some are aliases."""
    args = [CC, "-E", "-x", "c", "-", *(f"-D{d}" for d in defines)]
    macros = subprocess.run([*args, "-dM"], input=include, check=True, capture_output=True, text=True).stdout
    names = sorted(set(re.findall(r"#define __NR_(\w+) ", macros)) - NOT_CALLS)
    probe = include + "\n" + "\n".join(f"@{n} __NR_{n}" for n in names)
    out = subprocess.run([*args, "-P"], input=probe, check=True, capture_output=True, text=True).stdout
    return {n: int(nr) for n, nr in re.findall(r"^@(\w+) (\d+)$", out, re.M)}


bad = 0
for arch, include, defines in (
        ("__x86_64__", f'#include "/usr/include/{MULTIARCH}/asm/unistd_64.h"', ()),
        ("__aarch64__", '#define __ASM_X86_BITSPERLONG_H\n#include "/usr/include/asm-generic/unistd.h"', ARM64)):
    if arch == "__x86_64__" and not MULTIARCH.startswith("x86_64"):
        continue
    ours, theirs = table(arch), header(include, defines)
    if len(theirs) < 250:
        print(f"tests/lint/syscalls.py: {arch}: only {len(theirs)} numbers found in the headers"); bad += 1
    for name, nr in theirs.items():
        if ours.get(name) != nr:
            print(f"loader/base/wdr_syscall.c: {arch}: {name} is {nr}, not {ours.get(name)}"); bad += 1
sys.exit(bad != 0)
