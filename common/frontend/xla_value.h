/* xla_value.h - the numbers of a torch_xla report: times, sizes and plain values. Pure; any thread.
 * Formats: pytorch/xla:torch_xla/csrc/runtime/metrics.cpp, MetricFnTime, MetricFnBytes, MetricFnValue. */
#ifndef SLICEUP_COMMON_FRONTEND_XLA_VALUE_H
#define SLICEUP_COMMON_FRONTEND_XLA_VALUE_H

#include "common/base/text.h"

enum xla_unit { XLA_UNIT_NONE = 0, XLA_UNIT_TIME, XLA_UNIT_BYTES, XLA_UNIT_PLAIN };

/* "04s589ms590.974us" is a time in ns, "4.09GB" a size in bytes (powers of 1024; as exact as two decimals are), "51.00"
 * a plain number. False: the whole text is none of them. */
bool xla_value_read (struct text text, enum xla_unit *unit, double *value);

#endif
