/* zap_self_test.h - private to common/io: tests that a new socket refuses an unknown key, before it is used. */
#ifndef SLICEUP_COMMON_IO_ZAP_SELF_TEST_H
#define SLICEUP_COMMON_IO_ZAP_SELF_TEST_H
#include "common/io/socket.h"
#include "common/io/zap.h"
/* Connects to `bound` with a throw-away key. 0: our own handler refused it. -1: anything else. Waits at most 10 s,
 * because the workers of a restarted coordinator connect at the same time. */
int zap_self_test (void *context, int client_type, const struct endpoint *bound, const char *server_public_key,
                   struct zap *zap, struct err *err);
#endif
