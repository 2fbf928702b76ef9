#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same network rules hold a gVisor guest: what its netstack sends is judged on the way out.
# timeout: 240
WDR_BACKEND=runsc exec bash "$(dirname "$0")/40-egress.sh" "$@"
