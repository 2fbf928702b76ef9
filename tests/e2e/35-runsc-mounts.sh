#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a job in gVisor sees of the host, and what it can't write.
# timeout: 180
WDR_BACKEND=runsc exec sh "$(dirname "$0")/15-mounts.sh" "$@"
