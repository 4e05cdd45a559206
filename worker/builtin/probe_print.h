/* probe_print.h - a probe's report to standard output: one line a step and the verdict last, or as JSON. */
#ifndef SLICEUP_WORKER_BUILTIN_PROBE_PRINT_H
#define SLICEUP_WORKER_BUILTIN_PROBE_PRINT_H

#include "worker/probe/report.h"

int probe_print_lines (const struct probe_report *report, const char *plugin, struct err *err);
/* schema sliceup.probe/2: docs/spec/probe.md. */
int probe_print_json (const struct probe_report *report, const char *plugin, struct err *err);
/* What one step found, in words; empty: nothing to say. */
struct text probe_said (const struct probe_report *report, enum probe_stage stage, struct arena *arena);

#endif
