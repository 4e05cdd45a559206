/* bootstrap.h - the fixed command that a courier runs on a host. Spec: docs/spec/launch.md, "Courier and bootstrap".
 *
 * It is the same for every host and run: whatever varies goes over its standard input. The host's login shell may be
 * any, so it is one line without single quotes, backslashes or exclamation marks inside (csh and fish read those even
 * in quotes); inside runs /bin/sh, which may be dash, bash or busybox. */
#ifndef SLICEUP_COORDINATOR_COURIER_BOOTSTRAP_H
#define SLICEUP_COORDINATOR_COURIER_BOOTSTRAP_H

extern const char bootstrap_script[];  /* for sh -c */
extern const char bootstrap_command[]; /* the same as a command line: exec /bin/sh -c '<script>' */

/* What `uname -m` of a host has to say for this build's worker. */
extern const char bootstrap_machine[];

#endif
