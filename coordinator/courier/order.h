/* order.h - what a coordinator wants of a courier: its two lines, checked. Spec: docs/spec/launch.md.
 *
 * It knows no socket and no host. What was checked here may be put into a command line, a path or an option as it is:
 * names hold no blanks, quotes or leading dashes. Texts belong to the order; members of the lines that are not known
 * here are passed over. */
#ifndef SLICEUP_COURIER_ORDER_H
#define SLICEUP_COURIER_ORDER_H

#include <stdbool.h>
#include <stdint.h>
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/text.h"

enum { ORDER_PROTOCOL = 1, ORDER_NONCE_BYTES = 32, ORDER_SHA256_BYTES = 64, ORDER_IDENTITIES_MAX = 16,
       ORDER_OPTIONS_MAX = 16, ORDER_PATH_MAX_BYTES = 1023, ORDER_NAME_MAX_BYTES = 255, ORDER_LAUNCH_MAX_BYTES = 4096,
       ORDER_BUNDLE_MAX_BYTES = 256 << 20, ORDER_DEADLINE_MAX_MS = 24 * 3600 * 1000 };

enum order_by { BY_SSH, BY_SLURM };

struct order_ssh {
    char *address, *user;       /* user "": whoever runs the courier */
    char *jump;                 /* as it was given, for people; "": straight */
    char *jump_user, *jump_address;
    uint16_t port, jump_port;
    char *known_hosts;
    char *identities[ORDER_IDENTITIES_MAX];
    uint32_t identities_n;
    bool agent;
};

struct order_slurm {
    char *account, *partition;  /* "": Slurm's default */
    char *options[ORDER_OPTIONS_MAX];
    uint32_t options_n;
};

struct order {
    enum order_by by;
    char *host, *nonce, *directory, *bundle, *bundle_sha256;
    uint64_t bundle_head_bytes, bundle_bytes, deadline_ms;
    bool tied;
    struct order_ssh ssh;
    struct order_slurm slurm;
    char *launch;               /* the launch line, without newline */
    bool needs_address;         /* its address is empty: order_set_address before it is used */
    struct arena arena;         /* holds all of it */
};

int order_parse (struct order *order, struct text courier_line, struct text launch_line, struct err *err);
int order_set_address (struct order *order, const char *address, struct err *err);
void order_release (struct order *order);

#endif
