# SPDX-License-Identifier: Apache-2.0
"""What a hostile program would try first."""
import ctypes, os, socket

def attempt(what, deed):
    try:
        deed()
        print("  done:   ", what)
    except OSError as e:
        print("  refused:", what, "-", e.strerror)

attempt("read /etc/shadow", lambda: open("/etc/shadow"))
attempt("write to /usr/bin", lambda: open("/usr/bin/python3", "ab"))
attempt("connect to the host", lambda: socket.create_connection(("127.0.0.1", 22), 1))
attempt("reach the internet", lambda: socket.create_connection(("192.0.2.1", 80), 1))
attempt("open a raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("signal process 1", lambda: os.kill(1, 9) or os.stat("/proc/1/exe"))
attempt("become root", lambda: os.setuid(0))
attempt("write to /tmp, which is its own", lambda: open("/tmp/x", "w").write("x"))
