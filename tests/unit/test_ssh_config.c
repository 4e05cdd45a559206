/* links: conf frontend model base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/conf/ssh_config.h"

/* A configuration of several texts: the first is the file itself, "Include @/1" names the next, "Include @/[1-9]" all. */
struct texts {
    const char *of[4];
};
static const struct texts *included;

static void include (struct ssh_config *config, const struct yaml_node *word)
{
    char last = word->text.ptr[word->text.len - 1];
    for (int i = 1; i < 4 && included->of[i]; i++)
        if ((last == ']' || last == '0' + i) && !config->failed)
            ssh_config_add (config, "included", text_of (included->of[i]), word);
}

struct asked {
    struct arena arena;
    struct problem_list problems;
    struct ssh_config config;
    struct ssh_config_answer answer;
};

/* The next name, with what the answer holds already. */
static void ask_for (struct asked *asked, const char *name)
{
    asked->answer.name = text_of (name);
    if (!asked->config.failed)
        ssh_config_ask (&asked->config, &asked->answer);
}

static void ask_next (struct asked *asked, const char *name)
{
    asked->answer = (struct ssh_config_answer){ 0 };
    ask_for (asked, name);
}

static void read_texts (struct asked *asked, const struct texts *texts)
{
    const struct passwd *user = getpwuid (getuid ());
    memset (asked, 0, sizeof *asked);
    asked->problems.arena = &asked->arena;
    asked->config = (struct ssh_config){ .problems = &asked->problems, .include = include };
    asked->config.user = text_of (user->pw_name);
    asked->config.home = text_of (user->pw_dir);
    included = texts;
    struct yaml_node from = { .file = "slice.yaml", .line = 1, .column = 1 };
    ssh_config_add (&asked->config, "config", text_of (texts->of[0]), &from);
}

static void ask (struct asked *asked, const struct texts *texts, const char *name)
{
    read_texts (asked, texts);
    ask_for (asked, name);
}

static void done (struct asked *asked)
{
    mem_free (asked->problems.items);
    mem_free (asked->config.lines);
    arena_release (&asked->arena);
}

static const char *said (const struct asked *asked, enum ssh_said key)
{
    static char text[4096];
    snprintf (text, sizeof text, "%.*s", TEXT_ARG (asked->answer.text[key]));
    return text;
}

static void says (const char *config, const char *name, enum ssh_said key, const char *expected)
{
    struct asked asked;
    ask (&asked, &(struct texts){ { config } }, name);
    assert_int_equal (asked.problems.errors, 0);
    assert_string_equal (said (&asked, key), expected);
    done (&asked);
}

/* ---- beside OpenSSH ---- */

static const struct {
    struct texts texts;
    const char *names;
} configs[] = {
    { { { "Host a\n HostName 10.0.0.1\n User one\n Port 2222\nHost *\n User two\n Port 3333\n HostKeyAlias all\n" } },
      "a b" },
    { { { "# a comment\n\n\tHOSTNAME=x.example\nport = 99\nuser\t=\tu # more\nProxyJump me@b:33\n" } }, "a" },
    { { { "Host *.example !bad.example\nUser good\nHost ???\nUser three\nHost node-*-?\nUser node\n" } },
      "a.example bad.example abc ab node-1-2 node-1-22 node-x-y-z" },
    { { { "Host !a\nUser nobody\nHost !a *\nPort 12\nHost a\nPort 13\n" } }, "a b" },
    { { { "User outer\nHost a\nInclude @/1\nPort 4\nHost *\nPort 5\n",
          "HostName in.example\nHost b\nPort 1\nHost a\nPort 2\n" } },
      "a b" },
    { { { "Include @/1\nUser late\nInclude @/[1-9]\n", "Host b\nUser b1\n", "Host *\nPort 22222\nInclude @/3\n",
          "User three\n" } },
      "a b" },
    { { { "Host a\nHostName real.example\nMatch host real.example\nUser matched\nMatch host a\nUser wrong\n"
          "Match host b,REAL.*\nPort 77\nMatch all\nPort 78\nHostKeyAlias m\n" } },
      "a b A" },
    { { { "Host a\nInclude @/1\nMatch host b\nInclude @/2\nHost *\nIdentityFile = /x=y\n", "Match all\nUser one\n",
          "Match host *\nPort 2\nInclude @/1\n" } },
      "a b c" },
    { { { "Match host *.example,!x.example\nUser u\nMatch host \"y z\"\nPort 9\n" } }, "a.example x.example y" },
    { { { "Host a\nIdentityFile ~/.ssh/one\nIdentityFile \"/tmp/with blank\"\nHost *\nIdentityFile /tmp/all\n"
          "UserKnownHostsFile /tmp/%h_%n_%p_%r_%u%%\n" } },
      "a b" },
    { { { "Host a\nUserKnownHostsFile %d/k_%h\nHostName %h.Example.ORG\nPort 2\nUser tpu\nIdentityFile '/single # "
          "quoted'\n"
          "IdentityFile /a\\ b\\\"c\n" } },
      "a Ab" },
    { { { "Host a b\nProxyJump none\nHost b c\nProxyCommand none\nHost *\nProxyJump j1\n" } }, "a b c d" },
    { { { "Host v6e-0.us-east5-b.project\r\n    HostName 34.1.2.3\r\n    IdentityFile /h/.ssh/google_compute_engine\r\n"
          "    UserKnownHostsFile=/h/.ssh/google_compute_known_hosts\r\n    HostKeyAlias=compute.75\r\n"
          "    IdentitiesOnly=yes\r\n    CheckHostIP=no\r\n\r\nHost last\r\n Port 8" } },
      "v6e-0.us-east5-b.project last other" },
    { { { "Host \"a\" 'b c' d\\\"\nUser quoted\nHost c.d #e\nPort 6\nHost e#f\nPort 7\n" } }, "a b c c.d e" },
    { { { "Host **a**\nUser stars\nHost a?*\nPort 3\nHost *[x]*\nPort 4\n" } }, "xaax b ab a x" },
};

/* All that ssh -G says of a name. */
static void ask_openssh (const char *path, const char *name, char *out, size_t room)
{
    char command[512];
    snprintf (command, sizeof command, "ssh -T -G -F %s -- '%s' </dev/null", path, name);
    FILE *pipe = popen (command, "re");
    assert_non_null (pipe);
    out[fread (out, 1, room - 1, pipe)] = '\0';
    assert_int_equal (pclose (pipe), 0);
}

/* The values of one key, one a line. */
static const char *values_of (const char *all, const char *key)
{
    static char values[4096];
    values[0] = '\0';
    for (const char *line = all; *line; line += strcspn (line, "\n") + 1)
        if (strncmp (line, key, strlen (key)) == 0 && line[strlen (key)] == ' ')
            snprintf (values + strlen (values), sizeof values - strlen (values), "%s%.*s", *values ? "\n" : "",
                      (int) (strcspn (line, "\n") - strlen (key) - 1), line + strlen (key) + 1);
    return values;
}

/* "Include @/1" with the folder's name for '@'. */
static void write_config (const char *folder, int number, const char *text)
{
    char path[128];
    snprintf (path, sizeof path, "%s/%d", folder, number);
    FILE *file = fopen (path, "we");
    assert_non_null (file);
    for (const char *at = text; *at; at++)
        if (*at == '@' && at[1] == '/')
            fputs (folder, file);
        else
            fputc (*at, file);
    assert_int_equal (fclose (file), 0);
    assert_int_equal (chmod (path, 0600), 0);
}

static uint32_t differs (const struct asked *asked, const char *theirs, enum ssh_said key, const char *keyword,
                         const char *usual)
{
    const char *ours = asked->answer.text[key].len ? said (asked, key) : usual;
    if (!ours || strcasecmp (ours, values_of (theirs, keyword)) == 0)
        return 0;
    print_error ("%.*s: %s is '%s', and by OpenSSH '%s'\n", TEXT_ARG (asked->answer.name), keyword, ours,
                 values_of (theirs, keyword));
    return 1;
}

/* Where a file says nothing of keys and known hosts, ssh -G names what is usual. */
static uint32_t compare (const char *path, const struct texts *texts, const char *name)
{
    struct asked asked;
    char theirs[16384];
    uint32_t found = 0;
    ask (&asked, texts, name);
    ask_openssh (path, name, theirs, sizeof theirs);
    assert_int_equal (asked.problems.errors, 0);
    asked.answer.text[SAID_ADDRESS] = asked.answer.host;
    found += differs (&asked, theirs, SAID_ADDRESS, "hostname", "");
    found += differs (&asked, theirs, SAID_PORT, "port", "22");
    found += differs (&asked, theirs, SAID_USER, "user", getpwuid (getuid ())->pw_name);
    found += differs (&asked, theirs, SAID_ALIAS, "hostkeyalias", "");
    found += differs (&asked, theirs, SAID_JUMP, "proxyjump", "");
    found += differs (&asked, theirs, SAID_KNOWN_HOSTS, "userknownhostsfile", NULL);
    found += differs (&asked, theirs, SAID_IDENTITIES, "identityfile", NULL);
    done (&asked);
    return found;
}

static void openssh_says_the_same (void **state)
{
    char folder[] = "/tmp/sliceup-ssh-config-XXXXXX", path[64], names[256];
    uint32_t found = 0, compared = 0;
    (void) state;
    if (system ("ssh -V 2>/dev/null") != 0)
        skip ();
    assert_non_null (mkdtemp (folder));
    snprintf (path, sizeof path, "%s/0", folder);
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        for (int k = 0; k < 4 && configs[i].texts.of[k]; k++)
            write_config (folder, k, configs[i].texts.of[k]);
        snprintf (names, sizeof names, "%s", configs[i].names);
        for (char *name = strtok (names, " "); name; name = strtok (NULL, " "), compared++)
            found += compare (path, &configs[i].texts, name);
        for (int k = 0; k < 4 && configs[i].texts.of[k]; k++) {
            snprintf (names, sizeof names, "%s/%d", folder, k);
            assert_int_equal (unlink (names), 0);
        }
    }
    assert_int_equal (rmdir (folder), 0);
    assert_int_equal (found, 0);
    assert_true (compared > 30);
}

/* ---- alone ---- */

static void tokens_are_those_of_openssh (void **state)
{
    char expected[512];
    const struct passwd *user = getpwuid (getuid ());
    (void) state;
    snprintf (expected, sizeof expected, "/k-a%s/x.Y-a-9-tpu-%s%%", user->pw_dir, user->pw_name);
    says ("IdentityFile /k-%n%d/x.Y-%n-%p-%r-%u%%\nHost a\nPort 9\nUser tpu\n", "a", SAID_IDENTITIES, expected);
    says ("ProxyJump %r@%h.jump:1\nUser u\nHostName H\n", "a", SAID_JUMP, "u@h.jump:1");
    says ("HostName 10.%h\n", "0.0.1", SAID_ADDRESS, "10.0.0.1");
}

static void what_is_said_already_stays (void **state)
{
    struct asked asked;
    (void) state;
    const struct texts texts = { { "User no\nPort 7\nProxyJump no\nIdentityFile /no\nUserKnownHostsFile /%r_%p\n" } };
    read_texts (&asked, &texts);
    asked.answer.text[SAID_USER] = TEXT_LIT ("tpu");
    asked.answer.said = 1u << SAID_JUMP | 1u << SAID_IDENTITIES;
    ask_for (&asked, "a");
    assert_int_equal (asked.problems.n, 0);
    assert_string_equal (said (&asked, SAID_USER), "tpu");
    assert_string_equal (said (&asked, SAID_KNOWN_HOSTS), "/tpu_7");
    assert_int_equal (asked.answer.text[SAID_JUMP].len + asked.answer.text[SAID_IDENTITIES].len, 0);
    assert_null (asked.answer.of[SAID_USER]);
    done (&asked);
}

static void has_one (const struct asked *asked, uint32_t line, const char *expected)
{
    assert_int_equal (asked->problems.n, 1);
    assert_int_equal (asked->problems.items[0].line, line);
    if (!strstr (asked->problems.items[0].text, expected))
        fail_msg ("%s, expected: %s", asked->problems.items[0].text, expected);
}

static void a_line_that_refuses_is_told_once_and_only_where_it_counts (void **state)
{
    static const struct texts texts = { { "Match host a exec x\nUser u\nMatch host b\nProxyCommand x\nHost c\nPort 9\n"
                                          "Match all\nProxyCommand none\nProxyCommand y\n" } };
    struct asked asked;
    (void) state;
    ask (&asked, &texts, "c");
    assert_int_equal (asked.problems.n, 0);
    assert_false (asked.answer.refused);
    done (&asked);
    ask (&asked, &texts, "a");
    has_one (&asked, 1, "Match 'host' for the host a: whether it holds is not known, expected");
    ask_next (&asked, "a");
    assert_true (asked.answer.refused && asked.problems.n == 1);
    done (&asked);
    ask (&asked, &texts, "b");
    has_one (&asked, 4, "ProxyCommand 'x' for the host b: sliceup runs no command; expected ssh.jump");
    done (&asked);
}

static void what_relaxes_a_check_is_ignored_with_one_warning (void **state)
{
    static const struct texts texts = {
        { "CheckHostIP yes\nStrictHostKeyChecking accept-new\nUserKnownHostsFile /dev/null\n"
          "NoHostAuthenticationForLocalhost yes\nKnownHostsCommand /x\nLocalCommand y\n" }
    };
    struct asked asked;
    (void) state;
    ask (&asked, &texts, "a");
    ask_next (&asked, "b");
    has_one (&asked, 2, "StrictHostKeyChecking 'accept-new' is ignored, as all that relaxes a check or runs a command");
    assert_true (asked.problems.items[0].warning && !asked.answer.refused);
    assert_null (asked.answer.of[SAID_KNOWN_HOSTS]);
    done (&asked);
    says ("StrictHostKeyChecking yes\nKnownHostsCommand none\nNoHostAuthenticationForLocalhost no\nUser u\n", "a",
          SAID_USER, "u");
}

static void files_that_include_each_other_end (void **state)
{
    struct asked asked;
    (void) state;
    ask (&asked, &(struct texts){ { "Include @/1\n", "User u\nInclude @/2\n", "Include @/1\n" } }, "a");
    has_one (&asked, 2, "included: expected at most 64 files, 2 MiB, included 8 deep");
    assert_true (asked.config.failed);
    done (&asked);
    ask (&asked, &(struct texts){ { "Include @/[1-9]\n", "Include @/[1-9]\n", "Port 2\n", "Include @/3\n" } }, "a");
    assert_int_equal (asked.problems.n, 1);
    done (&asked);
    char many[64 * 12 + 1] = "";
    for (int i = 0; i < 64; i++)
        strcat (many, "Include @/1\n");
    ask (&asked, &(struct texts){ { many, "Port 2\n" } }, "a");
    has_one (&asked, 64, "included: expected at most 64 files");
    done (&asked);
    ask (&asked, &(struct texts){ { many + 12, "Port 2\n" } }, "a");
    assert_string_equal (said (&asked, SAID_PORT), "2");
    done (&asked);
}

static void more_than_two_mebibytes_are_not_read (void **state)
{
    struct asked asked;
    char *much = malloc ((2 << 20) + 2);
    (void) state;
    memset (much, '\n', (2 << 20) + 1);
    much[(2 << 20) + 1] = '\0';
    ask (&asked, &(struct texts){ { much } }, "a");
    has_one (&asked, 1, "config: expected at most 64 files, 2 MiB");
    done (&asked);
    ask (&asked, &(struct texts){ { much + 1 } }, "a");
    assert_int_equal (asked.problems.n, 0);
    done (&asked);
    free (much);
}

int main (void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test (openssh_says_the_same),
                                        cmocka_unit_test (tokens_are_those_of_openssh),
                                        cmocka_unit_test (what_is_said_already_stays),
                                        cmocka_unit_test (a_line_that_refuses_is_told_once_and_only_where_it_counts),
                                        cmocka_unit_test (what_relaxes_a_check_is_ignored_with_one_warning),
                                        cmocka_unit_test (files_that_include_each_other_end),
                                        cmocka_unit_test (more_than_two_mebibytes_are_not_read) };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
