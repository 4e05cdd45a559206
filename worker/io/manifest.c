#include "worker/io/manifest.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { DIGEST_TEXT_LEN = DIGEST_HEX_BYTES - 1, MODE_LEN = 4 };

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

/* Takes the characters up to `end` off the front of `rest`, and `end` too. */
static bool take_until (struct text *rest, char end, struct text *taken)
{
    const char *at = rest->len ? memchr (rest->ptr, end, rest->len) : NULL;
    if (!at)
        return false;
    *taken = (struct text) { rest->ptr, (uint32_t) (at - rest->ptr) };
    rest->ptr = at + 1;
    rest->len -= taken->len + 1;
    return true;
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

static bool path_parse (struct text digest, struct text path, struct manifest_entry *out)
{
    bool folder = path.len && path.ptr[path.len - 1] == '/';
    out->at.kind = folder ? TREE_FOLDER : TREE_FILE;
    out->at.path = (struct text) { path.ptr, path.len - (folder ? 1 : 0) };
    if (!tree_path_valid (out->at.path) || text_is (out->at.path, MANIFEST_NAME))
        return false;
    if (folder)
        return text_is (digest, "-") && out->at.bytes == 0;
    return digest_parse (digest, &out->digest);
}

static bool line_parse (struct text line, struct manifest_entry *out)
{
    struct text digest, size, mode, path = line;
    char hex[DIGEST_HEX_BYTES];
    memset (out, 0, sizeof *out);
    if (!take_until (&path, ' ', &digest) || !take_until (&path, ' ', &size) || !take_until (&path, ' ', &mode))
        return false;
    if (!size_parse (size, &out->at.bytes) || !mode_parse (mode, &out->at.mode) || !path_parse (digest, path, out))
        return false;
    /* Upper-case digits would be a second way to write the same manifest. */
    return out->at.kind == TREE_FOLDER || text_is (digest, digest_hex (&out->digest, hex));
}

static uint32_t count_lines (struct text bytes)
{
    uint32_t lines = 0;
    for (uint32_t i = 0; i < bytes.len; i++)
        lines += bytes.ptr[i] == '\n';
    return lines;
}

static int add_line (struct manifest *manifest, struct text line, struct err *err)
{
    struct manifest_entry *entry = &manifest->items[manifest->n];
    if (!line_parse (line, entry))
        return err_set (err, ERR_DAMAGE, MANIFEST_NAME " line %u is not \"sha256 size mode path\"", manifest->n + 1);
    if (manifest->n && text_compare (entry[-1].at.path, entry->at.path) >= 0)
        return err_set (err, ERR_DAMAGE, MANIFEST_NAME " line %u is not in order", manifest->n + 1);
    if (__builtin_add_overflow (manifest->bytes, entry->at.bytes, &manifest->bytes))
        return err_set (err, ERR_DAMAGE, MANIFEST_NAME " line %u: the sizes add up to more than there is",
                        manifest->n + 1);
    manifest->files += entry->at.kind == TREE_FILE;
    manifest->n++;
    return 0;
}

int manifest_parse (struct text bytes, struct arena *arena, struct manifest *out, struct err *err)
{
    struct manifest manifest = { 0 };
    struct text line, rest = text_copy (arena, bytes);
    uint32_t lines = count_lines (rest);
    if (lines > TREE_ENTRIES_MAX)
        return err_set (err, ERR_LIMIT, MANIFEST_NAME " has %u lines, at most %d are accepted", lines,
                        TREE_ENTRIES_MAX);
    manifest.items = arena_array (arena, lines, sizeof *manifest.items);
    while (take_until (&rest, '\n', &line))
        if (add_line (&manifest, line, err))
            return -1;
    if (rest.len)
        return err_set (err, ERR_DAMAGE, MANIFEST_NAME " ends in the middle of line %u", manifest.n + 1);
    *out = manifest;
    return 0;
}

static int compare_entry (const struct tree_entry *sealed, const struct tree_entry *found, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    tree_shown (sealed->path, shown);
    if (sealed->kind != found->kind)
        return err_set (err, ERR_DAMAGE, "\"%s\" is a %s, a %s was sealed", shown,
                        found->kind == TREE_FILE ? "file" : "folder", sealed->kind == TREE_FILE ? "file" : "folder");
    if (sealed->bytes != found->bytes)
        return err_set (err, ERR_DAMAGE, "\"%s\" has %" PRIu64 " bytes, %" PRIu64 " were sealed", shown, found->bytes,
                        sealed->bytes);
    if (sealed->mode != found->mode)
        return err_set (err, ERR_DAMAGE, "\"%s\" has mode %04o, %04o was sealed", shown, found->mode, sealed->mode);
    return 0;
}

int manifest_compare (const struct manifest *manifest, const struct tree *tree, struct err *err)
{
    char shown[TREE_SHOWN_BYTES];
    uint32_t i = 0, j = 0;
    while (i < manifest->n || j < tree->n) {
        int order = i == manifest->n ? 1 : j == tree->n ? -1
                  : text_compare (manifest->items[i].at.path, tree->items[j].path);
        if (order < 0)
            return err_set (err, ERR_DAMAGE, "\"%s\" was sealed and is missing",
                            tree_shown (manifest->items[i].at.path, shown));
        if (order > 0)
            return err_set (err, ERR_DAMAGE, "\"%s\" is there and was never sealed",
                            tree_shown (tree->items[j].path, shown));
        if (compare_entry (&manifest->items[i++].at, &tree->items[j++], err))
            return -1;
    }
    return 0;
}

int manifest_check_bytes (const struct manifest_entry *entry, int fd, struct err *err)
{
    char shown[TREE_SHOWN_BYTES], wanted[DIGEST_HEX_BYTES], got[DIGEST_HEX_BYTES];
    struct digest digest;
    uint64_t bytes;
    tree_shown (entry->at.path, shown);
    if (lseek (fd, 0, SEEK_SET) < 0)
        return err_errno (err, ERR_IO, "cannot read \"%s\"", shown);
    if (digest_of_fd (fd, &digest, &bytes, err))
        return err_prefix (err, "cannot read \"%s\"", shown);
    if (bytes != entry->at.bytes || !digest_equal (&digest, &entry->digest))
        return err_set (err, ERR_DAMAGE, "\"%s\" holds other bytes than were sealed (sha256 %.12s, expected %.12s)",
                        shown, digest_hex (&digest, got), digest_hex (&entry->digest, wanted));
    return 0;
}
