#include "worker/environment/installed.h"

#include "common/base/path.h"
#include "common/cache/generation.h"
#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include "common/model/plan.h"
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- records ---- */

/* What a distribution says of its own files: the RECORD of its *.dist-info folder.
 *
 * RECORD is a CSV of path, "sha256=<urlsafe base64>" and size (packaging.python.org, "Recording installed projects"),
 * paths relative to site-packages. It is bytes of a file somebody may have changed: bounded, and a path in it may name
 * nothing outside of the environment. Reads no file but RECORD. Any thread. */
enum { RECORD_BYTES_MAX = 64 << 20, RECORD_ROWS_MAX = 500000, RECORD_SHA256_BYTES = 43 };

struct installed_record_row {
    struct text path;
    struct text sha256; /* RECORD_SHA256_BYTES of urlsafe base64; empty: it has none, or one of another kind */
    bool has_size;
    uint64_t bytes;
    uint32_t package; /* index in the installed ones */
};
struct installed_record_rows {
    struct installed_record_row *items;
    uint32_t n, capacity;
};

/* From site-packages up to the environment: lib/python3.11/site-packages. */
enum { UP_MAX = 3, ROWS_FIRST = 1024 };

/* Down from the environment or site-packages, never out of both. RECORD is UTF-8 (PEP 376): facts hold its paths. */
static bool stays_inside (struct text path)
{
    uint32_t up = 0;
    bool down = false;
    if (!path.len || path.len > PATH_MAX_BYTES || path.ptr[0] == '/' || memchr (path.ptr, '\0', path.len) ||
        !text_is_utf8 (path))
        return false;
    for (struct text part; text_next_item (&path, '/', &part);) {
        bool dots = text_is (part, "..");
        if ((dots && down) || !part.len)
            return false;
        up += dots;
        down |= !dots;
    }
    return down && up <= UP_MAX;
}

/* ---- CSV ---- */

/* "a,""b""": a quote is written twice. */
static bool take_quoted (struct text *rest, struct arena *arena, struct text *field)
{
    char *out = arena_alloc (arena, rest->len + 1);
    uint32_t len = 0, at = 1;
    for (; at < rest->len; at++) {
        if (rest->ptr[at] == '"' && (at + 1 == rest->len || rest->ptr[at + 1] != '"'))
            break;
        at += rest->ptr[at] == '"';
        out[len++] = rest->ptr[at];
    }
    if (at >= rest->len)
        return false;
    text_skip (rest, at + 1);
    *field = (struct text){ out, len };
    return true;
}

static bool take_field (struct text *rest, struct arena *arena, struct text *field)
{
    if (rest->len && rest->ptr[0] == '"') /* then nothing stands before the next comma */
        return take_quoted (rest, arena, field) && text_take_until (rest, ',').len == 0;
    *field = text_take_until (rest, ',');
    return true;
}

static bool read_row (struct text line, struct arena *arena, struct installed_record_row *out)
{
    struct text path, hash, size, rest = line;
    if (!take_field (&rest, arena, &path) || !take_field (&rest, arena, &hash) || !take_field (&rest, arena, &size) ||
        rest.len || !stays_inside (path))
        return false;
    *out = (struct installed_record_row){ .path = text_copy (arena, path) };
    if (text_starts (hash, "sha256=") && hash.len == 7 + RECORD_SHA256_BYTES)
        out->sha256 = text_copy (arena, (struct text){ hash.ptr + 7, RECORD_SHA256_BYTES });
    else if (text_starts (hash, "sha256="))
        return false;
    out->has_size = size.len > 0;
    return !size.len || text_to_u64 (size, &out->bytes);
}

/* ---- a whole RECORD ---- */

static struct text installed_files_take_line (struct text *rest)
{
    struct text line = text_take_until (rest, '\n');
    line.len -= line.len && line.ptr[line.len - 1] == '\r';
    return line;
}

static int installed_files_add_all (struct installed_record_rows *rows, struct text bytes, uint32_t package,
                                    struct arena *arena, struct err *err)
{
    for (uint32_t line_n = 1; bytes.len; line_n++) {
        struct text line = installed_files_take_line (&bytes);
        if (!line.len)
            continue;
        if (rows->n == RECORD_ROWS_MAX)
            return err_set (err, ERR_LIMIT, "the RECORD files name more than %d files", RECORD_ROWS_MAX);
        rows->items = mem_room (rows->items, rows->n, &rows->capacity, ROWS_FIRST, sizeof *rows->items);
        if (!read_row (line, arena, &rows->items[rows->n]))
            return err_set (err, ERR_DAMAGE, "line %u of its RECORD file is not valid", line_n);
        rows->items[rows->n++].package = package;
    }
    return 0;
}

/* Appends the rows of `installed->items[package]`; texts live in `arena`, items on the heap. -1: it has no RECORD, or
 * one that cannot be one; then nothing was appended. */
static int installed_record_read (struct installed_record_rows *rows, const char *site,
                                  const struct installed *installed, uint32_t package, struct arena *arena,
                                  struct err *err)
{
    struct text folder = installed->items[package].folder;
    struct text path = text_format (arena, "%s/%.*s/RECORD", site, TEXT_ARG (folder));
    uint32_t before = rows->n;
    LOCAL_BUF bytes = { .max = RECORD_BYTES_MAX };
    int rc = file_read (path.ptr, &bytes, NULL)
                 ? err_set (err, ERR_DAMAGE, "its RECORD file cannot be read")
                 : installed_files_add_all (rows, buf_as_text (&bytes), package, arena, err);
    if (rc < 0)
        rows->n = before;
    return rc;
}

/* ---- the files ---- */

enum { LIBRARIES_FIRST = 64 };

struct look {
    const char *site;
    const struct installed *installed;
    struct arena *arena;
    struct installed_record_rows rows; /* sorted by path */
    struct installed_files found;
    struct installed_library *libraries; /* all that were met */
    uint32_t libraries_n, capacity;
    struct digest_state *all;
    struct differences differences;
};

/* ---- what differs ---- */

static void differ (struct look *look, uint32_t package, struct text path, const char *how)
{
    char shown[TREE_SHOWN_BYTES];
    const struct package *of = &look->installed->items[package];
    if (difference_begin (&look->differences))
        buf_printf (look->differences.out, "%.*s %.*s: %s%s%s", TEXT_ARG (of->name), TEXT_ARG (of->version),
                    path.len ? tree_print_path (path, shown) : "", path.len ? " " : "", how);
}

/* ---- libraries ---- */

/* "libx.so", "libx.so.3" */
static bool is_library (struct text path)
{
    struct text name = path_name (path);
    uint32_t at;
    return text_find (name, TEXT_LIT (".so"), &at) && (at + 3 == name.len || name.ptr[at + 3] == '.');
}

/* The folder "ml_dtypes/" of the package ml-dtypes says nothing that its name does not. */
static uint32_t own_folder_len (struct text package, struct text path)
{
    uint32_t at = 0;
    while (at < package.len && at < path.len &&
           (package.ptr[at] == path.ptr[at] || (package.ptr[at] == '-' && path.ptr[at] == '_')))
        at++;
    return at == package.len && at < path.len && path.ptr[at] == '/' ? at + 1 : 0;
}

static struct text library_name (const struct look *look, const struct installed_record_row *row)
{
    struct text package = look->installed->items[row->package].name;
    uint32_t skipped = own_folder_len (package, row->path);
    return text_format (look->arena, "%.*s/%s", TEXT_ARG (package), row->path.ptr + skipped);
}

static bool is_libtpu (struct text name)
{
    return text_is (path_name (name), "libtpu.so");
}

static void keep_library (struct look *look, const struct installed_record_row *row, const struct digest *digest,
                          uint64_t bytes)
{
    look->libraries = mem_room (look->libraries, look->libraries_n, &look->capacity, LIBRARIES_FIRST,
                                sizeof *look->libraries);
    struct installed_library *library = &look->libraries[look->libraries_n++];
    *library = (struct installed_library){ .name = library_name (look, row), .bytes = bytes };
    digest_hex (digest, library->sha256);
}

static int installed_files_by_size (const void *a, const void *b)
{
    const struct installed_library *left = a, *right = b;
    int order = (left->bytes < right->bytes) - (left->bytes > right->bytes);
    return order ? order : text_compare (left->name, right->name);
}

static void choose_libraries (struct look *look)
{
    struct installed_files *found = &look->found;
    bool has_libtpu = false;
    sort_items (look->libraries, look->libraries_n, sizeof *look->libraries, installed_files_by_size);
    for (uint32_t i = 0; i < look->libraries_n && found->libraries_n <= LIBRARIES_MAX; i++) {
        const struct installed_library *library = &look->libraries[i];
        if (i >= LIBRARIES_MAX && (has_libtpu || !is_libtpu (library->name)))
            continue;
        has_libtpu |= is_libtpu (library->name);
        found->libraries[found->libraries_n++] = *library;
    }
    mem_free (look->libraries);
}

struct text installed_files_libtpu_sha256 (const struct installed_files *files)
{
    for (uint32_t i = 0; i < files->libraries_n; i++)
        if (is_libtpu (files->libraries[i].name))
            return text_of (files->libraries[i].sha256);
    return (struct text){ 0 };
}

/* ---- one file ---- */

struct seen {
    struct digest digest;
    uint64_t bytes;
    bool read;
};

static const char *installed_files_read_bytes (int fd, const struct installed_record_row *row, struct seen *seen)
{
    char is[DIGEST_BASE64_BYTES];
    struct stat st;
    if (fstat (fd, &st) < 0 || !S_ISREG (st.st_mode))
        return "is no longer a regular file";
    if (digest_of_fd (fd, &seen->digest, &seen->bytes, NULL) < 0)
        return "cannot be read";
    seen->read = true;
    digest_base64 (&seen->digest, true, is);
    bool same = (!row->has_size || seen->bytes == row->bytes) && (!row->sha256.len || text_is (row->sha256, is));
    return same ? NULL : "differs from its entry in RECORD";
}

/* O_NONBLOCK: a pipe of that name must not stop us. NULL: it is as its RECORD says. */
static const char *check_row (const struct look *look, const struct installed_record_row *row, struct seen *seen)
{
    char path[2 * PATH_MAX];
    if (snprintf (path, sizeof path, "%s/%s", look->site, row->path.ptr) >= (int) sizeof path)
        return "has a path that is too long";
    LOCAL_FD fd = open (path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? "is missing" : "cannot be read";
    return installed_files_read_bytes (fd, row, seen);
}

/* What lies outside of site-packages holds the path of the environment. */
static void add_to_digest (struct look *look, const struct installed_record_row *row, const struct seen *seen)
{
    if (installed_is_installer (look->installed->items[row->package].name) || text_starts (row->path, "../"))
        return;
    digest_add (look->all, row->path.ptr, row->path.len + 1);
    digest_add (look->all, seen->digest.bytes, sizeof seen->digest.bytes);
}

/* Rows from..to name one file: when two packages brought it, the one that came later is what is there. */
static void check_file (struct look *look, uint32_t from, uint32_t to)
{
    const struct installed_record_row *row = &look->rows.items[from];
    struct seen seen = { 0 };
    const char *how = NULL;
    look->found.n++;
    if (!row->sha256.len && (text_ends (row->path, ".pyc") || text_ends (row->path, ".dist-info/RECORD")))
        return;
    for (uint32_t i = from; i < to && (i == from || how); i++) {
        row = &look->rows.items[i];
        how = check_row (look, row, &seen);
    }
    if (how)
        differ (look, row->package, row->path, how);
    if (!seen.read)
        return;
    look->found.bytes += seen.bytes;
    look->found.unhashed += !row->sha256.len;
    add_to_digest (look, row, &seen);
    if (is_library (row->path))
        keep_library (look, row, &seen.digest, seen.bytes);
}

static void check_files (struct look *look)
{
    for (uint32_t from = 0, to; from < look->rows.n; from = to) {
        for (to = from + 1; to < look->rows.n && text_order (&look->rows.items[from], &look->rows.items[to]) == 0;)
            to++;
        check_file (look, from, to);
    }
}

/* ---- what is there besides ---- */

static bool is_recorded (const struct look *look, struct text path)
{
    struct installed_record_row wanted = { .path = path };
    return look->rows.n && bsearch (&wanted, look->rows.items, look->rows.n, sizeof wanted, text_order);
}

/* Python only reads these beside the source that they are of, so they add nothing. */
static bool is_compiled (struct text path)
{
    struct text name = path_name (path);
    struct text folder = { path.ptr, path.len - name.len };
    return text_ends (path, ".pyc") && (text_is (folder, "__pycache__/") || text_ends (folder, "/__pycache__/"));
}

static void check_found (struct look *look, const FTSENT *entry)
{
    struct text path = text_of (entry->fts_path + strlen (look->site) + 1);
    char shown[TREE_SHOWN_BYTES];
    if (!is_recorded (look, path) && !is_compiled (path) && difference_begin (&look->differences))
        buf_printf (look->differences.out, "%s is not in the RECORD file of any package",
                    tree_print_path (path, shown));
}

static int by_entry (const FTSENT **a, const FTSENT **b)
{
    return strcmp ((*a)->fts_name, (*b)->fts_name);
}

static int check_additions (struct look *look, struct err *err)
{
    char *roots[] = { (char *) look->site, NULL };
    FTSENT *entry;
    int rc = 0;
    uint32_t n = 0;
    FTS *walk = fts_open (roots, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, by_entry);
    if (!walk)
        return err_errno (err, ERR_IO, "cannot read the folder %.300s", look->site);
    while (rc == 0 && (errno = 0, entry = fts_read (walk))) {
        if (entry->fts_info == FTS_D || entry->fts_info == FTS_DP)
            continue;
        if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS)
            rc = err_set (err, ERR_IO, "cannot read the folder %.300s: %s", entry->fts_path,
                          strerror (entry->fts_errno));
        else if (++n > RECORD_ROWS_MAX)
            rc = err_set (err, ERR_LIMIT, "there are more than %d files in %.300s", RECORD_ROWS_MAX, look->site);
        else
            check_found (look, entry);
    }
    if (rc == 0 && errno)
        rc = err_errno (err, ERR_IO, "cannot read the folder %.300s", look->site);
    fts_close (walk);
    return rc;
}

/* ---- all ---- */

static void read_records (struct look *look)
{
    struct err err = { 0 };
    for (uint32_t i = 0; i < look->installed->n; i++)
        if (installed_record_read (&look->rows, look->site, look->installed, i, look->arena, &err) < 0)
            differ (look, i, (struct text){ 0 }, err.text);
    sort_items (look->rows.items, look->rows.n, sizeof *look->rows.items, text_order);
}

int installed_files_check (const char *site, const struct installed *installed, struct arena *arena,
                           struct installed_files *found, struct buf *out, struct err *err)
{
    struct look look = {
        .site = site, .installed = installed, .arena = arena, .differences = { .out = out }, .all = digest_begin ()
    };
    read_records (&look);
    check_files (&look);
    choose_libraries (&look);
    int rc = check_additions (&look, err);
    look.found.digest = digest_end (look.all);
    differences_end (&look.differences);
    look.found.differences = look.differences.n;
    mem_free (look.rows.items);
    if (rc == 0)
        *found = look.found;
    return rc;
}
