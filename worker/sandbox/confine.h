/* confine.h - `sliceup-worker confine`: sets up the sandbox of a program, then executes the program in it.
 *
 * It drops the right to write the cache at the best level that this host allows, tries to write the cache in every way
 * from inside (write_probe.h), and reports the result (confine_sandbox.h). It ends if the level is too low. The report
 * is true for the program, because that is the same process. docs/spec/cache.md, Enforcement. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_H

/* argv[0] is "confine"; the rest is confine_args.h's. Exit status if it does not become the program: 0 reported, 1 a
 * lower level than required, 2 usage, 3 it failed. */
int confine_main (int argc, char **argv);

#endif
