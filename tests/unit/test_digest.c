/* alone: base */
#include "test.h"
#include <pthread.h>

/* FIPS 180-2, appendix B, and the digest of nothing. */
static const struct {
    const char *text, *hex;
} known[] = {
    { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
    { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
};
static const char million_a[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static char folder[] = "/tmp/sliceup-digest-XXXXXX";

static int make_folder (void **state)
{
    (void) state;
    return mkdtemp (folder) ? 0 : -1;
}

static int remove_folder (void **state)
{
    (void) state;
    return rmdir (folder);
}

static const char *path_of (const char *name, char out[128])
{
    snprintf (out, 128, "%s/%s", folder, name);
    return out;
}

static void write_million (const char *path)
{
    FILE *file = fopen (path, "we");
    assert_non_null (file);
    for (int i = 0; i < 1000000; i++)
        assert_int_equal (putc ('a', file), 'a');
    assert_int_equal (fclose (file), 0);
}

TEST (digests_are_those_of_the_standard)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        char hex[DIGEST_HEX_BYTES];
        struct digest digest = digest_of (known[i].text, strlen (known[i].text));
        assert_ptr_equal (digest_hex (&digest, hex), hex);
        assert_string_equal (hex, known[i].hex);
    }
}

/* RFC 4231, test cases 1 to 4: keys of up to 32 bytes. */
static const struct {
    struct digest key;
    const char *text, *hex;
} keyed[] = {
    { { { 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11 } },
      "Hi There",
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
    { { "Jefe" }, "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
    { { { 170, 170, 170, 170, 170, 170, 170, 170, 170, 170, 170, 170, 170, 170, 170, 170, 170, 170, 170, 170 } },
      "\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd"
      "\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd\xdd",
      "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe" },
    { { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25 } },
      "\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd"
      "\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd\xcd",
      "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b" },
};

TEST (keyed_digests_are_those_of_the_standard)
{
    for (size_t i = 0; i < sizeof keyed / sizeof keyed[0]; i++) {
        char hex[DIGEST_HEX_BYTES];
        struct digest digest = digest_hmac (&keyed[i].key, text_of (keyed[i].text));
        assert_string_equal (digest_hex (&digest, hex), keyed[i].hex);
    }
}

TEST (pieces_give_the_digest_of_the_whole)
{
    const char *text = known[2].text;
    for (size_t cut = 0; cut <= strlen (text); cut++) {
        struct digest_state *making = digest_begin ();
        digest_add (making, text, cut);
        struct digest between = digest_of ("other", 5); /* a second one, made meanwhile, must not disturb it */
        digest_add (making, text + cut, strlen (text) - cut);
        struct digest digest = digest_end (making), whole = digest_of (text, strlen (text));
        assert_true (digest_equal (&digest, &whole));
        assert_false (digest_equal (&digest, &between));
    }
}

TEST (a_file_is_read_to_its_end)
{
    char path[128], hex[DIGEST_HEX_BYTES];
    struct digest digest;
    uint64_t bytes = 0;
    write_million (path_of ("million", path));
    assert_int_equal (digest_of_file (path, &digest, &t->err), 0);
    assert_string_equal (digest_hex (&digest, hex), million_a);
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    assert_int_equal (digest_of_fd (fd, &digest, &bytes, &t->err), 0);
    assert_string_equal (digest_hex (&digest, hex), million_a);
    assert_int_equal (bytes, 1000000);
    assert_int_equal (digest_of_fd (fd, &digest, NULL, &t->err), 0); /* nothing is left: the digest of nothing */
    assert_string_equal (digest_hex (&digest, hex), known[0].hex);
    close (fd);
    unlink (path);
}

static void refused (const char *path, const char *word)
{
    struct err err = { 0 };
    struct digest digest, before;
    memset (&digest, 0x5A, sizeof digest);
    before = digest;
    assert_int_equal (digest_of_file (path, &digest, &err), -1);
    assert_int_equal (err.code, ERR_IO);
    assert_has (err.text, word);
    assert_has (err.text, path);
    assert_true (digest_equal (&digest, &before));
}

/* Opening the pipe must return although nobody writes to it. */
TEST (only_regular_files_are_read)
{
    char file[128], other[128];
    path_of ("file", file);
    write_million (file);
    refused (path_of ("missing", other), "No such file");
    assert_int_equal (symlink (file, path_of ("link", other)), 0);
    refused (other, "symbolic link");
    unlink (other);
    assert_int_equal (mkfifo (path_of ("pipe", other), 0600), 0);
    refused (other, "regular file");
    unlink (other);
    refused (folder, "regular file");
    unlink (file);
}

TEST (an_unreadable_descriptor_changes_nothing)
{
    struct digest digest = { .bytes = { 1 } };
    uint64_t bytes = 7;
    int fd = open ("/", O_RDONLY | O_CLOEXEC);
    assert_int_equal (digest_of_fd (fd, &digest, &bytes, &t->err), -1);
    assert_has (t->err.text, "directory");
    assert_int_equal (digest.bytes[0], 1);
    assert_int_equal (bytes, 7);
    close (fd);
}

TEST (hex_is_read_back_whole_or_not_at_all)
{
    char hex[DIGEST_HEX_BYTES], upper[DIGEST_HEX_BYTES];
    struct digest digest = digest_of ("x", 1), read = { 0 };
    digest_hex (&digest, hex);
    for (size_t i = 0; i < sizeof hex; i++)
        upper[i] = hex[i] >= 'a' ? hex[i] - 'a' + 'A' : hex[i];
    assert_true (digest_parse (text_of (hex), &read));
    assert_true (digest_equal (&digest, &read));
    assert_true (digest_parse (text_of (upper), &read));
    assert_true (digest_equal (&digest, &read));
    assert_false (digest_parse ((struct text){ hex, 63 }, &read));
    assert_false (digest_parse ((struct text){ hex, 65 }, &read));
    for (size_t i = 0; i < 64; i++)
        for (const char *bad = "g/:@G`\xFF "; *bad; bad++) {
            char broken[DIGEST_HEX_BYTES];
            memcpy (broken, hex, sizeof hex);
            broken[i] = *bad;
            assert_false (digest_parse (text_of (broken), &read));
        }
    assert_true (digest_equal (&digest, &read));
}

static void *digest_many (void *wrong)
{
    struct digest expected;
    digest_parse (text_of (known[1].hex), &expected);
    for (int i = 0; i < 2000; i++) {
        struct digest digest = digest_of ("abc", 3);
        if (!digest_equal (&digest, &expected))
            *(int *) wrong = 1;
    }
    return NULL;
}

TEST (threads_do_not_disturb_one_another)
{
    enum { N = 4 };
    pthread_t threads[N];
    int wrong[N] = { 0 };
    for (int i = 0; i < N; i++)
        assert_int_equal (pthread_create (&threads[i], NULL, digest_many, &wrong[i]), 0);
    for (int i = 0; i < N; i++) {
        assert_int_equal (pthread_join (threads[i], NULL), 0);
        assert_int_equal (wrong[i], 0);
    }
}

TEST_GROUP (make_folder, remove_folder)
