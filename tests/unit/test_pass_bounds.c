/* alone: simulated */
/* The largest slice, on which every host falls for a long reason of its own: what is recorded of it can be written. */
#include "common/wire/wire.h"
#include "coordinator/core/state.h"
#include "sample.h"
#include "stretched.h"
#include "test.h"

struct slice {
    struct arena arena;
    struct plan plan;
    struct coord *coord;
    struct outbox out;
    uint64_t now_ms, seq;
};

/* Every durable fact of it goes into bytes as a journal takes them. */
static void expect_writable (struct slice *slice)
{
    struct buf bytes;
    buf_init (&bytes, FACT_MAX_BYTES);
    for (uint32_t i = 0; i < slice->out.n; i++) {
        const struct fact *fact = &slice->out.items[i].fact;
        if (!slice->out.items[i].is_fact)
            continue;
        buf_clear (&bytes);
        wire_put_fact (&bytes, fact);
        if (bytes.overflow || !record_check (fact_record_of_kind (fact->kind), &fact->of, NULL))
            fail_msg ("%s of %u hosts is out of its bounds", fact_name (fact->kind), slice->plan.hosts.n);
    }
    buf_release (&bytes);
    outbox_clear (&slice->out);
}

static void tell (struct slice *slice, uint32_t host, struct msg *msg)
{
    struct core_input in = { .kind = IN_MSG, .host = host, .msg = msg, .text = TEXT_LIT ("sha") };
    msg->session = msg->kind == MSG_HELLO ? 0 : slice->coord->state->hosts.items[host].session;
    msg->seq = ++slice->seq;
    coord_step (slice->coord, &in, ++slice->now_ms, &slice->out);
    expect_writable (slice);
}

static void slice_open (struct slice *slice, uint32_t hosts)
{
    *slice = (struct slice){ .coord = coord_create (), .now_ms = 1000 };
    sample_plan (&slice->plan, hosts, &slice->arena);
    slice->plan.rungs.n = 1;
    slice->plan.signatures.n = 1;
    slice->plan.signatures.items[0] = (struct signature){ .id = stretched_text (0, ID_MAX_BYTES),
                                                          .text = TEXT_LIT ("reason "),
                                                          .owner = OWNER_PROGRAM,
                                                          .next = stretched_text (2, SENTENCE_MAX_BYTES) };
    for (uint32_t i = 0; i < hosts; i++) /* they do not fold */
        slice->plan.hosts.items[i].name = text_format (
            &slice->arena, "%04u%.*s", i, HOST_NAME_MAX_BYTES - 4,
            "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopq");
    outbox_init (&slice->out);
}

static void slice_begin (struct slice *slice)
{
    coord_open (slice->coord, text_of ("00112233445566778899aabbccddeeff"), &slice->plan, &sample_deal_key,
                text_of ("t"), 1, slice->now_ms, &slice->out);
    expect_writable (slice);
}

static void slice_close (struct slice *slice)
{
    coord_destroy (slice->coord);
    outbox_release (&slice->out);
    arena_release (&slice->arena);
}

static void join (struct slice *slice, uint32_t first)
{
    for (uint32_t i = first; i < slice->plan.hosts.n; i++) {
        struct msg hello = { .kind = MSG_HELLO,
                             .of.hello = { .version = TEXT_LIT ("t"), .pid = 100 + i, .pid_start = 1 } };
        tell (slice, i, &hello);
    }
}

static void fall (struct slice *slice, uint32_t host)
{
    struct msg msg = { .kind = MSG_RESULT };
    struct result *result = &msg.of.result;
    struct arena arena = { 0 };
    result->key = (struct attempt_key){ 0, PASS_ONCE, 1 };
    result->ending = ENDING_EXITED;
    result->code = 1;
    result->phase = stretched_text (1, WORD_MAX_BYTES);
    result->failure = text_format (&arena, "reason %u %.*s", host, SENTENCE_MAX_BYTES - 16,
                                   stretched_text (0, SENTENCE_MAX_BYTES).ptr);
    tell (slice, host, &msg);
    arena_release (&arena);
}

TEST (the_largest_slice_can_fall_for_as_many_reasons_as_it_has_hosts)
{
    struct slice slice;
    uint32_t exit_status = 0;
    slice_open (&slice, HOSTS_MAX);
    slice_begin (&slice);
    join (&slice, 0);
    for (uint32_t i = 0; i < HOSTS_MAX; i++)
        fall (&slice, i);
    assert_true (coord_ended (slice.coord, &exit_status));
    assert_int_equal (exit_status, 1);
    slice_close (&slice);
}

TEST (most_of_the_largest_slice_can_be_left_behind_each_for_a_long_reason)
{
    struct slice slice;
    slice_open (&slice, HOSTS_MAX);
    slice.plan.climb.min_hosts = 1;
    slice_begin (&slice);
    for (uint32_t i = 0; i < HOSTS_MAX - 1; i++) {
        struct core_input in = { .kind = IN_WORKER_EXITED, .host = i, .text = stretched_text (1, TEXT_MAX_BYTES) };
        coord_step (slice.coord, &in, ++slice.now_ms, &slice.out);
        expect_writable (&slice);
    }
    join (&slice, HOSTS_MAX - 1);
    assert_int_equal (slice.coord->state->left_n, HOSTS_MAX - 1);
    slice_close (&slice);
}
