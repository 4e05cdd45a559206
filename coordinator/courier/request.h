/* request.h - parses and checks the two lines with which a coordinator orders a courier. Spec: docs/spec/launch.md.
 *
 * It knows no socket and no host. Checked words are safe in a command line, a path or an option: names hold no blanks,
 * quotes or leading dashes. Texts belong to the request. Unknown members are ignored. */
#ifndef SLICEUP_COORDINATOR_COURIER_REQUEST_H
#define SLICEUP_COORDINATOR_COURIER_REQUEST_H

#include "common/base/err.h"
#include "common/base/text.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    REQUEST_PROTOCOL = 1,
    REQUEST_NONCE_BYTES = 32,
    REQUEST_SHA256_BYTES = 64,
    REQUEST_IDENTITIES_MAX = 16,
    REQUEST_OPTIONS_MAX = 16,
    REQUEST_PATH_MAX_BYTES = 1023,
    REQUEST_NAME_MAX_BYTES = 255,
    REQUEST_PASSWORD_MAX_BYTES = 1023,
    REQUEST_LAUNCH_MAX_BYTES = 4096,
    REQUEST_BUNDLE_MAX_BYTES = 256 << 20,
    REQUEST_DEADLINE_MAX_MS = 24 * 3600 * 1000
};

enum request_by { BY_SSH, BY_SLURM };

/* The coordinator's own ports, for a link that is carried through ssh. */
enum { CARRIER_CONTROL, CARRIER_BULK, CARRIER_ENDS };
struct carrier_ends {
    const char *address; /* on this machine, as a number */
    uint16_t ports[CARRIER_ENDS];
};
enum request_carry { CARRY_IF_NEEDED, CARRY_NEVER, CARRY_ALWAYS }; /* carried if nothing else works; never; always */

struct request_ssh {
    const char *address, *user; /* user "": whoever runs the courier */
    const char *jump;           /* as given, for people; "": direct */
    const char *jump_user, *jump_address;
    const char *command; /* the connection is its standard input and output; "": none. The user's own */
    uint16_t port, jump_port;
    const char *host_key_alias; /* "": known_hosts holds the host's key under address and port */
    const char *known_hosts;
    const char *identities[REQUEST_IDENTITIES_MAX];
    uint32_t identities_n;
    bool agent, identities_only; /* the latter: of the agent's keys, too */
    const char *password;        /* NULL: none; "": it follows on a line of its own */
    bool sudo;                   /* what runs on the host runs as root */
};

struct request_slurm {
    const char *account, *partition; /* "": Slurm's default */
    const char *options[REQUEST_OPTIONS_MAX];
    uint32_t options_n;
};

struct request {
    enum request_by by;
    const char *host, *nonce, *directory, *bundle, *bundle_sha256;
    uint64_t bundle_head_bytes, bundle_bytes, deadline_ms;
    bool tied;
    bool again;        /* the worker runs already: only carry its link anew */
    uint64_t pause_ms; /* before it begins */
    enum request_carry carry;
    struct carrier_ends hub;
    struct request_ssh ssh;
    struct request_slurm slurm;
    const char *launch;           /* the launch line, without newline; NULL: run one command, no worker joins */
    const char *worker_directory; /* in the launch line */
    bool needs_address;           /* its address is empty: call request_set_way before use */
    json_t *order;                /* this and the arena hold all of it */
    struct arena arena;
};

/* A launch line with a NULL ptr: the request is for one command. */
int request_parse (struct request *request, struct text courier_line, struct text launch_line, struct err *err);
/* Changes the way to the coordinator in the launch line. `ports` NULL: they stay. */
int request_set_way (struct request *request, const char *address, const uint16_t ports[CARRIER_ENDS], struct err *err);
void request_release (struct request *request);

#endif
