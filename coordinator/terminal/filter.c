#include "coordinator/terminal/draw.h"

#include <stdio.h>
#include <string.h>

#include "common/base/duration.h"

static bool mark_is (enum scene_mark mark, struct text word)
{
    char label[MARK_LABEL_BYTES];
    return text_is (word, scene_mark_label (mark, label)) || (word.len == 1 && word.ptr[0] == scene_mark_letter (mark));
}

static int read_mark (struct text word, uint32_t *marks, struct err *err)
{
    char known[256] = "";
    for (uint32_t mark = 0; mark < MARK_N; mark++)
        if (mark_is (mark, word)) {
            *marks |= 1u << mark;
            return 0;
        }
    for (uint32_t mark = 0; mark < MARK_N; mark++)
        snprintf (known + strlen (known), sizeof (known) - strlen (known), "%s%s", mark ? ", " : "",
                  scene_mark_word (mark));
    return err_set (err, ERR_USAGE, "outcome:%.*s is none of %s", TEXT_ARG (word), known);
}

static int read_marks (struct text words, uint32_t *marks, struct err *err)
{
    while (words.len)
        if (read_mark (text_take_until (&words, ','), marks, err) < 0)
            return -1;
    return 0;
}

static int read_owner (struct text word, enum owner *owner, struct err *err)
{
    char known[256] = "";
    uint32_t value = 0;
    if (enum_value_of (&owner_names, word, &value)) {
        *owner = (enum owner) value;
        return 0;
    }
    for (uint32_t i = OWNER_DEVICE; i < OWNER_N; i++)
        snprintf (known + strlen (known), sizeof (known) - strlen (known), "%s%s", i > OWNER_DEVICE ? ", " : "",
                  enum_name_of (&owner_names, i));
    return err_set (err, ERR_USAGE, "owner:%.*s is none of %s", TEXT_ARG (word), known);
}

static int read_ms (struct text word, struct text range, uint64_t *ms, struct err *err)
{
    if (word.len == 0 || duration_parse (word, ms))
        return 0;
    return err_set (err, ERR_USAGE, "time:%.*s: %.*s is no duration; expected a number and ms, s, m, h or d",
                    TEXT_ARG (range), TEXT_ARG (word));
}

static int read_time (struct text range, struct filter *filter, struct err *err)
{
    struct text until = range, from;
    uint64_t from_ms = 0, until_ms = UINT64_MAX;
    if (range.len < 2 || !text_cut (&until, '-', &from))
        return err_set (err, ERR_USAGE,
                        "time:%.*s is no range of time; expected FROM-UNTIL, FROM- or -UNTIL, as in time:40s-2min",
                        TEXT_ARG (range));
    if (read_ms (from, range, &from_ms, err) < 0 || read_ms (until, range, &until_ms, err) < 0)
        return -1;
    if (until_ms <= from_ms)
        return err_set (err, ERR_USAGE, "time:%.*s holds no time: it has to end later than it begins",
                        TEXT_ARG (range));
    filter->from_ms = from_ms;
    filter->until_ms = until_ms;
    return 0;
}

static void add_text (struct filter *filter, struct text word)
{
    size_t len = strlen (filter->text);
    snprintf (filter->text + len, sizeof (filter->text) - len, "%s%.*s", len ? " " : "", TEXT_ARG (word));
}

static int filter_read_word (struct filter *filter, struct text word, struct err *err)
{
    struct text value = word, name;
    if (!text_cut (&value, ':', &name)) {
        add_text (filter, word);
        return 0;
    }
    if (text_is (name, "outcome"))
        return read_marks (value, &filter->marks, err);
    if (text_is (name, "owner"))
        return read_owner (value, &filter->owner, err);
    if (text_is (name, "time"))
        return read_time (value, filter, err);
    if (text_is (name, "hosts"))
        filter->hosts = value;
    else if (text_is (name, "phase"))
        filter->phase = value;
    else
        add_text (filter, word);
    return 0;
}

static int filter_read_words (struct filter *filter, struct err *err)
{
    struct text rest = text_of (filter->line);
    while (rest.len) {
        struct text word = text_take_until (&rest, ' ');
        if (word.len && filter_read_word (filter, word, err) < 0)
            return -1;
    }
    return 0;
}

int filter_read (struct filter *filter, const char *line, struct err *err)
{
    char before[FILTER_LINE_BYTES];
    memcpy (before, filter->line, sizeof (before));
    *filter = (struct filter){ .marks = 0 };
    snprintf (filter->line, sizeof (filter->line), "%s", line);
    if (filter_read_words (filter, err) == 0)
        return 0;
    if (strcmp (before, line) != 0) /* what was read once is read again */
        filter_read (filter, before, NULL);
    return -1;
}

bool filter_has_range (const struct filter *filter)
{
    return filter->until_ms != 0;
}

void filter_apply (const struct filter *filter, struct scene_query *query)
{
    query->hosts = filter->hosts;
    query->phase = filter->phase;
    query->text = text_of (filter->text);
    query->marks = filter->marks;
    query->owner = filter->owner;
    query->from_ms = filter->from_ms;
    query->until_ms = filter->until_ms;
}
