/* links: model */
#include "common/model/host_source.h"
#include "test.h"

typedef int reader (struct text text, struct buf *expression, struct err *err);

struct source_case {
    reader *read;
    const char *text, *expression, *word;
}; /* `word`: of the refusal */

static void run_case (const struct source_case *one)
{
    struct buf out;
    struct err err = { 0 };
    buf_init (&out, 4096);
    int rc = one->read (text_of (one->text), &out, &err);
    if (one->expression && rc < 0)
        fail_msg ("'%s': %s", one->text, err.text);
    if (one->expression)
        assert_string_equal (buf_c (&out), one->expression);
    else if (rc == 0 || err.code != ERR_PARSE || !strstr (err.text, one->word))
        fail_msg ("'%s': %s: %s", one->text, buf_c (&out), err.text);
    buf_release (&out);
}

TEST (what_schedulers_and_platforms_say_becomes_an_expression)
{
    static const struct source_case cases[] = {
        { host_source_slurm, "tux[1-3],login1", "tux[1-3],login1", NULL },
        { host_source_slurm, " tux1\n", "tux1", NULL },
        { host_source_tpu_names, "w-0,w-1", "w-0,w-1", NULL },
        { host_source_tpu_names, " w-0 , 10.0.0.1\r\n", "w-0,10.0.0.1", NULL },
        { host_source_tpu_endpoints, "a:1:10.0.0.1,b:2:10.0.0.2\n", "10.0.0.1,10.0.0.2", NULL },
        { host_source_tpu_endpoints, "unknown:unknown:10.0.0.1", "10.0.0.1", NULL },
        { host_source_tpu_endpoints, "w-0,w-1", "w-0,w-1", NULL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run_case (&cases[i]);
}

TEST (nothing_else_does)
{
    static const struct source_case cases[] = {
        { host_source_slurm, "", NULL, "empty" },
        { host_source_slurm, " \n", NULL, "empty" },
        { host_source_slurm, "(null)", NULL, "'(null)'" },
        { host_source_slurm, "a!b", NULL, "'!b'" },
        { host_source_slurm, "a,@b", NULL, "'@b'" },
        { host_source_slurm, "a b", NULL, "' b'" },
        { host_source_slurm, "a\x1b[2J", NULL, "\\x1b" },
        { host_source_tpu_names, "", NULL, "empty" },
        { host_source_tpu_names, "a,,b", NULL, "entry 2" },
        { host_source_tpu_names, "a,", NULL, "entry 2" },
        { host_source_tpu_names, "a[1-2]", NULL, "entry 1" },
        { host_source_tpu_names, "a,-x", NULL, "entry 2 ('-x')" },
        { host_source_tpu_names, "a b", NULL, "entry 1" },
        { host_source_tpu_endpoints, "", NULL, "empty" },
        { host_source_tpu_endpoints, "a:b", NULL, "name:id:address" },
        { host_source_tpu_endpoints, "a:b:c:d", NULL, "name:id:address" },
        { host_source_tpu_endpoints, "a:b:c,a:b:", NULL, "entry 2" },
        { host_source_tpu_endpoints, "a:b:fe80::1", NULL, "entry 1" },
        { host_source_tpu_endpoints, "a:b:$(x)", NULL, "entry 1" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run_case (&cases[i]);
}

TEST (a_list_that_does_not_fit_is_an_error)
{
    static reader *const readers[] = { host_source_slurm, host_source_tpu_names, host_source_tpu_endpoints };
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        struct buf out;
        struct err err = { 0 };
        buf_init (&out, 4);
        assert_int_equal (readers[i](text_of ("host1,host2"), &out, &err), -1);
        assert_int_equal (err.code, ERR_LIMIT);
        buf_release (&out);
    }
}

TEST (words_are_parted_by_blanks_outside_brackets)
{
    static const char *const expected[] = { "a!b", "n[1, 2]x", "n[3", "c]", "d" };
    const struct text content = TEXT_LIT (" a!b\tn[1, 2]x\nn[3\nc] # e\n#\n#f\nd#g");
    struct text word;
    uint32_t at = 0;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_true (host_source_next_word (content, &at, &word));
        if (!text_is (word, expected[i]))
            fail_msg ("%.*s instead of %s", TEXT_ARG (word), expected[i]);
    }
    assert_false (host_source_next_word (content, &at, &word));
    at = 0;
    assert_true (host_source_next_word (TEXT_LIT (":8 x"), &at, &word));
    assert_text (word, ":8"); /* nothing stands before it */
}
