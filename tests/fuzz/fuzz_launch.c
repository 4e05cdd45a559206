/* fuzz_launch.c - no words of a host, a courier or a worker at its start crash those who read them or pass their bounds,
 * in whatever pieces they come. The first byte says who reads, the second the size of the pieces. */
#include <assert.h>
#include <string.h>

#include "coordinator/courier/bootstrap_protocol.h"
#include "coordinator/launch/launch_private.h"
#include "worker/run/join.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

enum { INPUT_MAX_BYTES = 128 * 1024, REPLY_MAX_BYTES = 64 * 1024 };

static const char launch_line[] =
    "{\"sliceup-launch\":1,\"run\":\"00112233445566778899aabbccddeeff\",\"host\":\"h0\",\"rank\":0,\"address\":\"10.0."
    "0.1\","
    "\"control\":1024,\"bulk\":1025,\"key\":\"0123456789012345678901234567890123456789\",\"directory\":\"/tmp/w\"}";
static const struct request request = { .host = "h0",
                                        .nonce = "00112233445566778899aabbccddeeff",
                                        .directory = "/tmp/w",
                                        .bundle_sha256 =
                                            "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
                                        .bundle_head_bytes = 10,
                                        .bundle_bytes = 100,
                                        .launch = launch_line,
                                        .worker_directory = "/tmp/w" };

static void read_launch (struct text piece, struct launch_parser *parser)
{
    struct launch_report report;
    struct err err = { 0 };
    int rc = 1;
    while (rc == 1) {
        rc = launch_protocol_receive (parser, &piece, &report, &err);
        assert (rc != 1 || strnlen (report.why, sizeof report.why) < sizeof report.why);
        assert (rc != 0 || piece.len == 0);
        assert (rc >= 0 || err.code != ERR_NONE);
    }
}

static void read_bootstrap (struct text piece, struct bootstrap_protocol *protocol, struct buf *replies)
{
    struct err err = { 0 };
    enum bootstrap_event event = BOOTSTRAP_PROTOCOL_HOST;
    while (event != BOOTSTRAP_PROTOCOL_NOTHING && event != BOOTSTRAP_PROTOCOL_REFUSED) {
        event = bootstrap_protocol_receive (protocol, &piece, replies, &err);
        if (event == BOOTSTRAP_PROTOCOL_WANT)
            bootstrap_protocol_note_sent (protocol);
    }
    assert (event != BOOTSTRAP_PROTOCOL_REFUSED || (err.code != ERR_NONE && protocol->step < STEPS));
    assert (!replies->overflow);
}

static void read_lines (struct text input)
{
    static struct request parsed;
    static struct join_config join;
    struct text first = text_take_until (&input, '\n');
    struct err err = { 0 };
    if (request_parse (&parsed, first, input, &err) == 0)
        request_release (&parsed);
    (void) join_parse (&join, first, &err);
    assert (strnlen (join.directory, sizeof join.directory) < sizeof join.directory);
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len)
{
    static struct launch_parser parser;
    static struct bootstrap_protocol protocol;
    if (len < 3 || len > INPUT_MAX_BYTES)
        return 0;
    struct text input = { (const char *) bytes + 2, (uint32_t) (len - 2) };
    uint32_t piece = bytes[1] ? bytes[1] : input.len;
    LOCAL_BUF replies = { .max = REPLY_MAX_BYTES };
    parser = (struct launch_parser){ .courier = bytes[0] & 1 };
    bootstrap_protocol_begin (&protocol, &request, "x86_64", &replies);
    if (bytes[0] % 4 == 3)
        read_lines (input);
    for (uint32_t at = 0; bytes[0] % 4 != 3 && at < input.len; at += piece) {
        struct text part = { input.ptr + at, input.len - at < piece ? input.len - at : piece };
        if (bytes[0] % 4 == 2)
            read_bootstrap (part, &protocol, &replies);
        else
            read_launch (part, &parser);
    }
    return 0;
}
