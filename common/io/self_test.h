/* self_test.h - private to common/io: tests that a new socket refuses an unknown key, before it is used. */
#ifndef SLICEUP_COMMON_IO_SELF_TEST_H
#define SLICEUP_COMMON_IO_SELF_TEST_H
#include "common/io/socket.h"
#include "common/io/zap.h"
/* Connects to `bound` with a throw-away key and requires that our own handler was asked and that it was refused; -1 in
 * every other case. Waits for at most 10 s (a restarted coordinator has all its workers at the door). */
int self_test (void *context, int client_type, const struct endpoint *bound, const char *server_public_key,
               struct zap *zap, struct err *err);
#endif
