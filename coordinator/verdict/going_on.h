/* going_on.h - how a failed run goes on: whether a pass is run again (docs/spec/retries.md), and the command line for a
 * run without all hosts. Pure. Texts live in the arena given. */
#ifndef SLICEUP_COORDINATOR_VERDICT_GOING_ON_H
#define SLICEUP_COORDINATOR_VERDICT_GOING_ON_H

#include "common/model/fact.h"

/* A pass is run again if every cause is transient and retries are left, which all its hosts share. */

/* Are all verdicts that are neither passed nor cascades transient? False if there is none. */
bool retry_all_transient (const struct verdict *verdicts, uint32_t n);
/* "metadata on host3": the transient cause, and its hosts. */
struct text retry_why (const struct plan *plan, const struct verdict *verdicts, uint32_t n, struct arena *arena);
/* The signature of the first cause; empty: none. */
struct text retry_first_signature (const struct verdict *verdicts, uint32_t n);
/* The wait before the nth retry, from 1: doubled each time. */
uint64_t retry_wait_ms (const struct limits *limits, uint32_t nth);

/* The run's command line, quoted for a POSIX shell, with --min-hosts `up`. Secrets are redacted. */
struct text going_on_command (const struct plan *plan, uint32_t up, struct arena *arena);

/* The same as `sliceup run`, with `added` (words quoted already) and without an earlier `option`; empty: it is too long to be
 * told whole. hides: a word of it is redacted, so that it cannot be run as it stands. */
struct text going_on_command_with (const struct plan *plan, const char *option, const char *added, bool *hides,
                                   struct arena *arena);

/* "answers nothing at 10.0.0.5 (ssh port, ping)"; without `where` it names no address, so that hosts fold. */
struct text host_asked_text (const struct fact_host_asked *asked, bool where, struct arena *arena);
/* Advice about an absent host: where to look, and that command if `up` others are there. */
struct text going_on_advice (const struct plan *plan, const struct fact_host_asked *asked, uint32_t host, uint32_t up,
                             struct text why, struct arena *arena);
/* Is it how it was launched that kept the worker away, not the host: names, keys, logins? */
bool going_on_is_of_launch (struct text why);

/* `command` as it is run on that host from here: "ssh node-4 df -h", or "on node-4: ..." where its workers join by
 * themselves. */
struct text host_command (const struct plan *plan, uint32_t host, struct text command, struct arena *arena);
/* How the keys of that host, and of those that are reached alike, get into the file of known host keys. */
struct text host_key_advice (const struct plan *plan, uint32_t host, struct arena *arena);
/* What to run on that host about what its worker found there: "kill 4232" for "/dev/vfio/0 is held by 4232 train.py", or
 * "df -h /var/tmp" for "/var/tmp (tmpfs, 600 MiB) is full". */
struct text host_remedy (const struct plan *plan, uint32_t host, struct text sentence, struct arena *arena);

#endif
