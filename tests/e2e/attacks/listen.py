#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sockets of the host that a job shall not reach: listen.py ABSTRACT-NAME PATH; prints a TCP port."""
import os, signal, socket, sys

tcp = socket.create_server(("127.0.0.1", 0))
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\0" + sys.argv[1])
abstract.listen(16)
named = socket.socket(socket.AF_UNIX)
named.bind(sys.argv[2])
named.listen(16)
os.chmod(sys.argv[2], 0o777)
print(tcp.getsockname()[1], flush=True)
signal.pause()
