/* alone: wire */
/* Bytes of the past: tests/wire/golden/<msg|fact>-<kind>.hex. They have to be read as the values that they were made
 * from and be written again unchanged; fields that were added since are absent in them. `test_golden --write` makes the
 * files that are missing and never changes one: whoever deletes one breaks with every journal written before. */

#include "common/wire/wire.h"
#include "test.h"
#include "tests/wire/generate.h"

enum { GOLDEN_SEED = 20260, FILE_MAX_BYTES = 1 << 20 };
static bool writing;

static void path_of (char *path, size_t path_bytes, const char *what, const char *kind)
{
    assert_true ((size_t) snprintf (path, path_bytes, SLICEUP_SOURCE_DIR "/tests/wire/golden/%s-%s.hex", what, kind) <
                 path_bytes);
}

static void write_hex (const char *path, const struct buf *bytes)
{
    FILE *file = fopen (path, "we");
    assert_non_null (file);
    for (size_t i = 0; i < bytes->len; i++)
        assert_true (fprintf (file, "%02x%s", bytes->ptr[i], i % 32 == 31 || i + 1 == bytes->len ? "\n" : "") > 0);
    assert_int_equal (fclose (file), 0);
}

static int digit (int c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void read_hex (const char *path, struct buf *bytes)
{
    FILE *file = fopen (path, "re");
    if (!file)
        fail_msg ("%s is missing; `test_golden --write` makes it", path);
    for (int high = fgetc (file); high != EOF; high = fgetc (file)) {
        if (high == '\n')
            continue;
        int low = fgetc (file);
        assert_true (digit (high) >= 0 && digit (low) >= 0);
        buf_byte (bytes, (uint8_t) (digit (high) << 4 | digit (low)));
    }
    assert_int_equal (fclose (file), 0);
    assert_false (bytes->overflow);
}

static bool matches (const struct record *record, const void *kept, const void *made);

static bool item_matches (const struct field *item, const void *kept, const void *made)
{
    struct record alone = { .name = item->name, .fields = item, .fields_n = 1 };
    return item->kind == FIELD_RECORD ? matches (item->of, kept, made) : record_equal (&alone, kept, made);
}

static bool list_matches (const struct field *field, const struct any_list *kept, const struct any_list *made)
{
    struct field item = field_describe_item (field);
    size_t item_bytes = field_item_bytes (field);
    if (kept->n != made->n)
        return false;
    for (uint32_t i = 0; i < kept->n; i++) {
        size_t at = i * item_bytes;
        if (!item_matches (&item, (const char *) kept->items + at, (const char *) made->items + at))
            return false;
    }
    return true;
}

/* Equal in all fields that `kept` has. */
static bool matches (const struct record *record, const void *kept, const void *made)
{
    for (uint32_t i = 0; i < record->fields_n; i++) {
        struct field field = record->fields[i];
        const void *a = (const char *) kept + field.offset, *b = (const char *) made + field.offset;
        field.offset = 0;
        if (field_is_empty (&field, a))
            continue;
        if (field.kind == FIELD_LIST ? !list_matches (&field, a, b) : !item_matches (&field, a, b))
            return false;
    }
    return true;
}

static void load (const char *what, const char *kind, const struct buf *made, struct buf *kept)
{
    char path[1024];
    path_of (path, sizeof path, what, kind);
    if (writing && access (path, F_OK) < 0)
        write_hex (path, made);
    buf_init (kept, FILE_MAX_BYTES);
    read_hex (path, kept);
}

TEST (messages_are_read_and_written_as_they_always_were)
{
    for (enum msg_kind kind = next_msg_kind (0); kind; kind = next_msg_kind (kind)) {
        struct arena arena = { 0 };
        struct generator g = generator_of (GENERATE_FULL, GOLDEN_SEED + kind, &arena);
        struct msg msg, back;
        struct buf bytes, kept;
        buf_init (&bytes, MSG_MAX_BYTES);
        generate_msg (&g, kind, &msg);
        wire_put_msg (&bytes, &msg);
        load ("msg", msg_name (kind), &bytes, &kept);
        assert_int_equal (wire_get_msg (buf_as_text (&kept), &back, &arena, NULL), 0);
        assert_true (back.kind == kind && back.epoch == msg.epoch && back.session == msg.session);
        assert_true (back.seq == msg.seq && back.ack == msg.ack && text_equal (back.run_id, msg.run_id));
        assert_true (!msg_record_of_kind (kind) || matches (msg_record_of_kind (kind), &back.of, &msg.of));
        buf_clear (&bytes);
        wire_put_msg (&bytes, &back);
        assert_text (&bytes, &kept);
        buf_release (&kept);
        buf_release (&bytes);
        arena_release (&arena);
    }
}

TEST (facts_are_read_and_written_as_they_always_were)
{
    for (enum fact_kind kind = next_fact_kind (0); kind; kind = next_fact_kind (kind)) {
        struct arena arena = { 0 };
        struct generator g = generator_of (GENERATE_FULL, GOLDEN_SEED + kind, &arena);
        struct fact fact, back;
        struct buf bytes, kept;
        buf_init (&bytes, FILE_MAX_BYTES);
        generate_fact (&g, kind, &fact);
        wire_put_fact (&bytes, &fact);
        load ("fact", fact_name (kind), &bytes, &kept);
        assert_int_equal (wire_get_fact (buf_as_text (&kept), &back, &arena, NULL), 0);
        assert_true (back.kind == kind && back.index == fact.index && back.at_ms == fact.at_ms);
        assert_true (back.wall_ms == fact.wall_ms && matches (fact_record_of_kind (kind), &back.of, &fact.of));
        buf_clear (&bytes);
        wire_put_fact (&bytes, &back);
        assert_text (&bytes, &kept);
        buf_release (&kept);
        buf_release (&bytes);
        arena_release (&arena);
    }
}

int main (int argc, char **argv)
{
    writing = argc > 1 && strcmp (argv[1], "--write") == 0;
    return test_run (1, argv);
}
