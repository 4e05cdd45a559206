/* confine.h - `sliceup-worker confine`: the stage between spawn and a program that may touch a cache.
 *
 * It takes rights away at the best level that this host lets it, tries to write the cache in every way from inside
 * (write_probe.h), tells what it found (confine_report.h), and becomes the program, or ends when that is less than
 * what is asked for. So what it tells is true of the very process that the program is. docs/spec/cache.md,
 * Enforcement. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_H

/* argv[0] is "confine"; the rest is confine_plan.h's. Exit status, when it does not become the program: 0 told, 1 less
 * than was asked for, 2 usage, 3 it could not. */
int confine_main (int argc, char **argv);

#endif
