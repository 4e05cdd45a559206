/* facts.h - the builtin program `facts`: the facts of this host, for comparison with the other hosts of its slice.
 *
 * Speaks the canary protocol; by hand it prints the same lines. docs/spec/facts.md lists them. It runs no interpreter
 * and opens no device; on the network it asks at most the metadata server of a Google machine, for a bounded time.
 * Takes well below a fifth of a second. A missing thing is a fact with the value "absent"; an unreadable one says so.
 * Values that change by themselves (free disk, uptime) are notes to check again, never facts. Exit status: 0 printed, 1
 * could not print, 2 usage. argv[0] is the name of the builtin. */
#ifndef SLICEUP_WORKER_FACTS_FACTS_H
#define SLICEUP_WORKER_FACTS_FACTS_H

#include "common/base/text.h"

int facts_main (int argc, char **argv);
/* Does a variable control a runtime: is it of a family of docs/spec/facts.md? Pure. */
bool runtime_variables_contain (struct text name);

#endif
