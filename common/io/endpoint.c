#include "common/io/endpoint.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADDRESS_BYTES_MAX = 255 }; /* of a DNS name */

static const char address_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:%[]*";

/* libzmq also accepts "tcp://source;destination" and other transports, so only characters of an address are allowed. */
static int check_address (const char *address, struct err *err)
{
    size_t len = strnlen (address, ADDRESS_BYTES_MAX + 1);
    if (len == 0 || len > ADDRESS_BYTES_MAX)
        return err_set (err, ERR_USAGE, "an address must have 1 to %d characters", ADDRESS_BYTES_MAX);
    size_t good = strspn (address, address_letters);
    if (good != len)
        return err_set (err, ERR_USAGE,
                        "character %zu of the address is not allowed: expected a host name, an IPv4 or an IPv6 address",
                        good + 1);
    return 0;
}

int endpoint_make (const char *address, uint16_t port, struct endpoint *out, struct err *err)
{
    char digits[8] = "*";
    if (check_address (address, err) != 0)
        return -1;
    if (port != 0)
        snprintf (digits, sizeof digits, "%u", (unsigned) port);
    bool bare_ipv6 = strchr (address, ':') && address[0] != '[';
    int len = snprintf (out->text, sizeof out->text, bare_ipv6 ? "tcp://[%s]:%s" : "tcp://%s:%s", address, digits);
    assert (len > 0 && (size_t) len < sizeof out->text);
    return 0;
}

uint16_t endpoint_port (const struct endpoint *bound)
{
    const char *colon = strrchr (bound->text, ':');
    assert (colon);
    return (uint16_t) strtoul (colon + 1, NULL, 10);
}

struct endpoint endpoint_for_local_client (const struct endpoint *bound)
{
    struct endpoint local = *bound;
    unsigned port = endpoint_port (bound);
    if (strncmp (bound->text, "tcp://0.0.0.0:", 14) == 0)
        snprintf (local.text, sizeof local.text, "tcp://127.0.0.1:%u", port);
    else if (strncmp (bound->text, "tcp://[::]:", 11) == 0)
        snprintf (local.text, sizeof local.text, "tcp://[::1]:%u", port);
    return local;
}
