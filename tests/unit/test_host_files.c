/* links: worker_run */
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "test.h"
#include "worker/run/join.h"

enum { WHOLE_BYTES = 2 * FILE_CHUNK_MAX_BYTES + 100, TIMEOUT_MS = 20000, NEVER_MS = 700 };
#define SHA256 "00000000000000000000000000000000000000000000000000000000000000ab"

/* Two hosts of one run: `gives` offers a file, `asks` gets it. */
struct bench {
    char directory[64], path[96];
    struct join_config join, other_run;
    struct log log;
    struct loop *loop;
    struct host_files *gives, *asks;
    char content[WHOLE_BYTES];
    struct buf got;
    struct text problem;
    struct arena arena;
    uint32_t pieces;
};

static void bench_open (struct bench *bench)
{
    snprintf (bench->directory, sizeof bench->directory, "/tmp/test_host_files.XXXXXX");
    assert_non_null (mkdtemp (bench->directory));
    snprintf (bench->path, sizeof bench->path, "%s/file", bench->directory);
    for (uint32_t i = 0; i < WHOLE_BYTES; i++)
        bench->content[i] = (char) (i * 7 + i / 1000);
    assert_int_equal (atomic_file_write (bench->path, bench->content, WHOLE_BYTES, 0400, NULL), 0);
    bench->other_run.run_id[0] = 1;
    bench->loop = loop_open (NULL);
    bench->gives = host_files_make (bench->loop, &bench->join, &bench->log);
    bench->asks = host_files_make (bench->loop, &bench->join, &bench->log);
    buf_init (&bench->got, 2 * WHOLE_BYTES);
}

static void bench_close (struct bench *bench)
{
    host_files_destroy (bench->asks);
    host_files_destroy (bench->gives);
    loop_close (bench->loop);
    buf_release (&bench->got);
    arena_release (&bench->arena);
    assert_int_equal (folder_remove (bench->directory, NULL), 0);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

static void take_piece (void *owner, const struct msg_chunk *chunk)
{
    struct bench *bench = owner;
    assert_text (chunk->sha256, SHA256);
    bench->pieces++;
    bench->problem = text_copy (&bench->arena, chunk->problem);
    if (chunk->offset == bench->got.len && chunk->bytes.len)
        buf_add_text (&bench->got, chunk->bytes);
}

static struct giver offer (struct bench *bench)
{
    struct msg_fetch have = { .sha256 = TEXT_LIT (SHA256), .offset = WHOLE_BYTES, .word = SAY_HAVE };
    host_files_offer (bench->gives, TEXT_LIT ("127.0.0.1"), bench->path, &have);
    assert_true (have.port);
    return (struct giver){ TEXT_LIT ("127.0.0.1"), have.port, text_copy (&bench->arena, have.key) };
}

/* Asks again every 10 ms. False: no answer in `wait_ms`. */
static bool is_answered (struct bench *bench, const struct giver *giver, uint64_t wait_ms)
{
    struct msg_fetch want = { .sha256 = TEXT_LIT (SHA256), .offset = bench->got.len };
    uint64_t until_ms = clock_boot_ms () + wait_ms;
    uint32_t before = bench->pieces;
    while (bench->pieces == before && clock_boot_ms () < until_ms) {
        (void) host_files_ask (bench->asks, &want, giver);
        poll (NULL, 0, 10);
        host_files_take (bench->gives, take_piece, bench);
        host_files_take (bench->asks, take_piece, bench);
    }
    return bench->pieces > before;
}

static void get_whole (struct bench *bench, const struct giver *giver)
{
    while (bench->got.len < WHOLE_BYTES)
        assert_true (is_answered (bench, giver, TIMEOUT_MS));
    assert_memory_equal (bench->got.ptr, bench->content, WHOLE_BYTES);
}

TEST_ON (b, a_file_comes_piece_by_piece_also_when_its_folder_is_gone)
{
    struct giver giver = offer (b);
    assert_int_equal (unlink (b->path), 0);
    get_whole (b, &giver);
}

TEST_ON (b, a_copy_that_was_fetched_again_is_given_in_place_of_the_first)
{
    assert_int_equal (chmod (b->path, 0600), 0);
    assert_int_equal (atomic_file_write (b->path, "damaged", 7, 0600, NULL), 0);
    (void) offer (b);
    assert_int_equal (atomic_file_write (b->path, b->content, WHOLE_BYTES, 0400, NULL), 0);
    struct giver giver = offer (b);
    get_whole (b, &giver);
}

TEST_ON (b, what_was_not_offered_is_not_given)
{
    struct giver giver = offer (b);
    b->got.len = WHOLE_BYTES; /* behind its end */
    assert_true (is_answered (b, &giver, TIMEOUT_MS));
    assert_text (b->problem, "this host does not have it");
}

TEST_ON (b, what_is_no_file_is_not_offered)
{
    struct msg_fetch have = { .sha256 = TEXT_LIT (SHA256), .word = SAY_HAVE };
    host_files_offer (b->gives, TEXT_LIT ("127.0.0.1"), b->directory, &have);
    assert_int_equal (have.port, 0);
    host_files_offer (b->gives, TEXT_LIT ("127.0.0.1"), "/tmp/no/such/file", &have);
    assert_int_equal (have.port, 0);
}

TEST_ON (b, nothing_is_given_any_more_once_it_is_closed)
{
    struct giver giver = offer (b);
    assert_true (is_answered (b, &giver, TIMEOUT_MS));
    host_files_close (b->gives);
    b->got.len = 0;
    while (is_answered (b, &giver, NEVER_MS)) /* what was on its way */
        ;
    assert_false (is_answered (b, &giver, NEVER_MS));
}

TEST_ON (b, a_host_of_another_run_is_not_answered)
{
    struct giver giver = offer (b);
    host_files_destroy (b->asks);
    b->asks = host_files_make (b->loop, &b->other_run, &b->log);
    assert_false (is_answered (b, &giver, NEVER_MS));
}
