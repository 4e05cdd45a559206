/* attempt_fixture.h - one worker's folder, one attempt in it, a coordinator that hands out files, and everything that
 * became of it. Include after cmocka.h. */
#ifndef SLICEUP_TESTS_UNIT_ATTEMPT_FIXTURE_H
#define SLICEUP_TESTS_UNIT_ATTEMPT_FIXTURE_H

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "test.h"
#include "worker/attempt/attempt.h"
#include <sched.h>
#include <sys/mount.h>

#define NONCE "00112233445566778899aabbccddeeff"
enum { TIMEOUT_MS = 30000 };

/* One worker's folder, one attempt in it, and everything that became of it. */
struct bench {
    char directory[64];
    struct loop *loop;
    struct attempt_context context;
    struct attempt *attempt;
    struct msg_run run;
    struct text argv[3];
    struct arena arena;
    const struct result *result;
    char phases[512];
    uint32_t gates;
    bool answer_gates;
    struct buf chunks;
    uint32_t chunks_n, refusals; /* refusals: chunks that the coordinator does not take at first */
    bool input_closed;           /* the coordinator takes no chunks */
    bool stop_hard;
    const char *stop_on_phase;
    enum ending stop_ending; /* cancelled, when none is given */
    bool stop_when_asked;    /* the loop, once a file was asked for */
    bool stop_when_gone;     /* the loop, once the program whose pid stands in the file is reaped */
    struct kit_file files[2];
    struct text held[2]; /* what the coordinator has of them */
    struct msg_fetch ask;
    bool asked, silent; /* silent: it never answers */
    uint32_t asks;
    struct text refusal;
    const char *ripe_on; /* a phase or word of its output, or "gate": it stands where its limit has to find it */
    uint64_t began_ms, ripe_ms, ahead_ms, frozen_ms; /* frozen_ms: what time it stays; 0: it goes on */
    bool look_when_ripe;   /* instead: it is asked where it stands, and stopped once it told, if nothing is next */
    const char *ripe_next; /* what `ripe_on` is after that look, or after the last moments have begun */
    const char *edge_file; /* first it leaps into those, and makes this file once the attempt saw them */
    struct text stand;
};

/* The time that the attempt is told. It leaps over the limit once the program stands where it has to: on a busy machine
 * a limit of a second would find it before that. */
static inline uint64_t bench_now_ms (const struct bench *bench)
{
    return bench->frozen_ms ? bench->frozen_ms : clock_boot_ms () + bench->ahead_ms;
}

static inline bool is_ripe (const struct bench *bench)
{
    bool at_gate = bench->gates > 0 && strcmp (bench->ripe_on, "gate") == 0;
    return at_gate || strstr (bench->phases, bench->ripe_on) ||
           text_find (buf_as_text (&bench->chunks), text_of (bench->ripe_on), NULL);
}

/* It says so just before: RIPE_MS later it is there. */
static inline void leap_when_ripe (struct bench *bench)
{
    enum { RIPE_MS = 200 };
    uint64_t now_ms = clock_boot_ms ();
    if (bench->edge_file && bench->ahead_ms) {
        assert_int_equal (atomic_file_write (bench->edge_file, "", 0, 0600, NULL), 0);
        bench->edge_file = NULL;
    }
    if (!bench->ripe_on || bench->ahead_ms >= bench->run.rung.timeout_ms)
        return;
    if (!bench->ripe_ms && is_ripe (bench))
        bench->ripe_ms = now_ms;
    if (bench->ripe_ms && now_ms >= bench->ripe_ms + RIPE_MS && bench->look_when_ripe) {
        bench->ripe_on = bench->ripe_next;
        bench->look_when_ripe = false;
        bench->ripe_ms = 0;
        attempt_look (bench->attempt, now_ms);
        loop_set_deadline (bench->loop, 0);
        return;
    }
    if (bench->ripe_ms && now_ms >= bench->ripe_ms + RIPE_MS && bench->edge_file) {
        bench->ahead_ms = bench->run.rung.timeout_ms - bench->run.rung.timeout_ms / 30;
        bench->frozen_ms = bench->began_ms + bench->ahead_ms;
        bench->ripe_on = bench->ripe_next;
        bench->ripe_ms = 0;
        loop_set_deadline (bench->loop, 0);
        return;
    }
    if (bench->ripe_ms && now_ms >= bench->ripe_ms + RIPE_MS) {
        bench->ahead_ms = bench->run.rung.timeout_ms;
        bench->frozen_ms = 0;
    }
    loop_set_deadline (bench->loop, bench->ripe_ms && now_ms >= bench->ripe_ms + RIPE_MS ? 0 : now_ms + RIPE_MS / 4);
}

static inline bool take_chunk (void *owner, const struct output_chunk *chunk)
{
    struct bench *bench = owner;
    if (bench->input_closed || (bench->refusals && bench->refusals--))
        return false;
    buf_add_text (&bench->chunks, chunk->bytes);
    bench->chunks_n++;
    return true;
}

static inline bool take_ask (void *owner, const struct msg_fetch *ask, const struct giver *giver)
{
    struct bench *bench = owner;
    assert_null (giver);
    bench->ask = (struct msg_fetch){ .sha256 = text_copy (&bench->arena, ask->sha256), .offset = ask->offset };
    bench->asked = true;
    bench->asks++;
    return true;
}

/* Pieces of 100 bytes, as a coordinator far away would send them: after the call that asked. */
static inline void answer_ask (struct bench *bench)
{
    struct msg_chunk chunk = { .sha256 = bench->ask.sha256, .offset = bench->ask.offset, .problem = bench->refusal };
    bench->asked = false;
    for (int i = 0; i < 2 && !chunk.problem.len; i++) {
        struct text held = bench->held[i];
        if (!text_equal (bench->files[i].file.sha256, chunk.sha256) || !held.len)
            continue;
        uint32_t left = held.len - (uint32_t) chunk.offset;
        chunk.bytes = (struct text){ held.ptr + chunk.offset, left < 100 ? left : 100 };
        chunk.size_bytes = held.len;
    }
    attempt_receive_chunk (bench->attempt, &chunk, false, bench_now_ms (bench));
}

static inline void take_event (struct bench *bench, const struct attempt_event *event)
{
    if (event->kind == ATTEMPT_EVENT_ENDED) {
        bench->result = event->result;
        loop_stop (bench->loop);
    } else if (event->kind == ATTEMPT_EVENT_GATE) {
        bench->gates++;
        if (bench->answer_gates)
            attempt_go (bench->attempt, event->name, TEXT_LIT ("opened"));
    } else if (event->kind == ATTEMPT_EVENT_STAND) {
        bench->stand = text_copy (&bench->arena, event->name);
        if (!bench->ripe_next)
            attempt_stop (bench->attempt, true, ENDING_CANCELLED, TEXT_LIT ("enough"), bench_now_ms (bench));
    } else {
        size_t len = strlen (bench->phases);
        snprintf (bench->phases + len, sizeof bench->phases - len, "%.*s ", TEXT_ARG (event->name));
        if (bench->stop_on_phase && text_is (event->name, bench->stop_on_phase))
            attempt_stop (bench->attempt, bench->stop_hard, bench->stop_ending, TEXT_LIT ("enough"),
                          bench_now_ms (bench));
    }
}

static inline bool is_gone (struct bench *bench)
{
    struct buf pid;
    buf_init (&pid, 64);
    bool read = file_read (text_format (&bench->arena, "%s/pid", bench->directory).ptr, &pid, NULL) == 0;
    bool gone = read && kill ((pid_t) atoi (buf_c (&pid)), 0) < 0;
    buf_release (&pid);
    return gone;
}

static inline void pass (void *owner)
{
    struct bench *bench = owner;
    struct attempt_event event;
    attempt_poll (bench->attempt, bench_now_ms (bench));
    while (bench->asked && !bench->silent)
        answer_ask (bench);
    if (bench->asks && bench->stop_when_asked)
        loop_stop (bench->loop);
    while (attempt_next (bench->attempt, &event))
        take_event (bench, &event);
    if (bench->stop_when_gone && is_gone (bench))
        loop_stop (bench->loop);
    uint64_t deadline_ms = attempt_deadline_ms (bench->attempt);
    loop_set_deadline (bench->loop, deadline_ms > bench->ahead_ms ? deadline_ms - bench->ahead_ms : 0);
    leap_when_ripe (bench);
}

static inline void on_signal (void *owner, int signal_number, int64_t pid, int value)
{
    (void) owner;
    (void) pid;
    (void) value;
    assert_int_equal (signal_number, SIGCHLD);
}

static inline void bench_open (struct bench *bench)
{
    static const int signals[] = { SIGCHLD, 0 };
    snprintf (bench->directory, sizeof bench->directory, "/tmp/test_attempt.XXXXXX");
    assert_non_null (mkdtemp (bench->directory));
    bench->loop = loop_open (NULL);
    assert_non_null (bench->loop);
    assert_int_equal (loop_watch_signals (bench->loop, signals, on_signal, bench, NULL), 0);
    loop_set_iteration_fn (bench->loop, pass, bench);
    bench->context = (struct attempt_context){ .host = TEXT_LIT ("h0"),
                                               .run_hex = TEXT_LIT ("ab"),
                                               .owner = bench,
                                               .directory = bench->directory,
                                               .output = take_chunk,
                                               .fetches = { .ask = take_ask, .owner = bench },
                                               .stop_ms = 300,
                                               .log_bytes = 1 << 20 };
    bench->run = (struct msg_run){ .key = { 2, PASS_ONCE, 1 },
                                   .nonce = TEXT_LIT (NONCE),
                                   .world = 1,
                                   .address = TEXT_LIT ("127.0.0.1"),
                                   .secret = 77 };
    bench->run.rung = (struct rung){ .id = TEXT_LIT ("tiny"), .scope = SCOPE_HOST, .timeout_ms = TIMEOUT_MS };
    bench->run.profile = (struct profile){ .name = TEXT_LIT ("p"), .backend = TEXT_LIT ("cpu"), .devices_per_host = 2 };
    buf_init (&bench->chunks, 64 << 20);
    bench->stop_ending = ENDING_CANCELLED;
}

static inline void bench_close (struct bench *bench)
{
    attempt_destroy (bench->attempt);
    loop_close (bench->loop);
    buf_release (&bench->chunks);
    arena_release (&bench->arena);
    assert_int_equal (folder_remove (bench->directory, NULL), 0);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

static inline void use_command (struct bench *bench, const char *script)
{
    bench->argv[0] = TEXT_LIT ("sh");
    bench->argv[1] = TEXT_LIT ("-c");
    bench->argv[2] = text_of (script);
    bench->run.rung.kind = PROGRAM_COMMAND;
    bench->run.rung.argv.items = bench->argv;
    bench->run.rung.argv.n = 3;
}

/* A canary of its own: without the helper, so that every word on the channel stands here. */
static inline void use_canary (struct bench *bench, const char *body)
{
    static const char prologue[] = "import json, os, socket, sys, time\n"
                                   "channel = socket.socket(fileno=int(os.environ['SLICEUP_FD']))\n"
                                   "lines = channel.makefile('rb')\n"
                                   "attempt = json.loads(lines.readline())\n"
                                   "def say(**line): channel.sendall(json.dumps(line).encode() + b'\\n')\n"
                                   "def done(): say(type='done', nonce=attempt['nonce'])\n";
    struct text path = text_format (&bench->arena, "%s/canary.py", bench->directory);
    struct text text = text_format (&bench->arena, "%s%s", prologue, body);
    struct digest digest = digest_of (text.ptr, text.len);
    char hex[DIGEST_HEX_BYTES];
    assert_int_equal (atomic_file_write (path.ptr, text.ptr, text.len, 0600, NULL), 0);
    bench->run.rung.kind = PROGRAM_CANARY;
    bench->run.rung.program.path = path;
    bench->run.rung.program.sha256 = text_format (&bench->arena, "%s", digest_hex (&digest, hex));
}

/* In a mount namespace of this process: its tasks and programs are in it as well. */
static inline void mount_small_logs (struct bench *bench)
{
    struct text logs = text_format (&bench->arena, "%s/logs", bench->directory);
    if (geteuid () != 0)
        skip (); /* mounting needs root */
    assert_int_equal (folder_make (logs.ptr, 0700, NULL), 0);
    assert_int_equal (unshare (CLONE_NEWNS), 0);
    assert_int_equal (mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    assert_int_equal (mount ("tmpfs", logs.ptr, "tmpfs", 0, "size=64k"), 0);
}

static inline const struct result *run (struct bench *bench)
{
    bench->began_ms = bench_now_ms (bench);
    bench->attempt = attempt_start (bench->loop, &bench->context, &bench->run, bench->began_ms);
    assert_int_equal (loop_run (bench->loop, NULL), 0);
    assert_non_null (bench->result);
    assert_true (record_check (&result_record, bench->result, NULL));
    assert_true (attempt_key_equal (&bench->result->key, &bench->run.key));
    return bench->result;
}

/* Runs again in the same folder, as the next attempt. */
static inline const struct result *run_again (struct bench *bench)
{
    attempt_destroy (bench->attempt);
    bench->attempt = NULL;
    bench->result = NULL;
    bench->ripe_ms = bench->ahead_ms = bench->frozen_ms = bench->gates = 0;
    buf_clear (&bench->chunks);
    bench->phases[0] = 0;
    bench->run.key.attempt++;
    return run (bench);
}

static inline void has (struct text text, const char *what)
{
    assert_has (text, what);
}

/* A program that prints nothing has none. */
static inline struct text log_of (struct bench *bench)
{
    struct buf bytes;
    struct text path = attempt_file_path (&bench->arena, bench->directory, "logs", &bench->run.key, ".log");
    buf_init (&bytes, 64 << 20);
    assert_int_equal (file_read (path.ptr, &bytes, NULL), access (path.ptr, F_OK));
    struct text text = text_copy (&bench->arena, buf_as_text (&bytes));
    buf_release (&bytes);
    return text;
}

#endif
