/* links: wire unpacker */
#include "common/wire/wire.h"
#include "test.h"
#include "tests/wire/compare.h"
#include "tests/wire/generate.h"

enum { BYTES_MAX = 64 << 20, SEEDS = 60 };

/* Exactly as long as the input, so that reading past the end is seen by the sanitizer. */
static struct text tight (const struct buf *bytes, size_t len)
{
    char *copy = malloc (len ? len : 1);
    memcpy (copy, bytes->ptr, len);
    return (struct text){ .ptr = copy, .len = (uint32_t) len };
}

static void encode_msg (enum msg_kind kind, enum generate_mode mode, uint64_t seed, struct arena *arena,
                        struct msg *msg, struct buf *out)
{
    struct generator g = generator_of (mode, rng_derive_seed (seed, kind), arena);
    generate_msg (&g, kind, msg);
    buf_init (out, BYTES_MAX);
    wire_put_msg (out, msg);
    assert_false (out->overflow);
}

static void encode_fact (enum fact_kind kind, enum generate_mode mode, uint64_t seed, struct arena *arena,
                         struct fact *fact, struct buf *out)
{
    struct generator g = generator_of (mode, rng_derive_seed (seed, kind), arena);
    generate_fact (&g, kind, fact);
    buf_init (out, BYTES_MAX);
    wire_put_fact (out, fact);
    assert_false (out->overflow);
}

static bool msgs_equal (const struct msg *a, const struct msg *b)
{
    const struct record *body = msg_record_of_kind (a->kind);
    return a->kind == b->kind && a->major == b->major && a->minor == b->minor && text_equal (a->run_id, b->run_id) &&
           a->epoch == b->epoch && a->session == b->session && a->seq == b->seq && a->ack == b->ack &&
           (!body || record_equal (body, &a->of, &b->of));
}

static bool facts_equal (const struct fact *a, const struct fact *b)
{
    return a->kind == b->kind && a->index == b->index && a->at_ms == b->at_ms && a->wall_ms == b->wall_ms &&
           record_equal (fact_record_of_kind (a->kind), &a->of, &b->of);
}

static bool msgpack_accepts (struct text bytes)
{
    struct compared found = compare_readers (bytes, WIRE_RECORD_ITEMS_MAX);
    return !found.differs && !found.reason && found.len == bytes.len;
}

/* By its digest the coordinator knows a result that is sent again. */
static void body_is_what_was_put (const struct msg *msg)
{
    struct buf body;
    if (!msg_record_of_kind (msg->kind))
        return;
    buf_init (&body, MSG_MAX_BYTES);
    wire_put_record (&body, msg_record_of_kind (msg->kind), &msg->of);
    assert_text (msg->body, &body);
    buf_release (&body);
}

static void msg_round_trips (enum msg_kind kind, enum generate_mode mode, uint64_t seed)
{
    struct arena made = { 0 }, read = { 0 };
    struct msg msg, back;
    struct buf bytes;
    struct err err = { 0 };

    encode_msg (kind, mode, seed, &made, &msg, &bytes);
    struct text input = tight (&bytes, bytes.len);
    if (bytes.len > MSG_MAX_BYTES)
        assert_int_equal (wire_get_msg (input, &back, &read, &err), -1);
    else if (wire_get_msg (input, &back, &read, &err) < 0)
        fail_msg ("%s, seed %u: %s", msg_name (kind), (unsigned) seed, err.text);
    else {
        assert_true (msgs_equal (&msg, &back));
        body_is_what_was_put (&back);
        assert_true (!msg_record_of_kind (kind) || record_check (msg_record_of_kind (kind), &back.of, NULL));
        assert_true (msgpack_accepts (input));
    }
    free ((void *) input.ptr);
    buf_release (&bytes);
    arena_release (&read);
    arena_release (&made);
}

TEST (every_message_comes_back_as_it_went)
{
    for (enum msg_kind kind = next_msg_kind (0); kind; kind = next_msg_kind (kind))
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            msg_round_trips (kind, (enum generate_mode) (seed % 3), seed);
}

static void fact_round_trips (enum fact_kind kind, enum generate_mode mode, uint64_t seed)
{
    struct arena made = { 0 }, read = { 0 };
    struct fact fact, back;
    struct buf bytes;
    struct err err = { 0 };

    encode_fact (kind, mode, seed, &made, &fact, &bytes);
    struct text input = tight (&bytes, bytes.len);
    if (wire_get_fact (input, &back, &read, &err) < 0)
        fail_msg ("%s, seed %u: %s", fact_name (kind), (unsigned) seed, err.text);
    assert_true (facts_equal (&fact, &back));
    assert_true (record_check (fact_record_of_kind (kind), &back.of, NULL));
    assert_true (msgpack_accepts (input));
    free ((void *) input.ptr);
    buf_release (&bytes);
    arena_release (&read);
    arena_release (&made);
}

TEST (every_fact_comes_back_as_it_went)
{
    for (enum fact_kind kind = next_fact_kind (0); kind; kind = next_fact_kind (kind))
        for (uint64_t seed = 0; seed < SEEDS; seed++)
            fact_round_trips (kind, (enum generate_mode) (seed % 3), seed);
}

TEST (equal_values_have_equal_bytes)
{
    struct arena one = { 0 }, two = { 0 };
    struct buf a, b;
    struct fact fact, same;
    encode_fact (FACT_ATTEMPT_ENDED, GENERATE_SPARSE, 4, &one, &fact, &a);
    encode_fact (FACT_ATTEMPT_ENDED, GENERATE_SPARSE, 4, &two, &same, &b);
    assert_text (&a, &b);
    buf_clear (&b);
    same.of.attempt_ended.result.strays++;
    wire_put_fact (&b, &same);
    assert_false (a.len == b.len && memcmp (a.ptr, b.ptr, a.len) == 0);
    buf_release (&a);
    buf_release (&b);
    arena_release (&one);
    arena_release (&two);
}

/* The fact about the result that `msg` told, as the coordinator makes it. */
static struct fact fact_of (const struct msg *msg)
{
    struct fact fact = { .kind = FACT_ATTEMPT_ENDED, .of.attempt_ended = { .host = 3, .result = msg->of.result } };
    fact.of.attempt_ended.result.encoded = msg->body;
    return fact;
}

TEST (a_fact_has_the_bytes_of_the_result_as_they_came)
{
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct arena arena = { 0 };
        struct buf bytes, kept, made;
        struct msg msg, back;
        buf_init (&kept, FACT_MAX_BYTES);
        buf_init (&made, FACT_MAX_BYTES);
        encode_msg (MSG_RESULT, (enum generate_mode) (seed % 3), seed, &arena, &msg, &bytes);
        if (bytes.len <= MSG_MAX_BYTES && wire_get_msg (buf_as_text (&bytes), &back, &arena, NULL) == 0) {
            struct fact fact = fact_of (&back), copy = fact;
            record_copy (fact_record_of_kind (fact.kind), &copy.of, &fact.of, &arena);
            assert_int_equal (copy.of.attempt_ended.result.encoded.len, 0);
            wire_put_fact (&kept, &fact);
            wire_put_fact (&made, &copy);
            assert_text (buf_as_text (&kept), &made);
        }
        buf_release (&bytes);
        buf_release (&kept);
        buf_release (&made);
        arena_release (&arena);
    }
}

/* A later version's field: what is nested in it so deeply that the fact could not be read is refused in the message. */
TEST (a_fact_can_be_read_whatever_its_message_had)
{
    uint32_t taken = 0;
    for (uint32_t depth = 0; depth < 2 * WIRE_DEPTH_MAX; depth++) {
        struct arena arena = { 0 };
        struct buf bytes, kept;
        struct msg msg = { .kind = MSG_RESULT, .run_id = { "0123456789abcdef", RUN_ID_BYTES } }, back;
        struct fact read;
        buf_init (&bytes, MSG_MAX_BYTES);
        buf_init (&kept, FACT_MAX_BYTES);
        msg.major = PROTOCOL_MAJOR;
        wire_put_msg (&bytes, &msg);
        bytes.len--; /* its body, an empty map */
        buf_add (&bytes, "\x82\x03\x01\x7f", 4);
        for (uint32_t i = 0; i < depth; i++)
            buf_byte (&bytes, (char) 0x91);
        buf_byte (&bytes, 1);
        if (wire_get_msg (buf_as_text (&bytes), &back, &arena, NULL) == 0) {
            struct fact fact = fact_of (&back);
            taken++;
            wire_put_fact (&kept, &fact);
            assert_int_equal (wire_get_fact (buf_as_text (&kept), &read, &arena, NULL), 0);
        }
        buf_release (&bytes);
        buf_release (&kept);
        arena_release (&arena);
    }
    assert_in_range (taken, 3, WIRE_DEPTH_MAX);
}

TEST (a_record_has_these_bytes)
{
    struct seal seal = { .token = 7, .sha256 = TEXT_LIT ("ab"), .entries = 300, .bytes = 70000 };
    static const uint8_t expected[] = { 0x84, 1, 7, 2, 0xa2, 'a', 'b', 3, 0xcd, 0x01, 0x2c, 4, 0xce, 0, 1, 0x11, 0x70 };
    struct buf bytes;
    buf_init (&bytes, 100);
    wire_put_record (&bytes, &seal_record, &seal);
    assert_int_equal (bytes.len, sizeof expected);
    assert_memory_equal (bytes.ptr, expected, sizeof expected);
    buf_release (&bytes);
}

struct reals {
    LIST_OF (double) list;
};
static const struct field reals_fields[] = { F_F64S (1, struct reals, list, 4) };
static const struct record reals_record = RECORD ("reals", struct reals, reals_fields);

TEST (reals_have_one_form_each)
{
    uint64_t negative_nan_with_payload = 0xfff8000000000123ull;
    double odd[] = { 0, -0.0, 1.0 };
    memcpy (&odd[0], &negative_nan_with_payload, sizeof odd[0]);
    struct reals reals = { .list = { odd, 3 } }, back;
    static const uint8_t expected[] = { 0x81, 1, 0x93, 0xcb, 0x7f, 0xf8, 0,    0,    0,    0, 0, 0, 0xcb, 0, 0,
                                        0,    0, 0,    0,    0,    0,    0xcb, 0x3f, 0xf0, 0, 0, 0, 0,    0, 0 };
    struct buf bytes;
    buf_init (&bytes, 100);
    wire_put_record (&bytes, &reals_record, &reals);
    assert_int_equal (bytes.len, sizeof expected);
    assert_memory_equal (bytes.ptr, expected, sizeof expected);
    assert_int_equal (wire_get_record (buf_as_text (&bytes), &reals_record, &back, &t->arena, NULL), 0);
    assert_true (record_equal (&reals_record, &reals, &back));
    buf_release (&bytes);
}

TEST (truncation_at_every_length_is_refused)
{
    for (enum msg_kind kind = next_msg_kind (0); kind; kind = next_msg_kind (kind)) {
        struct arena arena = { 0 };
        struct msg msg;
        struct buf bytes;
        encode_msg (kind, GENERATE_FULL, 1, &arena, &msg, &bytes);
        for (size_t len = 0; len < bytes.len; len++) {
            struct text input = tight (&bytes, len);
            struct err err = { 0 };
            assert_int_equal (wire_get_msg (input, &msg, &arena, &err), -1);
            assert_true (err.code != ERR_NONE && err.text[0]);
            free ((void *) input.ptr);
        }
        buf_release (&bytes);
        arena_release (&arena);
    }
}

TEST (truncated_facts_are_refused)
{
    for (enum fact_kind kind = next_fact_kind (0); kind; kind = next_fact_kind (kind)) {
        struct arena arena = { 0 };
        struct fact fact;
        struct buf bytes;
        encode_fact (kind, GENERATE_SPARSE, 1, &arena, &fact, &bytes);
        for (size_t len = 0; len < bytes.len; len++) {
            struct text input = tight (&bytes, len);
            assert_int_equal (wire_get_fact (input, &fact, &arena, NULL), -1);
            free ((void *) input.ptr);
            arena_reset (&arena);
        }
        buf_release (&bytes);
        arena_release (&arena);
    }
}

/* What is accepted is within its table, is MessagePack, and is written again as the same value in no more bytes (fewer
 * when unknown keys were skipped). */
static void accepted_msg_is_sound (struct text input, const struct msg *msg, struct arena *arena)
{
    struct msg again;
    struct buf bytes;
    assert_true (msgpack_accepts (input));
    assert_true (!msg_record_of_kind (msg->kind) || record_check (msg_record_of_kind (msg->kind), &msg->of, NULL));
    buf_init (&bytes, BYTES_MAX);
    wire_put_msg (&bytes, msg);
    assert_true (bytes.len <= input.len);
    assert_int_equal (wire_get_msg (buf_as_text (&bytes), &again, arena, NULL), 0);
    assert_true (msgs_equal (msg, &again));
    buf_release (&bytes);
}

TEST (a_flipped_bit_is_refused_or_read_as_a_sound_message)
{
    for (enum msg_kind kind = next_msg_kind (0); kind; kind = next_msg_kind (kind)) {
        struct arena made = { 0 }, read = { 0 };
        struct msg msg;
        struct buf bytes;
        encode_msg (kind, GENERATE_SPARSE, 2, &made, &msg, &bytes);
        struct text input = tight (&bytes, bytes.len);
        for (uint32_t bit = 0; bit < 8 * input.len; bit++) {
            ((char *) input.ptr)[bit / 8] ^= (char) (1 << bit % 8);
            if (wire_get_msg (input, &msg, &read, NULL) == 0)
                accepted_msg_is_sound (input, &msg, &read);
            ((char *) input.ptr)[bit / 8] ^= (char) (1 << bit % 8);
            arena_reset (&read);
        }
        free ((void *) input.ptr);
        buf_release (&bytes);
        arena_release (&read);
        arena_release (&made);
    }
}

static void accepted_fact_is_sound (struct text input, const struct fact *fact, struct arena *arena)
{
    struct fact again;
    struct buf bytes;
    assert_true (msgpack_accepts (input));
    assert_true (record_check (fact_record_of_kind (fact->kind), &fact->of, NULL));
    buf_init (&bytes, BYTES_MAX);
    wire_put_fact (&bytes, fact);
    assert_true (bytes.len <= input.len);
    assert_int_equal (wire_get_fact (buf_as_text (&bytes), &again, arena, NULL), 0);
    assert_true (facts_equal (fact, &again));
    buf_release (&bytes);
}

TEST (a_flipped_bit_is_refused_or_read_as_a_sound_fact)
{
    for (enum fact_kind kind = next_fact_kind (0); kind; kind = next_fact_kind (kind)) {
        struct arena made = { 0 }, read = { 0 };
        struct fact fact;
        struct buf bytes;
        encode_fact (kind, GENERATE_SPARSE, 2, &made, &fact, &bytes);
        struct text input = tight (&bytes, bytes.len);
        for (uint32_t bit = 0; bit < 8 * input.len; bit++) {
            ((char *) input.ptr)[bit / 8] ^= (char) (1 << bit % 8);
            if (wire_get_fact (input, &fact, &read, NULL) == 0)
                accepted_fact_is_sound (input, &fact, &read);
            ((char *) input.ptr)[bit / 8] ^= (char) (1 << bit % 8);
            arena_reset (&read);
        }
        free ((void *) input.ptr);
        buf_release (&bytes);
        arena_release (&read);
        arena_release (&made);
    }
}

/* How many items a value within its table can have, and how deep it can nest. */
static uint64_t most_items (const struct record *record)
{
    uint64_t items = 1;
    for (uint32_t i = 0; i < record->fields_n; i++) {
        const struct field *field = &record->fields[i];
        uint64_t one = field->of ? most_items (field->of) : 1;
        items += 1 + (field->kind == FIELD_LIST ? 1 + field->max * one : one);
    }
    return items;
}

static uint32_t deepest (const struct record *record)
{
    uint32_t below = 0;
    for (uint32_t i = 0; i < record->fields_n; i++) {
        const struct field *field = &record->fields[i];
        uint32_t here = (field->of ? deepest (field->of) : 0) + (field->kind == FIELD_LIST);
        below = here > below ? here : below;
    }
    return 1 + below;
}

TEST (every_fact_within_its_table_is_within_the_limits)
{
    for (enum fact_kind kind = next_fact_kind (0); kind; kind = next_fact_kind (kind)) {
        assert_true (5 + most_items (fact_record_of_kind (kind)) < WIRE_RECORD_ITEMS_MAX);
        assert_true (1 + deepest (fact_record_of_kind (kind)) < WIRE_DEPTH_MAX);
    }
    for (enum msg_kind kind = next_msg_kind (0); kind; kind = next_msg_kind (kind)) {
        assert_true (!msg_record_of_kind (kind) || 1 + deepest (msg_record_of_kind (kind)) < WIRE_DEPTH_MAX);
        assert_true (!msg_record_of_kind (kind) || kind == MSG_RESULT ||
                     10 + most_items (msg_record_of_kind (kind)) < WIRE_ITEMS_MAX);
    }
}

/* A result has more places than a message has room; shards are what it can hold most items of. */
TEST (a_result_that_fills_a_message_is_within_its_items)
{
    struct shard *shards = arena_array (&t->arena, RESULT_SHARDS_MAX, sizeof *shards);
    struct metric *metrics = arena_array (&t->arena, RESULT_METRICS_MAX, sizeof *metrics);
    for (uint32_t i = 0; i < RESULT_SHARDS_MAX; i++)
        shards[i] = (struct shard){ .value = 0.5, .proof = 1e6, .local = 0.25, .weight = 3 };
    struct msg msg = { .kind = MSG_RESULT, .major = PROTOCOL_MAJOR, .run_id = { "0123456789abcdef", RUN_ID_BYTES } };
    for (uint32_t i = 0; i < 24; i++)
        metrics[i] = (struct metric){ .name = TEXT_LIT ("loss"), .shards = { shards, RESULT_SHARDS_MAX } };
    msg.of.result.metrics.items = metrics;
    msg.of.result.metrics.n = 24;
    struct buf bytes;
    struct msg back;
    buf_init (&bytes, MSG_MAX_BYTES);
    wire_put_msg (&bytes, &msg);
    assert_false (bytes.overflow);
    assert_true (bytes.len > MSG_MAX_BYTES * 9 / 10);
    assert_int_equal (wire_get_msg (buf_as_text (&bytes), &back, &t->arena, NULL), 0);
    assert_true (msgs_equal (&msg, &back));
    buf_release (&bytes);
}

static void fill_vars (var_list *vars, struct arena *arena)
{
    vars->n = VARS_MAX;
    vars->items = arena_array (arena, VARS_MAX, sizeof *vars->items);
    for (uint32_t i = 0; i < VARS_MAX; i++)
        vars->items[i] = (struct var){ text_format (arena, "NAME_%u", i), text_format (arena, "\"%u\"", i) };
}

static void fill_plan (struct plan *plan, struct arena *arena)
{
    plan->hosts.n = HOSTS_MAX;
    plan->hosts.items = arena_array (arena, HOSTS_MAX, sizeof *plan->hosts.items);
    for (uint32_t i = 0; i < HOSTS_MAX; i++)
        plan->hosts.items[i] = (struct plan_host){ .name = text_format (arena, "v6e%u", i),
                                                   .address = TEXT_LIT ("10.0.0.1"),
                                                   .env_dir = TEXT_LIT ("/srv/env") };
    plan->rungs.n = RUNGS_MAX;
    plan->rungs.items = arena_array (arena, RUNGS_MAX, sizeof *plan->rungs.items);
    for (uint32_t i = 0; i < RUNGS_MAX; i++) {
        plan->rungs.items[i].id = text_format (arena, "rung-%u", i);
        fill_vars (&plan->rungs.items[i].args, arena);
    }
    fill_vars (&plan->profile.env, arena);
}

TEST (a_plan_of_all_hosts_and_rungs_fits_in_the_first_fact)
{
    struct fact fact = { .kind = FACT_RUN_OPENED, .index = 1 }, back;
    struct buf *bytes = test_buf (t);
    fill_plan (&fact.of.run_opened.plan, &t->arena);
    wire_put_fact (bytes, &fact);
    assert_false (bytes->overflow);
    if (wire_get_fact (buf_as_text (bytes), &back, &t->arena, &t->err) < 0)
        fail_msg ("%s", t->err.text);
    assert_true (facts_equal (&fact, &back));
}

TEST (what_does_not_fit_leaves_the_buffer_as_it_was)
{
    struct msg msg;
    struct buf whole, small;
    encode_msg (MSG_RUN, GENERATE_EDGE, 3, &t->arena, &msg, &whole);
    assert_true (whole.len > 600);
    for (size_t room = 4; room < 4 + whole.len; room += 41) {
        buf_init (&small, room);
        buf_puts (&small, "keep");
        wire_put_msg (&small, &msg);
        assert_true (small.overflow);
        assert_text (&small, "keep");
        buf_release (&small);
    }
    buf_release (&whole);
}

TEST (behind_what_was_lost_nothing_is_written)
{
    static const char too_much[64];
    struct buf bytes;
    struct msg small = { .kind = MSG_REHELLO, .major = PROTOCOL_MAJOR, .run_id = { "0123456789abcdef", RUN_ID_BYTES } };
    buf_init (&bytes, 64);
    buf_puts (&bytes, "keep");
    buf_add (&bytes, too_much, sizeof too_much);
    assert_true (bytes.overflow);
    wire_put_msg (&bytes, &small);
    assert_true (bytes.overflow);
    assert_text (&bytes, "keep");
    buf_clear (&bytes);
    wire_put_msg (&bytes, &small);
    assert_true (!bytes.overflow && bytes.len > 0);
    buf_release (&bytes);
}

TEST (texts_alias_the_input_and_lists_the_arena)
{
    struct arena made = { 0 }, read = { 0 };
    struct msg msg, back;
    struct buf bytes;
    encode_msg (MSG_HELLO, GENERATE_FULL, 3, &made, &msg, &bytes);
    assert_int_equal (wire_get_msg (buf_as_text (&bytes), &back, &read, NULL), 0);
    const char *begin = (const char *) bytes.ptr, *end = begin + bytes.len;
    assert_true (back.of.hello.host.ptr > begin && back.of.hello.host.ptr < end);
    assert_true (read.used_bytes >= back.of.hello.holdings.n * sizeof (struct holding));
    assert_true (read.used_bytes < 2 * HOLDINGS_MAX * sizeof (struct holding));
    buf_release (&bytes);
    arena_release (&read);
    arena_release (&made);
}
