#include "common/conf/draft.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/base/path.h"

enum { FOLDER_NAMES_MAX = 256 };

static bool has_extension (struct text text, const char *extension)
{
    return text.len > strlen (extension) && text_ends (text, extension);
}

struct text source_stem (struct text path, const char *extension)
{
    struct text stem = path_name (path);
    if (has_extension (stem, extension))
        stem.len -= (uint32_t) strlen (extension);
    return stem;
}

static bool source_is_path (const struct conf_file_kind *kind, struct text word)
{
    return memchr (word.ptr, '/', word.len) != NULL || has_extension (word, kind->extension);
}

/* A canary's name holds slashes, so there only a leading '.' or '/' makes a path. */
static bool is_canary_name (const struct conf_file_kind *kind, struct text word)
{
    bool dotted = word.ptr[0] == '.' || word.ptr[0] == '/' || text_find (word, TEXT_LIT ("../"), NULL);
    return text_is (text_of (kind->what), "canary") && !dotted;
}

const char *source_beside (struct arena *arena, const char *file, struct text word)
{
    const char *slash = strrchr (file, '/');
    while (text_starts (word, "./") && word.len > 2)
        word = (struct text){ word.ptr + 2, word.len - 2 };
    if (word.ptr[0] == '/' || !slash)
        return text_copy (arena, word).ptr;
    return text_format (arena, "%.*s/%.*s", (int) (slash - file), file, TEXT_ARG (word)).ptr;
}

static const char *source_find (const struct conf_file_kind *kind, const char *share_dir, const struct yaml_node *at,
                                struct arena *arena)
{
    if (is_canary_name (kind, at->text))
        return text_format (arena, "%s/%s/%.*s", share_dir, kind->folder, TEXT_ARG (at->text)).ptr;
    if (source_is_path (kind, at->text))
        return source_beside (arena, at->file, at->text);
    return text_format (arena, "%s/%s/%.*s%s", share_dir, kind->folder, TEXT_ARG (at->text), kind->extension).ptr;
}

/* What the folder of `path` holds of this kind, for a proposal. */
static uint32_t folder_names (const struct conf_file_kind *kind, const char *path, struct arena *arena,
                              const char *out[])
{
    char folder[PATH_MAX];
    DIR *open_folder = opendir (path_folder_c (path, folder));
    uint32_t n = 0;
    struct dirent *entry;
    while (open_folder && n < FOLDER_NAMES_MAX && (entry = readdir (open_folder))) {
        struct text name = text_of (entry->d_name);
        if (has_extension (name, kind->extension) && name.ptr[0] != '.')
            out[n++] = text_copy (arena, source_stem (name, kind->extension)).ptr;
    }
    if (open_folder)
        closedir (open_folder);
    return n;
}

static int source_by_name (const void *a, const void *b)
{
    return strcmp (*(const char *const *) a, *(const char *const *) b);
}

/* The reference with the stem `near` in place of its own. */
static const char *with_stem (const struct conf_file_kind *kind, struct text word, const char *near,
                              struct arena *arena)
{
    struct text stem = source_stem (word, kind->extension);
    uint32_t before = (uint32_t) (stem.ptr - word.ptr);
    return text_format (arena, "%.*s%s%.*s", (int) before, word.ptr, near, (int) (word.len - before - stem.len),
                        stem.ptr + stem.len)
        .ptr;
}

/* A file that exists where a path would have found it; NULL: none. */
static const char *own_file (const struct conf_file_kind *kind, const struct yaml_node *at, struct arena *arena)
{
    struct stat status;
    const char *extensions[] = { "", kind->extension };
    for (int i = 0; i < 2 && !source_is_path (kind, at->text); i++) {
        const char *path = text_format (arena, "%s%s", source_beside (arena, at->file, at->text), extensions[i]).ptr;
        if (stat (path, &status) == 0)
            return text_format (arena,
                                S_ISDIR (status.st_mode) ? "; %s here is a folder" : "; for the file here write ./%s",
                                source_stem (text_of (path), "").ptr)
                .ptr;
    }
    return NULL;
}

const char *source_absolute (const char *path, struct arena *arena)
{
    char here[PATH_MAX];
    if (path[0] == '/' || !getcwd (here, sizeof here))
        return path;
    return text_format (arena, "%s/%s", here, path).ptr;
}

const char *source_own_path (const struct yaml_node *at, struct text path, struct arena *arena)
{
    return source_absolute (source_beside (arena, at->file, path), arena);
}

static int report_missing (const struct conf_file_kind *kind, const struct yaml_node *at, const char *path,
                           struct problem_list *problems)
{
    const char *names[FOLDER_NAMES_MAX];
    struct arena *arena = problems->arena;
    if (text_is (at->text, "-"))
        return problem_at (problems, at, "a %s is read from a file; standard input is not taken", kind->what);
    uint32_t n = folder_names (kind, path, arena, names);
    qsort (names, n, sizeof *names, source_by_name); /* readdir has no fixed order, and messages must be reproducible */
    const char *near = text_nearest (source_stem (at->text, kind->extension), names, n);
    const char *own = own_file (kind, at, arena), *advice = own ? own : "";
    if (near && !own)
        advice = text_format (arena, "; did you mean '%s'?", with_stem (kind, at->text, near, arena)).ptr;
    return problem_at (problems, at, "%s %s does not exist, expected the file %s on this machine%s", kind->what,
                       problem_quote (problems, at->text), source_absolute (path, arena), advice);
}

static int source_read_all (int fd, struct buf *bytes, const char **why)
{
    char block[16384];
    ssize_t got;
    while ((got = read (fd, block, sizeof block)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            *why = strerror (errno);
            return -1;
        }
        buf_add (bytes, block, (size_t) got);
        if (bytes->overflow) {
            *why = "the file is larger than 1 MiB";
            return -1;
        }
    }
    return 0;
}

/* O_NONBLOCK: opening a pipe would wait for somebody to write. */
static int source_read_file (const char *path, struct buf *bytes, const char **why)
{
    struct stat status;
    int result = -1;
    int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat (fd, &status) != 0)
        *why = strerror (errno);
    else if (!S_ISREG (status.st_mode))
        *why = S_ISDIR (status.st_mode) ? "it is a folder" : "it is not a regular file";
    else
        result = source_read_all (fd, bytes, why);
    if (fd >= 0)
        close (fd);
    return result;
}

static int source_fill (struct source *source, const char *real, struct buf *bytes, const struct yaml_node *at,
                        const struct conf_file_kind *kind, struct problem_list *problems)
{
    const char *why = NULL;
    if (strlen (real) > PATH_MAX_BYTES)
        return problem_at (problems, at, "the path of %s %s is longer than %d bytes", kind->what,
                           problem_quote (problems, at->text), PATH_MAX_BYTES);
    if (source_read_file (real, bytes, &why) != 0)
        return problem_at (problems, at, "%s %s cannot be read: %s; expected a file of at most 1 MiB at %s", kind->what,
                           problem_quote (problems, at->text), why, source->shown);
    struct digest digest = digest_of (bytes->ptr, bytes->len);
    source->bytes = text_copy (problems->arena, buf_as_text (bytes));
    source->ref.path = text_copy (problems->arena, text_of (real));
    source->ref.sha256 = text_copy (problems->arena, text_of (DIGEST_TEXT (&digest)));
    return 0;
}

int source_read (struct source *source, const struct conf_file_kind *kind, const char *share_dir,
                 const struct yaml_node *at, struct problem_list *problems)
{
    struct source found = { 0 };
    int result = -1;
    if (at->text.len == 0)
        return problem_at (problems, at, "an empty name, expected the name or path of a %s", kind->what);
    LOCAL_BUF bytes = { .max = SOURCE_MAX_BYTES };
    found.shown = source_find (kind, share_dir, at, problems->arena);
    LOCAL_MEM char *real = realpath (found.shown, NULL);
    if (real)
        result = source_fill (&found, real, &bytes, at, kind, problems);
    else if (errno == ENOENT || errno == ENOTDIR)
        result = report_missing (kind, at, found.shown, problems);
    else
        result = problem_at (problems, at, "%s %s cannot be read: %s; expected a file at %s", kind->what,
                             problem_quote (problems, at->text), strerror (errno), found.shown);
    if (result == 0)
        *source = found;
    return result;
}
