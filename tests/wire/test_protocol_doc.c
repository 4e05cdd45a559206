/* alone: wire */
/* The tables in docs/spec/protocol.md are those of the code. `test_protocol_doc --write` puts today's there. */
#include <inttypes.h>

#include "common/wire/wire.h"
#include "test.h"
#include "tests/wire/generate.h"

#define DOC_PATH SLICEUP_SOURCE_DIR "/docs/spec/protocol.md"
#define BEGIN "<!-- tables from the code: begin -->\n"
#define END "<!-- tables from the code: end -->\n"

enum { DOC_MAX_BYTES = 1 << 20, RECORDS_MAX = 64 };
static bool writing;

/* Records that others hold: printed once, after the kinds. */
struct parts {
    const struct record *records[RECORDS_MAX];
    uint32_t n;
};

static void remember (struct parts *parts, const struct record *record)
{
    if (!record)
        return;
    for (uint32_t i = 0; i < parts->n; i++)
        if (parts->records[i] == record)
            return;
    assert_true (parts->n < RECORDS_MAX);
    parts->records[parts->n++] = record;
}

static void print_type (struct buf *out, enum field_kind kind, const struct field *field)
{
    static const char *const words[] = { "", "bool", "u32", "u64", "f64", "enum", "text", "bytes" };
    if (kind == FIELD_RECORD) {
        buf_puts (out, field->of->name);
        return;
    }
    buf_puts (out, words[kind]);
    const char *before = ": ";
    for (uint32_t i = 1; kind == FIELD_ENUM && i < field->names->n; i++) {
        if (!field->names->of[i][0])
            continue;
        buf_printf (out, "%s%" PRIu32 " %s", before, i, enum_name_of (field->names, i));
        before = ", ";
    }
}

static void print_max (struct buf *out, enum field_kind kind, uint64_t max)
{
    if (kind == FIELD_TEXT || kind == FIELD_BYTES)
        buf_printf (out, "%" PRIu64 " bytes", max);
    else if (kind == FIELD_LIST)
        buf_printf (out, "%" PRIu64 " items", max);
    else if (max == UINT64_MAX || max == INT64_MAX)
        buf_printf (out, "2^%d - 1", max == UINT64_MAX ? 64 : 63);
    else if (kind == FIELD_U32 || kind == FIELD_U64)
        buf_printf (out, "%" PRIu64, max);
}

static void print_field (struct buf *out, const struct field *field)
{
    bool list = field->kind == FIELD_LIST;
    buf_printf (out, "| %" PRIu32 " | %s | ", field->key, field->name);
    if (list)
        buf_puts (out, "list of ");
    print_type (out, list ? field->item : field->kind, field);
    buf_puts (out, " | ");
    print_max (out, field->kind, field->max);
    if (list && field->item_max) {
        buf_puts (out, ", each ");
        print_max (out, field->item, field->item_max);
    }
    buf_puts (out, " |\n");
}

static void print_fields (struct buf *out, const struct record *record, struct parts *parts)
{
    buf_puts (out, "| key | field | type | at most |\n|---|---|---|---|\n");
    for (uint32_t i = 0; i < record->fields_n; i++) {
        print_field (out, &record->fields[i]);
        remember (parts, record->fields[i].of);
    }
}

static void print_msgs (struct buf *out, struct parts *parts)
{
    for (enum msg_kind kind = next_msg_kind (0); kind; kind = next_msg_kind (kind)) {
        buf_printf (out, "\n### Message %d: %s (%s)\n\n", kind, msg_name (kind),
                    msg_is_from_worker (kind) ? "worker to coordinator" : "coordinator to worker");
        if (msg_record_of_kind (kind) == &result_record)
            buf_puts (out, "The body is a record `result`, see below.\n");
        else if (msg_record_of_kind (kind))
            print_fields (out, msg_record_of_kind (kind), parts);
        else
            buf_puts (out, "The body is empty.\n");
    }
}

static void print_facts (struct buf *out, struct parts *parts)
{
    for (enum fact_kind kind = next_fact_kind (0); kind; kind = next_fact_kind (kind)) {
        buf_printf (out, "\n### Fact %d: %s%s\n\n", kind, fact_name (kind), fact_is_soft (kind) ? " (soft)" : "");
        print_fields (out, fact_record_of_kind (kind), parts);
    }
}

static void print_tables (struct buf *out)
{
    struct parts parts = { .n = 0 };
    remember (&parts, &result_record);
    print_msgs (out, &parts);
    print_facts (out, &parts);
    for (uint32_t i = 0; i < parts.n; i++) {
        buf_printf (out, "\n### Record %s\n\n", parts.records[i]->name);
        print_fields (out, parts.records[i], &parts);
    }
    buf_puts (out, "\n");
    assert_false (out->overflow);
}

static void read_doc (struct buf *doc)
{
    char block[4096];
    FILE *file = fopen (DOC_PATH, "re");
    assert_non_null (file);
    for (size_t n; (n = fread (block, 1, sizeof block, file)) > 0;)
        buf_add (doc, block, n);
    assert_false (ferror (file) || doc->overflow);
    assert_int_equal (fclose (file), 0);
}

static void write_doc (struct text before, struct text tables, struct text after)
{
    FILE *file = fopen (DOC_PATH, "we");
    assert_non_null (file);
    assert_true (fprintf (file, "%.*s%.*s%.*s", TEXT_ARG (before), TEXT_ARG (tables), TEXT_ARG (after)) > 0);
    assert_int_equal (fclose (file), 0);
}

TEST (the_document_has_the_tables_of_the_code)
{
    struct buf doc, tables;
    uint32_t begin, end;
    buf_init (&doc, DOC_MAX_BYTES);
    buf_init (&tables, DOC_MAX_BYTES);
    read_doc (&doc);
    print_tables (&tables);
    struct text whole = buf_as_text (&doc);
    assert_true (text_find (whole, TEXT_LIT (BEGIN), &begin) && text_find (whole, TEXT_LIT (END), &end) && begin < end);
    begin += sizeof BEGIN - 1;
    struct text found = { whole.ptr + begin, end - begin }, after = { whole.ptr + end, whole.len - end };
    bool same = text_equal (found, buf_as_text (&tables));
    if (!same && writing)
        write_doc ((struct text){ whole.ptr, begin }, buf_as_text (&tables), after);
    else if (!same)
        fail_msg ("docs/spec/protocol.md has other tables than the code; `test_protocol_doc --write` renews them");
    buf_release (&tables);
    buf_release (&doc);
}

int main (int argc, char **argv)
{
    writing = argc > 1 && strcmp (argv[1], "--write") == 0;
    return test_run (1, argv);
}
