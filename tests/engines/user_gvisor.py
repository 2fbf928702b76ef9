#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a user of gVisor's Python package writes. usage: NETWORK COMMAND"""
import sys
import gvisor
with gvisor.Sandbox(network=sys.argv[1], env={"WHO": "guest"}) as box:
    try:
        print(box.exec("/bin/sh", "-c", sys.argv[2], cwd="/tmp")[0], end="")
    except gvisor.Error as e:
        print("Error:", e)
