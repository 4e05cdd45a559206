/* links: coordinator_run */
#include <fcntl.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "coordinator/run/driver_private.h"
#include "test.h"

enum {
    HOSTS = 12,
    FEW = 4,
    TIMEOUT_MS = 30000,
    BIG_BYTES = 100 * 1000,
    LARGE = 17
}; /* of the largest: more than are kept */

/* A plan of two files, on disk, and what each host was answered. */
struct bench {
    char directory[64];
    struct arena arena;
    struct loop *loop;
    struct plan_host hosts[HOSTS];
    struct kit_file files[2];
    struct rung rung;
    struct plan plan;
    struct kit_store *store;
    struct text content[2];
    uint32_t answers, wanted, complaints, damaged;
    struct msg_chunk last[HOSTS];
    uint64_t until_ms;
};

static void take_answer (void *owner, uint32_t host, const struct msg_chunk *chunk)
{
    struct bench *bench = owner;
    assert_true (host < HOSTS);
    assert_true (record_check (msg_record_of_kind (MSG_CHUNK), chunk, NULL));
    record_copy (msg_record_of_kind (MSG_CHUNK), &bench->last[host], chunk, &bench->arena);
    bench->answers++;
}

#define KEY "0123456789012345678901234567890123456789"
static const struct attempt_key first_pass = { .attempt = 1 };

static void take_complaint (void *owner, uint32_t giver, uint32_t host, enum fetch_word what)
{
    struct bench *bench = owner;
    assert_true (giver < bench->plan.hosts.n && host < bench->plan.hosts.n);
    bench->complaints++;
    bench->damaged += what == SAY_DAMAGED;
}

static void pass (void *owner)
{
    struct bench *bench = owner;
    if (bench->answers >= bench->wanted || clock_boot_ms () >= bench->until_ms)
        loop_stop (bench->loop);
    loop_set_deadline (bench->loop, bench->until_ms);
}

static struct text path_of (struct bench *bench, uint32_t i)
{
    return text_format (&bench->arena, "%s/file%u.py", bench->directory, i);
}

static void write_files (struct bench *bench)
{
    char *big = arena_alloc (&bench->arena, BIG_BYTES);
    for (uint32_t i = 0; i < BIG_BYTES; i++)
        big[i] = (char) (i * 7 + i / 1000);
    bench->content[0] = (struct text){ big, BIG_BYTES };
    bench->content[1] = TEXT_LIT ("");
    for (uint32_t i = 0; i < 2; i++) {
        char hex[DIGEST_HEX_BYTES];
        struct digest digest = digest_of (bench->content[i].ptr, bench->content[i].len);
        bench->files[i].name = TEXT_LIT ("f.py");
        bench->files[i].file.path = path_of (bench, i);
        bench->files[i].file.sha256 = text_copy (&bench->arena, text_of (digest_hex (&digest, hex)));
        const char *path = bench->files[i].file.path.ptr;
        assert_int_equal (atomic_file_write (path, bench->content[i].ptr, bench->content[i].len, 0600, NULL), 0);
    }
}

static void bench_open (struct bench *bench)
{
    snprintf (bench->directory, sizeof bench->directory, "/tmp/test_kit_store.XXXXXX");
    assert_non_null (mkdtemp (bench->directory));
    write_files (bench);
    bench->rung.program = bench->files[0].file;
    bench->rung.files.items = bench->files;
    bench->rung.files.n = 2;
    bench->plan.hosts.items = bench->hosts;
    bench->plan.hosts.n = FEW;
    bench->plan.rungs.items = &bench->rung;
    bench->plan.rungs.n = 1;
    bench->loop = loop_open (NULL);
    assert_non_null (bench->loop);
    loop_set_iteration_fn (bench->loop, pass, bench);
    bench->store = kit_store_open (bench->loop, &bench->plan, take_answer, take_complaint, bench, NULL);
    assert_non_null (bench->store);
}

static void bench_close (struct bench *bench)
{
    kit_store_close (bench->store);
    loop_close (bench->loop);
    arena_release (&bench->arena);
    assert_int_equal (folder_remove (bench->directory, NULL), 0);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

static void wait_for_answers (struct bench *bench, uint32_t wanted)
{
    bench->wanted = wanted;
    bench->until_ms = clock_boot_ms () + TIMEOUT_MS;
    assert_int_equal (loop_run (bench->loop, NULL), 0);
    assert_int_equal (bench->answers, wanted);
}

/* Asks and waits for the one answer. */
static const struct msg_chunk *ask (struct bench *bench, uint32_t host, uint32_t file, uint64_t offset)
{
    struct msg_fetch fetch = { .sha256 = bench->files[file].file.sha256, .offset = offset };
    kit_store_answer (bench->store, host, &fetch, &first_pass, "", 0);
    wait_for_answers (bench, bench->answers + (bench->answers == bench->wanted));
    return &bench->last[host];
}

static void has_problem (const struct msg_chunk *chunk, const char *what)
{
    if (!text_find (chunk->problem, text_of (what), NULL) || chunk->bytes.len)
        fail_msg ("expected '%s', got '%.*s' and %u bytes", what, TEXT_ARG (chunk->problem), chunk->bytes.len);
}

TEST_ON (b, a_file_comes_in_pieces)
{
    struct buf *whole = test_buf (t);
    while (whole->len < BIG_BYTES) {
        const struct msg_chunk *chunk = ask (b, 1, 0, whole->len);
        assert_int_equal (chunk->offset, whole->len);
        assert_int_equal (chunk->size_bytes, BIG_BYTES);
        assert_true (chunk->bytes.len > 0 && chunk->bytes.len <= FILE_CHUNK_MAX_BYTES);
        buf_add_text (whole, chunk->bytes);
    }
    assert_text (whole, b->content[0]);
}

TEST_ON (b, an_offset_behind_the_end_gets_nothing)
{
    const struct msg_chunk *chunk = ask (b, 0, 0, BIG_BYTES + 5);
    assert_true (chunk->bytes.len == 0 && chunk->problem.len == 0 && chunk->size_bytes == BIG_BYTES);
    chunk = ask (b, 0, 1, 0);
    assert_true (chunk->bytes.len == 0 && chunk->problem.len == 0 && chunk->size_bytes == 0);
}

TEST_ON (b, only_what_the_plan_names_is_served)
{
    struct text other = path_of (b, 7);
    assert_int_equal (atomic_file_write (other.ptr, "secret", 6, 0600, NULL), 0);
    char hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of ("secret", 6);
    static const char *const asked[] = { "", "/etc/passwd", "../file0.py" };
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        kit_store_answer (b->store, 2, &(struct msg_fetch){ .sha256 = text_of (asked[i]) }, &first_pass, "", 0);
        has_problem (&b->last[2], "the plan of this run has no file with this sha256");
    }
    kit_store_answer (b->store, 2, &(struct msg_fetch){ .sha256 = text_of (digest_hex (&digest, hex)) }, &first_pass,
                      "", 0);
    has_problem (&b->last[2], "the plan of this run has no file with this sha256");
    assert_int_equal (b->answers, 4);
}

TEST_ON (b, a_file_that_changed_is_refused_until_it_is_back)
{
    assert_int_equal (atomic_file_write (path_of (b, 0).ptr, "changed", 7, 0600, NULL), 0);
    has_problem (ask (b, 0, 0, 0), "the file was changed after the run began");
    assert_int_equal (unlink (path_of (b, 0).ptr), 0);
    has_problem (ask (b, 1, 0, 0), "cannot be opened");
    write_files (b);
    assert_int_equal (ask (b, 2, 0, 0)->bytes.len, FILE_CHUNK_MAX_BYTES);
    has_problem (&b->last[0], "the file was changed"); /* who was answered does not wait any more */
    assert_int_equal (b->answers, 3);
}

TEST_ON (b, what_was_read_once_is_served_as_planned)
{
    assert_int_equal (ask (b, 0, 0, 0)->bytes.len, FILE_CHUNK_MAX_BYTES);
    assert_int_equal (atomic_file_write (path_of (b, 0).ptr, "changed", 7, 0600, NULL), 0);
    const struct msg_chunk *chunk = ask (b, 3, 0, 10);
    assert_text (chunk->bytes, ((struct text){ b->content[0].ptr + 10, FILE_CHUNK_MAX_BYTES }));
}

TEST_ON (b, hosts_that_wait_are_all_answered_once)
{
    for (int times = 0; times < 3; times++)
        for (uint32_t host = 0; host < FEW; host++)
            kit_store_answer (b->store, host, &(struct msg_fetch){ .sha256 = b->files[0].file.sha256, .offset = host },
                              &first_pass, "", 0);
    wait_for_answers (b, FEW);
    for (uint32_t host = 0; host < FEW; host++)
        assert_int_equal (b->last[host].offset, host);
}

/* A plan of LARGE other files instead, each as large as may be. */
static void use_large_files (struct bench *bench)
{
    struct text content = { arena_alloc (&bench->arena, KIT_FILE_MAX_BYTES), KIT_FILE_MAX_BYTES };
    struct kit_file *files = arena_array (&bench->arena, LARGE, sizeof *files);
    for (uint32_t i = 0; i < LARGE; i++) {
        char hex[DIGEST_HEX_BYTES];
        ((char *) content.ptr)[0] = (char) i;
        struct digest digest = digest_of (content.ptr, content.len);
        files[i].file.path = path_of (bench, i);
        files[i].file.sha256 = text_copy (&bench->arena, text_of (digest_hex (&digest, hex)));
        assert_int_equal (atomic_file_write (files[i].file.path.ptr, content.ptr, content.len, 0600, NULL), 0);
    }
    bench->rung = (struct rung){ .files = { files, LARGE } };
    kit_store_close (bench->store);
    bench->store = kit_store_open (bench->loop, &bench->plan, take_answer, take_complaint, bench, NULL);
}

static const struct msg_chunk *ask_large (struct bench *bench, uint32_t file)
{
    kit_store_answer (bench->store, 0, &(struct msg_fetch){ .sha256 = bench->rung.files.items[file].file.sha256 },
                      &first_pass, "", 0);
    wait_for_answers (bench, bench->answers + (bench->answers == bench->wanted));
    return &bench->last[0];
}

TEST_ON (b, the_least_used_is_read_again)
{
    use_large_files (b);
    for (uint32_t i = 0; i < LARGE; i++) {
        assert_int_equal (ask_large (b, i)->size_bytes, KIT_FILE_MAX_BYTES);
        assert_int_equal (ask_large (b, 0)->bytes.len, FILE_CHUNK_MAX_BYTES); /* in use all the time */
    }
    for (uint32_t i = 0; i < LARGE; i++)
        assert_int_equal (unlink (path_of (b, i).ptr), 0);
    assert_int_equal (ask_large (b, 0)->problem.len, 0);
    assert_int_equal (ask_large (b, LARGE - 1)->problem.len, 0);
    has_problem (ask_large (b, 1), "cannot be opened");
}

/* Larger than all that is kept in memory; its holes take no disk. */
TEST_ON (b, a_wheel_comes_piece_by_piece_from_the_disk)
{
    struct kit_file wheel = { .name = TEXT_LIT ("w.whl"),
                              .file = { text_format (&b->arena, "%s/w.whl", b->directory),
                                        text_format (&b->arena, "%064d", 7) } };
    uint64_t size_bytes = (uint64_t) 200 << 20;
    FILE *file = fopen (wheel.file.path.ptr, "we");
    assert_int_equal (fseek (file, (long) size_bytes - 4, SEEK_SET), 0);
    assert_true (fputs ("tail", file) >= 0);
    assert_int_equal (fclose (file), 0);
    kit_store_close (b->store);
    b->plan.pins.wheels.items = &wheel;
    b->plan.pins.wheels.n = 1;
    b->store = kit_store_open (b->loop, &b->plan, take_answer, take_complaint, b, NULL);
    b->files[0].file.sha256 = wheel.file.sha256;
    assert_int_equal (ask (b, 0, 0, 0)->size_bytes, size_bytes);
    assert_int_equal (b->last[0].bytes.len, FILE_CHUNK_MAX_BYTES);
    const struct msg_chunk *chunk = ask (b, 3, 0, size_bytes - 4);
    assert_text (chunk->bytes, "tail");
    assert_int_equal (chunk->offset, size_bytes - 4);
    assert_int_equal (ask (b, 1, 0, size_bytes)->bytes.len, 0);
    assert_int_equal (unlink (wheel.file.path.ptr), 0);
    has_problem (ask (b, 1, 0, 0), "the coordinator can no longer open the file");
}

TEST_ON (b, the_table_of_signatures_is_served)
{
    char hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of ("table", 5);
    struct file_ref table = { text_format (&b->arena, "%s/table", b->directory), text_of (digest_hex (&digest, hex)) };
    assert_int_equal (atomic_file_write (table.path.ptr, "table", 5, 0600, NULL), 0);
    kit_store_close (b->store);
    b->plan.signature_table = table;
    b->store = kit_store_open (b->loop, &b->plan, take_answer, take_complaint, b, NULL);
    b->files[0].file.sha256 = table.sha256;
    assert_text (ask (b, 1, 0, 0)->bytes, "table");
}

/* ---- files that hosts give to one another ---- */

/* More hosts than the coordinator serves alone, and a file of 4 MiB of them to be given on. */
static void use_many_hosts (struct bench *b, struct kit_file *wheel)
{
    *wheel = (struct kit_file){
        TEXT_LIT ("w.whl"), { text_format (&b->arena, "%s/w.whl", b->directory), text_format (&b->arena, "%064d", 7) }
    };
    int fd = open (wheel->file.path.ptr, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal (ftruncate (fd, 4 << 20), 0);
    close (fd);
    kit_store_close (b->store);
    b->plan.pins.wheels.items = wheel;
    b->plan.pins.wheels.n = 1;
    b->plan.hosts.n = HOSTS;
    for (uint32_t i = 0; i < HOSTS; i++)
        b->hosts[i].address = text_format (&b->arena, "10.0.0.%u", i);
    b->store = kit_store_open (b->loop, &b->plan, take_answer, take_complaint, b, NULL);
}

static const struct msg_chunk *say (struct bench *b, uint32_t host, const struct msg_fetch *what, uint64_t now_ms)
{
    kit_store_answer (b->store, host, what, &first_pass, "10.9.9.9", now_ms);
    wait_for_answers (b, b->answers + (b->answers == b->wanted));
    return &b->last[host];
}

TEST_ON (b, a_host_that_has_it_is_asked_by_others)
{
    struct kit_file wheel;
    use_many_hosts (b, &wheel);
    const struct msg_fetch want = { .sha256 = wheel.file.sha256 };
    const struct msg_fetch have = { want.sha256, 4 << 20, SAY_HAVE, 4711, TEXT_LIT (KEY) };
    for (uint32_t host = 0; host < 4; host++) {
        assert_int_equal (say (b, host, &want, 0)->bytes.len, FILE_CHUNK_MAX_BYTES);
        assert_true (b->last[host].spread);
    }
    const struct msg_chunk *chunk = say (b, 4, &want, 0);
    assert_true (chunk->spread && !chunk->bytes.len && !chunk->giver.port); /* ask again */
    kit_store_answer (b->store, 2, &have, &first_pass, "10.9.9.9", 0);
    chunk = say (b, 4, &want, 0);
    assert_text (chunk->giver.address, "10.0.0.2");
    assert_int_equal (chunk->giver.port, 4711);
    assert_text (chunk->giver.key, KEY);
    assert_int_equal (chunk->size_bytes, 4 << 20);
    const struct msg_fetch failed = { .sha256 = want.sha256, .word = SAY_DAMAGED };
    assert_int_equal (say (b, 4, &failed, 0)->bytes.len, FILE_CHUNK_MAX_BYTES);
    assert_int_equal (b->damaged, 1);
    assert_int_equal (say (b, 5, &want, 0)->giver.port, 0); /* and nobody is sent there again */
    const struct attempt_key second = { .attempt = 2 };
    kit_store_answer (b->store, 3, &have, &second, "10.9.9.9", 0);
    kit_store_answer (b->store, 5, &want, &second, "10.9.9.9", 0);
    wait_for_answers (b, b->answers);
    assert_text (b->last[5].giver.address, "10.0.0.3"); /* of a new pass */
}

/* A large file: three are let down before anybody has it, while a fourth gets its bytes. */
TEST_ON (b, who_gets_bytes_of_a_host_shows_that_hosts_reach_each_other)
{
    for (uint64_t got = 0; got <= 4096; got += 4096) {
        struct kit_file wheel;
        use_many_hosts (b, &wheel);
        const struct msg_fetch want = { .sha256 = wheel.file.sha256 };
        for (uint32_t host = 0; host < 4; host++)
            kit_store_answer (b->store, host,
                              &(struct msg_fetch){ want.sha256, 4 << 20, SAY_HAVE, 4711, TEXT_LIT (KEY) }, &first_pass,
                              "10.9.9.9", 0);
        for (uint32_t host = 4; host < 8; host++)
            assert_int_equal (say (b, host, &want, 0)->giver.port, 4711);
        kit_store_answer (b->store, 7, &(struct msg_fetch){ .sha256 = want.sha256, .offset = got, .word = SAY_GOING },
                          &first_pass, "10.9.9.9", 0);
        for (uint32_t host = 4; host < 7; host++)
            say (b, host, &(struct msg_fetch){ .sha256 = want.sha256, .word = SAY_FAILED }, 0);
        assert_int_equal (say (b, 8, &want, 0)->giver.port, got ? 4711 : 0);
    }
}

/* Otherwise those that hold a place there would ask again for ever. */
TEST_ON (b, a_host_that_cannot_give_the_next_file_still_gives_this_one)
{
    struct kit_file wheel;
    use_many_hosts (b, &wheel);
    const struct msg_fetch want = { .sha256 = wheel.file.sha256 };
    const struct msg_fetch bad[] = { { want.sha256, 4 << 20, SAY_HAVE, 0, TEXT_LIT (KEY) },
                                     { want.sha256, 4 << 20, SAY_HAVE, 4711, TEXT_LIT ("short") } };
    kit_store_answer (b->store, 2, &(struct msg_fetch){ want.sha256, 4 << 20, SAY_HAVE, 4711, TEXT_LIT (KEY) },
                      &first_pass, "10.9.9.9", 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        kit_store_answer (b->store, 2, &bad[i], &first_pass, "", 0);
        const struct msg_chunk *chunk = say (b, 4, &want, 0);
        assert_int_equal (chunk->giver.port, 4711);
        assert_text (chunk->giver.key, KEY);
    }
}

TEST_ON (b, hosts_are_told_of_one_another_by_number)
{
    static const struct {
        const char *planned, *from, *told;
        enum launcher launcher;
    } cases[] = {
        { "10.0.0.2", "10.9.9.9", "10.0.0.2", LAUNCHER_SSH },
        { "fd00::2", "fd00::9", "fd00::2", LAUNCHER_SSH },
        { "node-2", "10.9.9.9", "10.9.9.9", LAUNCHER_SSH },
        { "node-2", "127.0.0.1", "", LAUNCHER_SSH }, /* carried */
        { "node-2", "", "", LAUNCHER_SSH },
        { "localhost", "127.0.0.1", "", LAUNCHER_SSH },
        { "127.0.0.1", "127.0.0.1", "", LAUNCHER_SSH }, /* a tunnel to each: who is told this asks itself */
        { "127.0.0.1", "10.9.9.9", "10.9.9.9", LAUNCHER_SSH },
        { "34.1.2.3", "127.0.0.1", "", LAUNCHER_SSH },
        { "34.1.2.3", "10.7.7.7", "", LAUNCHER_SSH }, /* of the coordinator itself: a courier carries it */
        { "127.0.0.5", "127.0.0.1", "127.0.0.5", LAUNCHER_LOCAL },
    };
    struct kit_file wheel;
    use_many_hosts (b, &wheel);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct attempt_key pass = { .attempt = (uint32_t) i + 1 };
        b->hosts[2].address = text_of (cases[i].planned);
        b->plan.launcher = cases[i].launcher;
        b->plan.start.listen = TEXT_LIT ("10.7.7.7");
        kit_store_answer (b->store, 2,
                          &(struct msg_fetch){ wheel.file.sha256, 4 << 20, SAY_HAVE, 4711, TEXT_LIT (KEY) }, &pass,
                          cases[i].from, 0);
        kit_store_answer (b->store, 4, &(struct msg_fetch){ .sha256 = wheel.file.sha256 }, &pass, "10.9.9.9", 0);
        wait_for_answers (b, b->answers + (b->answers == b->wanted));
        assert_text (b->last[4].giver.address, cases[i].told);
    }
}

TEST_ON (b, the_coordinator_sends_to_all_where_the_user_wants_that)
{
    struct kit_file wheel;
    b->plan.start.sends_all = true;
    use_many_hosts (b, &wheel);
    for (uint32_t host = 0; host < HOSTS; host++) {
        assert_int_equal (say (b, host, &(struct msg_fetch){ .sha256 = wheel.file.sha256 }, 0)->bytes.len,
                          FILE_CHUNK_MAX_BYTES);
        assert_false (b->last[host].spread);
    }
}

TEST_ON (b, closing_answers_nobody)
{
    kit_store_answer (b->store, 0, &(struct msg_fetch){ .sha256 = b->files[0].file.sha256 }, &first_pass, "", 0);
    kit_store_close (b->store);
    b->store = NULL;
    assert_int_equal (b->answers, 0);
}
