/* links: courier */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "common/io/clock.h"
#include "coordinator/courier/bootstrap.h"
#include "coordinator/courier/visit.h"

#define NONCE "00112233445566778899aabbccddeeff"

enum { HANGS_S = 60, PATIENCE_MS = 300 };

/* A host that says `script` and then the same line for ever, on the stream named. */
struct chatter {
    struct way way;
    const char *script;
    enum way_stream endless;
};

static size_t watch_nothing (struct way *way, bool to_send, struct pollfd entries[WAY_FDS_MAX])
{
    (void) way, (void) to_send, (void) entries;
    return 0;
}

static ssize_t hear (struct way *way, enum way_stream stream, void *bytes, size_t max)
{
    struct chatter *chatter = (struct chatter *) way;
    if (stream == WAY_OUTPUT && *chatter->script) {
        size_t len = strlen (chatter->script);
        assert_true (len <= max);
        memcpy (bytes, chatter->script, len);
        chatter->script += len;
        return (ssize_t) len;
    }
    if (stream != chatter->endless)
        return 0;
    memset (bytes, '\n', max);
    return (ssize_t) max;
}

static ssize_t say (struct way *way, const void *bytes, size_t len)
{
    (void) way, (void) bytes;
    return (ssize_t) len;
}

static bool goes_on (struct way *way, struct buf *how)
{
    (void) way, (void) how;
    return false;
}

static const struct way_ops ops = { .watch = watch_nothing, .hear = hear, .say = say, .ended = goes_on };

/* The courier's side of it. The coordinator is gone from the start when it `hangs_up`. */
static struct visit_end visit (const char *script, enum way_stream endless, bool hangs_up)
{
    struct chatter chatter = { .way.ops = &ops, .script = script, .endless = endless };
    char nonce[] = NONCE, directory[] = "/d", sha256[] = "ab", launch[] = "{}";
    struct order order = { .nonce = nonce, .directory = directory, .bundle_sha256 = sha256, .bundle_head_bytes = 1, .bundle_bytes = 1,
                           .launch = launch, .deadline_ms = PATIENCE_MS };
    struct visit_end end = { 0 };
    struct voice voice;
    struct input input;
    int ends[2], null_fd = open ("/dev/null", O_WRONLY | O_CLOEXEC), error_fd = dup (STDERR_FILENO);
    assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    if (hangs_up)
        shutdown (ends[1], SHUT_WR);
    voice_init (&voice, null_fd);
    input_init (&input, ends[0]);
    assert_int_equal (dup2 (null_fd, STDERR_FILENO), STDERR_FILENO); /* what the host complains of */
    alarm (HANGS_S); /* a courier that hangs is what these tests are about */
    visit_run (&order, &voice, &input, &chatter.way, clock_boot_ms () + PATIENCE_MS, &end);
    alarm (0);
    assert_int_equal (dup2 (error_fd, STDERR_FILENO), STDERR_FILENO);
    close (error_fd);
    input_release (&input);
    close (ends[0]);
    close (ends[1]);
    close (null_fd);
    return end;
}

static void a_host_that_never_stops_talking_does_not_hide_the_end_of_the_coordinator (void **state)
{
    (void) state;
    char script[512];
    snprintf (script, sizeof script,
              "sliceup-bootstrap " NONCE " host %s 6.1\nsliceup-bootstrap " NONCE " have\nsliceup-bootstrap " NONCE
              " ready\n{\"sliceup-worker\":1}\n", bootstrap_machine);
    struct visit_end end = visit (script, WAY_OUTPUT, true);
    assert_int_equal (end.status, 1);
    assert_false (end.refused);
}

static void a_host_that_never_stops_complaining_is_given_up_at_the_deadline (void **state)
{
    (void) state;
    struct visit_end end = visit ("", WAY_ERROR, false);
    assert_int_equal (end.status, 1);
    assert_true (end.refused);
    assert_non_null (strstr (end.why.text, "deadline"));
}

static void a_host_that_never_stops_printing_is_refused (void **state)
{
    (void) state;
    struct visit_end end = visit ("", WAY_OUTPUT, false);
    assert_int_equal (end.status, 1);
    assert_true (end.refused);
    assert_non_null (strstr (end.why.text, "KiB"));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_host_that_never_stops_talking_does_not_hide_the_end_of_the_coordinator),
        cmocka_unit_test (a_host_that_never_stops_complaining_is_given_up_at_the_deadline),
        cmocka_unit_test (a_host_that_never_stops_printing_is_refused),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
