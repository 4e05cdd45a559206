/* zap_request.h - private to common/io: one question of libzmq to the ZAP handler, and its answer (RFC 27, version
 * 1.0). Fixed size: what a peer sends decides no allocation. */
#ifndef SLICEUP_COMMON_IO_ZAP_REQUEST_H
#define SLICEUP_COMMON_IO_ZAP_REQUEST_H
#include "common/io/curve_key.h"
#include <stdbool.h>
#include <stdint.h>
enum { ZAP_PARTS = 7, ZAP_PART_BYTES_MAX = 255 };
struct zap_request {
    struct zap_part {
        uint8_t bytes[ZAP_PART_BYTES_MAX];
        uint16_t len;
    } parts[ZAP_PARTS];
    uint32_t parts_len;
    bool fits; /* no part too many, none too long */
};
bool zap_request_read (void *socket, struct zap_request *out);                   /* false: none is waiting */
bool zap_request_key (const struct zap_request *request, struct curve_key *key); /* false: not a good CURVE question */
bool zap_request_domain_is (const struct zap_request *request, const char *domain);
void zap_request_answer (void *socket, const struct zap_request *request, const char *status, const char *user);
#endif
