#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same under Debian's runsc of 2022.
# timeout: 240
WDR_RUNSC=$(dirname "$0")/../../build/runsc/old/runsc exec sh "$(dirname "$0")/52-runsc-attacks.sh"
