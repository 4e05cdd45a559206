/* alone: io */
#include "common/io/program_start.h"
#include "test.h"

enum { LONG_BYTES = 1 << 20 };

static size_t shown (char *out, size_t bytes)
{
    FILE *file = fopen ("/proc/self/cmdline", "r");
    size_t n = file ? fread (out, 1, bytes - 1, file) : 0;
    out[n] = '\0';
    if (file)
        fclose (file);
    return n;
}

/* In a child, whose arguments may be overwritten. 0: as wanted. */
static int try_title (const char *title, size_t cut)
{
    static char text[LONG_BYTES];
    char *home = getenv ("PATH") ? strdup (getenv ("PATH")) : NULL;
    process_title_set (title);
    shown (text, sizeof text);
    int wrong = strncmp (text, title, cut) != 0 || strlen (text) > strlen (title) || strlen (text) < cut;
    wrong |= (home && (!getenv ("PATH") || strcmp (home, getenv ("PATH")) != 0)) << 1;
    process_title_set ("short"); /* again, and nothing of the first is left */
    shown (text, sizeof text);
    wrong |= (strcmp (text, "short") != 0) << 2;
    free (home);
    return wrong;
}

static void shows (const char *title, size_t cut)
{
    int status = -1;
    pid_t pid = fork ();
    if (pid == 0)
        _exit (try_title (title, cut));
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_int_equal (status, 0);
}

TEST (a_title_is_shown_and_variables_are_kept)
{
    struct process_words words;
    assert_true (process_words_find (&words));
    assert_true (words.bytes > 1 && words.room >= words.bytes);
    shows ("t", 1);
    shows ("sliceup-worker: run 3fa9c1d2 host v6e-3 (slice v6e)", words.room > 60 ? 51 : words.room - 1);
}

TEST (one_that_is_too_long_is_cut)
{
    static char title[LONG_BYTES];
    struct process_words words;
    assert_true (process_words_find (&words) && words.room < sizeof title);
    memset (title, 'x', sizeof title - 1);
    shows (title, words.bytes < words.room ? words.bytes : words.room - 1);
    title[words.bytes] = '\0'; /* exactly the arguments */
    shows (title, words.bytes - 1);
}

int main (int argc, char **argv)
{
    setenv ("PATH", "/usr/bin:/bin", 0);
    return test_run (argc, argv);
}
