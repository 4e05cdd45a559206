/* confine.h - `sliceup-worker confine`: sets up the sandbox of a program, then executes the program in it.
 *
 * It drops the right to write the cache at the best level that this host allows, tries to write the cache in every way
 * from inside (write_probe.h), and reports what it found (confine_sandbox.h). It ends instead when the level is too low.
 * The report holds for the program, which is the same process. docs/spec/cache.md, Enforcement. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_H

/* argv[0] is "confine"; the rest is confine_args.h's. Exit status, when it does not become the program: 0 told, 1 less
 * than was asked for, 2 usage, 3 it could not. */
int confine_main (int argc, char **argv);

#endif
