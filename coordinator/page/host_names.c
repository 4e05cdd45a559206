#include "coordinator/page/host_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "coordinator/view/record_json.h"

enum { NUMBER_DIGITS_MAX = 9, NO_RUN = -1 };

struct name_run {
    struct text prefix, suffix;
    int64_t first, last;
    uint32_t digits;
};

/* Its last number is what counts up; a name without one, or with a very long one, stands alone. */
static struct name_run split_name (struct text name)
{
    struct name_run run = { .prefix = name, .first = NO_RUN, .last = NO_RUN };
    uint32_t end = name.len;
    uint64_t number = 0;
    while (end && !text_is_digit (name.ptr[end - 1]))
        end--;
    uint32_t begin = end;
    while (begin && text_is_digit (name.ptr[begin - 1]))
        begin--;
    if (end == begin || end - begin > NUMBER_DIGITS_MAX)
        return run;
    text_to_u64 ((struct text){ name.ptr + begin, end - begin }, &number);
    run.prefix.len = begin;
    run.suffix = (struct text){ name.ptr + end, name.len - end };
    run.first = run.last = (int64_t) number;
    run.digits = name.ptr[begin] == '0' && end - begin > 1 ? end - begin : 0;
    return run;
}

/* Is `next` the name behind the last of `run`? A number that is longer than the padding has none. */
static bool name_follows (const struct name_run *run, const struct name_run *next)
{
    char wanted[32], is[32];
    if (next->first == NO_RUN || next->first != run->last + 1 || !text_equal (run->prefix, next->prefix) ||
        !text_equal (run->suffix, next->suffix))
        return false;
    snprintf (wanted, sizeof wanted, "%0*" PRId64, (int) run->digits, next->first);
    snprintf (is, sizeof is, "%0*" PRId64, (int) next->digits, next->first);
    return strcmp (wanted, is) == 0;
}

static void add_name_run (json_t *list, const struct name_run *run)
{
    json_t *item = json_array ();
    json_array_append_new (item, text_json (run->prefix));
    json_array_append_new (item, json_integer (run->first));
    json_array_append_new (item, json_integer (run->last));
    json_array_append_new (item, json_integer (run->digits));
    json_array_append_new (item, text_json (run->suffix));
    json_array_append_new (list, item);
}

json_t *host_names_json (const struct scene *scene)
{
    json_t *list = json_array ();
    struct name_run run = { 0 };
    for (uint32_t i = 0; i < scene->tiles_n; i++) {
        struct name_run next = split_name (scene->tiles[i].name);
        if (i && name_follows (&run, &next)) {
            run.last = next.last;
            continue;
        }
        if (i)
            add_name_run (list, &run);
        run = next;
    }
    if (scene->tiles_n)
        add_name_run (list, &run);
    return list;
}
