/* installed_record.h - what a distribution says of its own files: the RECORD of its *.dist-info folder.
 *
 * RECORD is a CSV of path, "sha256=<urlsafe base64>" and size (packaging.python.org, "Recording installed projects"),
 * paths relative to site-packages. It is bytes of a file somebody may have changed: bounded, and a path in it may name
 * nothing outside of the environment. Reads no file but RECORD. Any thread. */
#ifndef SLICEUP_WORKER_ENVIRONMENT_INSTALLED_RECORD_H
#define SLICEUP_WORKER_ENVIRONMENT_INSTALLED_RECORD_H

#include "common/base/buf.h"
#include "worker/environment/installed.h"

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

/* Appends the rows of `installed->items[package]`; texts live in `arena`, items on the heap. -1: it has no RECORD, or
 * one that cannot be one; then nothing was appended. */
int installed_record_read (struct installed_record_rows *rows, const char *site, const struct installed *installed,
                           uint32_t package, struct arena *arena, struct err *err);
void installed_record_release (struct installed_record_rows *rows);
/* As RECORD writes it. */
void installed_record_print_base64 (const struct digest *digest, char out[RECORD_SHA256_BYTES + 1]);

#endif
