/* links: verdict */
/* What is run again, why, and after how long. */
#include "coordinator/verdict/going_on.h"
#include "test.h"

static struct verdict failed (uint32_t host, bool transient)
{
    return (struct verdict){ .host = host,
                             .outcome = OUTCOME_FAILED,
                             .owner = OWNER_PLATFORM,
                             .signature = TEXT_LIT ("metadata"),
                             .transient = transient };
}

static struct verdict cascaded (uint32_t host)
{
    return (struct verdict){ .host = host, .outcome = OUTCOME_CASCADE, .owner = OWNER_PEER };
}

TEST (a_transient_cause_with_seven_that_failed_with_it_is_run_again)
{
    struct verdict verdicts[8] = { failed (0, true) };
    for (uint32_t i = 1; i < 8; i++)
        verdicts[i] = cascaded (i);
    assert_true (retry_all_transient (verdicts, 8));
}

TEST (one_cause_that_stays_forbids_it)
{
    struct verdict verdicts[] = { failed (0, true), cascaded (1), failed (2, false) };
    assert_false (retry_all_transient (verdicts, 3));
    assert_true (retry_all_transient (verdicts, 2));
}

TEST (without_any_cause_nothing_is_run_again)
{
    struct verdict verdicts[] = { cascaded (0), { .host = 1, .outcome = OUTCOME_PASSED } };
    assert_false (retry_all_transient (verdicts, 2));
    assert_false (retry_all_transient (NULL, 0));
}

TEST (the_reason_names_the_causes_and_not_who_failed_with_them)
{
    struct plan_host hosts[] = { { .name = TEXT_LIT ("h0") },
                                 { .name = TEXT_LIT ("h1") },
                                 { .name = TEXT_LIT ("h2") } };
    struct plan plan = { .hosts = { hosts, 3 } };
    struct verdict verdicts[] = { cascaded (0), failed (1, true), failed (2, true) };
    struct text why = retry_why (&plan, verdicts, 3, &t->arena);
    assert_text (why, "metadata on h[1-2]");
    assert_text (retry_first_signature (verdicts, 3), "metadata");
    verdicts[1].signature = (struct text){ 0 };
    verdicts[1].cause = TEXT_LIT ("no answer");
    why = retry_why (&plan, verdicts, 2, &t->arena);
    assert_text (why, "no answer on h1");
}

TEST (each_wait_is_twice_the_one_before)
{
    struct limits limits = { .retry_wait_ms = 2000 };
    assert_int_equal (retry_wait_ms (&limits, 1), 2000);
    assert_int_equal (retry_wait_ms (&limits, 2), 4000);
    assert_int_equal (retry_wait_ms (&limits, 5), 32000);
}

/* ---- an absent host ---- */

TEST (what_a_machine_answers_is_said_and_where_to_look_follows)
{
    static const struct {
        enum reach ssh, ping;
        const char *said, *next;
    } rows[] = {
        { REACH_ANSWERS, REACH_SILENT, "answers on its ssh port, its worker does not",
          "ssh -i /k/id -oUserKnownHostsFile=/k/known -p 2222 tpu@10.77.0.15 \"uptime; pgrep -af '[s]liceup-worker' || "
          "dmesg | "
          "grep -i 'killed process'\"" },
        { REACH_REFUSES, REACH_NOT_ASKED, "refuses ssh at 10.77.0.15:2222",
          "look at its console: the machine is up, and its sshd does not answer" },
        { REACH_SILENT, REACH_ANSWERS, "answers ping at 10.77.0.15, its ssh port does not",
          "look at its console: the machine is up, and its sshd does not answer" },
        { REACH_SILENT, REACH_SILENT, "answers nothing at 10.77.0.15 (ssh port, ping)",
          "look at its console first: is it up?" },
        { REACH_SILENT, REACH_NOT_ASKED, "answers nothing at 10.77.0.15 (ssh port)",
          "look at its console first: is it up?" },
        { REACH_NO_ROUTE, REACH_NOT_ASKED, "cannot be asked at 10.77.0.15: this machine has no route there",
          "on this machine: ip route get 10.77.0.15" },
    };
    struct text identity = TEXT_LIT ("/k/id");
    struct plan_host hosts[2] = { { .name = TEXT_LIT ("h0"), .address = TEXT_LIT ("10.77.0.15") } };
    struct plan plan = { .launcher = LAUNCHER_SSH, .hosts = { hosts, 2 } };
    plan.start.ssh.identities.items = &identity;
    plan.start.ssh.identities.n = 1;
    plan.start.ssh.known_hosts = TEXT_LIT ("/k/known"); /* ssh knows the one of the user by itself */
    hosts[0].ssh.user = TEXT_LIT ("tpu");
    hosts[0].ssh.port = 2222;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fact_host_asked asked = {
            .address = hosts[0].address, .port = 2222, .ssh = rows[i].ssh, .ping = rows[i].ping
        };
        assert_text (host_asked_text (&asked, true, &t->arena), rows[i].said);
        assert_text (going_on_advice (&plan, &asked, 0, 0, (struct text){ 0 }, &t->arena), rows[i].next);
    }
    struct fact_host_asked six = { .address = TEXT_LIT ("fe80::1"), .port = 22, .ssh = REACH_REFUSES };
    assert_text (host_asked_text (&six, true, &t->arena), "refuses ssh at [fe80::1]:22");
    assert_text (host_asked_text (&six, false, &t->arena), "refuses ssh");
    struct text why = TEXT_LIT ("failed in step authentication: the password was not accepted"),
                words[] = { TEXT_LIT ("sliceup"), TEXT_LIT ("run"), TEXT_LIT ("a b.yaml"), TEXT_LIT ("--ask-pass"),
                            TEXT_LIT ("--plain") };
    assert_has (going_on_advice (&plan, &(struct fact_host_asked){ 0 }, 0, 0, why, &t->arena), "ssh -i /k/id");
    plan.origin.command = (text_list){ words, 5 };
    assert_text (going_on_advice (&plan, &(struct fact_host_asked){ 0 }, 0, 0, why, &t->arena),
                 "sliceup run 'a b.yaml' --plain --ask-pass");
    plan.origin.command.n = 3;
    plan.start.ssh.sudo = true; /* whom sudo asks */
    assert_text (going_on_advice (&plan, &(struct fact_host_asked){ 0 }, 0, 0, why, &t->arena),
                 "sliceup run 'a b.yaml' --ask-pass");
    words[2] = TEXT_LIT ("-"); /* what came on standard input is gone */
    assert_text (going_on_advice (&plan, &(struct fact_host_asked){ 0 }, 0, 0, why, &t->arena),
                 "the same command with --ask-pass");
    plan.origin.command.n = 0;
    plan.launcher = LAUNCHER_JOIN; /* the way there is its worker's */
    six.ssh = REACH_ANSWERS;
    assert_has (going_on_advice (&plan, &six, 0, 0, (struct text){ 0 }, &t->arena), "ssh fe80::1 \"uptime");
    assert_has (going_on_advice (&plan, &six, 0, 1, (struct text){ 0 }, &t->arena),
                "; to go on with the 1 that are up: the same command with --min-hosts 1");
}

/* ---- the command line to go on with ---- */

static struct text again (struct plan *plan, const char *const *words, struct arena *arena)
{
    struct text *command = arena_array (arena, ORIGIN_WORDS_MAX, sizeof *command);
    bool hides;
    for (plan->origin.command.n = 0; words[plan->origin.command.n]; plan->origin.command.n++)
        command[plan->origin.command.n] = text_of (words[plan->origin.command.n]);
    plan->origin.command.items = command;
    return going_on_command_with (plan, "--min-hosts", "--min-hosts 3", &hides, arena);
}

TEST (the_command_to_go_on_has_what_was_said_but_for_output_and_what_is_added)
{
    static const struct {
        const char *words[8], *line;
    } rows[] = {
        { { "sliceup", "run", "a.yaml", "--min-hosts=2" }, "sliceup run a.yaml --min-hosts 3" },
        { { "sliceup", "run", "a.yaml", "--min-hosts", "2", "--json" }, "sliceup run a.yaml --min-hosts 3" },
        { { "sliceup", "run", "a.yaml", "--again", "--min-hostsy=2" },
          "sliceup run a.yaml --min-hostsy=2 --min-hosts 3" },
        { { "sliceup", "check", "a.yaml" }, "sliceup run a.yaml --min-hosts 3" },
        { { "sliceup", "check", "check" }, "sliceup run check --min-hosts 3" },
        { { "sliceup", "run", "check" }, "sliceup run check --min-hosts 3" },
        { { "sliceup", "run", "-" }, "" },
    };
    struct plan plan = { .launcher = LAUNCHER_LOCAL };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_text (again (&plan, rows[i].words, &t->arena), rows[i].line);
    char *longest = arena_array (&t->arena, 2048, 1);
    memset (longest, 'a', 2047);
    assert_text (again (&plan, (const char *const[]){ "sliceup", "run", longest, NULL }, &t->arena), "");
    plan.origin.command.n = ORIGIN_WORDS_MAX; /* more were not kept */
    for (uint32_t i = 0; i < ORIGIN_WORDS_MAX; i++)
        plan.origin.command.items[i] = TEXT_LIT ("a");
    bool hides;
    assert_text (going_on_command_with (&plan, "--min-hosts", "", &hides, &t->arena), "");
}

TEST (where_a_launch_ended_says_where_to_look)
{
    static const struct {
        const char *why, *look;
        enum launcher launcher;
        enum link_way reach;
        bool of_launch;
    } rows[] = {
        { "failed in step host-key: unknown", "collect the keys", LAUNCHER_SSH, 0, true },
        { "failed in step host-key: unknown", "srun --overlap -w h0 true", LAUNCHER_SLURM, 0, true },
        { "failed in step authentication: no key", "srun --overlap -w h0 true", LAUNCHER_SLURM, 0, true },
        { "failed in step resolve: no such name", "srun --overlap -w h0 true", LAUNCHER_SLURM, 0, true },
        { "failed in step link: refused", "set coordinator: {control_port: 7001", LAUNCHER_SLURM, 0, true },
        { "failed in step link: refused", "set AllowTcpForwarding yes", LAUNCHER_SSH, 0, true },
        { "failed in step link: refused", "set coordinator: {reach: auto}", LAUNCHER_SSH, LINK_WAY_DIRECT, true },
        { "failed in step upload: no space", "srun --overlap -w h0 df -h /d", LAUNCHER_SLURM, 0, false },
        { "failed in step connect: its ProxyCommand ended", "srun --overlap -w h0 true", LAUNCHER_SLURM, 0, true },
    };
    struct plan_host hosts[2] = { { .name = TEXT_LIT ("h0"), .address = TEXT_LIT ("10.77.0.15") } };
    struct plan plan = { .hosts = { hosts, 2 }, .start.directory = TEXT_LIT ("/d") };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct text why = text_of (rows[i].why);
        plan.launcher = rows[i].launcher;
        plan.start.reach = rows[i].reach;
        assert_has (going_on_advice (&plan, &(struct fact_host_asked){ 0 }, 0, 0, why, &t->arena), rows[i].look);
        assert_int_equal (going_on_is_of_launch (why), rows[i].of_launch);
    }
    assert_false (going_on_is_of_launch (TEXT_LIT ("its worker did not join within 30 s")));
    /* A machine that was asked says more than that it could not be connected to, and nothing of a worker that ran. */
    const struct fact_host_asked asked = { .address = hosts[0].address, .port = 22, .ssh = REACH_NO_ROUTE };
    assert_has (going_on_advice (&plan, &asked, 0, 0, TEXT_LIT ("failed in step connect: late"), &t->arena),
                "ip route");
    assert_has (going_on_advice (&plan, &asked, 0, 0, TEXT_LIT ("failed in step upload: late"), &t->arena), "df -h /d");
    for (int i = 0; i < 2; i++) {
        struct text why = i ? TEXT_LIT ("failed in step start: late") : TEXT_LIT ("failed in step join: late");
        assert_has (going_on_advice (&plan, &asked, 0, 0, why, &t->arena), "sliceup logs --worker");
    }
}
