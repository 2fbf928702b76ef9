/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included first by `make analyze`. An analyser reads one file at a time and so thinks that
 * wdr_err_set(err, -EINVAL, ...) may return 0; here it sees the code come back.
 */
#pragma once

#include "base/wdr_err.h"

#define wdr_err_set(err, code, ...) ((void)(wdr_err_set)(err, code, __VA_ARGS__), (code))
#define wdr_err_at(err, code, where, ...) \
	((void)(wdr_err_at)(err, code, where, __VA_ARGS__), (code))
#define wdr_err_wrap(err, code, ...) ((void)(wdr_err_wrap)(err, code, __VA_ARGS__), (code))
