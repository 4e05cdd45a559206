/* facts.h - the builtin program `facts`: the facts of this host, for comparison with the other hosts of its slice.
 *
 * Speaks the canary protocol; by hand it prints the same lines. docs/spec/facts.md lists what it tells. No interpreter,
 * no device is opened; of the network at most the metadata server of a Google machine is asked, within a bound. Well
 * below a fifth of a second. What is not there is a fact with the value "absent"; what may not be read says so. What
 * changes by itself (free disk, uptime) is a note to check again, never a fact.
 * Exit status: 0 printed, 1 could not print, 2 usage. argv[0] is the name of the builtin. */
#ifndef SLICEUP_WORKER_FACTS_FACTS_H
#define SLICEUP_WORKER_FACTS_FACTS_H

#include "common/base/text.h"

int facts_main (int argc, char **argv);
/* Does a variable decide what a runtime does: is it of a family of docs/spec/facts.md? Pure. */
bool runtime_variables_contain (struct text name);

#endif
