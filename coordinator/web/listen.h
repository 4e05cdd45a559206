/* listen.h - where the server listens: its socket, its names, and the token of those who come from elsewhere. */
#ifndef SLICEUP_COORDINATOR_WEB_LISTEN_H
#define SLICEUP_COORDINATOR_WEB_LISTEN_H

#include "common/base/err.h"
#include "coordinator/web/request.h"
#include <stdint.h>

struct web_listen {
    int fd;
    char address[64]; /* as a Host has it: "127.0.0.1", "[::1]" */
    char own[256];    /* this machine's name; "": not used */
    uint16_t port;    /* bound */
    bool local;       /* only this machine reaches it */
};
/* "127.0.0.1:8420", "[::1]:0", "0.0.0.0:8420": a number and a port, 0 any. */
int web_listen_open (const char *where, struct web_listen *out, struct err *err);
/* Completes `access`, which has the names that were given: the address, localhost, and a token for other machines. It
 * is kept in <home>/web.token, so that a page goes on after a restart. */
int web_listen_admit (struct web_listen *listen, const char *home, struct web_access *access, struct err *err);
/* "http://127.0.0.1:8420/", with the token behind '#'. */
void web_listen_print_url (const struct web_listen *listen, const struct web_access *access, struct buf *out);

#endif
