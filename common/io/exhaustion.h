/* exhaustion.h - prints a message when a resource limit ends this process. A library that is refused memory or a
 * descriptor ends the process by an assertion: libzmq does. A write past the largest size of a file (RLIMIT_FSIZE)
 * ends it by SIGXFSZ. / */
#ifndef SLICEUP_COMMON_IO_EXHAUSTION_H
#define SLICEUP_COMMON_IO_EXHAUSTION_H

/* From now on such a write fails with EFBIG instead, though not in programs that are executed; and the other end says
 * what there was too little of, and has exit status 3. Any other abort stays one. `program` is named in the sentence,
 * and lives as long as the process. */
void exhaustion_install_handlers (const char *program);

#endif
