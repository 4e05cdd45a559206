#include "coordinator/metrics/exposition.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const type_names[] = { "gauge", "counter", "info", "histogram" };

static const char *suffix_of (enum family_type type)
{
    return type == FAMILY_COUNTER ? "_total" : type == FAMILY_INFO ? "_info" : "";
}

static const char *type_of (const struct exposition *exposition, enum family_type type)
{
    return type == FAMILY_INFO && exposition->form == METRICS_TEXTFILE ? "gauge" : type_names[type];
}

void exposition_begin_family (struct exposition *exposition, const struct family *family)
{
    bool open = exposition->form == METRICS_OPENMETRICS;
    const char *suffix = open ? "" : suffix_of (family->type);
    exposition->family = family;
    buf_printf (exposition->out, "# HELP %s%s %s.\n", family->name, suffix, family->help);
    buf_printf (exposition->out, "# TYPE %s%s %s\n", family->name, suffix, type_of (exposition, family->type));
    if (open && family->unit[0])
        buf_printf (exposition->out, "# UNIT %s %s\n", family->name, family->unit);
    exposition->family_at = exposition->out->len ? exposition->out->len - 1 : 0;
}

/* The syntax knows three escapes: \\, \" and \n. A newline does not get here: what is no letter is made visible. */
static void put_escaped (struct text value, struct buf *out)
{
    struct buf safe;
    buf_init (&safe, 16 * LABEL_COLUMNS);
    buf_escaped (&safe, value, LABEL_COLUMNS);
    for (size_t i = 0; i < safe.len; i++) {
        if (safe.ptr[i] == '\\' || safe.ptr[i] == '"')
            buf_byte (out, '\\');
        buf_byte (out, safe.ptr[i]);
    }
    buf_release (&safe);
}

static void add_label (struct buf *out, char before, const char *name, struct text value)
{
    buf_byte (out, (uint8_t) before);
    buf_printf (out, "%s=\"", name);
    put_escaped (value, out);
    buf_puts (out, "\"");
}

/* Hosts that have one name once it is safe, or one that is cut: the first counts, for a series may be there once. */
static bool is_new (const struct exposition *exposition, size_t from)
{
    const struct buf *out = exposition->out;
    return memmem (out->ptr + exposition->family_at, from - 1 - exposition->family_at, out->ptr + from - 1,
                   out->len - from + 1) == NULL;
}

static bool add (struct exposition *exposition, const char *suffix, const struct label *labels, const char *bound,
                 const char *value)
{
    struct buf *out = exposition->out;
    size_t from = out->len;
    buf_printf (out, "%s%s", exposition->family->name, suffix);
    add_label (out, '{', "slice", exposition->slice);
    for (; labels && labels->name; labels++)
        add_label (out, ',', labels->name, labels->value);
    if (bound)
        add_label (out, ',', "le", text_of (bound));
    buf_puts (out, "} ");
    if (out->overflow || !is_new (exposition, from)) {
        out->len = from;
        return false;
    }
    buf_puts (out, value);
    buf_puts (out, "\n");
    exposition->series_n++;
    return true;
}

enum { NUMBER_BYTES = 32 };
static const char *number (uint64_t value, char out[NUMBER_BYTES])
{
    snprintf (out, NUMBER_BYTES, "%" PRIu64, value);
    return out;
}

static const char *seconds (uint64_t ms, char out[NUMBER_BYTES])
{
    snprintf (out, NUMBER_BYTES, "%" PRIu64 ".%03u", ms / 1000, (unsigned) (ms % 1000));
    return out;
}

bool exposition_add (struct exposition *exposition, const struct label *labels, uint64_t value)
{
    char text[NUMBER_BYTES];
    return add (exposition, suffix_of (exposition->family->type), labels, NULL, number (value, text));
}

void exposition_add_ms (struct exposition *exposition, const struct label *labels, uint64_t ms)
{
    char text[NUMBER_BYTES];
    add (exposition, suffix_of (exposition->family->type), labels, NULL, seconds (ms, text));
}

void exposition_add_bucket (struct exposition *exposition, const struct label *labels, uint64_t bound_ms,
                            uint64_t value)
{
    char text[NUMBER_BYTES], bound[NUMBER_BYTES] = "+Inf";
    if (bound_ms != UINT64_MAX)
        snprintf (bound, sizeof (bound), "%" PRIu64 ".%u", bound_ms / 1000, (unsigned) (bound_ms % 1000 / 100));
    add (exposition, "_bucket", labels, bound, number (value, text));
}

void exposition_add_sum (struct exposition *exposition, const struct label *labels, uint64_t ms, uint64_t count)
{
    char text[NUMBER_BYTES];
    add (exposition, "_count", labels, NULL, number (count, text));
    add (exposition, "_sum", labels, NULL, seconds (ms, text));
}

void exposition_end (struct exposition *exposition)
{
    if (exposition->form == METRICS_OPENMETRICS)
        buf_puts (exposition->out, "# EOF\n");
}
