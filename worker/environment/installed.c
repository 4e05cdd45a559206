#include "worker/environment/installed.h"

#include "common/base/path.h"
#include "common/cache/generation.h"
#include "common/io/fd.h"
#include "common/model/result.h"
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The headers come first in METADATA; the rest is a description of any length. */
enum { HEADER_BYTES_MAX = 64 * 1024, INSTALLED_MAX = 512, FOLDED_MAX = 3 };
#define DECISIVE " jax jaxlib libtpu torch torch-xla numpy flax optax ml-dtypes tensorflow "

/* The value of "Name: value", white space around it gone. */
static bool header_value (struct text line, const char *name, struct text *value)
{
    size_t len = strlen (name);
    if (line.len < len || strncasecmp (line.ptr, name, len))
        return false;
    *value = (struct text){ line.ptr + len, line.len - (uint32_t) len };
    *value = text_trimmed (*value);
    return true;
}

/* Headers end at the first empty line (core metadata is an e-mail message, PEP 566). */
static void parse_headers (struct text rest, struct text *name, struct text *version)
{
    struct text line;
    while (text_cut (&rest, '\n', &line) && line.len && !text_is (line, "\r")) {
        if (!name->len)
            header_value (line, "Name:", name);
        if (!version->len)
            header_value (line, "Version:", version);
    }
}

static ssize_t read_start (int folder, char *bytes, size_t max)
{
    /* O_NONBLOCK: a pipe of that name must not stop us. */
    LOCAL_FD fd = openat (folder, "METADATA", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return -1;
    return fd_read_whole (fd, bytes, max);
}

static int read_package (int site, const char *folder_name, struct arena *arena, struct package *out, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    struct text name = { 0 }, version = { 0 };
    LOCAL_MEM char *bytes = mem_alloc (HEADER_BYTES_MAX);
    LOCAL_FD folder = openat (site, folder_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t len = folder < 0 ? -1 : read_start (folder, bytes, HEADER_BYTES_MAX);
    if (len > 0)
        parse_headers ((struct text){ bytes, (uint32_t) len }, &name, &version);
    bool good = requirement_name_valid (name) && requirement_version_valid (version);
    if (good)
        *out = (struct package){ requirement_normal_name (name, arena), text_copy (arena, version),
                                 text_copy (arena, text_of (folder_name)) };
    if (good)
        return 0;
    return err_set (err, ERR_DAMAGE, "%s has no METADATA file with a name and a version",
                    tree_print_path (text_of (folder_name), shown));
}

static int installed_by_name (const void *a, const void *b)
{
    const struct package *left = a, *right = b;
    int order = text_compare (left->name, right->name);
    return order ? order : text_compare (left->version, right->version);
}

static bool is_dist_info (const char *name)
{
    static const char ending[] = ".dist-info";
    size_t len = strlen (name);
    return len >= sizeof ending && !strcmp (name + len - (sizeof ending - 1), ending);
}

static int installed_read_all (DIR *site, struct arena *arena, struct installed *all, struct err *err)
{
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir (site);
        if (!entry)
            return errno ? err_errno (err, ERR_IO, "cannot read the installed packages") : 0;
        if (!is_dist_info (entry->d_name))
            continue;
        if (all->n == REQUIREMENTS_MAX)
            return err_set (err, ERR_LIMIT, "more than %d packages are installed", REQUIREMENTS_MAX);
        if (read_package (dirfd (site), entry->d_name, arena, &all->items[all->n], err))
            return -1;
        all->n++;
    }
}

int installed_read (const char *site, struct arena *arena, struct installed *out, struct err *err)
{
    struct installed all = { .items = arena_array (arena, REQUIREMENTS_MAX, sizeof *all.items) };
    LOCAL_DIR stream = opendir (site);
    if (!stream)
        return err_errno (err, ERR_IO, "cannot read %.300s", site);
    int rc = installed_read_all (stream, arena, &all, err);
    if (rc)
        return -1;
    qsort (all.items, all.n, sizeof *all.items, installed_by_name);
    *out = all;
    return 0;
}

/* All but decisive ones as words of a few values, so that a receipt has few lines. */
static void fold_versions (const var_list *all, struct arena *arena, var_list *out)
{
    struct var folded[FOLDED_MAX] = { 0 }, *to = folded;
    for (uint32_t i = 0; i < all->n; i++) {
        struct text name = all->items[i].name, version = all->items[i].value;
        to += to->value.len + name.len + version.len + 2 > TEXT_MAX_BYTES && to < folded + FOLDED_MAX - 1;
        if (text_find (TEXT_LIT (DECISIVE), text_format (arena, " %.*s ", TEXT_ARG (name)), NULL))
            out->items[out->n++] = all->items[i];
        else if (to->value.len + name.len + version.len + 2 <= TEXT_MAX_BYTES)
            to->value = text_format (arena, "%.*s %.*s=%.*s", TEXT_ARG (to->value), TEXT_ARG (name),
                                     TEXT_ARG (version));
    }
    for (to = folded; to < folded + FOLDED_MAX && to->value.len; to++)
        out->items[out->n++] = (struct var){ text_format (arena, RESULT_PACKAGES "%zd", to - folded), to->value };
}

/* As Python does, whose `program` lies in a virtual environment if pyvenv.cfg is there (PEP 405). */
void installed_find_versions (const char *program, struct arena *arena, var_list *out)
{
    char real[PATH_MAX];
    glob_t found;
    struct text top = path_folder (path_folder (text_of (program)));
    if (!realpath (program, real) || !text_starts (path_name (text_of (real)), "python"))
        return;
    if (access (text_format (arena, "%.*s/pyvenv.cfg", TEXT_ARG (top)).ptr, F_OK) < 0)
        top = path_folder (path_folder (text_of (real)));
    struct text pattern = text_format (arena, "%.*s/{local/lib,lib}/{%s,python3}/{site,dist}-packages/*-*.dist-info",
                                       TEXT_ARG (top), path_name (text_of (real)).ptr);
    var_list all = { arena_array (arena, INSTALLED_MAX, sizeof *all.items), 0 };
    out->items = arena_array (arena, VERSIONS_MAX, sizeof *out->items);
    if (glob (pattern.ptr, GLOB_BRACE, NULL, &found)) /* sorted: equal hosts give equal values */
        return;
    for (size_t i = 0; i < found.gl_pathc && all.n < INSTALLED_MAX; i++) {
        struct text version = path_name (text_of (found.gl_pathv[i])), known;
        struct text name = requirement_normal_name (text_take_until (&version, '-'), arena);
        version.len -= (uint32_t) strlen (".dist-info");
        if (requirement_name_valid (name) && requirement_version_valid (version) && !var_find (&all, name, &known))
            all.items[all.n++] = (struct var){ name, text_copy (arena, version) };
    }
    globfree (&found);
    fold_versions (&all, arena, out);
}

bool installed_is_installer (struct text name)
{
    return text_is (name, "pip") || text_is (name, "setuptools") || text_is (name, "wheel");
}

bool difference_begin (struct differences *list)
{
    if (++list->n > DIFFERENCES_SHOWN_MAX)
        return false;
    if (list->n > 1)
        buf_puts (list->out, "; ");
    return true;
}

void differences_end (struct differences *list)
{
    if (list->n > DIFFERENCES_SHOWN_MAX)
        buf_printf (list->out, "; and %u more", list->n - DIFFERENCES_SHOWN_MAX);
}

static void compare_pin (struct differences *to, const struct requirement *pin, const struct package *found, uint32_t n)
{
    if (n == 0 && difference_begin (to))
        buf_printf (to->out, "%.*s is not installed, %.*s is pinned", TEXT_ARG (pin->name), TEXT_ARG (pin->version));
    if (n > 1 && difference_begin (to))
        buf_printf (to->out, "%.*s is installed %u times (%.*s and %.*s)", TEXT_ARG (pin->name), n,
                    TEXT_ARG (found[0].version), TEXT_ARG (found[1].version));
    if (n == 1 && !text_equal (found->version, pin->version) && difference_begin (to))
        buf_printf (to->out, "%.*s %.*s is installed, %.*s is pinned", TEXT_ARG (pin->name), TEXT_ARG (found->version),
                    TEXT_ARG (pin->version));
}

uint32_t installed_compare (const struct installed *installed, const struct requirements *pins, struct buf *out)
{
    struct differences list = { .out = out };
    uint32_t i = 0, j = 0;
    while (i < pins->n || j < installed->n) {
        int order = i == pins->n        ? 1
                    : j == installed->n ? -1
                                        : text_compare (pins->items[i].name, installed->items[j].name);
        if (order > 0) {
            const struct package *extra = &installed->items[j++];
            if (!installed_is_installer (extra->name) && difference_begin (&list))
                buf_printf (out, "%.*s %.*s is installed and not pinned", TEXT_ARG (extra->name),
                            TEXT_ARG (extra->version));
            continue;
        }
        uint32_t first = j;
        while (j < installed->n && text_equal (installed->items[j].name, pins->items[i].name))
            j++;
        compare_pin (&list, &pins->items[i++], &installed->items[first], j - first);
    }
    differences_end (&list);
    return list.n;
}

struct digest installed_fingerprint (const struct installed *installed, const struct requirements *pins,
                                     const char *python, const char *machine, struct text libtpu)
{
    struct digest_state *state = digest_begin ();
    LOCAL_BUF line = { .max = 1024 };
    for (uint32_t i = 0; i <= installed->n; i++) {
        const struct package *package = &installed->items[i];
        buf_clear (&line);
        if (i == installed->n)
            buf_printf (&line, "python==%.100s\nmachine==%.100s\n%s%.*s%s", python, machine,
                        libtpu.len ? "libtpu.so==" : "", TEXT_ARG (libtpu), libtpu.len ? "\n" : "");
        else if (!installed_is_installer (package->name) || LIST_FIND (*pins, struct requirement, name, package->name))
            buf_printf (&line, "%.*s==%.*s\n", TEXT_ARG (package->name), TEXT_ARG (package->version));
        digest_add (state, line.ptr, line.len);
    }
    return digest_end (state);
}
