/* links: attempt */
#include "common/io/atomic_file.h"
#include "test.h"
#include "worker/attempt/command.h"
#include "worker/environment/kit.h"

enum { T0 = 1000, SECOND = 1000, UNTIL = T0 + 60 * SECOND };

/* Three files as a plan names them, none of them on this host. */
struct bench {
    char directory[64];
    struct arena arena;
    struct kit_list list;
    struct text content[3];
    struct kit kit;
    struct err err;
    struct msg_fetch asked, said; /* the last */
    struct text asked_host;       /* empty: the coordinator */
    uint32_t asks;
    bool blocked; /* nothing can be sent */
};

static struct text sha256_of (struct bench *bench, struct text content)
{
    char hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of (content.ptr, content.len);
    return text_copy (&bench->arena, text_of (digest_hex (&digest, hex)));
}

static void bench_open (struct bench *bench)
{
    static const char *const names[] = { "jax/tiny.py", "jax/sliceup_jax.py", "sliceup_canary.py" };
    snprintf (bench->directory, sizeof bench->directory, "/tmp/test_kit.XXXXXX");
    assert_non_null (mkdtemp (bench->directory));
    for (int i = 0; i < 3; i++) {
        struct kit_file *file = &bench->list.items[bench->list.n++];
        bench->content[i] = text_format (&bench->arena, "content of %s\n", names[i]);
        file->name = text_of (names[i]);
        file->file.path = text_format (&bench->arena, "%s/plan/%s", bench->directory, names[i]);
        file->file.sha256 = sha256_of (bench, bench->content[i]);
    }
}

static void bench_close (struct bench *bench)
{
    arena_release (&bench->arena);
    assert_int_equal (folder_remove (bench->directory, NULL), 0);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

static struct kit *find (struct bench *bench)
{
    if (kit_prepare (&bench->list, bench->directory, &bench->arena, &bench->kit, &bench->err) < 0)
        fail_msg ("%s", bench->err.text);
    return &bench->kit;
}

static void put_in_place (struct bench *bench, uint32_t i, struct text content)
{
    struct text path = bench->list.items[i].file.path, folder = text_copy (&bench->arena, path);
    *strrchr ((char *) folder.ptr, '/') = 0;
    assert_int_equal (folder_make (folder.ptr, 0700, NULL), 0);
    assert_int_equal (atomic_file_write (path.ptr, content.ptr, content.len, 0600, NULL), 0);
}

static void keep_file (struct bench *bench, uint32_t i, struct text content)
{
    struct text path = kit_stored_path (bench->directory, bench->list.items[i].file.sha256, &bench->arena);
    assert_int_equal (folder_make (text_format (&bench->arena, "%s/files", bench->directory).ptr, 0700, NULL), 0);
    assert_int_equal (atomic_file_write (path.ptr, content.ptr, content.len, 0400, NULL), 0);
}

static void keep_all (struct bench *bench)
{
    for (uint32_t i = 0; i < 3; i++)
        keep_file (bench, i, bench->content[i]);
}

static void has (const char *text, const char *what)
{
    assert_has (text, what);
}

/* ---- names ---- */

TEST (only_relative_names_below_the_kit_are_good)
{
    static const char *const good[] = { "a", "a.py", "jax/tiny.py", "a/b/c/d", "A-1_b.py", "a..b" };
    static const char *const bad[] = { "",     "/a",        "../a",        "a/../b", "a/..", ".",
                                       "..",   ".a",        "a/.b",        "a//b",   "a/",   "a b",
                                       "a\\b", "a/b/c/d/e", "caf\xc3\xa9", "a\nb",   "a\x01" };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!kit_name_is_good (text_of (good[i])))
            fail_msg ("%s is refused", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (kit_name_is_good (text_of (bad[i])))
            fail_msg ("'%s' is taken", bad[i]);
    char longest[NAME_MAX_BYTES + 2];
    memset (longest, 'a', sizeof longest);
    assert_true (kit_name_is_good ((struct text){ longest, NAME_MAX_BYTES }));
    assert_false (kit_name_is_good ((struct text){ longest, NAME_MAX_BYTES + 1 }));
    assert_false (kit_name_is_good ((struct text){ "a\0b", 3 }));
}

TEST_ON (b, a_list_with_a_bad_name_makes_nothing)
{
    struct text outside = text_format (&b->arena, "%s/escaped", b->directory);
    keep_all (b);
    b->list.items[1].name = TEXT_LIT ("../../escaped");
    assert_int_equal (kit_prepare (&b->list, b->directory, &b->arena, &b->kit, &b->err), -1);
    has (b->err.text, "file 2 of this rung has no valid sha256, or its name is not a valid file name");
    b->list.items[1].name = b->list.items[0].name;
    assert_int_equal (kit_prepare (&b->list, b->directory, &b->arena, &b->kit, &b->err), -1);
    has (b->err.text, "two files of this rung have the name jax/tiny.py");
    b->list.items[1].name = TEXT_LIT ("jax/b.py");
    b->list.items[1].file.sha256 = TEXT_LIT ("../../escaped");
    assert_int_equal (kit_prepare (&b->list, b->directory, &b->arena, &b->kit, &b->err), -1);
    assert_int_equal (access (outside.ptr, F_OK), -1);
}

TEST_ON (b, a_kit_is_known_by_its_names_and_content)
{
    struct digest first = kit_digest (b->list.items, 3), other;
    b->list.items[0].name = TEXT_LIT ("jax/tinz.py");
    other = kit_digest (b->list.items, 3);
    assert_false (digest_equal (&first, &other));
    b->list.items[0].name = TEXT_LIT ("jax/tiny.py");
    b->list.items[0].file.path = TEXT_LIT ("/elsewhere");
    other = kit_digest (b->list.items, 3);
    assert_true (digest_equal (&first, &other));
    b->list.items[2].file.sha256 = b->list.items[1].file.sha256;
    other = kit_digest (b->list.items, 3);
    assert_false (digest_equal (&first, &other));
}

/* ---- finding ---- */

TEST_ON (b, files_that_are_all_there_are_used_in_place)
{
    for (uint32_t i = 0; i < 3; i++)
        put_in_place (b, i, b->content[i]);
    assert_int_equal (find (b)->missing.n, 0);
    assert_int_equal (b->kit.folder.len, 0);
    assert_text (kit_file_path (b->kit.folder, &b->list.items[0], &b->arena), b->list.items[0].file.path);
    assert_int_equal (b->kit.helpers.len, 0);
}

/* A user's Python would write beside the helper; beside its own files lies what it needs and nobody listed. */
TEST_ON (b, of_files_in_place_only_the_helper_of_a_command_is_copied)
{
    for (uint32_t i = 0; i < 3; i++)
        put_in_place (b, i, b->content[i]);
    b->list.items[2].name = TEXT_LIT (KIT_COMMAND_HELPERS "/sliceup_program.py");
    assert_int_equal (find (b)->missing.n, 1);
    assert_text (b->kit.missing.items[0], b->list.items[2].file.sha256);
    assert_int_equal (b->kit.helpers.len, 0);
    keep_all (b);
    assert_int_equal (find (b)->missing.n, 0);
    assert_int_equal (b->kit.folder.len, 0);
    assert_true (text_starts (b->kit.helpers, b->directory));
    assert_int_equal (access (kit_file_path (b->kit.helpers, &b->list.items[2], &b->arena).ptr, R_OK), 0);
    assert_int_equal (access (kit_file_path (b->kit.helpers, &b->list.items[0], &b->arena).ptr, R_OK), -1);
    put_in_place (b, 0, TEXT_LIT ("another script\n"));
    find (b);
    assert_text (b->kit.folder, b->kit.helpers);
    assert_int_equal (access (kit_file_path (b->kit.folder, &b->list.items[0], &b->arena).ptr, R_OK), 0);
}

TEST_ON (b, one_that_differs_makes_all_come_from_the_kit)
{
    put_in_place (b, 0, b->content[0]);
    put_in_place (b, 1, b->content[1]);
    put_in_place (b, 2, TEXT_LIT ("another helper\n"));
    assert_int_equal (find (b)->missing.n, 3);
    keep_all (b);
    assert_int_equal (find (b)->missing.n, 0);
    for (uint32_t i = 0; i < 3; i++) {
        struct text path = kit_file_path (b->kit.folder, &b->list.items[i], &b->arena);
        struct digest is;
        char hex[DIGEST_HEX_BYTES];
        assert_true (text_starts (path, b->directory));
        assert_int_equal (digest_of_file (path.ptr, &is, NULL), 0);
        assert_text (b->list.items[i].file.sha256, digest_hex (&is, hex));
    }
}

TEST_ON (b, a_link_or_a_pipe_in_place_is_not_the_file)
{
    b->list.n = 1;
    struct text path = b->list.items[0].file.path, real = text_format (&b->arena, "%s/real", b->directory);
    put_in_place (b, 0, b->content[0]);
    assert_int_equal (rename (path.ptr, real.ptr), 0);
    assert_int_equal (symlink (real.ptr, path.ptr), 0);
    assert_int_equal (find (b)->missing.n, 1);
    assert_int_equal (unlink (path.ptr), 0);
    assert_int_equal (mkfifo (path.ptr, 0600), 0);
    assert_int_equal (find (b)->missing.n, 1); /* and does not wait for a writer */
}

TEST_ON (b, what_is_larger_than_a_kits_file_is_not_read)
{
    struct text large = { arena_alloc (&b->arena, KIT_FILE_MAX_BYTES + 1), KIT_FILE_MAX_BYTES + 1 };
    b->list.n = 1;
    b->list.items[0].file.sha256 = sha256_of (b, large);
    put_in_place (b, 0, large);
    assert_int_equal (find (b)->missing.n, 1);
}

TEST_ON (b, a_changed_kit_is_put_together_anew)
{
    keep_all (b);
    struct text path = kit_file_path (find (b)->folder, &b->list.items[1], &b->arena);
    struct stat before, after;
    assert_int_equal (stat (path.ptr, &before), 0);
    assert_int_equal (before.st_mode & 0777, 0500);
    assert_int_equal (atomic_file_write (path.ptr, "changed", 7, 0400, NULL), 0);
    assert_int_equal (find (b)->missing.n, 0);
    assert_int_equal (stat (path.ptr, &after), 0);
    assert_int_equal (after.st_size, b->content[1].len);
}

TEST_ON (b, a_damaged_blob_is_missing)
{
    keep_all (b);
    keep_file (b, 2, TEXT_LIT ("cont"));
    assert_int_equal (find (b)->missing.n, 1);
    assert_text (b->kit.missing.items[0], b->list.items[2].file.sha256);
    assert_int_equal (b->kit.folder.len, 0);
}

/* ---- what is started ---- */

TEST_ON (b, a_canary_of_a_kit_finds_its_helper_there)
{
    struct command command;
    struct command_context context = { .host = TEXT_LIT ("h0"),
                                       .run_hex = TEXT_LIT ("ab"),
                                       .directory = TEXT_LIT ("/w"),
                                       .scratch = TEXT_LIT ("/w/s"),
                                       .kit = TEXT_LIT ("/w/kits/1") };
    struct msg_run run = { .key = { 1, PASS_ONCE, 1 }, .rung = { .kind = PROGRAM_CANARY } };
    run.rung.files.items = b->list.items;
    run.rung.files.n = 3;
    run.rung.program = b->list.items[0].file;
    assert_int_equal (command_make (&run, &context, &b->arena, &command, &b->err), 0);
    assert_string_equal (command.argv[2], "-B");
    assert_string_equal (command.argv[3], "/w/kits/1/jax/tiny.py");
    bool found = false;
    for (char **var = command.envp; *var; var++)
        found |= strcmp (*var, "PYTHONPATH=/w/kits/1") == 0;
    assert_true (found);
    context.kit = (struct text){ 0 };
    assert_int_equal (command_make (&run, &context, &b->arena, &command, &b->err), 0);
    assert_string_equal (command.argv[3], b->list.items[0].file.path.ptr);
}

TEST_ON (b, a_restore_reads_the_pins_of_its_kit)
{
    struct command command;
    struct kit_list list;
    struct command_context context = { .host = TEXT_LIT ("h0"),
                                       .run_hex = TEXT_LIT ("ab"),
                                       .directory = TEXT_LIT ("/w"),
                                       .scratch = TEXT_LIT ("/w/s"),
                                       .kit = TEXT_LIT ("/w/kits/2") };
    struct msg_run run = { .key = { 1, PASS_ONCE, 1 } };
    run.rung = (struct rung){ .kind = PROGRAM_BUILTIN, .builtin = TEXT_LIT ("restore") };
    run.pins.file = b->list.items[0].file;
    kit_list_of (&run, &list);
    assert_int_equal (list.n, 1);
    run.pins.setup = b->list.items[1].file;
    kit_list_of (&run, &list);
    assert_int_equal (list.n, 2);
    assert_int_equal (command_make (&run, &context, &b->arena, &command, &b->err), 0);
    has (command.line.ptr, "\"pins\":\"/w/kits/2/pins.txt\"");
    run.rung.builtin = TEXT_LIT ("facts");
    kit_list_of (&run, &list);
    assert_int_equal (list.n, 0);
}

/* ---- fetching ---- */

/* `asked`: of whom the piece is wanted now. What is only said to the coordinator is in `said`. */
static bool take_ask (void *owner, const struct msg_fetch *ask, const struct giver *giver)
{
    struct bench *bench = owner;
    struct msg_fetch *to = ask->word == SAY_GOING ? &bench->said : &bench->asked;
    if (bench->blocked)
        return false;
    *to = *ask;
    to->sha256 = text_copy (&bench->arena, ask->sha256);
    bench->asked_host = giver ? text_copy (&bench->arena, giver->address) : (struct text){ 0 };
    bench->asks++;
    return true;
}

static void take_have (void *owner, const struct msg_fetch *have, const char *path)
{
    struct bench *bench = owner;
    bench->said = *have;
    bench->said.sha256 = text_copy (&bench->arena, have->sha256);
    assert_int_equal (access (path, F_OK), 0);
}

static struct fetch *begin (struct bench *bench)
{
    const struct kit *kit = find (bench);
    struct msg_run run = { .rung.kind = PROGRAM_CANARY };
    run.rung.files.items = bench->list.items;
    run.rung.files.n = bench->list.n;
    struct fetch *fetch = fetch_start (&run, kit->missing.items, kit->missing.n, bench->directory,
                                       &(struct fetch_calls){ take_ask, take_have, bench }, UNTIL, T0);
    fetch_poll (fetch, T0);
    return fetch;
}

/* `from` of content[i], up to `len` bytes. */
static struct msg_chunk piece (struct bench *bench, uint32_t i, uint32_t from, uint32_t len)
{
    struct text content = bench->content[i];
    uint32_t left = content.len - from;
    return (struct msg_chunk){ .sha256 = bench->list.items[i].file.sha256,
                               .offset = from,
                               .size_bytes = content.len,
                               .bytes = { content.ptr + from, left < len ? left : len } };
}

TEST_ON (b, pieces_become_files_whatever_is_repeated)
{
    struct fetch *fetch = begin (b);
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t from = 0; from < b->content[i].len; from += 10) {
            assert_true (text_equal (b->asked.sha256, b->list.items[i].file.sha256) && b->asked.offset == from);
            struct msg_chunk next = piece (b, i, from, 10), early = piece (b, i, from + 1, 10);
            struct msg_chunk other = piece (b, 2 - i, 5, 3);
            fetch_take (fetch, &early, false, T0);
            if (i != 1)
                fetch_take (fetch, &other, false, T0);
            fetch_take (fetch, &next, false, T0);
            fetch_take (fetch, &next, false, T0);
        }
    assert_int_equal (fetch_state (fetch, NULL), FETCH_DONE);
    assert_int_equal (find (b)->missing.n, 0);
    fetch_destroy (fetch);
}

TEST_ON (b, what_a_worker_left_half_written_stops_nobody)
{
    b->list.n = 1;
    struct text place = kit_stored_path (b->directory, b->list.items[0].file.sha256, &b->arena);
    struct text half = text_format (&b->arena, "%.*s.part", TEXT_ARG (place));
    keep_file (b, 0, TEXT_LIT ("cont"));
    assert_int_equal (atomic_file_write (half.ptr, "ha", 2, 0400, NULL), 0);
    struct fetch *fetch = begin (b);
    struct msg_chunk all = piece (b, 0, 0, 100);
    fetch_take (fetch, &all, false, T0);
    assert_int_equal (fetch_state (fetch, NULL), FETCH_DONE);
    assert_int_equal (access (half.ptr, F_OK), -1);
    assert_int_equal (find (b)->missing.n, 0);
    fetch_destroy (fetch);
}

TEST_ON (b, a_name_that_leaves_the_folder_is_not_fetched)
{
    struct msg_run run = { .rung.kind = PROGRAM_CANARY };
    struct text missing = TEXT_LIT ("../escaped"), problem;
    struct fetch *fetch = fetch_start (&run, &missing, 1, b->directory, &(struct fetch_calls){ take_ask, take_have, b },
                                       UNTIL, T0);
    struct msg_chunk all = { .sha256 = missing, .size_bytes = 1, .bytes = TEXT_LIT ("x") };
    fetch_take (fetch, &all, false, T0);
    assert_int_equal (fetch_state (fetch, &problem), FETCH_FAILED);
    has (problem.ptr, "no valid sha256 or name");
    fetch_destroy (fetch);
}

TEST_ON (b, an_empty_file_is_one_piece)
{
    b->list.n = 1;
    b->content[0] = TEXT_LIT ("");
    b->list.items[0].file.sha256 = sha256_of (b, b->content[0]);
    struct fetch *fetch = begin (b);
    struct msg_chunk all = piece (b, 0, 0, 10);
    fetch_take (fetch, &all, false, T0);
    assert_int_equal (fetch_state (fetch, NULL), FETCH_DONE);
    assert_int_equal (find (b)->missing.n, 0);
    fetch_destroy (fetch);
}

TEST_ON (b, what_is_lost_is_asked_for_again_less_and_less_often)
{
    static const uint64_t asked_at_s[] = { 0, 1, 3, 7, 15, 25, 35 };
    struct fetch *fetch = begin (b);
    uint32_t n = 1;
    for (uint64_t now_ms = T0; now_ms < T0 + 36 * SECOND; now_ms += 100) {
        fetch_poll (fetch, now_ms);
        if (b->asks > n)
            assert_int_equal (now_ms, T0 + asked_at_s[n++] * SECOND);
        assert_true (fetch_deadline_ms (fetch) > now_ms);
    }
    assert_int_equal (n, 7);
    fetch_destroy (fetch);
}

TEST_ON (b, what_cannot_be_sent_is_tried_soon)
{
    b->blocked = true;
    struct fetch *fetch = begin (b);
    assert_true (fetch_deadline_ms (fetch) < T0 + SECOND);
    b->blocked = false;
    fetch_poll (fetch, fetch_deadline_ms (fetch));
    assert_int_equal (b->asks, 1);
    fetch_destroy (fetch);
}

static void fails_with (struct fetch *fetch, const char *what)
{
    struct text problem;
    assert_int_equal (fetch_state (fetch, &problem), FETCH_FAILED);
    if (!text_find (problem, text_of (what), NULL) || !text_find (problem, TEXT_LIT ("/plan/jax/tiny.py"), NULL))
        fail_msg ("expected '%s' in '%.*s'", what, TEXT_ARG (problem));
    fetch_destroy (fetch);
}

TEST_ON (b, silence_ends_it_and_progress_does_not)
{
    struct fetch *fetch = begin (b);
    struct msg_chunk first = piece (b, 0, 0, 10), nothing = piece (b, 0, 10, 0);
    fetch_take (fetch, &first, false, T0 + FETCH_SILENCE_MS - 1);
    fetch_take (fetch, &nothing, false, T0 + FETCH_SILENCE_MS);
    fetch_poll (fetch, T0 + 2 * FETCH_SILENCE_MS - 2);
    assert_int_equal (fetch_state (fetch, NULL), FETCH_GOING);
    fetch_poll (fetch, T0 + 2 * FETCH_SILENCE_MS - 1);
    fails_with (fetch, "/plan/jax/tiny.py: no piece of it arrived for 60 s; check whether this host can reach the "
                       "coordinator's bulk port");
}

TEST_ON (b, a_refusal_ends_it_in_the_coordinators_words)
{
    struct fetch *fetch = begin (b);
    struct msg_chunk refusal = { .sha256 = b->list.items[0].file.sha256, .problem = TEXT_LIT ("it was changed") };
    fetch_take (fetch, &refusal, false, T0);
    fails_with (fetch, "from the coordinator: it was changed");
}

TEST_ON (b, a_lie_ends_it_and_nothing_is_kept)
{
    struct fetch *fetch = begin (b);
    struct msg_chunk lie = piece (b, 0, 0, 100);
    lie.bytes = TEXT_LIT ("another content\n");
    lie.size_bytes = lie.bytes.len;
    fetch_take (fetch, &lie, false, T0);
    fails_with (fetch, "has another sha256 than the plan names");
    fetch = begin (b);
    lie.size_bytes = 3;
    fetch_take (fetch, &lie, false, T0);
    fails_with (fetch, "more bytes than the file has");
    assert_int_equal (find (b)->missing.n, 3);
}

/* ---- files of other hosts ---- */

static struct fetch *begin_of_host (struct bench *bench)
{
    bench->list.n = 2;
    struct fetch *fetch = begin (bench);
    struct msg_chunk told = { .sha256 = bench->list.items[0].file.sha256,
                              .size_bytes = bench->content[0].len,
                              .spread = true,
                              .giver = { TEXT_LIT ("10.0.0.7"), 4711, TEXT_LIT ("key") } };
    fetch_take (fetch, &told, false, T0);
    assert_text (bench->asked_host, "10.0.0.7");
    assert_int_equal (bench->asked.offset, 0);
    return fetch;
}

static void comes_from_coordinator (struct bench *bench, struct fetch *fetch, enum fetch_word word, uint64_t now_ms)
{
    assert_int_equal (fetch_state (fetch, NULL), FETCH_GOING);
    assert_int_equal (bench->asked_host.len, 0);
    assert_int_equal (bench->asked.word, word);
    assert_int_equal (bench->asked.offset, 0);
    struct msg_chunk all = piece (bench, 0, 0, 100);
    all.spread = true;
    fetch_take (fetch, &all, false, now_ms);
    assert_int_equal (bench->said.word, SAY_HAVE);
    assert_int_equal (bench->asked.word, SAY_WANT); /* of the next file */
    fetch_destroy (fetch);
}

TEST_ON (b, a_file_comes_from_the_host_that_is_named)
{
    struct fetch *fetch = begin_of_host (b);
    struct msg_chunk all = piece (b, 0, 0, 100);
    for (uint64_t now_ms = T0; now_ms < T0 + 4 * SECOND; now_ms += 100)
        fetch_poll (fetch, now_ms);
    assert_int_equal (b->said.word, SAY_GOING);       /* so that its place is kept */
    fetch_take (fetch, &all, false, T0 + 4 * SECOND); /* late: nothing of the coordinator is mixed in */
    assert_text (b->asked_host, "10.0.0.7");
    fetch_take (fetch, &all, true, T0 + 4 * SECOND);
    assert_int_equal (b->said.word, SAY_HAVE);
    assert_int_equal (b->said.offset, b->content[0].len);
    assert_int_equal (b->asked_host.len, 0);
    assert_text (b->asked.sha256, b->list.items[1].file.sha256.ptr);
    fetch_destroy (fetch);
}

TEST_ON (b, a_host_that_is_silent_is_left)
{
    struct fetch *fetch = begin_of_host (b);
    for (uint64_t now_ms = T0; now_ms < T0 + FETCH_HOST_SILENCE_MS; now_ms += 100)
        fetch_poll (fetch, now_ms);
    assert_text (b->asked_host, "10.0.0.7");
    assert_true (fetch_deadline_ms (fetch) <= T0 + FETCH_HOST_SILENCE_MS);
    fetch_poll (fetch, T0 + FETCH_HOST_SILENCE_MS);
    comes_from_coordinator (b, fetch, SAY_FAILED, T0 + 6 * SECOND);
}

TEST_ON (b, who_stood_still_does_not_blame_the_host_that_gives)
{
    struct fetch *fetch = begin_of_host (b);
    fetch_poll (fetch, T0 + 20 * SECOND);
    assert_text (b->asked_host, "10.0.0.7");
    struct msg_chunk all = piece (b, 0, 0, 100);
    fetch_take (fetch, &all, true, T0 + 40 * SECOND); /* and nobody polled in between */
    assert_int_equal (b->said.word, SAY_HAVE);
    assert_int_equal (b->asked.word, SAY_SLOW); /* but half of the time is over: the coordinator sends the next */
    fetch_destroy (fetch);
}

/* Gives a piece of `n` every 4.9 s, as long as the host is asked. Returns how many. */
static uint32_t pieces_taken_slowly (struct bench *b, struct fetch *fetch, uint32_t n, uint64_t now_ms)
{
    for (uint32_t i = 0; i < n; i++) {
        for (int waited_ms = 0; waited_ms < 4900; waited_ms += 100)
            fetch_poll (fetch, now_ms += 100);
        struct msg_chunk next = piece (b, 0, i * FILE_CHUNK_MAX_BYTES, FILE_CHUNK_MAX_BYTES);
        fetch_take (fetch, &next, true, now_ms);
        if (!b->asked_host.len)
            return i + 1;
    }
    return 0;
}

/* The attempt has a minute, of which hosts have half: six pieces take 29.4 s, seven 34.3. */
TEST_ON (b, a_host_that_would_take_too_long_is_left_early)
{
    for (uint32_t n = 6; n < 8; n++) {
        b->content[0].len = n * FILE_CHUNK_MAX_BYTES;
        b->content[0].ptr = arena_alloc (&b->arena, b->content[0].len);
        b->list.items[0].file.sha256 = sha256_of (b, b->content[0]);
        struct fetch *fetch = begin_of_host (b);
        assert_int_equal (pieces_taken_slowly (b, fetch, n, T0), n == 6 ? 6 : 2);
        assert_int_equal (b->asked.word, SAY_SLOW); /* of the same file, or of the next */
        assert_int_equal (b->asked.offset, 0);
        fetch_destroy (fetch);
    }
}

/* It asked in time, and the answer was late: then a host has no time to waste. */
TEST_ON (b, a_host_that_is_told_after_its_time_is_left_as_well)
{
    b->list.n = 2;
    b->content[0].len = 100 * FILE_CHUNK_MAX_BYTES;
    b->content[0].ptr = arena_alloc (&b->arena, b->content[0].len);
    b->list.items[0].file.sha256 = sha256_of (b, b->content[0]);
    struct fetch *fetch = begin (b);
    struct msg_chunk told = { .sha256 = b->list.items[0].file.sha256,
                              .size_bytes = b->content[0].len,
                              .spread = true,
                              .giver = { TEXT_LIT ("10.0.0.7"), 4711, TEXT_LIT ("key") } };
    fetch_take (fetch, &told, false, T0 + 31 * SECOND);
    assert_int_equal (pieces_taken_slowly (b, fetch, 100, T0 + 31 * SECOND), 2);
    assert_int_equal (b->asked.word, SAY_SLOW);
    fetch_destroy (fetch);
}

TEST_ON (b, a_host_that_gives_other_pieces_than_asked_for_is_left)
{
    for (int i = 0; i < 3; i++) {
        struct fetch *fetch = begin_of_host (b);
        struct msg_chunk odd = piece (b, 0, 0, 100);
        odd.bytes.len -= i == 0;
        odd.size_bytes += i == 1;
        odd.bytes.len *= i != 2;
        fetch_take (fetch, &odd, true, T0);
        comes_from_coordinator (b, fetch, SAY_FAILED, T0);
        assert_int_equal (unlink (kit_stored_path (b->directory, b->list.items[0].file.sha256, &b->arena).ptr), 0);
    }
}

TEST_ON (b, a_host_without_it_is_left_at_once)
{
    struct fetch *fetch = begin_of_host (b);
    struct msg_chunk refusal = { .sha256 = b->list.items[0].file.sha256, .problem = TEXT_LIT ("no") };
    fetch_take (fetch, &refusal, true, T0);
    comes_from_coordinator (b, fetch, SAY_FAILED, T0);
}

TEST_ON (b, wrong_bytes_of_a_host_are_told_and_nothing_of_them_is_kept)
{
    struct fetch *fetch = begin_of_host (b);
    struct msg_chunk lie = piece (b, 0, 0, 100);
    char *other = arena_copy (&b->arena, lie.bytes.ptr, lie.bytes.len);
    other[0] ^= 1;
    lie.bytes.ptr = other;
    fetch_take (fetch, &lie, true, T0);
    comes_from_coordinator (b, fetch, SAY_DAMAGED, T0);
}

TEST_ON (b, who_waits_for_a_place_asks_again_and_is_not_silent)
{
    struct fetch *fetch = begin (b);
    struct msg_chunk wait = { .sha256 = b->list.items[0].file.sha256, .spread = true };
    for (uint64_t now_ms = T0; now_ms < T0 + 3 * FETCH_SILENCE_MS; now_ms += 500) {
        uint32_t asks = b->asks;
        fetch_take (fetch, &wait, false, now_ms);
        fetch_poll (fetch, now_ms + 499);
        assert_int_equal (b->asks, asks);
        fetch_poll (fetch, now_ms + 500);
        assert_int_equal (b->asks, asks + 1);
        assert_int_equal (b->asked.word,
                          now_ms + 500 > T0 + 20 * SECOND ? SAY_SLOW : SAY_WANT); /* half of its time, less 10 s */
    }
    assert_int_equal (fetch_state (fetch, NULL), FETCH_GOING);
    fetch_destroy (fetch);
}
