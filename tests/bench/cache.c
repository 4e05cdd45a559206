/* cache.c - bench_cache: the compile cache against a bare scan and hash; tests/bench/cache drives it.
 *
 *     bench_cache fill   ROOT TOKEN ENTRIES FILE_BYTES       makes gen-<token> and fills it, unsealed
 *     bench_cache seal   ROOT TOKEN [BASE SHA256]            with BASE: makes it from that one first
 *     bench_cache audit  ROOT TOKEN SHA256 TRIALS            audit and bare in turn
 *
 * Prints one JSON object. The bare side is what anybody would write: getdents, openat, read, SHA-256 of libcrypto; it
 * compares and keeps nothing. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#define ERR_STATE OPENSSL_ERR_STATE
#include <openssl/evp.h>
#undef ERR_STATE
#include "common/base/rng.h"
#include "common/cache/audit.h"
#include "common/io/clock.h"

enum { CHUNK_BYTES = 64 * 1024, FOLDER_ENTRIES = 1000, DEPTH_MAX = 8, TRIALS_MAX = 99 };

static void demand (bool holds, const char *what)
{
    if (holds)
        return;
    fprintf (stderr, "bench_cache: %s: %s\n", what, strerror (errno));
    exit (1);
}

static double ms_since (uint64_t began_ns)
{
    return (double) (clock_boot_ns () - began_ns) / 1e6;
}

/* ---- bare ---- */

struct bare {
    EVP_MD *md;
    EVP_MD_CTX *state;
    uint64_t files, bytes;
    unsigned char sum;
};

static void bare_file (struct bare *bare, int folder, const char *name)
{
    unsigned char chunk[CHUNK_BYTES], digest[EVP_MAX_MD_SIZE];
    ssize_t got;
    int fd = openat (folder, name, O_RDONLY | O_CLOEXEC);
    demand (fd >= 0 && EVP_DigestInit_ex2 (bare->state, bare->md, NULL) == 1, "bare: open");
    while ((got = read (fd, chunk, sizeof chunk)) > 0) {
        EVP_DigestUpdate (bare->state, chunk, (size_t) got);
        bare->bytes += (uint64_t) got;
    }
    demand (got == 0 && EVP_DigestFinal_ex (bare->state, digest, NULL) == 1, "bare: read");
    close (fd);
    bare->sum ^= digest[0];
    bare->files++;
}

static void bare_folder (struct bare *bare, int fd, int depth)
{
    _Alignas(struct dirent64) char names[32 * 1024];
    ssize_t got;
    assert (depth < DEPTH_MAX);
    while ((got = getdents64 (fd, names, sizeof names)) > 0)
        for (char *at = names; at < names + got; at += ((struct dirent64 *) (void *) at)->d_reclen) {
            const struct dirent64 *entry = (const struct dirent64 *) (void *) at;
            if (entry->d_type == DT_REG) {
                bare_file (bare, fd, entry->d_name);
            } else if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
                int below = openat (fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                demand (below >= 0, "bare: folder");
                bare_folder (bare, below, depth + 1);
                close (below);
            }
        }
    demand (got == 0, "bare: getdents");
}

static double bare_ms (const char *path)
{
    struct bare bare = { .md = EVP_MD_fetch (NULL, "SHA256", NULL), .state = EVP_MD_CTX_new () };
    uint64_t began_ns = clock_boot_ns ();
    int fd = open (path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    demand (fd >= 0, path);
    bare_folder (&bare, fd, 0);
    close (fd);
    double ms = ms_since (began_ns);
    EVP_MD_CTX_free (bare.state);
    EVP_MD_free (bare.md);
    return ms;
}

/* ---- ours ---- */

static double audit_ms (const char *root, uint64_t token, const char *sha256, enum audit_depth depth, uint64_t seed)
{
    struct arena arena = { 0 };
    struct finding_list found;
    struct err err = { 0 };
    uint64_t began_ns = clock_boot_ns ();
    if (audit_generation (text_of (root), token, text_of (sha256), depth, seed, &arena, &found, &err) || found.n) {
        fprintf (stderr, "bench_cache: audit: %s %u findings\n", err.text, found.n);
        exit (1);
    }
    arena_release (&arena);
    return ms_since (began_ns);
}

static void print_times (const char *name, const double *times_ms, int n)
{
    printf ("\"%s\": [", name);
    for (int i = 0; i < n; i++)
        printf ("%s%.3f", i ? ", " : "", times_ms[i]);
    printf ("]");
}

static int audit_main (char **argv)
{
    double bare[TRIALS_MAX], full[TRIALS_MAX], sample[TRIALS_MAX], stat_only[TRIALS_MAX];
    uint64_t token = strtoull (argv[1], NULL, 10);
    int trials = atoi (argv[3]);
    char path[4096];
    struct rusage usage;
    demand (trials > 0 && trials <= TRIALS_MAX, "trials");
    snprintf (path, sizeof path, "%s/gen-%" PRIu64, argv[0], token);
    bare_ms (path); /* once unmeasured: both sides find the files in memory */
    audit_ms (argv[0], token, argv[2], AUDIT_FULL, 0);
    for (int i = 0; i < trials; i++) {
        bare[i] = i % 2 ? 0 : bare_ms (path);
        full[i] = audit_ms (argv[0], token, argv[2], AUDIT_FULL, 0);
        bare[i] = i % 2 ? bare_ms (path) : bare[i];
        sample[i] = audit_ms (argv[0], token, argv[2], AUDIT_SAMPLE, (uint64_t) i);
        stat_only[i] = audit_ms (argv[0], token, argv[2], AUDIT_STAT, 0);
    }
    getrusage (RUSAGE_SELF, &usage);
    printf ("{");
    print_times ("bare", bare, trials);
    printf (", ");
    print_times ("full", full, trials);
    printf (", ");
    print_times ("sample", sample, trials);
    printf (", ");
    print_times ("stat", stat_only, trials);
    printf (", \"peak_kib\": %ld}\n", usage.ru_maxrss);
    return 0;
}

static struct cache_access order_of (const char *root, uint64_t token)
{
    return (struct cache_access){ .role = CACHE_ROLE_WRITER, .frontend_root = text_of (root), .token = token };
}

static void fill_file (int folder, const char *name, uint64_t bytes, struct rng *rng)
{
    static uint64_t chunk[CHUNK_BYTES / sizeof (uint64_t)];
    int fd = openat (folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    demand (fd >= 0, name);
    while (bytes) {
        size_t len = bytes < sizeof chunk ? (size_t) bytes : sizeof chunk;
        for (size_t i = 0; i < (len + 7) / 8; i++)
            chunk[i] = rng_next (rng);
        demand (write (fd, chunk, len) == (ssize_t) len, "filling");
        bytes -= len;
    }
    close (fd);
}

static int fill_main (char **argv)
{
    struct cache_access access = order_of (argv[0], strtoull (argv[1], NULL, 10));
    unsigned long entries = strtoul (argv[2], NULL, 10);
    uint64_t bytes = strtoull (argv[3], NULL, 10);
    struct rng rng = rng_seed (7);
    struct err err = { 0 };
    char dir[4096], name[96];
    if (cache_prepare_writer (&access, dir, sizeof dir, &err)) {
        fprintf (stderr, "bench_cache: %s\n", err.text);
        return 1;
    }
    int top = open (dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    demand (top >= 0, dir);
    for (unsigned long i = 0; i < entries; i++) {
        snprintf (name, sizeof name, "part-%03lu", i / FOLDER_ENTRIES);
        demand (i % FOLDER_ENTRIES || mkdirat (top, name, 0755) == 0, name);
        /* As long as the name of an entry of JAX. */
        snprintf (name, sizeof name, "part-%03lu/jit_step-%016" PRIx64 "%016" PRIx64 "-cache", i / FOLDER_ENTRIES,
                  rng_next (&rng), rng_next (&rng));
        fill_file (top, name, bytes, &rng);
    }
    close (top);
    printf ("{}\n");
    return 0;
}

static int seal_main (int argc, char **argv)
{
    struct cache_access access = order_of (argv[0], strtoull (argv[1], NULL, 10));
    struct arena arena = { 0 };
    struct seal seal = { 0 };
    struct err err = { 0 };
    char dir[4096];
    double prepare_ms = 0;
    uint64_t began_ns = clock_boot_ns ();
    int rc = 0;
    if (argc == 4) {
        access.base = strtoull (argv[2], NULL, 10);
        access.base_sha256 = text_of (argv[3]);
        rc = cache_prepare_writer (&access, dir, sizeof dir, &err);
        prepare_ms = ms_since (began_ns);
        began_ns = clock_boot_ns ();
    }
    if (rc || cache_seal (&access, &seal, &arena, &err)) {
        fprintf (stderr, "bench_cache: %s\n", err.text);
        return 1;
    }
    printf ("{\"prepare\": %.3f, \"seal\": %.3f, \"sha256\": \"%.*s\", \"bytes\": %" PRIu64 "}\n", prepare_ms,
            ms_since (began_ns), TEXT_ARG (seal.sha256), seal.bytes);
    arena_release (&arena);
    return 0;
}

int main (int argc, char **argv)
{
    if (argc == 6 && !strcmp (argv[1], "fill"))
        return fill_main (argv + 2);
    if ((argc == 4 || argc == 6) && !strcmp (argv[1], "seal"))
        return seal_main (argc - 2, argv + 2);
    if (argc == 6 && !strcmp (argv[1], "audit"))
        return audit_main (argv + 2);
    fprintf (stderr, "bench_cache: driven by tests/bench/cache\n");
    return 2;
}
