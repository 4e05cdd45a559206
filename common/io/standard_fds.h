/* standard_fds.h - keeps descriptors 0 to 2 reserved for standard input, output and error.
 *
 * A program that is started with one of them closed would be given its number for a socket or a journal, and print into
 * it (libzmq asserts on it as well: facts of zeromq/libzmq issue #3104). First thing in main. */
#ifndef SLICEUP_COMMON_IO_STANDARD_FDS_H
#define SLICEUP_COMMON_IO_STANDARD_FDS_H

/* Opens /dev/null in place of every one of 0, 1 and 2 that is closed. */
void standard_fds_keep (void);

#endif
