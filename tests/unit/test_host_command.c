/* links: verdict */
/* What a worker found on its host, in a verdict: the sentence, and the command to run there. */
#include "coordinator/verdict/going_on.h"
#include "coordinator/verdict/judge.h"
#include "test.h"

#define FULL "/var/tmp (tmpfs, 600 MiB) is full"
#define HELD "/dev/vfio/0 is held by 4232 /opt/old/train.py 3000, since 2 h"

static struct plan_host hosts[] = { { .name = TEXT_LIT ("node-4"), .address = TEXT_LIT ("10.77.0.14") } };

struct bench {
    struct plan plan;
    struct arena arena;
};

static void bench_open (struct bench *bench)
{
    hosts[0].ssh = (struct ssh_route){ .port = 22 };
    bench->plan = (struct plan){ .launcher = LAUNCHER_SSH, .hosts = { hosts, 1 } };
}

static void bench_close (struct bench *bench)
{
    arena_release (&bench->arena);
}

TEST_FIXTURE (struct bench, bench_open, bench_close)

static void is_command (struct bench *bench, const char *line)
{
    assert_text (host_command (&bench->plan, 0, TEXT_LIT ("df -h"), &bench->arena), line);
}

TEST_ON (bench, a_command_goes_the_way_of_the_launcher)
{
    is_command (bench, "ssh 10.77.0.14 df -h");
    bench->plan.launcher = LAUNCHER_LOCAL;
    is_command (bench, "df -h");
    bench->plan.launcher = LAUNCHER_SLURM;
    is_command (bench, "srun --overlap -w node-4 df -h");
    bench->plan.launcher = LAUNCHER_JOIN;
    is_command (bench, "on node-4: df -h");
}

TEST_ON (bench, ssh_gets_what_the_slice_says_and_not_what_its_own_configuration_says)
{
    hosts[0].ssh = (struct ssh_route){
        .address = TEXT_LIT ("a.example"), .port = 2222, .user = TEXT_LIT ("root"), .jump = TEXT_LIT ("me@gate:22")
    };
    is_command (bench, "ssh -p 2222 -J me@gate:22 root@a.example df -h");
    hosts[0].ssh.from_config = 1u << SAID_PORT | 1u << SAID_USER | 1u << SAID_JUMP;
    is_command (bench, "ssh a.example df -h");
    hosts[0].ssh.from_config = 1u << SAID_ADDRESS;
    is_command (bench, "ssh -p 2222 -J me@gate:22 root@node-4 df -h");
    hosts[0].ssh = (struct ssh_route){ .port = 22, .from_config = 1u << SAID_IDENTITIES };
    is_command (bench, "ssh node-4 df -h");
    hosts[0].ssh.from_config = 0;
    bench->plan.start.ssh.known_hosts = TEXT_LIT ("/home/me/.ssh/known_hosts"); /* where ssh itself looks */
    is_command (bench, "ssh 10.77.0.14 df -h");
}

/* Keys are collected of all hosts that are reached alike; what ssh-keyscan cannot reach, ssh does. */
TEST_ON (bench, keys_are_collected_by_one_command)
{
    struct plan_host more[] = { hosts[0], hosts[0], hosts[0] };
    more[1] = (struct plan_host){ .name = TEXT_LIT ("b"), .address = TEXT_LIT ("10.0.0.2"), .ssh.port = 22 };
    more[2].ssh.port = 2222;
    bench->plan.hosts.items = more;
    bench->plan.hosts.n = 3;
    bench->plan.start.ssh.known_hosts = TEXT_LIT ("/k/known hosts");
#define ADVICE "collect the keys, and compare them with the hosts' own: "
    assert_text (host_key_advice (&bench->plan, 1, &bench->arena),
                 ADVICE "ssh-keyscan -p 22 -t ed25519 10.0.0.2 10.77.0.14 >> '/k/known hosts'");
    bench->plan.start.ssh.known_hosts = TEXT_LIT ("/k");
    more[2].ssh.from_config = 1u << SAID_UNCHECKED;
    assert_text (host_key_advice (&bench->plan, 2, &bench->arena),
                 "~/.ssh/config asks to skip the check of host keys, which is never skipped here: " ADVICE
                 "ssh-keyscan -p 2222 -t ed25519 10.77.0.14 >> /k");
    static const struct ssh_route ways[] = { { .port = 22, .jump = TEXT_LIT ("gate") },
                                             { .port = 22, .command = TEXT_LIT ("nc") },
                                             { .port = 22, .host_key_alias = TEXT_LIT ("a") } };
    for (size_t i = 0; i < 3; i++) { /* each by itself: it is not asked, and nobody asks for it */
        more[1].ssh = ways[i];
        assert_has (host_key_advice (&bench->plan, 1, &bench->arena), "accept-new");
        assert_text (host_key_advice (&bench->plan, 0, &bench->arena),
                     ADVICE "ssh-keyscan -p 22 -t ed25519 10.77.0.14 >> /k");
    }
    more[1].ssh = (struct ssh_route){ .port = 22 };
    more[2].ssh.host_key_alias = TEXT_LIT ("compute.75");
    more[2].ssh.command = TEXT_LIT ("gcloud");
    more[2].ssh.from_config = 1u << SAID_COMMAND | 1u << SAID_PORT;
    assert_text (host_key_advice (&bench->plan, 2, &bench->arena),
                 ADVICE "ssh -oUserKnownHostsFile=/k node-4 -oStrictHostKeyChecking=accept-new "
                        "-oUserKnownHostsFile=/k -oHostKeyAlias=compute.75 true");
}

static void is_remedy (struct bench *bench, const char *sentence, const char *line)
{
    assert_text (host_remedy (&bench->plan, 0, text_of (sentence), &bench->arena), line);
}

TEST_ON (bench, a_remedy_has_everything_filled_in)
{
    bench->plan.launcher = LAUNCHER_LOCAL;
    is_remedy (bench, FULL, "df -h /var/tmp");
    is_remedy (bench, "/ (ext4, 9.0 GiB) is full: no inode is free", "df -i /");
    is_remedy (bench, "/media (xfs, 9.0 GiB) is mounted read-only", "findmnt /media");
    is_remedy (bench, "its name server is 10.77.0.99", "cat /etc/resolv.conf");
    is_remedy (bench, HELD, "kill 4232");
    is_remedy (bench, "", "df -h");
}

/* A host says these sentences, and two shells read the command. */
TEST_ON (bench, nothing_but_a_plain_path_and_a_pid_gets_into_a_command)
{
    bench->plan.launcher = LAUNCHER_LOCAL;
    is_remedy (bench, "/a$(reboot) (tmpfs, 1.0 MiB) is full", "df -h");
    is_remedy (bench, "/a b (tmpfs, 1.0 MiB) is full", "df -h");
    is_remedy (bench, "-rf (tmpfs, 1.0 MiB) is full", "df -h");
    is_remedy (bench, "/dev/vfio/0 is held by 42;reboot x", "df -h");
    is_remedy (bench, "/dev/vfio/0 is held by -1 x", "df -h");
    is_remedy (bench, "/dev/vfio/0 is held by 1234567890 x", "df -h");
}

/* ---- verdicts ---- */

static struct verdict judge (struct bench *bench, struct rung *rung, struct result *result)
{
    struct judge_case of = { .plan = &bench->plan, .rung = rung, .result = result, .key.pass = PASS_ONCE, .world = 1 };
    struct verdict verdict;
    judge_result (&of, &bench->arena, &verdict);
    return verdict;
}

static struct verdict judge_facts (struct bench *bench, struct text room)
{
    struct rung rung = { .kind = PROGRAM_BUILTIN, .builtin = TEXT_LIT ("facts") };
    struct var facts[] = { { TEXT_LIT ("disk.env_dir"), TEXT_LIT (DISK_IS_FULL "/ (ext4, 9.0 GiB) is full") },
                           { TEXT_LIT ("disk.start_dir"), room } };
    struct result result = { .ending = ENDING_EXITED, .done = true, .facts = { facts, 2 } };
    return judge (bench, &rung, &result);
}

TEST_ON (bench, only_a_full_folder_of_the_worker_fails_the_facts)
{
    assert_int_equal (judge_facts (bench, TEXT_LIT ("nearly full")).outcome, OUTCOME_PASSED);
    struct verdict verdict = judge_facts (bench, TEXT_LIT (DISK_IS_FULL FULL));
    assert_true (verdict.outcome == OUTCOME_FAILED && verdict.owner == OWNER_HOST);
    assert_text (verdict.cause, FULL);
    assert_text (verdict.next, "ssh 10.77.0.14 df -h /var/tmp");
}

static struct verdict judge_failed (struct bench *bench, enum owner owner, const char *found)
{
    struct rung rung = { .id = TEXT_LIT ("train"), .kind = PROGRAM_CANARY };
    struct result_note notes[] = { { text_of (found), TEXT_LIT (NOTE_AT_FAILURE), DURABILITY_RECHECK } };
    struct result result = { .ending = ENDING_EXITED, .code = 1, .owner = owner, .failure = TEXT_LIT ("it failed") };
    result.notes.items = notes;
    result.notes.n = *found ? 1 : 0;
    return judge (bench, &rung, &result);
}

TEST_ON (bench, what_was_found_at_a_failure_stands_in_its_cause)
{
    struct verdict verdict = judge_failed (bench, OWNER_HOST, FULL);
    assert_text (verdict.cause, "it failed (exited with status 1); " FULL);
    assert_text (verdict.next, "ssh 10.77.0.14 df -h /var/tmp");
    verdict = judge_failed (bench, OWNER_DEVICE, HELD);
    assert_text (verdict.cause, "it failed (exited with status 1); " HELD);
    assert_text (verdict.next, "ssh 10.77.0.14 kill 4232");
    verdict = judge_failed (bench, OWNER_PROGRAM, FULL); /* its cause is another one */
    assert_text (verdict.cause, "it failed (exited with status 1)");
    assert_text (verdict.next, "see what it printed: sliceup logs --rung train");
    assert_text (judge_failed (bench, OWNER_HOST, "").next, "see what it printed: sliceup logs --rung train");
}

TEST_ON (bench, a_device_that_was_waited_for_names_its_holder_itself)
{
    struct rung rung = { .id = TEXT_LIT ("train"), .kind = PROGRAM_CANARY };
    struct result result = { .ending = ENDING_NOT_STARTED,
                             .owner = OWNER_DEVICE,
                             .problem = TEXT_LIT (HELD "; waited 1 s") };
    struct verdict verdict = judge (bench, &rung, &result);
    assert_int_equal (verdict.outcome, OUTCOME_BLOCKED);
    assert_text (verdict.cause, HELD "; waited 1 s");
    assert_text (verdict.next, "ssh 10.77.0.14 kill 4232");
    result.problem = TEXT_LIT ("it cannot be told who holds it");
    assert_text (judge (bench, &rung, &result).next, "fix what the cause names, then run again");
}
