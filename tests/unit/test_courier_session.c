/* links: courier */
#include "common/io/clock.h"
#include "coordinator/courier/bootstrap_protocol.h"
#include "coordinator/courier/bootstrap_session.h"
#include "test.h"
#include <sys/socket.h>
#include <sys/utsname.h>

#define NONCE "00112233445566778899aabbccddeeff"

enum { HANGS_S = 60, TIMEOUT_MS = 300 };

/* A host that says `script` and then the same line for ever, on the stream named. */
struct chatter {
    struct transport transport;
    const char *script;
    enum transport_stream endless;
};

static size_t watch_nothing (struct transport *transport, bool to_send, struct pollfd entries[TRANSPORT_FDS_MAX])
{
    (void) transport, (void) to_send, (void) entries;
    return 0;
}

static ssize_t receive (struct transport *transport, enum transport_stream stream, void *bytes, size_t max)
{
    struct chatter *chatter = (struct chatter *) transport;
    if (stream == TRANSPORT_OUTPUT && *chatter->script) {
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

static ssize_t say (struct transport *transport, const void *bytes, size_t len)
{
    (void) transport, (void) bytes;
    return (ssize_t) len;
}

static bool goes_on (struct transport *transport, struct buf *how)
{
    (void) transport, (void) how;
    return false;
}

static const struct transport_ops ops = { .watch = watch_nothing, .receive = receive, .say = say, .ended = goes_on };

/* The courier's side of it. The coordinator is gone from the start when it `hangs_up`. */
static struct bootstrap_session_end session (const char *script, enum transport_stream endless, bool hangs_up)
{
    struct chatter chatter = { .transport.ops = &ops, .script = script, .endless = endless };
    char nonce[] = NONCE, directory[] = "/d", sha256[] = "ab", launch[] = "{}";
    struct request request = { .nonce = nonce,
                               .directory = directory,
                               .bundle_sha256 = sha256,
                               .bundle_head_bytes = 1,
                               .bundle_bytes = 1,
                               .launch = launch,
                               .deadline_ms = TIMEOUT_MS };
    struct bootstrap_session_end end = { 0 };
    struct reporter reporter;
    struct courier_input input;
    int ends[2], null_fd = open ("/dev/null", O_WRONLY | O_CLOEXEC), error_fd = dup (STDERR_FILENO);
    assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    if (hangs_up)
        shutdown (ends[1], SHUT_WR);
    reporter_init (&reporter, null_fd);
    input_init (&input, ends[0]);
    assert_int_equal (dup2 (null_fd, STDERR_FILENO), STDERR_FILENO); /* what the host complains of */
    alarm (HANGS_S); /* a courier that hangs is what these tests are about */
    bootstrap_session_run (&request, &reporter, &input, &chatter.transport, clock_boot_ms () + TIMEOUT_MS, &end);
    alarm (0);
    assert_int_equal (dup2 (error_fd, STDERR_FILENO), STDERR_FILENO);
    close (error_fd);
    input_release (&input);
    close (ends[0]);
    close (ends[1]);
    close (null_fd);
    return end;
}

TEST (a_host_that_never_stops_talking_does_not_hide_the_end_of_the_coordinator)
{
    char script[512];
    struct utsname machine;
    assert_int_equal (uname (&machine), 0);
    snprintf (script, sizeof script,
              "sliceup-bootstrap " NONCE " host %s 6.1\nsliceup-bootstrap " NONCE " have\n{\"sliceup-worker\":1}\n",
              machine.machine);
    struct bootstrap_session_end end = session (script, TRANSPORT_OUTPUT, true);
    assert_int_equal (end.status, 1);
    assert_false (end.refused);
}

TEST (a_host_that_never_stops_complaining_is_given_up_at_the_deadline)
{
    struct bootstrap_session_end end = session ("", TRANSPORT_ERROR, false);
    assert_int_equal (end.status, 1);
    assert_true (end.refused);
    assert_has (end.why.text, "deadline");
}

TEST (a_host_that_never_stops_printing_is_refused)
{
    struct bootstrap_session_end end = session ("", TRANSPORT_OUTPUT, false);
    assert_int_equal (end.status, 1);
    assert_true (end.refused);
    assert_has (end.why.text, "KiB");
}
