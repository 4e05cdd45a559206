#include "common/cache/generation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { MODE_LEN = 4, CHUNK_BYTES = 64 * 1024 };

const char *const manifest_unlisted[] = { MANIFEST_NAME, WITNESS_NAME, NULL };

bool manifest_is_reserved (struct text path)
{
    static const char *const names[] = { MANIFEST_NAME, MANIFEST_PART_NAME, WITNESS_NAME };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (path.len == strlen (names[i]) && !strncasecmp (path.ptr, names[i], path.len))
            return true;
    return false;
}

static void print_entry (const struct manifest_entry *entry, struct buf *out)
{
    char hex[DIGEST_HEX_BYTES] = "-";
    bool folder = entry->at.kind == TREE_FOLDER;
    if (!folder)
        digest_hex (&entry->digest, hex);
    buf_printf (out, "%s %" PRIu64 " %04o %.*s%s\n", hex, entry->at.bytes, entry->at.mode, TEXT_ARG (entry->at.path),
                folder ? "/" : "");
}

void manifest_print (const struct manifest *manifest, struct buf *out)
{
    for (uint32_t i = 0; i < manifest->n; i++)
        print_entry (&manifest->items[i], out);
}

static bool mode_parse (struct text text, uint32_t *mode)
{
    *mode = 0;
    for (uint32_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '7')
            return false;
        *mode = *mode * 8 + (uint32_t) (text.ptr[i] - '0');
    }
    return text.len == MODE_LEN && *mode <= 0777;
}

/* Decimal without a leading zero: one way to write a size. */
static bool size_parse (struct text text, uint64_t *bytes)
{
    return text_to_u64 (text, bytes) && (text.len == 1 || text.ptr[0] != '0') && *bytes <= INT64_MAX;
}

/* Upper-case digits would be a second way to write the same manifest. */
static bool digits_parse (struct text hex, struct digest *out)
{
    return digest_parse (hex, out) && text_is (hex, DIGEST_TEXT (out));
}

static bool path_parse (struct text digest, struct text path, struct manifest_entry *out)
{
    bool folder = path.len && path.ptr[path.len - 1] == '/';
    out->at.kind = folder ? TREE_FOLDER : TREE_FILE;
    out->at.path = (struct text){ path.ptr, path.len - (folder ? 1 : 0) };
    if (!tree_path_valid (out->at.path) || manifest_is_reserved (out->at.path))
        return false;
    if (folder)
        return text_is (digest, "-") && out->at.bytes == 0;
    return digits_parse (digest, &out->digest);
}

static bool line_parse (struct text line, struct manifest_entry *out)
{
    struct text digest, size, mode, path = line;
    memset (out, 0, sizeof *out);
    if (!text_cut (&path, ' ', &digest) || !text_cut (&path, ' ', &size) || !text_cut (&path, ' ', &mode))
        return false;
    return size_parse (size, &out->at.bytes) && mode_parse (mode, &out->at.mode) && path_parse (digest, path, out);
}

static uint32_t count_lines (struct text bytes)
{
    uint32_t lines = 0;
    struct text line;
    while (text_cut (&bytes, '\n', &line))
        lines++;
    return lines;
}

static int manifest_add_line (struct manifest *manifest, struct text line, struct err *err)
{
    struct manifest_entry *entry = &manifest->items[manifest->n];
    if (!line_parse (line, entry))
        return err_set (err, ERR_DAMAGE, "MANIFEST line %u does not have the form \"sha256 size mode path\"",
                        manifest->n + 1);
    if (manifest->n && text_compare (entry[-1].at.path, entry->at.path) >= 0)
        return err_set (err, ERR_DAMAGE,
                        "MANIFEST line %u is not sorted: its path must come after that of the line before",
                        manifest->n + 1);
    if (__builtin_add_overflow (manifest->bytes, entry->at.bytes, &manifest->bytes))
        return err_set (err, ERR_DAMAGE, "MANIFEST line %u: the sum of the sizes up to this line exceeds 64 bits",
                        manifest->n + 1);
    manifest->files += entry->at.kind == TREE_FILE;
    manifest->n++;
    return 0;
}

int manifest_parse (struct text bytes, struct arena *arena, struct manifest *out, struct err *err)
{
    struct manifest manifest = { 0 };
    struct text line, rest = bytes;
    uint32_t lines = count_lines (rest), one, other;
    if (lines > TREE_ENTRIES_MAX)
        return err_set (err, ERR_LIMIT, "MANIFEST has %u lines, at most %d are accepted", lines, TREE_ENTRIES_MAX);
    manifest.items = arena_array (arena, lines, sizeof *manifest.items);
    while (text_cut (&rest, '\n', &line))
        if (manifest_add_line (&manifest, line, err))
            return -1;
    if (rest.len)
        return err_set (err, ERR_DAMAGE, "MANIFEST ends in the middle of line %u", manifest.n + 1);
    if (tree_has_twins (manifest.items, sizeof *manifest.items, manifest.n, &one, &other))
        return err_set (err, ERR_DAMAGE, "MANIFEST lines %u and %u have paths that differ only in case", one + 1,
                        other + 1);
    *out = manifest;
    return 0;
}

bool manifest_find (const struct manifest *manifest, struct text path, uint32_t *number)
{
    const struct manifest_entry key = { .at.path = path }, *found;
    found = manifest->n == 0 ? NULL : bsearch (&key, manifest->items, manifest->n, sizeof key, text_order);
    *number = found ? (uint32_t) (found - manifest->items) : 0;
    return found;
}

bool manifest_entry_differs (const struct tree_entry *was, const struct tree_entry *now, char how[DIFFERENCE_BYTES])
{
    if (was->kind != now->kind)
        snprintf (how, DIFFERENCE_BYTES, "is a %s, but was sealed as a %s", now->kind == TREE_FILE ? "file" : "folder",
                  was->kind == TREE_FILE ? "file" : "folder");
    else if (was->bytes != now->bytes)
        snprintf (how, DIFFERENCE_BYTES, "has %" PRIu64 " bytes, but was sealed with %" PRIu64, now->bytes, was->bytes);
    else if (was->mode != now->mode)
        snprintf (how, DIFFERENCE_BYTES, "has mode %04o, but was sealed with %04o", now->mode, was->mode);
    else
        return false;
    return true;
}

static int compare_entry (const struct tree_entry *sealed, const struct tree_entry *found, struct err *err)
{
    char shown[TREE_SHOWN_BYTES], how[DIFFERENCE_BYTES];
    if (!manifest_entry_differs (sealed, found, how))
        return 0;
    return err_set (err, ERR_DAMAGE, "\"%s\" %s", tree_print_path (sealed->path, shown), how);
}

int manifest_check_tree (const struct manifest *manifest, const struct tree *tree, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    uint32_t i = 0, j = 0;
    while (i < manifest->n || j < tree->n) {
        int order = i == manifest->n ? 1
                    : j == tree->n   ? -1
                                     : text_compare (manifest->items[i].at.path, tree->items[j].path);
        if (order < 0)
            return err_set (err, ERR_DAMAGE, "\"%s\" was sealed, but is missing",
                            tree_print_path (manifest->items[i].at.path, shown));
        if (order > 0)
            return err_set (err, ERR_DAMAGE, "\"%s\" exists, but was never sealed",
                            tree_print_path (tree->items[j].path, shown));
        if (compare_entry (&manifest->items[i++].at, &tree->items[j++], err))
            return -1;
    }
    return 0;
}

static int compare_with_base (const struct manifest_entry *sealed, const struct manifest_entry *found, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    if (compare_entry (&sealed->at, &found->at, err))
        return -1;
    if (digest_equal (&sealed->digest, &found->digest))
        return 0;
    return err_set (err, ERR_DAMAGE, "\"%s\" has other bytes than were sealed",
                    tree_print_path (sealed->at.path, shown));
}

int manifest_check_base (const struct manifest *manifest, const struct manifest *base, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    for (uint32_t i = 0, j = 0; i < base->n; i++) {
        while (j < manifest->n && text_compare (manifest->items[j].at.path, base->items[i].at.path) < 0)
            j++;
        if (j == manifest->n || !text_equal (manifest->items[j].at.path, base->items[i].at.path))
            return err_set (err, ERR_DAMAGE, "\"%s\" was sealed, but is missing",
                            tree_print_path (base->items[i].at.path, shown));
        if (compare_with_base (&base->items[i], &manifest->items[j], err))
            return -1;
    }
    return 0;
}

static ssize_t read_at (int fd, void *bytes, size_t len, uint64_t at)
{
    ssize_t got;
    do
        got = pread (fd, bytes, len, (off_t) at);
    while (got < 0 && errno == EINTR);
    return got;
}

/* A digest in one piece costs a fraction of one that is begun, continued and ended. */
static int digest_small (int fd, uint64_t bytes, struct digest *digest, uint64_t *got)
{
    char chunk[CHUNK_BYTES];
    ssize_t more;
    for (*got = 0; *got <= bytes; *got += (uint64_t) more) {
        more = read_at (fd, chunk + *got, bytes + 1 - *got, *got);
        if (more <= 0 || *got + (uint64_t) more == bytes) /* one more was asked for: this is the end */
            break;
    }
    *got += more > 0 ? (uint64_t) more : 0;
    *digest = digest_of (chunk, *got);
    return more < 0 ? -1 : 0;
}

static int digest_large (int fd, uint64_t bytes, struct digest *digest, uint64_t *got)
{
    char chunk[CHUNK_BYTES];
    ssize_t more;
    struct digest_state *state = digest_begin ();
    for (*got = 0; *got <= bytes; *got += (uint64_t) more) {
        uint64_t left = bytes + 1 - *got;
        more = read_at (fd, chunk, left < sizeof chunk ? (size_t) left : sizeof chunk, *got);
        if (more <= 0)
            break;
        digest_add (state, chunk, (size_t) more);
    }
    int why = errno;
    *digest = digest_end (state);
    errno = why;
    return more < 0 ? -1 : 0;
}

int manifest_hash_file (int fd, uint64_t bytes, struct digest *digest, uint64_t *got, struct err *err)
{
    int rc = bytes < CHUNK_BYTES ? digest_small (fd, bytes, digest, got) : digest_large (fd, bytes, digest, got);
    return rc ? err_errno (err, ERR_IO, "cannot read this file") : 0;
}

int manifest_bytes_differ (const struct manifest_entry *entry, int fd, char how[DIFFERENCE_BYTES], struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    struct digest digest;
    uint64_t bytes;
    if (manifest_hash_file (fd, entry->at.bytes, &digest, &bytes, err))
        return err_prefix (err, "\"%s\"", tree_print_path (entry->at.path, shown));
    if (bytes == entry->at.bytes && digest_equal (&digest, &entry->digest))
        return 0;
    snprintf (how, DIFFERENCE_BYTES, "was modified after it was sealed (sha256 %.12s, expected %.12s)",
              DIGEST_TEXT (&digest), DIGEST_TEXT (&entry->digest));
    return 1;
}

int manifest_check_bytes (const struct manifest_entry *entry, int fd, struct err *err)
{
    char how[DIFFERENCE_BYTES], shown[TREE_SHOWN_BYTES];
    int rc = manifest_bytes_differ (entry, fd, how, err);
    return rc > 0 ? err_set (err, ERR_DAMAGE, "\"%s\" %s", tree_print_path (entry->at.path, shown), how) : rc;
}
