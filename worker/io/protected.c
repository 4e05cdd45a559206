#include "worker/io/protected.h"

#include <stdlib.h>
#include <string.h>
#include "common/base/path.h"
#include "worker/image/self.h"
#include "worker/io/confine_places.h"
#include "worker/io/kit.h"

struct finding_out {
    const struct msg_run *run;
    struct arena *arena;
    struct confine_more *out;
};

static void add (const struct finding_out *find, const char *path)
{
    for (uint32_t i = 0; i < find->out->n; i++)
        if (path_is_below (path, find->out->protected[i]))
            return;
    if (path[0] != '/' || !path[1])
        return;
    if (find->out->n == CONFINE_MORE_MAX)
        find->out->overflow = true;
    else
        find->out->protected[find->out->n++] = path;
}

/* Such as /tmp itself: it cannot be closed whole. */
static bool is_for_all (const struct finding_out *find, const char *folder)
{
    for (uint32_t i = 0; i < find->run->cache.writable.n; i++)
        if (text_is (find->run->cache.writable.items[i], folder))
            return true;
    return strcmp (folder, "/") == 0 || confine_places_is_usual (folder);
}

/* The folder that it lies in: what is put beside a program is found by it. */
static void add_with_folder (const struct finding_out *find, struct text path)
{
    const char *whole = text_copy (find->arena, path).ptr, *slash = strrchr (whole, '/');
    if (!slash || slash == whole)
        return;
    const char *folder = text_copy (find->arena, (struct text) { whole, (uint32_t) (slash - whole) }).ptr;
    add (find, is_for_all (find, folder) ? whole : folder);
}

/* <prefix>/bin/python: its library is there as well. */
static void add_interpreter (const struct finding_out *find, struct text python)
{
    if (python.len && python.ptr[0] == '/') {
        const char *path = text_copy (find->arena, python).ptr, *slash = strrchr (path, '/');
        add_with_folder (find, (struct text) { path, (uint32_t) (slash - path) });
    }
}

static void add_search_path (const struct finding_out *find, const char *variable)
{
    const char *at = getenv (variable);
    while (at && *at) {
        size_t len = strcspn (at, ":");
        const char *folder = text_copy (find->arena, (struct text) { at, (uint32_t) len }).ptr;
        for (uint32_t i = 0; i < find->run->cache.writable.n; i++)
            if (path_is_below (folder, text_copy (find->arena, find->run->cache.writable.items[i]).ptr))
                add (find, folder);
        if (confine_places_below_usual (folder))
            add (find, folder);
        at += len + (at[len] == ':');
    }
}

static void add_files (const struct finding_out *find, const struct order_place *place)
{
    struct kit_list files;
    kit_list_of (find->run, &files);
    for (uint32_t i = 0; i < files.n; i++)
        add_with_folder (find, kit_path (place->kit, &files.items[i], find->arena));
}

void protected_find (const struct msg_run *run, const struct order_place *place, const char *program,
                     struct arena *arena, struct confine_more *out)
{
    const struct finding_out find = { run, arena, out };
    const char *self = self_file (arena);
    *out = (struct confine_more) { .n = 0 };
    add (&find, text_copy (arena, place->directory).ptr);
    for (uint32_t i = 0; i < sizeof place->trusted / sizeof place->trusted[0]; i++)
        if (place->trusted[i])
            add (&find, place->trusted[i]);
    if (self)
        add_with_folder (&find, text_of (self));
    if (run->pins.env_dir.len)
        add_with_folder (&find, run->pins.env_dir);
    add_interpreter (&find, run->pins.python);
    add_interpreter (&find, place->python);
    add_search_path (&find, "PATH");
    add_search_path (&find, "LD_LIBRARY_PATH");
    if (program)
        add_with_folder (&find, text_of (program));
    add_files (&find, place);
}
