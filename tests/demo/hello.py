# SPDX-License-Identifier: Apache-2.0
"""A server that says hello to whoever connects to the port in its argument."""
import socket
import sys

s = socket.create_server(("", int(sys.argv[1])))
while True:
    c, peer = s.accept()
    c.send(b"hello " + peer[0].encode())
    c.close()
