#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kill supervisors at random times of their start and run.

usage: chaos.py ROUNDS SECONDS: that many, each within so long of its start
"""
import random, signal, subprocess, sys, time
random.seed(7)
for i in range(int(sys.argv[1])):
    p = subprocess.Popen(["warder", "run", "--", "sh", "-c", "sleep 98765 & sleep 98765"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(random.uniform(0, float(sys.argv[2])))
    p.send_signal(signal.SIGKILL)
    p.wait()
