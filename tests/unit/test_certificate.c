/* alone: monitor czmq */
/* What is a certificate and what is none; and that nothing of it is printed or left in memory. */

#include "coordinator/monitor/key_file.h"
#include "test.h"
#include <czmq.h>

#define PUBLIC "9yi>WlZF{EeR4pPqbz:sVYI2dmqKG6fS<55kZKO&"
#define SECRET "]K/zYM0#jMYzJ1v!!i9J*^L[33*mCMFx?ZSRO4Q0"
#define PAIR "    public-key = \"" PUBLIC "\"\n    secret-key = \"" SECRET "\"\n"

static bool is_certificate (const char *text)
{
    struct link_keys keys;
    struct certificate *certificate = certificate_parse (text_of (text));
    bool good = certificate && certificate_keys (certificate, &keys) && strcmp (keys.public_key, PUBLIC) == 0 &&
                strcmp (keys.secret_key, SECRET) == 0;
    certificate_release (certificate);
    return good;
}

TEST (words_and_keys_come_back)
{
    const struct certificate_meta words[] = { { "run", "0123" }, { "address", "fe80::1%eth0 #x='y'" } };
    struct link_keys keys = { PUBLIC, SECRET }, back;
    struct buf out;
    buf_init (&out, CERTIFICATE_MAX_BYTES);
    certificate_format (&keys, words, 2, &out);
    struct certificate *certificate = certificate_parse (buf_as_text (&out));
    assert_non_null (certificate);
    assert_string_equal (certificate_meta (certificate, "run"), "0123");
    assert_string_equal (certificate_meta (certificate, "address"), "fe80::1%eth0 #x='y'");
    assert_null (certificate_meta (certificate, "port"));
    assert_true (certificate_keys (certificate, &back));
    assert_memory_equal (&keys, &back, sizeof keys);
    certificate_release (certificate);
    buf_release (&out);
}

TEST (what_others_write_is_read)
{
    assert_true (is_certificate ("curve\n" PAIR));
    assert_true (is_certificate ("#   by pyzmq  ****\n\nmetadata\ncurve\n" PAIR));
    assert_true (is_certificate ("# made elsewhere\r\nmetadata\r\n    name = J\xc3\xb6rg # who\r\ncurve\r\n"
                                 "    public-key = '" PUBLIC "'\r\n    secret-key=\"" SECRET "\"   # not told\r\n"));
    assert_true (is_certificate ("other\n    deep = 1\n        deeper = \"2\"\n\n    # a remark\ncurve\n" PAIR));
}

TEST (what_is_none_is_refused)
{
    static const char *const none[] = {
        "",
        "\n",
        "x",
        "{\"secret_key\": \"" SECRET "\"}",
        "curve\n",
        PAIR,                      /* deeper than there is anything */
        "curve\n\t" PAIR,          /* a tab is no step */
        "curve\n  secret-key = 1", /* nor are two blanks */
        "curve\n    public-key = \"" PUBLIC "\"\n",
        "curve\n    secret-key = \"" SECRET "\"\n",
        "curve\n" PAIR "    secret-key = \"" SECRET "\"\n", /* twice */
        "curve\n" PAIR "curve\n" PAIR,
        "curve\n" PAIR "metadata\n    a = 1\n    a = 1\n",
        "curve\n    public-key = \"" PUBLIC "\"\n    secret-key \"" SECRET "\"\n",
        "curve\n    public-key = \"" PUBLIC "\"\n    secret-key = \"" SECRET "\n",
        "curve\n    public-key = \"" PUBLIC "\"\n    secret-key = \"\" " SECRET "\n",
        "curve\n    public-key = \"" PUBLIC "\"\n    secret-key = \"" SECRET "x\"\n",
        "curve\n" PAIR "a/b = 1\n",
        "curve\n" PAIR "\x01",
        "curve\n" PAIR "a = \"\x1b[2J\"\n",
    };
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (is_certificate (none[i]))
            fail_msg ("%zu: %s", i, none[i]);
}

TEST (nuls_and_what_is_too_long_are_refused)
{
    static const char nul[] = "curve\n" PAIR "a\0b";
    assert_null (certificate_parse ((struct text){ nul, sizeof nul - 1 }));
    char large[CERTIFICATE_MAX_BYTES + 1];
    memset (large, '\n', sizeof large);
    assert_null (certificate_parse ((struct text){ large, sizeof large }));
    memset (large, '#', sizeof large);
    memcpy (large, "curve\n" PAIR, sizeof "curve\n" PAIR - 1);
    struct certificate *longest = certificate_parse ((struct text){ large, CERTIFICATE_MAX_BYTES });
    assert_non_null (longest);
    certificate_release (longest);
}

/* ---- silence ---- */

static int divert (FILE *into)
{
    fflush (stdout);
    int before = dup (STDOUT_FILENO);
    assert_true (before >= 0 && dup2 (fileno (into), STDOUT_FILENO) >= 0);
    return before;
}

static off_t restore (int before, FILE *into)
{
    struct stat at;
    fflush (stdout);
    assert_true (dup2 (before, STDOUT_FILENO) >= 0 && fstat (fileno (into), &at) == 0);
    close (before);
    return at.st_size;
}

static uint32_t mutate (struct rng *rng, char *bytes, uint32_t len)
{
    static const char odd[] = " \"'#=/\n\t\r\\{a\x01\x80";
    for (uint64_t n = rng_below (rng, 6); n > 0; n--) {
        uint32_t at = (uint32_t) rng_below (rng, len), cut = (uint32_t) rng_below (rng, 8);
        if (rng_below (rng, 3) > 0) {
            bytes[at] = odd[rng_below (rng, sizeof odd)];
        } else if (cut < len - at) {
            memmove (bytes + at, bytes + at + cut, len - at - cut);
            len -= cut;
        }
    }
    return len;
}

/* Alone, czmq's reader tells the secret to whoever reads standard output. */
TEST (whatever_is_read_nothing_is_printed)
{
    static const char good[] = "# c\nmetadata\n    run = \"0123\"   # x\n    port = 7102\ncurve\n" PAIR;
    struct rng rng = rng_seed (4);
    uint32_t taken = 0;
    FILE *into = tmpfile ();
    int before = divert (into);
    for (int i = 0; i < 50000; i++) {
        char bytes[sizeof good];
        memcpy (bytes, good, sizeof good);
        struct certificate *certificate = certificate_parse (
            (struct text){ bytes, mutate (&rng, bytes, sizeof good - 1) });
        taken += certificate != NULL;
        certificate_release (certificate);
    }
    assert_int_equal (restore (before, into), 0);
    assert_in_range (taken, 5000, 45000);
    before = divert (into);
    zconfig_t *root = zconfig_str_load ("curve\n    secret-key \"" SECRET "\"\n");
    assert_true (restore (before, into) > 40);
    assert_null (root);
    fclose (into);
}

/* ---- memory ---- */

/* The end of a secret is looked for: who frees memory, or calls on, overwrites the beginning. */
enum { MASK = 0x55, TAIL_BYTES = 20, SCANNED_MAX_BYTES = 256 << 20 };

static __attribute__ ((no_sanitize_address)) uint32_t copies_between (const char *from, const char *to,
                                                                      const char *masked)
{
    uint32_t n = 0;
    for (const char *at = from; at + TAIL_BYTES <= to; at++) {
        int same = 0;
        while (same < TAIL_BYTES && (at[same] ^ MASK) == masked[same])
            same++;
        n += same == TAIL_BYTES;
    }
    return n;
}

static struct {
    const char *from, *to;
} regions[1024];
static uint32_t regions_n;

/* All memory that this process can write; a sanitizer's shadow is far too large to look at, and holds none. */
static void note_regions (void)
{
    char line[512], mode[5];
    unsigned long from, to;
    FILE *maps = fopen ("/proc/self/maps", "r");
    assert_non_null (maps);
    while (fgets (line, sizeof line, maps)) {
        assert_int_equal (sscanf (line, "%lx-%lx %4s", &from, &to, mode), 3);
        if (strncmp (mode, "rw", 2) != 0 || to - from >= SCANNED_MAX_BYTES)
            continue;
        assert_in_range (regions_n, 0, sizeof regions / sizeof regions[0] - 1);
        regions[regions_n].from = (const char *) from;
        regions[regions_n++].to = (const char *) to;
    }
    fclose (maps);
}

/* Calls nothing that would write over what was left on the stack. */
static uint32_t copies (const char *masked)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < regions_n; i++)
        n += copies_between (regions[i].from, regions[i].to, masked);
    return n;
}

/* Everything was called once before: the linker saves registers on the stack when it binds a name, and memcpy leaves
 * text in them. */
TEST (a_secret_that_was_read_is_left_nowhere)
{
    char masked[TAIL_BYTES];
    struct link_keys keys, back = { 0 };
    struct buf out;
    link_keys_make (&keys);
    for (int i = 0; i < TAIL_BYTES; i++)
        masked[i] = keys.secret_key[LINK_KEY_BYTES - 1 - TAIL_BYTES + i] ^ MASK;
    buf_init (&out, CERTIFICATE_MAX_BYTES);
    certificate_format (&keys, NULL, 0, &out);
    note_regions ();
    explicit_bzero (&keys, sizeof keys);
    struct certificate *certificate = certificate_parse (buf_as_text (&out));
    uint32_t read = copies (masked);
    bool good = certificate_keys (certificate, &back);
    certificate_release (certificate);
    explicit_bzero (&back, sizeof back);
    explicit_bzero (out.ptr, out.len);
    uint32_t left = copies (masked);
    buf_release (&out);
    assert_true (good);
    assert_int_equal (read, 2); /* in `out`, and in what was read */
    assert_int_equal (left, 0);
}
