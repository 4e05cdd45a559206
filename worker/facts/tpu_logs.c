#include "worker/facts/tpu_logs.h"

#include "common/base/buf.h"
#include "common/base/duration.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { SHOWN = 3, LOOKED_AT_MAX = 512, NAME_COLUMNS = 60, NOTE_BYTES = 1024 };
#define FOLDER "/tpu_logs"

struct log_file {
    struct text name;
    uint64_t bytes, written_ms;
};

static int newest_first (const void *a, const void *b)
{
    const struct log_file *x = a, *y = b;
    if (x->written_ms != y->written_ms)
        return x->written_ms < y->written_ms ? 1 : -1;
    return text_compare (x->name, y->name);
}

/* Links ("tpu_driver.INFO") lead to files of the same folder. */
static uint32_t files_in (struct host_fact_list *list, struct log_file **files)
{
    struct name_list names = host_fact_folder_names (list, list->roots->tmp, FOLDER, "");
    uint32_t n = 0;
    *files = arena_array (&list->arena, LOOKED_AT_MAX, sizeof **files);
    for (uint32_t i = 0; i < names.n && n < LOOKED_AT_MAX; i++) {
        char path[PATH_MAX_BYTES + 1];
        struct stat st;
        int len = snprintf (path, sizeof path, "%s" FOLDER "/%s", list->roots->tmp, names.items[i].ptr);
        if (len < 0 || (size_t) len >= sizeof path || lstat (path, &st) || !S_ISREG (st.st_mode))
            continue;
        (*files)[n++] = (struct log_file){ names.items[i], (uint64_t) st.st_size, (uint64_t) st.st_mtim.tv_sec * 1000 };
    }
    if (n)
        qsort (*files, n, sizeof **files, newest_first);
    return n;
}

struct text tpu_logs_newest (struct host_fact_list *list, uint64_t now_wall_ms)
{
    struct log_file *files;
    uint32_t n = files_in (list, &files);
    struct buf note;
    if (!n)
        return (struct text){ 0 };
    buf_init (&note, NOTE_BYTES);
    buf_printf (&note, "newest of %u files in %s" FOLDER ": ", n, list->roots->tmp);
    for (uint32_t i = 0; i < n && i < SHOWN; i++) {
        char age[DURATION_TEXT_BYTES];
        uint64_t written_ms = files[i].written_ms;
        buf_puts (&note, i ? ", " : "");
        buf_escaped (&note, files[i].name, NAME_COLUMNS);
        buf_printf (&note, " (%" PRIu64 " KiB, %s old)", (files[i].bytes + 1023) / 1024,
                    duration_print (now_wall_ms > written_ms ? (now_wall_ms - written_ms) / 1000 * 1000 : 0, age));
    }
    return buf_finish (&note, &list->arena);
}
