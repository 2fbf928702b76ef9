# SPDX-License-Identifier: Apache-2.0
"""Connect to each ADDR:PORT of the arguments, and say what came of it and how long it took."""
import socket
import sys
import time

for dest in sys.argv[1:]:
    addr, port = dest.rsplit(":", 1)
    start = time.time()
    try:
        with socket.create_connection((addr, int(port)), 5) as s:
            said = s.recv(100).decode()
    except OSError as e:
        said = e.strerror
    print(f"{dest}: {said} ({(time.time() - start) * 1000:.0f} ms)")
