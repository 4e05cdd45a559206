/* links: courier */
#include "coordinator/courier/bootstrap_protocol.h"
#include "test.h"

#define NONCE "00112233445566778899aabbccddeeff"
#define OURS "sliceup-bootstrap " NONCE " "
#define ANSWER "{\"sliceup-worker\":1,\"key\":\"k\"}"

static char nonce[] = NONCE, sha256[] = "abc", directory[] = "/d", launch[] = "{launch}";
static const struct request request = { .nonce = nonce,
                                        .bundle_sha256 = sha256,
                                        .directory = directory,
                                        .launch = launch,
                                        .bundle_head_bytes = 33,
                                        .bundle_bytes = 77 };

struct scene {
    struct bootstrap_protocol bootstrap_protocol;
    struct buf sent;
    struct err err;
    enum bootstrap_event events[32];
    size_t n;
};

static void begin (struct scene *scene)
{
    *scene = (struct scene){ .n = 0 };
    buf_init (&scene->sent, 8192);
    bootstrap_protocol_begin (&scene->bootstrap_protocol, &request, "x86_64", &scene->sent);
}

/* In pieces of at most `most` bytes, of random length. */
static void receive (struct scene *scene, const char *bytes, size_t len, struct rng *rng, size_t most)
{
    for (size_t at = 0, piece; at < len; at += piece) {
        piece = rng ? 1 + rng_below (rng, most) : len;
        piece = piece < len - at ? piece : len - at;
        struct text received = { bytes + at, (uint32_t) piece };
        while (received.len > 0) {
            enum bootstrap_event event = bootstrap_protocol_receive (&scene->bootstrap_protocol, &received,
                                                                     &scene->sent, &scene->err);
            if (event != BOOTSTRAP_PROTOCOL_NOTHING && scene->n < 32)
                scene->events[scene->n++] = event;
            if (event == BOOTSTRAP_PROTOCOL_WANT)
                bootstrap_protocol_note_sent (&scene->bootstrap_protocol);
        }
    }
}

static void receive_text (struct scene *scene, const char *text)
{
    receive (scene, text, strlen (text), NULL, 0);
}

static void expect (const struct scene *scene, size_t n, const enum bootstrap_event *events)
{
    assert_int_equal (scene->n, n);
    assert_memory_equal (scene->events, events, n * sizeof *events);
}

static const enum bootstrap_event whole[] = { BOOTSTRAP_PROTOCOL_HOST, BOOTSTRAP_PROTOCOL_WANT,
                                              BOOTSTRAP_PROTOCOL_READY, BOOTSTRAP_PROTOCOL_ANSWER };

TEST (any_splits_of_the_bytes_mean_the_same)
{
    static const char said[] = "Welcome!\n\n" OURS "host x86_64 6.1.0-1\nnoise\r\nprompt> " OURS "want\n" OURS
                               "placed\r\n{\"other\":1}\n" ANSWER "\nwhatever\n";
    for (uint64_t seed = 1; seed <= 500; seed++) {
        struct scene scene;
        struct rng rng = rng_seed (seed);
        begin (&scene);
        receive (&scene, said, sizeof said - 1, &rng, 1 + seed % 40);
        expect (&scene, 4, whole);
        assert_string_equal (scene.bootstrap_protocol.line, ANSWER);
        assert_string_equal (buf_c (&scene.sent), NONCE " abc 33 77 /d join\n{launch}\n{launch}\n");
        buf_release (&scene.sent);
    }
}

TEST (a_host_that_has_the_bundle_is_sent_nothing_more)
{
    struct scene scene;
    begin (&scene);
    receive_text (&scene, OURS "host x86_64 6.1\n" OURS "have\n" ANSWER "\n");
    expect (&scene, 3,
            (enum bootstrap_event[]){ BOOTSTRAP_PROTOCOL_HOST, BOOTSTRAP_PROTOCOL_READY, BOOTSTRAP_PROTOCOL_ANSWER });
    assert_string_equal (buf_c (&scene.sent), NONCE " abc 33 77 /d join\n{launch}\n");
    buf_release (&scene.sent);
}

TEST (a_worker_that_is_damaged_is_brought_anew_and_gets_its_launch_line_again)
{
    struct scene scene;
    begin (&scene);
    receive_text (&scene, OURS "host x86_64 6.1\n" OURS "have\n" OURS "want changed\n" OURS "placed\n" ANSWER "\n");
    expect (&scene, 5,
            (enum bootstrap_event[]){ BOOTSTRAP_PROTOCOL_HOST, BOOTSTRAP_PROTOCOL_READY, BOOTSTRAP_PROTOCOL_WANT,
                                      BOOTSTRAP_PROTOCOL_READY, BOOTSTRAP_PROTOCOL_ANSWER });
    assert_true (scene.bootstrap_protocol.changed);
    assert_string_equal (buf_c (&scene.sent), NONCE " abc 33 77 /d join\n{launch}\n{launch}\n");
    buf_release (&scene.sent);
}

TEST (what_lies_in_the_bundles_place_and_is_another_is_told)
{
    static const struct {
        const char *said;
        bool changed;
    } cases[] = { { "want\n", false }, { "want changed\n", true } };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scene scene;
        begin (&scene);
        receive_text (&scene, OURS "host x86_64 6.1\n" OURS);
        receive_text (&scene, cases[i].said);
        expect (&scene, 2, (enum bootstrap_event[]){ BOOTSTRAP_PROTOCOL_HOST, BOOTSTRAP_PROTOCOL_WANT });
        assert_int_equal (scene.bootstrap_protocol.changed, cases[i].changed);
        buf_release (&scene.sent);
    }
}

TEST (refusals_have_their_step_and_words)
{
    static const struct {
        const char *said;
        enum step step;
        const char *words;
    } cases[] = {
        { OURS "refused upload the disk is full\n", STEP_UPLOAD, "the disk is full" },
        { OURS "refused libraries no python3\n", STEP_LIBRARIES, "no python3" },
        { OURS "refused resolve haha\n", STEP_START, "haha" }, /* not the host's to say */
        { OURS "refused\n", STEP_START, "gave no reason" },
        { OURS "host riscv64 6.1\n", STEP_SHELL, "riscv64" },
        { OURS "host x86_64 6.1\n" OURS "host x86_64 6.1\n", STEP_UPLOAD, "out of turn" },
        { OURS "ready\n", STEP_SHELL, "out of turn" },
        { OURS "host x86_64 6.1\n" OURS "placed\n", STEP_UPLOAD, "out of turn" },
        { OURS "host x86_64 6.1\n" OURS "ready\n", STEP_UPLOAD, "out of turn" },
        { OURS "host x86_64 6.1\n" OURS "have\n" OURS "refused libraries no\n", STEP_LIBRARIES, "no" },
        { OURS "host x86_64 6.1\n" OURS "have\n" OURS "have\n", STEP_START, "out of turn" },
        { OURS "host x86_64 6.1\n" OURS "want\n" OURS "placed\n" OURS "want\n", STEP_START, "out of turn" },
        { OURS "\n", STEP_SHELL, "out of turn" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct scene scene;
        begin (&scene);
        receive_text (&scene, cases[i].said);
        assert_int_equal (scene.events[scene.n - 1], BOOTSTRAP_PROTOCOL_REFUSED);
        assert_int_equal (scene.bootstrap_protocol.step, cases[i].step);
        assert_has (scene.err.text, cases[i].words);
        size_t before = scene.n;
        receive_text (&scene, OURS "host x86_64 6.1\n" OURS "have\n" ANSWER "\n"); /* nothing more comes of it */
        assert_int_equal (scene.n, before);
        buf_release (&scene.sent);
    }
}

TEST (what_lacks_the_nonce_is_noise)
{
    struct scene scene;
    begin (&scene);
    receive_text (&scene, "sliceup-bootstrap ffffffffffffffffffffffffffffffff refused upload no\n");
    receive_text (&scene,
                  "sliceup-bootstrap refused upload no\n" NONCE " host x86_64\n" ANSWER "\n" OURS "host x86_64 6.1");
    assert_int_equal (scene.n, 0); /* the answer came before its time, the last line has no end yet */
    receive_text (&scene, "\n");
    assert_int_equal (scene.n, 1);
    buf_release (&scene.sent);
}

TEST (noise_has_a_bound_in_lines_and_without_any)
{
    for (int lines = 0; lines < 2; lines++) {
        char piece[1000];
        struct scene scene;
        begin (&scene);
        memset (piece, 'x', sizeof piece);
        if (lines)
            piece[500] = piece[999] = '\n';
        for (int i = 0; i < 60; i++)
            receive (&scene, piece, sizeof piece, NULL, 0);
        assert_int_equal (scene.n, 0);
        for (int i = 0; i < 20; i++)
            receive (&scene, piece, sizeof piece, NULL, 0);
        expect (&scene, 1, (enum bootstrap_event[]){ BOOTSTRAP_PROTOCOL_REFUSED });
        assert_has (scene.err.text, "64 KiB");
        buf_release (&scene.sent);
    }
}

TEST (a_line_that_is_too_long_is_noise_and_the_next_one_counts)
{
    struct scene scene;
    char longest[BOOTSTRAP_PROTOCOL_LINE_MAX_BYTES + 200];
    begin (&scene);
    memset (longest, ' ', sizeof longest);
    memcpy (longest, OURS "host x86_64", strlen (OURS "host x86_64"));
    longest[sizeof longest - 1] = '\n';
    receive (&scene, longest, sizeof longest, NULL, 0);
    assert_int_equal (scene.n, 0);
    receive_text (&scene, OURS "host x86_64 6.1\n");
    assert_int_equal (scene.n, 1);
    buf_release (&scene.sent);
}

TEST (an_early_end_says_when_and_what_was_heard)
{
    struct scene scene;
    begin (&scene);
    receive_text (&scene, "This account is\x1b[2J not available.\n");
    bootstrap_protocol_note_end (&scene.bootstrap_protocol, "exit status 1", &t->err);
    assert_has (t->err.text, "exit status 1");
    assert_has (t->err.text, "not available.");
    assert_null (strchr (t->err.text, 0x1b));
    assert_int_equal (scene.bootstrap_protocol.step, STEP_SHELL);
    buf_release (&scene.sent);
}

TEST (random_bytes_never_get_past_the_first_state)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct scene scene;
        struct rng rng = rng_seed (seed);
        char bytes[4096];
        begin (&scene);
        for (int i = 0; i < 4; i++) {
            for (size_t k = 0; k < sizeof bytes; k++)
                bytes[k] = (char) rng_next (&rng);
            receive (&scene, bytes, sizeof bytes, &rng, 300);
        }
        assert_int_equal (scene.n, 0);
        assert_int_equal (scene.bootstrap_protocol.state, AWAITS_HOST);
        buf_release (&scene.sent);
    }
}
