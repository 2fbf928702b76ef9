#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Run a program on a new terminal and act as its user.

usage: term.py SCRIPT PROGRAM [ARG...]

SCRIPT is Python that may call say(TEXT) and read(UNTIL). Prints what the terminal showed, the exit
status, and whether the terminal's settings are as before, with | between.
"""
import fcntl, os, pty, select, signal, struct, sys, termios, time

script, args = sys.argv[1], sys.argv[2:]
ready, go = os.pipe()
pid, fd = pty.fork()
if pid == 0:
    os.read(ready, 1)
    os.execvp(args[0], args)
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
text = ""
def say(s): os.write(fd, s.encode())
def read(until=None, seconds=10):
    global text
    end = time.time() + seconds
    while time.time() < end and (until is None or until not in text):
        if select.select([fd], [], [], 0.1)[0]:
            try: b = os.read(fd, 4096)
            except OSError: return
            if not b: return
            text += b.decode(errors="replace")
before = termios.tcgetattr(fd)
os.write(go, b"x")
exec(script)
read()
_, status = os.waitpid(pid, 0)
try: same = termios.tcgetattr(fd) == before
except termios.error: same = True
print(text.replace("\r", "").strip(), os.waitstatus_to_exitcode(status), "same" if same else "CHANGED", sep="|")
