/* alone: sandbox */
#include "test.h"
#include "worker/sandbox/confine.h"

/* The loader writes the addresses, into pages that are constant afterwards. */
static const char *const relocated[] = { "one", "two", "three" };
static char written[3 * 4096] = "as it was";

static long resident_of_files_kib (void)
{
    char line[256];
    long kib = -1;
    FILE *status = fopen ("/proc/self/status", "re");
    assert_non_null (status);
    while (fgets (line, sizeof line, status))
        if (sscanf (line, "RssFile: %ld", &kib) == 1)
            break;
    assert_int_equal (fclose (status), 0);
    return kib;
}

TEST (code_that_only_starting_needed_is_let_go_of)
{
    (void) digest_of ("", 0);
    long before_kib = resident_of_files_kib ();
    code_pages_let_go ();
    long after_kib = resident_of_files_kib ();
    if (before_kib < 0)
        skip (); /* Linux before 4.5, or none */
    if (after_kib > before_kib * 3 / 4)
        fail_msg ("%ld KiB of files are resident, %ld KiB were", after_kib, before_kib);
}

TEST (nothing_that_was_written_is_lost)
{
    char hex[DIGEST_HEX_BYTES];
    char *volatile all = written;
    const char *const *volatile names = relocated;
    memset (all, 'x', sizeof written - 1);
    for (int i = 0; i < 3; i++) {
        code_pages_let_go ();
        assert_int_equal (all[0], 'x');
        assert_int_equal (all[sizeof written - 2], 'x');
        assert_string_equal (names[1], "two");
        struct digest digest = digest_of ("12345678", 8);
        assert_memory_equal (digest_hex (&digest, hex), "ef797c8118f02dfb", 16);
    }
}
