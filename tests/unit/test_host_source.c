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

static void word_is (struct host_file *file, const char *word, uint32_t line, uint32_t column)
{
    assert_true (host_file_next (file));
    if (!text_is (file->word, word) || file->line != line || file->column != column)
        fail_msg ("%.*s at %u:%u instead of %s at %u:%u", TEXT_ARG (file->word), file->line, file->column, word, line,
                  column);
}

TEST (words_are_parted_by_blanks_outside_brackets)
{
    struct host_file file = { .content = TEXT_LIT (" a!b\tn[1, 2]x\nn[3\nc] # e\n#\n#f\nd#g") };
    word_is (&file, "a!b", 1, 2);
    word_is (&file, "n[1, 2]x", 1, 6);
    word_is (&file, "n[3", 2, 1);
    word_is (&file, "c]", 3, 1);
    word_is (&file, "d", 6, 1);
    assert_false (host_file_next (&file));
    file = (struct host_file){ .content = TEXT_LIT (":8 x") };
    word_is (&file, ":8", 1, 1); /* nothing stands before it */
}

TEST (files_of_windows_and_slots_are_read)
{
    struct host_file file = { .content = TEXT_LIT (
                                  "\xef\xbb\xbfn1 slots=8\r\n\r\nn2:8\r\n  n3 4 max_slots=8\r\n7\r\n") };
    word_is (&file, "n1", 1, 1);
    word_is (&file, "n2", 3, 1);
    word_is (&file, "n3", 4, 3);
    word_is (&file, "7", 5, 1);
    assert_false (host_file_next (&file));
}

TEST (of_a_file_of_grid_engine_hosts_are_read)
{
    struct host_file file = { .content = TEXT_LIT (
                                  "n1.x 8 all.q@n1.x UNDEFINED\nn2 2 gpu.q@n2 0,0:0,1 # 2\nn3 4 a@n4\nn5 a@n5\n") };
    word_is (&file, "n1.x", 1, 1);
    word_is (&file, "n2", 2, 1);
    word_is (&file, "n3", 3, 1);
    word_is (&file, "a@n4", 3, 6); /* no queue of n3 */
    word_is (&file, "n5", 4, 1);
    word_is (&file, "a@n5", 4, 4);
    assert_false (host_file_next (&file));
}

static void other_is (const char *content, uint32_t words, const char *expected)
{
    struct host_file file = { .content = text_of (content) };
    while (words--)
        assert_true (host_file_next (&file));
    const char *other = host_file_other_tool (&file);
    if (!expected != !other || (other && strcmp (other, expected) != 0))
        fail_msg ("%s: %s instead of %s", content, other ? other : "nothing", expected ? expected : "nothing");
}

TEST (files_of_other_tools_are_known_by_a_word)
{
    other_is ("10.1.0.11 n1 a # rack 3", 1, NULL);
    other_is ("10.1.0.11 n1", 2, "an address with its name, as in /etc/hosts");
    other_is ("n1 10.1.0.11", 2, "an address with its name, as in /etc/hosts");
    other_is ("10.1.0.11 10.1.0.12\nn1", 2, NULL);
    other_is ("10.1.0.11 10.1.0.12\nn1", 3, NULL);
    other_is ("::1 localhost", 2, "an address with its name, as in /etc/hosts");
    other_is ("name,ip,user\nw-a,10.0.0.4,tpu", 1, "a table with commas (CSV)");
    other_is ("w-a,10.0.0.4,tpu", 1, "a table with commas (CSV)");
    other_is ("name,zone\n", 1, "a table with commas (CSV)");
    other_is ("n1,10.0.0.4", 1, "a table with commas (CSV)");
    other_is ("name", 1, NULL);
    other_is ("10.0.0.[4-5],10.0.0.7", 1, NULL);
    other_is ("10.0.0.4,10.0.0.5,fd77::10 n1", 1, NULL);
    other_is ("w-[1-2],name", 1, NULL);
    other_is ("[fd77::10]", 1, NULL);
    other_is ("[web:children]", 1, "an Ansible inventory");
    other_is ("7 8 9", 1, NULL);
    other_is ("rank 0=n1 slot=0-3", 2, "a rankfile of MPI");
    other_is ("rank\n0=n1", 2, "a setting of another tool");
    other_is ("rank n1", 2, NULL);
}
