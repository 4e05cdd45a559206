/* replay.c - a fuzz target without a fuzzer: its seeds and what is near them, the same each time. So a target that no
 * longer builds, or fails on its seeds, is noticed by the ordinary tests. A seed is its bytes, or, as NAME.hex, those. */
#include <assert.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/rng.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

#ifndef VARIANTS
#define VARIANTS 200
#endif
enum { SEED_MAX_BYTES = 1 << 20, CHANGES_MAX = 4 };

static size_t read_seed (const char *path, uint8_t *bytes)
{
    size_t len = 0, name = strlen (path);
    unsigned byte;
    FILE *file = fopen (path, "re");
    if (!file)
        return 0;
    if (name < 4 || strcmp (path + name - 4, ".hex") != 0)
        len = fread (bytes, 1, SEED_MAX_BYTES, file);
    else
        while (len < SEED_MAX_BYTES && fscanf (file, "%2x", &byte) == 1)
            bytes[len++] = (uint8_t) byte;
    fclose (file);
    return len;
}

/* A copy of its own length, so that reading past the end is seen. */
static void run_one (const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc (len ? len : 1);
    assert (copy);
    memcpy (copy, bytes, len);
    LLVMFuzzerTestOneInput (copy, len);
    free (copy);
}

static void run_variants (const uint8_t *seed, size_t len, struct rng *rng)
{
    static uint8_t bytes[SEED_MAX_BYTES];
    for (uint32_t i = 0; i < VARIANTS; i++) {
        memcpy (bytes, seed, len);
        for (uint64_t left = 1 + rng_below (rng, CHANGES_MAX); left > 0; left--)
            bytes[rng_below (rng, len)] = (uint8_t) rng_next (rng);
        run_one (bytes, rng_below (rng, 4) ? len : rng_below (rng, len));
    }
}

int main (int argc, char **argv)
{
    static uint8_t seed[SEED_MAX_BYTES];
    glob_t found;
    struct rng rng = rng_seed (20260);
    if (argc != 2 || glob (argv[1], 0, NULL, &found) != 0) {
        fprintf (stderr, "usage: %s 'PATTERN of files'\n", argv[0]);
        return 2;
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        size_t len = read_seed (found.gl_pathv[i], seed);
        if (len == 0) {
            fprintf (stderr, "%s: no bytes\n", found.gl_pathv[i]);
            return 1;
        }
        run_one (seed, len);
        run_variants (seed, len, &rng);
    }
    printf ("%zu seeds\n", found.gl_pathc);
    globfree (&found);
    return 0;
}
