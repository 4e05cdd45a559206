/* links: launch */
#include "coordinator/launch/exec_hosts.h"
#include "test.h"

static void add (struct output_fold *fold, uint32_t host, const char *bytes)
{
    output_fold_add (fold, host, text_of (bytes));
}

TEST (equal_outputs_are_one_group)
{
    struct output_fold *fold = output_fold_create (5, 64);
    add (fold, 0, "a\nb\n");
    add (fold, 1, "a\n");
    add (fold, 2, "a\nc\n");
    add (fold, 1, "b"); /* in pieces, and without its last newline */
    add (fold, 4, "\n");
    assert_int_equal (output_fold_group_of (fold, 0), OUTPUT_NO_GROUP);
    for (uint32_t i = 0; i < 5; i++)
        output_fold_end (fold, i);
    assert_int_equal (output_fold_groups (fold), 4);
    assert_int_equal (output_fold_group_of (fold, 0), output_fold_group_of (fold, 1));
    assert_int_not_equal (output_fold_group_of (fold, 0), output_fold_group_of (fold, 2));
    assert_int_not_equal (output_fold_group_of (fold, 3),
                          output_fold_group_of (fold, 4)); /* nothing is no empty line */
    assert_int_equal (output_fold_group (fold, output_fold_group_of (fold, 1))->hosts_n, 2);
    assert_text (output_fold_group (fold, output_fold_group_of (fold, 1))->head, "a\nb\n");
    output_fold_destroy (fold);
}

/* Whatever the pieces, head and tail are those of the whole, and the number between them is right. */
TEST (a_large_output_keeps_its_ends)
{
    enum { KEPT = 10, ALL = 60 };
    char whole[ALL + 1];
    for (int i = 0; i < ALL; i++)
        whole[i] = (char) ('A' + i % 50);
    whole[ALL - 1] = '\n';
    whole[ALL] = '\0';
    for (uint32_t len = 1; len <= ALL; len++) {
        for (uint32_t piece = 1; piece <= len; piece++) {
            struct output_fold *fold = output_fold_create (1, KEPT);
            const char *from = whole + ALL - len; /* it ends with a newline */
            for (uint32_t at = 0; at < len; at += piece)
                output_fold_add (fold, 0, (struct text){ from + at, len - at < piece ? len - at : piece });
            output_fold_end (fold, 0);
            const struct output_group *group = output_fold_group (fold, 0);
            uint32_t head = len < KEPT / 2 ? len : KEPT / 2, tail = len - head < KEPT / 2 ? len - head : KEPT / 2;
            assert_text (group->head, ((struct text){ from, head }));
            assert_text (group->tail, ((struct text){ from + len - tail, tail }));
            assert_int_equal (group->dropped_bytes, len - head - tail);
            output_fold_destroy (fold);
        }
    }
}

TEST (what_was_dropped_still_counts)
{
    struct output_fold *fold = output_fold_create (3, 8);
    add (fold, 0, "begin-1-end!\n");
    add (fold, 1, "begin-2-end!\n");
    add (fold, 2, "begin-1-end!\n");
    for (uint32_t i = 0; i < 3; i++)
        output_fold_end (fold, i);
    assert_int_equal (output_fold_groups (fold), 2);
    assert_int_equal (output_fold_group_of (fold, 0), output_fold_group_of (fold, 2));
    output_fold_destroy (fold);
}

TEST (memory_is_bounded_for_many_hosts)
{
    assert_int_equal (output_fold_kept_bytes (0), OUTPUT_KEPT_BYTES);
    assert_int_equal (output_fold_kept_bytes (64), OUTPUT_KEPT_BYTES);
    for (uint32_t n = 1; n <= HOSTS_MAX; n++)
        assert_true ((uint64_t) n * output_fold_kept_bytes (n) <= OUTPUTS_KEPT_BYTES);
}

/* ---- ends ---- */

enum { N = 6 };
static const struct text names[N] = { { "v0", 2 }, { "v1", 2 }, { "v2", 2 }, { "v3", 2 }, { "v4", 2 }, { "v5", 2 } };

static struct exec_host ended (enum remote_how how, uint32_t number, uint32_t strays)
{
    return (struct exec_host){ .state = EXEC_ENDED, .end = { .how = how, .number = number, .strays = strays } };
}

static void says (const struct exec_host hosts[N], const char *ends_text, const char *sum, int status)
{
    const struct exec_host *all[N];
    struct buf out;
    for (int i = 0; i < N; i++)
        all[i] = &hosts[i];
    const struct exec_ends ends = { names, all, N, 600000, false };
    buf_init (&out, 1 << 16);
    exec_report_put_ends (&ends, &out);
    assert_string_equal (buf_c (&out), ends_text);
    buf_clear (&out);
    exec_report_put_sum (&ends, &out);
    assert_string_equal (buf_c (&out), sum);
    assert_int_equal (exec_report_exit_status (&ends), status);
    buf_release (&out);
}

TEST (all_well_says_nothing)
{
    struct exec_host hosts[N];
    for (int i = 0; i < N; i++)
        hosts[i] = ended (REMOTE_EXITED, 0, 0);
    says (hosts, "", "exit status 0 on 6 of 6 hosts\n", 0);
}

TEST (ends_are_told_by_set)
{
    const struct exec_host hosts[N] = { ended (REMOTE_EXITED, 2, 0),    ended (REMOTE_SIGNALLED, 9, 0),
                                        ended (REMOTE_TIMED_OUT, 0, 3), ended (REMOTE_EXITED, 0, 1),
                                        ended (REMOTE_EXITED, 2, 0),    ended (REMOTE_EXITED, 0, 0) };
    says (hosts,
          "v[0,4] (2 hosts): exit status 2\nv1: killed by signal 9 (SIGKILL)\n"
          "v2: still running after 10 min, ended (--timeout)\n"
          "v3: exit status 0; 1 process that it left behind was killed\n",
          "exit status 0 on 2 of 6 hosts\n", 1);
}

TEST (who_was_not_reached_decides_the_status)
{
    struct exec_host hosts[N];
    for (int i = 0; i < N; i++)
        hosts[i] = ended (REMOTE_EXITED, i == 0, 0);
    hosts[1] = hosts[3] = (struct exec_host){ .state = EXEC_NOT_REACHED, .why = "connect: no route" };
    hosts[5] = (struct exec_host){ .state = EXEC_LOST, .why = "the courier was killed" };
    says (hosts,
          "v0: exit status 1\nv[1,3] (2 hosts): not reached: connect: no route\n"
          "v5: the end is not confirmed: the courier was killed; the worker there ends the command within 55 s, "
          "unless it was killed\n",
          "exit status 0 on 2 of 6 hosts\n", 3);
}
