/* links: process */
#include "test.h"
#include "worker/process/self.h"

struct read {
    bool json;
    const char *python, *options[2];
    uint32_t n;
};

static int read_words (struct read *read, struct err *err, int argc, const char *const *words)
{
    const struct word_option known[] = { { "--json", .set = &read->json },
                                         { "--python", .value = &read->python },
                                         { "--option", .value = read->options, .n = &read->n, .most = 2 } };
    *err = (struct err){ 0 };
    return word_options_read (argc, (char **) (uintptr_t) words, known, sizeof known / sizeof *known, err);
}

TEST (a_value_is_the_next_word_or_behind_the_sign)
{
    struct read read = { 0 };
    struct err err;
    const char *const words[] = { "probe", "--option=a=b", "--python", "--json", "--option", "c", "--json" };
    assert_int_equal (read_words (&read, &err, 7, words), 0);
    assert_string_equal (read.options[0], "a=b");
    assert_string_equal (read.options[1], "c");
    assert_string_equal (read.python, "--json");
    assert_true (read.json);
}

TEST (what_it_does_not_know_is_named)
{
    static const struct {
        const char *words[5], *said;
    } wrong[] = {
        { { "probe", "--pythons" }, "unknown option --pythons" },
        { { "probe", "--pyth", "x" }, "unknown option --pyth" },
        { { "probe", "--json=yes" }, "unknown option --json=yes" },
        { { "probe", "python3" }, "unknown option python3" },
        { { "probe", "--json", "--python" }, "--python needs a value" },
        { { "probe", "--option=a", "--option=b", "--option=c" }, "--option is given more than 2 times" },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct read read = { 0 };
        struct err err;
        int argc = 0;
        while (wrong[i].words[argc])
            argc++;
        assert_int_equal (read_words (&read, &err, argc, wrong[i].words), -1);
        assert_string_equal (err.text, wrong[i].said);
    }
}
