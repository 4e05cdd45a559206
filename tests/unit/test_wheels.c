/* links: environment */
#include "common/io/atomic_file.h"
#include "test.h"
#include "worker/environment/kit.h"

enum { BIG_BYTES = 100 * 1000 };

/* A worker's folder, a folder as the plan names it, and a plan of two wheels. */
struct bench {
    char directory[64], planned[64];
    struct arena arena;
    struct kit_file wheels[2];
    struct text content[2];
    struct msg_run run;
    struct msg_fetch asked;
    uint32_t asks;
};

static void bench_open (struct bench *b)
{
    char *big = arena_alloc (&b->arena, BIG_BYTES);
    static const char *const names[] = { "big-1.0-py3-none-any.whl", "small-2.0+cpu-py3-none-any.whl" };
    snprintf (b->directory, sizeof b->directory, "/tmp/test_wheels.XXXXXX");
    snprintf (b->planned, sizeof b->planned, "/tmp/test_planned.XXXXXX");
    assert_true (mkdtemp (b->directory) && mkdtemp (b->planned));
    for (uint32_t i = 0; i < BIG_BYTES; i++)
        big[i] = (char) (i * 7 + i / 1000);
    b->content[0] = (struct text){ big, BIG_BYTES };
    b->content[1] = TEXT_LIT ("small");
    for (uint32_t i = 0; i < 2; i++) {
        char hex[DIGEST_HEX_BYTES];
        struct digest digest = digest_of (b->content[i].ptr, b->content[i].len);
        b->wheels[i].name = text_of (names[i]);
        b->wheels[i].file.path = text_format (&b->arena, "%s/%s", b->planned, names[i]);
        b->wheels[i].file.sha256 = text_copy (&b->arena, text_of (digest_hex (&digest, hex)));
    }
    b->run.rung = (struct rung){ .kind = PROGRAM_BUILTIN, .builtin = TEXT_LIT ("restore") };
    b->run.pins.wheels.items = b->wheels;
    b->run.pins.wheels.n = 2;
}

static void bench_close (struct bench *b)
{
    assert_int_equal (folder_remove (b->directory, NULL), 0);
    assert_int_equal (folder_remove (b->planned, NULL), 0);
    arena_release (&b->arena);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

static void plan_has (struct bench *b, uint32_t i)
{
    assert_int_equal (atomic_file_write (b->wheels[i].file.path.ptr, b->content[i].ptr, b->content[i].len, 0600, NULL),
                      0);
}

static const char *place_of (struct bench *b, uint32_t i)
{
    return text_format (&b->arena, "%s/wheels/%s", b->directory, b->wheels[i].name.ptr).ptr;
}

static uint32_t find (struct bench *b, struct text missing[2])
{
    uint32_t n = 99;
    struct err err = { 0 };
    if (wheels_link_present (&b->run, b->directory, &b->arena, missing, &n, &err) < 0)
        fail_msg ("%s", err.text);
    return n;
}

static void is_there (struct bench *b, uint32_t i)
{
    struct buf bytes;
    char *real = realpath (place_of (b, i), NULL);
    assert_non_null (real);
    buf_init (&bytes, 1 << 20);
    assert_int_equal (file_read (real, &bytes, NULL), 0);
    assert_text (&bytes, b->content[i]);
    buf_release (&bytes);
    free (real);
}

TEST_ON (b, a_wheel_of_this_host_is_used_where_it_lies)
{
    struct text missing[2];
    struct stat st;
    plan_has (b, 0);
    assert_int_equal (find (b, missing), 1);
    assert_text (missing[0], b->wheels[1].file.sha256);
    assert_int_equal (lstat (place_of (b, 0), &st), 0);
    assert_true (S_ISLNK (st.st_mode));
    is_there (b, 0);
    plan_has (b, 1);
    assert_int_equal (find (b, missing), 0);
    is_there (b, 1);
}

TEST_ON (b, another_file_at_the_same_path_is_not_used)
{
    struct text missing[2];
    plan_has (b, 0);
    assert_int_equal (atomic_file_write (b->wheels[1].file.path.ptr, "smalk", 5, 0600, NULL), 0);
    assert_int_equal (find (b, missing), 1);
    assert_int_equal (access (place_of (b, 1), F_OK), -1);
    assert_int_equal (folder_make (text_format (&b->arena, "%s/wheels", b->directory).ptr, 0700, NULL), 0);
    assert_int_equal (atomic_file_write (place_of (b, 1), "smalk", 5, 0600, NULL), 0); /* nor a copy that was damaged */
    assert_int_equal (find (b, missing), 1);
}

static bool receive (void *owner, const struct msg_fetch *ask, const struct giver *giver)
{
    assert_null (giver);
    struct bench *b = owner;
    b->asked = *ask;
    b->asks++;
    return true;
}

/* Answers as a coordinator would that has `content` under the sha256. */
static void serve (struct bench *b, struct fetch *fetch, uint32_t i, struct text content)
{
    struct msg_chunk chunk = { .sha256 = b->wheels[i].file.sha256,
                               .offset = b->asked.offset,
                               .size_bytes = content.len };
    uint64_t left = content.len - b->asked.offset;
    assert_text (b->asked.sha256, b->wheels[i].file.sha256);
    chunk.bytes.ptr = content.ptr + b->asked.offset;
    chunk.bytes.len = left < FILE_CHUNK_MAX_BYTES ? (uint32_t) left : FILE_CHUNK_MAX_BYTES;
    fetch_take (fetch, &chunk, false, 0);
}

static struct fetch *begin (struct bench *b)
{
    struct text missing[2];
    uint32_t n = find (b, missing);
    struct fetch *fetch = fetch_start (&b->run, missing, n, b->directory, &(struct fetch_calls){ receive, NULL, b },
                                       UINT64_MAX, 0);
    fetch_poll (fetch, 0);
    return fetch;
}

TEST_ON (b, wheels_come_in_pieces_to_the_disk)
{
    struct text missing[2];
    struct fetch *fetch = begin (b);
    for (uint32_t i = 0; fetch_state (fetch, NULL) == FETCH_GOING && i < 10; i++) {
        uint32_t which = text_equal (b->asked.sha256, b->wheels[1].file.sha256);
        serve (b, fetch, which, b->content[which]);
    }
    assert_int_equal (fetch_state (fetch, NULL), FETCH_DONE);
    assert_int_equal (b->asks, 5); /* four pieces and one */
    fetch_destroy (fetch);
    is_there (b, 0);
    is_there (b, 1);
    assert_int_equal (find (b, missing), 0);
}

TEST_ON (b, a_wheel_with_another_sha256_leaves_nothing)
{
    struct text problem, bytes = text_copy (&b->arena, b->content[0]);
    struct fetch *fetch = begin (b);
    ((char *) bytes.ptr)[BIG_BYTES - 1] ^= 1;
    for (uint32_t i = 0; fetch_state (fetch, NULL) == FETCH_GOING && i < 10; i++)
        serve (b, fetch, 0, bytes);
    assert_int_equal (fetch_state (fetch, &problem), FETCH_FAILED);
    assert_has (problem.ptr, "has another sha256 than the plan names");
    assert_int_equal (access (place_of (b, 0), F_OK), -1);
    assert_int_equal (access (text_format (&b->arena, "%s.part", place_of (b, 0)).ptr, F_OK), -1);
    fetch_destroy (fetch);
}

TEST_ON (b, more_than_a_wheel_may_be_is_refused)
{
    struct fetch *fetch = begin (b);
    struct msg_chunk chunk = { .sha256 = b->asked.sha256, .size_bytes = 3, .bytes = TEXT_LIT ("four") };
    struct text problem;
    fetch_take (fetch, &chunk, false, 0);
    assert_int_equal (fetch_state (fetch, &problem), FETCH_FAILED);
    assert_has (problem.ptr, "more bytes than the file has");
    fetch_destroy (fetch);
}

TEST_ON (b, one_that_is_given_up_leaves_nothing)
{
    struct fetch *fetch = begin (b);
    serve (b, fetch, 0, b->content[0]);
    assert_int_equal (access (text_format (&b->arena, "%s.part", place_of (b, 0)).ptr, F_OK), 0);
    fetch_destroy (fetch);
    assert_int_equal (access (text_format (&b->arena, "%s.part", place_of (b, 0)).ptr, F_OK), -1);
}

TEST_ON (b, a_name_that_leaves_the_folder_is_refused)
{
    struct text missing[2];
    uint32_t n;
    static const char *const bad[] = { "../x.whl", "a/b.whl", "/x.whl", "", ".x.whl", "a b.whl" };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        b->wheels[1].name = text_of (bad[i]);
        assert_int_equal (wheels_link_present (&b->run, b->directory, &b->arena, missing, &n, &t->err), -1);
        struct fetch *fetch = fetch_start (&b->run, &b->wheels[1].file.sha256, 1, b->directory,
                                           &(struct fetch_calls){ receive, NULL, b }, UINT64_MAX, 0);
        struct msg_chunk all = { .sha256 = b->wheels[1].file.sha256,
                                 .size_bytes = b->content[1].len,
                                 .bytes = b->content[1] };
        fetch_take (fetch, &all, false, 0);
        assert_int_equal (fetch_state (fetch, NULL), FETCH_FAILED);
        fetch_destroy (fetch);
    }
}

TEST_ON (b, a_check_needs_none)
{
    struct var only_look = { TEXT_LIT ("build"), TEXT_LIT ("false") };
    assert_true (wheels_are_needed (&b->run));
    b->run.rung.args.items = &only_look;
    b->run.rung.args.n = 1;
    assert_false (wheels_are_needed (&b->run));
}
