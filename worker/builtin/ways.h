/* ways.h - the builtin program `ways`: tries the network between the hosts of a rung, before a program hangs in it.
 *
 * Each host listens at the ports of the job; at a gate all wait until all listen, then each connects to every other.
 * A listener says its run and rank, so that another machine at a host's address is noticed. A host tells whom it did not
 * reach as facts, `way.RANK`: "10.0.0.5:8476 (no answer)"; the coordinator judges all together (verdict/ways.c). Hosts
 * with one address, or addresses of loopback, have no network between them. */
#ifndef SLICEUP_WORKER_BUILTIN_WAYS_H
#define SLICEUP_WORKER_BUILTIN_WAYS_H

/* argv[0] is the name of the builtin. Exit status: 0 all was tried, 1 it cannot listen or was stopped. */
int ways_main (int argc, char **argv);

#endif
