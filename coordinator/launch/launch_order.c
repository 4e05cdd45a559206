/* launch_order.c - the order that a courier gets, and the bundle that it is to bring. */
#include "coordinator/launch/launch_protocol.h"

#include "common/base/digest.h"
#include "common/io/atomic_file.h"
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>

enum { NONCE_BYTES = 16 };

#define BUILD_IT "(build it: cmake --build build --target bundle)"

/* <bundle>.head, which deploy/bundle writes: "<sha256> <bytes>" of what a host knows the bundle by. */
static int read_head (struct launch_bundle *bundle, struct err *err)
{
    struct arena arena = { 0 };
    struct digest digest;
    struct buf line;
    char hex[DIGEST_HEX_BYTES];
    const char *path = text_format (&arena, "%s.head", bundle->path).ptr;
    buf_init (&line, 256);
    int rc = file_read (path, &line, err);
    if (rc == 0 && (sscanf (buf_c (&line), "%64s %" SCNu64, hex, &bundle->head_bytes) != 2 ||
                    !digest_parse (text_of (hex), &digest) || bundle->head_bytes == 0))
        rc = err_set (err, ERR_DAMAGE, "%s does not hold the sha256 and length of the worker bundle " BUILD_IT, path);
    else if (rc == 0)
        digest_hex (&digest, bundle->sha256);
    buf_release (&line);
    arena_release (&arena);
    return rc;
}

/* Once a launch: all hosts get the same one. */
static int read_bundle (struct launch_bundle *bundle, struct err *err)
{
    struct stat st;
    if (bundle->sha256[0] != '\0')
        return 0;
    if (stat (bundle->path, &st) != 0)
        return err_errno (err, ERR_IO, "cannot read the worker bundle %s " BUILD_IT, bundle->path);
    bundle->bytes = (uint64_t) st.st_size;
    return read_head (bundle, err);
}

int launch_put_order (enum launcher launcher, const struct start_plan *start, const struct plan_host *host,
                      struct launch_bundle *bundle, struct buf *out, struct err *err)
{
    uint8_t random[NONCE_BYTES];
    char nonce[2 * NONCE_BYTES + 1];
    if (read_bundle (bundle, err) != 0)
        return -1;
    if (getrandom (random, sizeof random, 0) != sizeof random)
        return err_errno (err, ERR_IO, "cannot get random numbers");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf (nonce + 2 * i, 3, "%02x", random[i]);
    struct courier_request request = { .launcher = launcher,
                                       .host = host,
                                       .start = start,
                                       .nonce = nonce,
                                       .bundle = bundle->path,
                                       .bundle_sha256 = bundle->sha256,
                                       .bundle_bytes = bundle->bytes,
                                       .bundle_head_bytes = bundle->head_bytes };
    return launch_protocol_put_courier (out, &request, err);
}
