#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `warder run` in gVisor: a program's streams, status, files and surroundings.
# timeout: 240
WDR_BACKEND=runsc exec sh "$(dirname "$0")/10-run.sh" "$@"
