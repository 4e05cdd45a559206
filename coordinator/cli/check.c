#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <time.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/io/atomic_file.h"
#include "common/logs/signature.h"
#include "common/model/launch_variables.h"
#include "common/model/secret.h"
#include "common/wire/wire.h"
#include "coordinator/cli/commands.h"
#include "coordinator/cli/planning.h"
#include "coordinator/core/coord.h"
#include "coordinator/run/calibration_store.h"
#include "coordinator/verdict/going_on.h"

enum { CHECK_AGAIN = CLI_OWN, CHECK_BESIDE };

static int check_run (struct cli *cli, const struct cli_arguments *arguments)
{
    LOCAL_ARENA arena = { 0 };
    struct plan plan = { 0 };
    struct err err = { 0 };
    int status = planning_load (cli, arguments, &arena, &plan);
    if (status == EXIT_HOLDS) {
        launch_measures_annotate_plan (cli, arguments->values[CHECK_AGAIN], &arena, &plan);
        planning_print (&plan, stdout);
        if (planning_check_cache_owners (&plan, &err) < 0)
            status = cli_fail (cli, &err);
        else
            printf ("no mistakes found; %s of the hosts are checked by sliceup run\n",
                    plan_has_devices (&plan) ? "versions and devices" : "versions");
    }
    return status;
}

static const struct cli_option options[] = {
    OPTIONS_OF_PLAN,
    { OPTION_WHEELS },
    { OPTION_LEAVE_OUT },
    OPTIONS_OF_CLIMB,
    { CHECK_AGAIN, "--again", .help = "as of sliceup run: do not look for launches that are known bad" },
    { CHECK_BESIDE, "--beside", .help = "as of sliceup run: of no meaning here" },
    { 0 },
};

const struct cli_command check_command = {
    .name = "check",
    .task = TASK_FIRST,
    .summary = "find every mistake that can be found without a host, and print the plan",
    .help = "Reads the slice file and every file it names. Prints all mistakes at once, each as file:line:column: the "
            "mistake, and what was expected. Without mistakes it prints the plan: hosts with their ranks and mesh "
            "coordinates, launch policy, pins, cache and rungs. - in place of the file is standard input; what it "
            "names lies in the working folder then.",
    .examples = "sliceup check configs/slices/local-jax.yaml\n"
                "sliceup init 'node-[0-3]' | sliceup check -\n",
    .exit_status = "0 no mistakes, 2 mistakes, 3 other users could change the cache, as seen from this machine.",
    .operands = (const struct cli_operand[]){ { OPERAND_SLICE }, { 0 } },
    .options = options,
    .run = check_run,
};

/* ---- plan size ---- */

/* What a fact or a message holds beside the plan: numbers, digests, the bundle's name. */
enum { BESIDE_BYTES = 2048 };

static size_t encoded (const struct record *record, const void *value, size_t max)
{
    LOCAL_BUF bytes = { .max = max };
    wire_put_record (&bytes, record, value);
    return bytes.overflow ? max + 1 : bytes.len;
}

static struct text longer (struct text a, struct text b)
{
    return a.len >= b.len ? a : b;
}

/* The longest message that any host gets. Placeholders stand for the longest of what hosts have. */
static struct msg_run longest_run (const struct plan *plan, uint32_t rung, struct arena *arena)
{
    struct msg_run order = coord_run_message_sample (plan, rung, 0, arena);
    struct launch_place place = launch_place_of (plan, NULL, 0, plan->hosts.n - 1);
    for (uint32_t i = 0; i < plan->hosts.n; i++) {
        order.address = longer (order.address, plan->hosts.items[i].address);
        order.pins.env_dir = longer (order.pins.env_dir, plan->hosts.items[i].env_dir);
        place.host = longer (place.host, plan->hosts.items[i].name);
        place.address = longer (place.address, plan->hosts.items[i].address);
    }
    order.profile.env = launch_variables_of (&plan->profile, plan->rungs.items[rung].scope, &place, arena);
    return order;
}

/* Addresses of many hosts make long values. */
static int check_values (const struct plan *plan, const struct rung *rung, const struct msg_run *order, struct err *err)
{
    for (uint32_t i = 0; i < order->profile.env.n; i++) {
        const struct var *var = &order->profile.env.items[i];
        if (var->value.len > TEXT_MAX_BYTES)
            return err_set (err, ERR_USAGE,
                            "the variable %.*s of rung '%.*s' has %u bytes with its placeholders filled for %u hosts, "
                            "expected at most %d: use {address} of one host, or let the program ask",
                            TEXT_ARG (var->name), TEXT_ARG (rung->id), var->value.len, plan->hosts.n, TEXT_MAX_BYTES);
    }
    return 0;
}

static int plan_size_check_one (const struct plan *plan, uint32_t at, struct err *err)
{
    const size_t most = MSG_MAX_BYTES - BESIDE_BYTES;
    const struct rung *rung = &plan->rungs.items[at];
    LOCAL_ARENA arena = { 0 };
    struct msg_run order = longest_run (plan, at, &arena);
    int rc = check_values (plan, rung, &order, err);
    bool fits = rc < 0 || encoded (msg_record_of_kind (MSG_RUN), &order, most) <= most;
    if (fits)
        return rc;
    return err_set (err, ERR_USAGE,
                    "the message that starts rung '%.*s' on a host is larger than %zu bytes, the limit: shorten its "
                    "command (%u words) or its args (%u), give it fewer files (%u), or shorten the profile's variables "
                    "(%u) or the paths of the folders that programs of this run must not write (%u)",
                    TEXT_ARG (rung->id), most, rung->argv.n, rung->args.n, rung->files.n, plan->profile.env.n,
                    plan->cache.protected.n);
}

int plan_size_check (const struct plan *plan, struct err *err)
{
    const size_t most = FACT_MAX_BYTES - BESIDE_BYTES;
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        if (plan_size_check_one (plan, i, err) < 0)
            return -1;
    if (encoded (&plan_record, plan, most) <= most)
        return 0;
    return err_set (err, ERR_USAGE,
                    "the plan for %u hosts and %u rungs is larger than %zu bytes, the limit of a journal entry: "
                    "shorten the texts that every host or every rung has",
                    plan->hosts.n, plan->rungs.n, most);
}

/* ---- signature table ---- */

static bool check_is_there (const char *path, const struct digest *wanted)
{
    struct digest is;
    return digest_of_file (path, &is, NULL) == 0 && digest_equal (&is, wanted);
}

static int check_write_file (const struct plan *plan, struct text bytes, struct arena *arena, struct file_ref *out,
                             struct err *err)
{
    char hex[DIGEST_HEX_BYTES];
    struct digest digest = digest_of (bytes.ptr, bytes.len);
    struct text folder = text_format (arena, "%.*s/signatures", TEXT_ARG (plan->home));
    struct text path = text_format (arena, "%s/%s", folder.ptr, digest_hex (&digest, hex));
    if (path.len > PATH_MAX_BYTES)
        return err_set (err, ERR_LIMIT, "%.100s...: the path of the file of signatures has more than %d bytes",
                        path.ptr, PATH_MAX_BYTES);
    if (!check_is_there (path.ptr, &digest) &&
        (folder_make (folder.ptr, 0700, err) < 0 || atomic_file_write (path.ptr, bytes.ptr, bytes.len, 0600, err) < 0))
        return -1;
    *out = (struct file_ref){ path, text_copy (arena, text_of (hex)) };
    return 0;
}

int signature_table_write (struct plan *plan, struct arena *arena, struct err *err)
{
    struct signature_table table = { .signatures = { plan->signatures.items, plan->signatures.n } };
    plan->signature_table = (struct file_ref){ 0 };
    if (plan->signatures.n == 0)
        return 0;
    LOCAL_BUF bytes = { .max = KIT_FILE_MAX_BYTES };
    wire_put_record (&bytes, &signature_table_record, &table);
    return bytes.overflow
               ? err_set (err, ERR_LIMIT, "the configured signatures need more than %d bytes", KIT_FILE_MAX_BYTES)
               : check_write_file (plan, buf_as_text (&bytes), arena, &plan->signature_table, err);
}

/* ---- launch measures ---- */

enum { DAY_BYTES = 16, RUN_SHOWN = 8 };

static const char *day_of (uint64_t wall_ms, char out[DAY_BYTES])
{
    time_t seconds = (time_t) (wall_ms / 1000);
    struct tm day;
    return !gmtime_r (&seconds, &day) || strftime (out, DAY_BYTES, "%Y-%m-%d", &day) == 0 ? "an unknown day" : out;
}

/* The last measure of a launch counts: one that failed and then passed is not known bad. */
static struct text objection (const struct measure *last, struct arena *arena)
{
    char day[DAY_BYTES];
    if (!last->known_bad)
        return (struct text){ 0 };
    struct text run = text_clip (last->run, RUN_SHOWN), cause = text_clip (last->cause, SENTENCE_MAX_BYTES / 2);
    return text_format (arena, "the same launch failed in run %.*s (%s, %.*s): %.*s", TEXT_ARG (run),
                        day_of (last->ended_wall_ms, day), TEXT_ARG (last->failure), TEXT_ARG (cause));
}

#define NO_OPTION "--again" /* dropped anyway */

/* One more word of the command, unless it is a secret. */
static void put_word (struct text word, struct arena *arena, struct buf *added)
{
    added->overflow |= !text_equal (word, secret_redact_word (arena, word));
    shell_word_add (added, word);
}

static void put_arg (const struct rung *rung, struct text name, struct text value, struct arena *arena,
                     struct buf *added)
{
    put_word (TEXT_LIT ("--arg"), arena, added);
    put_word (text_format (arena, "%.*s.%.*s=%.*s", TEXT_ARG (rung->id), TEXT_ARG (name), TEXT_ARG (value)), arena,
              added);
}

/* No command that is cut, or that hides a word. */
static void put_command (const struct plan *plan, const char *option, struct buf *added, struct arena *arena,
                         struct buf *out)
{
    bool hides;
    struct text command = going_on_command_with (plan, option, buf_c (added), &hides, arena);
    buf_printf (out, "%.*s", TEXT_ARG (command));
    out->overflow |= added->overflow || hides || !command.len;
}

/* "batch 64 in place of 128, ": what `passed` had otherwise than `bad`. */
static void put_other_args (const struct rung *rung, const struct measure *passed, const struct measure *bad,
                            struct arena *arena, struct buf *words, struct buf *added)
{
    for (struct text rest = passed->args, line, name, wanted; rest.len;) {
        line = text_take_until (&rest, '\n');
        bool set = text_cut (&line, '=', &name) && measure_arg (bad->args, name, &wanted);
        if (set && text_equal (line, wanted))
            continue;
        buf_printf (words, "%s%.*s %.*s in place of %.*s", words->len ? ", " : "", TEXT_ARG (name), TEXT_ARG (line),
                    TEXT_ARG (set ? wanted : TEXT_LIT ("its default")));
        put_arg (rung, name, line, arena, added);
    }
}

static void put_passed (const struct plan *plan, const struct rung *rung, const struct measure *passed,
                        const struct measure *bad, struct buf *out)
{
    char day[DAY_BYTES];
    LOCAL_ARENA arena = { 0 };
    LOCAL_BUF added = { .max = SENTENCE_MAX_BYTES };
    bool other_pins = !text_equal (passed->pins, bad->pins);
    put_other_args (rung, passed, bad, &arena, out, &added);
    if (other_pins) {
        buf_puts (out, out->len ? ", " : "");
        measure_put_bundle (passed, bad, &arena, out);
        put_word (TEXT_LIT ("--pins"), &arena, &added);
        put_word (passed->pin_file, &arena, &added);
    }
    buf_printf (out, " passed in run %.*s (%s): ", TEXT_ARG (text_clip (passed->run, RUN_SHOWN)),
                day_of (passed->ended_wall_ms, day));
    put_command (plan, other_pins ? "--pins" : NO_OPTION, &added, &arena, out);
}

/* What failed for lack of memory may pass with half of its batch. */
static void put_smaller (const struct plan *plan, const struct rung *rung, const struct measure *bad, struct buf *out)
{
    const struct signature *known = plan_find_signature (plan, bad->failure);
    struct text batch;
    uint64_t number;
    LOCAL_ARENA arena = { 0 };
    LOCAL_BUF added = { .max = SENTENCE_MAX_BYTES };
    buf_puts (out, "no launch that passed can stand in for it: ");
    if (known && known->memory && measure_arg (bad->args, TEXT_LIT ("batch"), &batch) && text_to_u64 (batch, &number) &&
        number > 1) {
        put_arg (rung, TEXT_LIT ("batch"), text_format (&arena, "%" PRIu64, number / 2), &arena, &added);
        buf_puts (out, "try it with half of its batch: ");
        put_command (plan, NO_OPTION, &added, &arena, out);
    } else {
        buf_puts (out, known && known->memory ? "make it smaller" : "change what made it fail");
    }
}

static struct text next_best (const struct cli *cli, const struct plan *plan, const struct rung *rung,
                              const struct measure *bad, struct arena *arena)
{
    struct measure_list all;
    LOCAL_BUF out = { .max = SENTENCE_MAX_BYTES };
    (void) calibration_read (cli->home, (struct text){ 0 }, arena, &all, NULL); /* it could be read just now */
    const struct measure *passed = measure_next_best (&all, bad);
    if (passed)
        put_passed (plan, rung, passed, bad, &out);
    else
        put_smaller (plan, rung, bad, &out);
    return out.overflow ? (struct text){ 0 } : text_copy (arena, buf_as_text (&out)); /* no command that is cut */
}

void launch_measures_annotate_plan (const struct cli *cli, bool again, struct arena *arena, struct plan *plan)
{
    struct err err = { 0 };
    bool unreadable = false;
    for (uint32_t i = 0; i < plan->rungs.n; i++) {
        struct rung *rung = &plan->rungs.items[i];
        struct measure_list known;
        rung->launch = launch_fingerprint (plan, rung, LAUNCH_WHOLE, arena);
        if (!rung->launch.len || unreadable)
            continue;
        if (calibration_read (cli->home, rung->launch, arena, &known, &err) < 0) {
            log_print (&cli->log, "warning: measures of earlier launches cannot be read: %s", err.text);
            unreadable = true; /* said once */
            continue;
        }
        rung->usual = measure_usual_times (&known, arena);
        if (known.n > 0 && !again)
            rung->known_bad = objection (&known.items[0], arena);
        if (rung->known_bad.len)
            rung->next_best = next_best (cli, plan, rung, &known.items[0], arena);
    }
}

/* As long as the bundle is new. */
static void tell_changes (const struct measure_list *all, const struct measure *now, struct arena *arena,
                          struct buf *card)
{
    struct stack_change changes[STACK_CHANGES_MAX];
    uint32_t n = now->outcome == OUTCOME_PASSED ? measure_stack_changes (all, now, arena, changes) : 0;
    for (uint32_t i = 0; i < n; i++)
        if (changes[i].now_n <= STACK_CHANGE_TOLD_RUNS) {
            buf_escaped_after (card, "calibration: ", changes[i].sentence, 0);
            buf_byte (card, '\n');
        }
}

void launch_measures_keep (const struct cli *cli, const struct measure_fold *fold, const struct err *unread,
                           struct buf *card)
{
    LOCAL_ARENA arena = { 0 };
    struct measure_list list = measure_fold_list (fold), all = { 0 };
    struct err err = *unread;
    if (err.code || calibration_add (cli->home, &list, &err) < 0 ||
        (list.n && calibration_read (cli->home, (struct text){ 0 }, &arena, &all, &err) < 0))
        log_print (&cli->log, "warning: the measures of this run were not recorded, or not read: %s", err.text);
    for (uint32_t i = 0; i < list.n && all.n; i++)
        tell_changes (&all, &list.items[i], &arena, card);
}

/* ---- origin ---- */

enum { COMMAND_BYTES = 4 << 20 };

static struct text check_told (struct text text, uint32_t bytes, struct arena *arena)
{
    if (text_is_utf8 (text))
        return text_copy (arena, text_clip (text, bytes));
    struct buf escaped = { .max = 4 * (size_t) text.len + 1 };
    buf_escaped (&escaped, text, 0);
    return text_clip (buf_finish (&escaped, arena), bytes);
}

/* As it was given: the options that every command has are taken out of argv before a command sees it. */
static void read_command (struct arena *arena, text_list *out)
{
    LOCAL_BUF words = { .max = COMMAND_BYTES };
    file_read ("/proc/self/cmdline", &words, NULL);
    struct text rest = buf_as_text (&words);
    out->items = arena_array (arena, ORIGIN_WORDS_MAX, sizeof *out->items);
    while (rest.len && out->n < ORIGIN_WORDS_MAX)
        out->items[out->n++] = check_told (text_take_until (&rest, '\0'), TEXT_MAX_BYTES, arena);
}

void origin_read (struct arena *arena, struct run_origin *out)
{
    char host[NAME_MAX_BYTES + 1] = "", directory[PATH_MAX];
    const struct passwd *user = getpwuid (getuid ());
    *out = (struct run_origin){ .uid = (uint32_t) getuid () };
    if (gethostname (host, sizeof host - 1) == 0)
        out->host = check_told (text_of (host), NAME_MAX_BYTES, arena);
    if (user && user->pw_name)
        out->user = check_told (text_of (user->pw_name), NAME_MAX_BYTES, arena);
    if (getcwd (directory, sizeof directory))
        out->directory = check_told (text_of (directory), TEXT_MAX_BYTES, arena);
    read_command (arena, &out->command);
}
