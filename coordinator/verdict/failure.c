#include "coordinator/verdict/failure.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "common/base/duration.h"
#include "common/base/path.h"
#include "common/logs/log_line.h"
#include "common/model/kit.h"
#include "common/model/secret.h"
#include "coordinator/verdict/going_on.h"
#include "coordinator/verdict/stands.h"

enum { SURVIVED_HEAD_BYTES = 60, EVIDENCE_MAX_BYTES = 1024, SHELL_SIGNALS = 128 };

struct text failure_place (const struct judge_case *of, struct arena *arena)
{
    if (of->result->phase.len == 0 && of->rung->kind == PROGRAM_COMMAND)
        return TEXT_LIT ("");
    return text_format (arena, " in phase %.*s",
                        TEXT_ARG (of->result->phase.len ? of->result->phase : TEXT_LIT ("start")));
}

static bool printed_nothing (const struct judge_case *of)
{
    return of->rung->kind == PROGRAM_COMMAND && of->result->output_bytes == 0 && of->result->tail.len == 0;
}

/* The slice file as it was given: `sliceup --plain run slice.yaml`. The hosts of a rehearsal are not those of its file. */
static struct text slice_word (const struct plan *plan)
{
    const text_list *words = &plan->origin.command;
    for (uint32_t i = 1; i + 1 < words->n; i++)
        if (text_is (words->items[i], "run") && !text_starts (words->items[i + 1], "-"))
            return words->items[i + 1];
    return (struct text){ 0 };
}

/* A command that takes no files along can be run by hand; without them it would not be the same. */
static struct text try_by_hand (const struct judge_case *of, struct arena *arena)
{
    struct text slice = slice_word (of->plan);
    struct buf line = { .max = SENTENCE_MAX_BYTES };
    buf_puts (&line, "sliceup exec --slice");
    shell_word_add (&line, slice);
    buf_puts (&line, " -w");
    if (of->host < of->plan->hosts.n)
        shell_word_add (&line, of->plan->hosts.items[of->host].name);
    buf_puts (&line, " --");
    for (uint32_t i = 0; i < of->rung->argv.n; i++)
        shell_word_add (&line, secret_redact_word (arena, of->rung->argv.items[i]));
    if (of->rung->files.n || !slice.len || line.overflow) {
        buf_clear (&line);
        buf_puts (&line, "let the program print why it fails: that is shown here");
    }
    return secret_redact_values (arena, &of->plan->profile, buf_finish (&line, arena));
}

struct text failure_look_at_log (const struct judge_case *of, struct arena *arena)
{
    uint32_t by_shell = of->result->ending == ENDING_EXITED ? SHELL_SIGNALS : 0;
    if (of->result->code == SIGSEGV + by_shell)
        return text_format (arena, "%.*s (the kernel names the library that crashed)",
                            TEXT_ARG (host_command (of->plan, of->host, TEXT_LIT ("dmesg | grep segfault"), arena)));
    if (printed_nothing (of))
        return try_by_hand (of, arena);
    return text_format (arena, "see what it printed: sliceup logs --rung %.*s", TEXT_ARG (of->rung->id));
}

static void take_decision (const struct cause_decision *of, struct verdict *out)
{
    out->signature = of->id;
    out->owner = of->owner;
    out->else_owner = of->else_owner;
    out->likely = of->likely;
    out->next = of->next;
}

struct text failure_stack (const struct result *result, struct arena *arena)
{
    LOCAL_BUF lines = { .max = STACK_MAX_BYTES + STACK_LINES_MAX };
    for (uint32_t i = 0; i < result->stack.n; i++) {
        buf_puts (&lines, i ? "\n" : "");
        buf_add_text (&lines, result->stack.items[i]);
    }
    return text_copy (arena, text_clip (buf_as_text (&lines), EVIDENCE_MAX_BYTES));
}

/* The name in "jaxlib.XlaRuntimeError: ..."; empty: not an exception. */
static struct text name_of_error (struct text line)
{
    struct text name = text_take_until (&line, ':');
    return text_span (name, "._") == name.len ? name : (struct text){ 0 };
}

/* An exception is a failure, whatever the program did after it. */
static void say_that_it_hung_later (struct text error, struct arena *arena, struct verdict *out)
{
    struct text name = name_of_error (error), said = name.len ? name : TEXT_LIT ("an error that ends programs");
    out->cause = text_clip (
        text_format (arena, "printed %.*s and then hung: %.*s", TEXT_ARG (said), TEXT_ARG (out->cause)),
        SENTENCE_MAX_BYTES);
    out->next = TEXT_LIT (
        "correct what the error names; a program that hangs at its exit after an error should print it "
        "and leave with os._exit(1)");
    if (name.len)
        out->outcome = OUTCOME_FAILED;
}

static struct text joined (struct text first, struct text second, struct arena *arena)
{
    struct text both = text_format (arena, "%.*s%s%.*s", TEXT_ARG (first), first.len && second.len ? "\n" : "",
                                    TEXT_ARG (second));
    return text_clip (both, EVIDENCE_MAX_BYTES);
}

/* Cuts `lines` to those from the first fatal one on; false: none. */
static bool find_fatal (struct text lines, struct text *from)
{
    for (; lines.len; (void) text_take_until (&lines, '\n')) {
        struct text rest = lines;
        *from = lines;
        if (log_line_grade (text_take_until (&rest, '\n')) == LINE_FATAL)
            return true;
    }
    return false;
}

/* Does the line show that work went on? jax adds a remark after an exception. */
static bool is_of_work (struct text line)
{
    return line.len && log_line_grade (line) == LINE_PLAIN && !text_starts (line, " ") && !text_starts (line, "---") &&
           !text_starts (line, "For simplicity, JAX");
}

/* Blanks do not count: a line that was recognised is kept with one between its words. */
static bool line_has (struct text line, struct text words)
{
    for (uint32_t from = 0; from < line.len; from++) {
        uint32_t at = from, n = 0;
        while (at < line.len && n < words.len &&
               (words.ptr[n] == ' ' || line.ptr[at] == ' ' || words.ptr[n] == line.ptr[at])) {
            bool blank = words.ptr[n] == ' ' || line.ptr[at] == ' ';
            at += !blank || line.ptr[at] == ' ';
            n += !blank || words.ptr[n] == ' ';
        }
        if (n == words.len)
            return true;
    }
    return false;
}

/* Had it printed that error long before it hung? Then it survived it. */
static bool survived (struct text error, struct text end_of_output)
{
    enum { SURVIVED_LINES = 2 };
    struct text begin = text_clip (error, SURVIVED_HEAD_BYTES);
    uint32_t behind = 0;
    bool found = false;
    for (struct text tail = end_of_output; tail.len;) {
        struct text line = text_take_until (&tail, '\n');
        bool here = begin.len && line_has (line, begin);
        found |= here;
        behind = here ? 0 : behind + is_of_work (line);
    }
    return end_of_output.len && (!found || behind >= SURVIVED_LINES);
}

/* "still in phase run after 1 min; stopped in fault.py:4 maybe (), sleeping in clock_nanosleep". Without a frame there is
 * only a wait, in which hosts that hang alike differ. */
static struct text say_where_it_stood (struct text stack, const char *in, struct arena *arena, struct verdict *out)
{
    bool framed;
    struct text place = stand_print (stack, arena, &framed);
    if (framed)
        out->cause = text_clip (text_format (arena, "%.*s%s%.*s", TEXT_ARG (out->cause), in, TEXT_ARG (place)),
                                SENTENCE_MAX_BYTES);
    return framed ? place : (struct text){ 0 };
}

static void say_that_it_waits_for_a_lock (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    out->cause = text_clip (text_format (arena, "%.*s; waits for a file lock", TEXT_ARG (out->cause)),
                            SENTENCE_MAX_BYTES);
    out->next = text_format (arena, "see who holds the lock: %.*s",
                             TEXT_ARG (host_command (of->plan, of->host, TEXT_LIT ("lslocks"), arena)));
}

/* A hang is never transient, whatever the program printed. The most telling text comes first. */
void failure_describe_hang (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    struct failure_reading reading;
    failure_read_result (of->plan, of->signatures, of->result, arena, &reading);
    struct text printed = reading.evidence, stack = failure_stack (of->result, arena);
    (void) say_where_it_stood (stack, " in ", arena, out);
    if (stand_waits_for_lock (stack))
        say_that_it_waits_for_a_lock (of, arena, out);
    bool known = reading.of.weight >= CAUSE_PEER, fatal = find_fatal (reading.evidence, &printed);
    struct text first = printed;
    if ((fatal || known) && survived (text_take_until (&first, '\n'), of->result->tail))
        known = fatal = false;
    out->evidence = fatal || known ? joined (printed, stack, arena) : joined (stack, reading.evidence, arena);
    if (fatal)
        say_that_it_hung_later (text_take_until (&printed, '\n'), arena, out);
    if (known)
        take_decision (&reading.of, out);
}

/* Texts of these owners are never caused by peers. */
static bool is_of_its_host (const struct cause_decision *of)
{
    return of->weight == CAUSE_OWN && !of->likely &&
           (of->owner == OWNER_DEVICE || of->owner == OWNER_HOST || of->owner == OWNER_LAUNCH ||
            of->owner == OWNER_BUNDLE);
}

void failure_describe_stop (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    struct failure_reading reading;
    struct text stack = failure_stack (of->result, arena);
    out->evidence = stack;
    failure_read_result (of->plan, of->signatures, of->result, arena, &reading);
    struct text first = reading.evidence;
    if (!is_of_its_host (&reading.of) || survived (text_take_until (&first, '\n'), of->result->tail))
        return;
    out->outcome = OUTCOME_FAILED;
    out->cause = TEXT_LIT ("printed this error, and was stopped before it ended");
    out->evidence = joined (reading.evidence, stack, arena);
    take_decision (&reading.of, out);
}

static bool sent_from_outside (uint32_t signal)
{
    return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT;
}

/* The signal that ended it, also as a shell reports it; 0: none that others send. */
static uint32_t killing_signal (enum ending ending, uint32_t code)
{
    bool shell = ending == ENDING_EXITED && (code == SHELL_SIGNALS + SIGKILL || code == SHELL_SIGNALS + SIGTERM);
    return ending == ENDING_SIGNALLED ? code : shell ? code - SHELL_SIGNALS : 0;
}

bool failure_is_outside_kill (enum ending ending, uint32_t code)
{
    return sent_from_outside (killing_signal (ending, code));
}

/* Builtins report their owner rightly, except the probe, which repeats the words of a PJRT plugin. */
static bool knows_itself (const struct judge_case *of)
{
    enum owner owner = of->result->owner;
    return of->rung->kind == PROGRAM_BUILTIN && owner && owner != OWNER_UNKNOWN &&
           !text_is (of->rung->builtin, "probe");
}

/* May the text replace the owner that the program reported? Known texts may, forms of errors and noise may not,
 * complaints of peers rarely. */
static bool overrules (const struct failure_reading *reading, enum owner said)
{
    if (said == OWNER_NONE || said == OWNER_UNKNOWN)
        return reading->of.id.len > 0;
    if (reading->of.weight == CAUSE_OWN)
        return !reading->of.likely;
    return reading->of.weight == CAUSE_PEER && (reading->in_failure || said == OWNER_PEER);
}

/* Transient failures keep programs from starting: nothing was computed, and the end was an exit or an abort. */
static bool ended_at_start (const struct result *result)
{
    bool computed = result->checks.n > 0 || result->metrics.n > 0 || result_counted (result, "executions") > 0;
    return !computed && (result->ending == ENDING_EXITED || result->code == SIGABRT);
}

/* Advice speaks of the frame: it says which. */
static struct text name_the_frame (struct text next, struct text place, struct arena *arena)
{
    static const struct text spoken[] = { TEXT_LIT ("the program where this is raised"),
                                          TEXT_LIT ("the frame named there") };
    uint32_t at;
    for (size_t i = 0; place.len && i < sizeof spoken / sizeof *spoken; i++)
        if (text_find (next, spoken[i], &at))
            return text_format (arena, "%.*s%.*s%.*s", (int) at, next.ptr, TEXT_ARG (place),
                                (int) (next.len - at - spoken[i].len), next.ptr + at + spoken[i].len);
    return next;
}

/* ---- what did not travel ---- */

/* The first part of the module or path that the program missed; empty: none. */
static struct text find_missed (struct text lines)
{
    static const char *const marks[] = { "No module named ", "No such file or directory: '", "can't open file '" };
    uint32_t at, i = 0;
    while (i < 3 && !text_find (lines, text_of (marks[i]), &at))
        i++;
    if (i == 3)
        return (struct text){ 0 };
    text_skip (&lines, at + (uint32_t) strlen (marks[i]));
    struct text name = text_take_until (&lines, '\n');
    text_skip (&name, text_starts (name, "'"));
    name = text_take_until (&name, '\'');
    return text_starts (name, "/") ? path_name (name) : text_take_until (&name, i == 0 ? '.' : '/');
}

/* What lies here and was missed there is the fault of no host and no environment. */
static void blame_what_stayed (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    struct text name = find_missed (out->evidence), where = TEXT_LIT ("the ladder file");
    if (!rung_lacks (of->rung, name))
        return;
    if (of->rung->files.n && !text_starts (of->rung->files.items[0].name, KIT_COMMAND_HELPERS "/"))
        where = of->rung->files.items[0].name;
    struct text cause = text_format (arena, "%.*s; %.*s lies beside %.*s here and was not copied",
                                     TEXT_ARG (out->cause), TEXT_ARG (name), TEXT_ARG (where));
    const struct text next = TEXT_LIT ("give the rung the key folder: . so that all of it is copied");
    take_decision (&(struct cause_decision){ .owner = OWNER_LAUNCH, .next = next }, out);
    out->cause = text_clip (cause, SENTENCE_MAX_BYTES);
    out->transient = false;
}

/* The owner is that of a known text, else as the program reported it, else as the form of the error says, else unknown. */
void failure_judge (const struct judge_case *of, struct arena *arena, struct text how, struct verdict *out)
{
    const struct result *result = of->result;
    struct failure_reading reading = { 0 };
    if (!knows_itself (of))
        failure_read_result (of->plan, of->signatures, result, arena, &reading);
    struct text cause = result->failure.len
                            ? text_format (arena, "%.*s (%.*s)", TEXT_ARG (result->failure), TEXT_ARG (how))
                            : text_format (arena, "%.*s%.*s%s", TEXT_ARG (how), TEXT_ARG (failure_place (of, arena)),
                                           printed_nothing (of) ? "; it printed nothing" : "");
    out->outcome = OUTCOME_FAILED;
    out->owner = result->owner ? result->owner : OWNER_UNKNOWN;
    out->cause = text_clip (cause, SENTENCE_MAX_BYTES);
    out->next = rung_is_builtin (of->rung, "restore") && text_find (result->failure, TEXT_LIT ("; in /"), NULL)
                    ? TEXT_LIT ("remove that environment there and run again: it is built anew")
                : rung_is_builtin (of->rung, "cache") && text_find (result->failure, TEXT_LIT (NOTE_READ_ONLY), NULL)
                    ? TEXT_LIT ("mount it writable on the hosts that write, or name a cache.root that a run has filled")
                    : failure_look_at_log (of, arena);
    if (overrules (&reading, result->owner)) {
        take_decision (&reading.of, out);
        out->transient = reading.of.transient && ended_at_start (result);
    }
    out->evidence = reading.evidence;
    blame_what_stayed (of, arena, out);
    if (reading.of.weight == CAUSE_PEER || !result->stack.n)
        return; /* it tells where others were waited for */
    struct text place = say_where_it_stood (failure_stack (result, arena), "; raised in ", arena, out);
    out->next = name_the_frame (out->next, place, arena);
    out->evidence = joined (reading.evidence, failure_stack (result, arena), arena);
}

uint32_t failure_worth (enum outcome outcome, enum owner owner, bool likely)
{
    if (outcome == OUTCOME_CASCADE || outcome == OUTCOME_CANCELLED)
        return 0;
    return owner == OWNER_UNKNOWN || owner == OWNER_NONE ? 1 : likely ? 2 : FAILURE_WORTHS - 1;
}

/* Escaped, since a receipt is untrusted. */
void failure_print_owner (struct buf *out, enum certainty certainty, enum owner owner, enum owner otherwise,
                          struct text signature)
{
    char whose[OWNERS_TEXT_BYTES];
    static const char *const sure_words[] = { "", "certain", "likely" };
    bool followed = owner == OWNER_PEER && certainty == CERTAINTY_KNOWN && !signature.len;
    if (followed || owner == OWNER_NONE || (uint32_t) owner >= OWNER_N)
        return; /* nobody has to act, or the cause names who */
    const char *sure = owner == OWNER_UNKNOWN || certainty > CERTAINTY_LIKELY ? "" : sure_words[certainty];
    bool more = *sure || signature.len;
    buf_printf (out, "; whose: %s%s%s", owners_print (owner, otherwise, whose), more ? " (" : "", sure);
    buf_escaped_after (out, *sure && signature.len ? "; " : "", signature, 0);
    buf_puts (out, more ? ")" : "");
}

/* ---- ends by a signal ---- */

/* Signals whose number a program hardly chooses for an exit status of its own. */
static bool is_usual (uint32_t signal)
{
    static const int usual[] = { SIGHUP, SIGINT, SIGQUIT, SIGILL,  SIGTRAP, SIGABRT,
                                 SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGPIPE, SIGTERM };
    uint32_t i = 0;
    while (i < sizeof usual / sizeof usual[0] && (uint32_t) usual[i] != signal)
        i++;
    return i < sizeof usual / sizeof usual[0];
}

/* The customary meaning of an exit status: of shells (POSIX, 2.8.2 Exit Status for Commands), of timeout(1). */
static struct text describe_status (uint32_t status, struct arena *arena)
{
    if (status == 124)
        return text_format (arena, "exited with status %u, which timeout(1) reports of a program that it ended",
                            status);
    if (status == 126 || status == 127)
        return text_format (arena, "exited with status %u, which a shell reports of a program that it %s", status,
                            status == 126 ? "may not execute" : "did not find");
    if (status > SHELL_SIGNALS && is_usual (status - SHELL_SIGNALS))
        return text_format (arena, "exited with status %u, which a shell reports of a program killed by signal %u (%s)",
                            status, status - SHELL_SIGNALS, strsignal ((int) status - SHELL_SIGNALS));
    return text_format (arena, "exited with status %u", status);
}

struct text failure_describe_end (const struct result *result, struct arena *arena)
{
    if (result->ending == ENDING_SIGNALLED)
        return text_format (arena, "killed by signal %u (%s)", result->code, strsignal ((int) result->code));
    return describe_status (result->code, arena);
}

static void failure_append (struct text *to, struct arena *arena, const char *mark, struct text more,
                            uint32_t most_bytes)
{
    *to = text_clip (text_format (arena, "%.*s%s%.*s", TEXT_ARG (*to), to->len ? mark : "", TEXT_ARG (more)),
                     most_bytes);
}

/* Blames memory by the counters that grew; KNOWN if it is the program's own cgroup's, and SIGKILL ended the program. */
static void blame_memory (const struct result *result, bool group, bool known, struct arena *arena, struct verdict *out)
{
    static const char *const where[] = { "on this machine", "of this program's memory cgroup",
                                         "of a memory cgroup that it shares" };
    static const char *const counted[] = { "/proc/vmstat", "the program's memory cgroup",
                                           "a memory cgroup that the program shares" };
    int whose = group ? 1 + result->memory_group_shared : 0;
    uint64_t n = group ? result->group_memory_kills : result->machine_memory_kills;
    struct text processes = n == 1 ? TEXT_LIT ("a process") : text_format (arena, "%" PRIu64 " processes", n);
    struct text limit = result->memory_limit_bytes ? text_of (SIZE_TEXT (result->memory_limit_bytes))
                                                   : TEXT_LIT ("none");
    struct text counter = text_format (
        arena, "oom_kill of %s grew by %" PRIu64 " while it ran; memory limit of its cgroup: %.*s", counted[whose], n,
        TEXT_ARG (limit));
    failure_append (
        &out->cause, arena, "; ",
        text_format (arena, "the kernel killed %.*s %s because memory ran out", TEXT_ARG (processes), where[whose]),
        SENTENCE_MAX_BYTES);
    if (out->signature.len || log_line_grade (out->evidence) >= LINE_ERROR) /* else its last words before the kill */
        failure_append (&counter, arena, "\n", out->evidence, EVIDENCE_MAX_BYTES);
    out->evidence = counter;
    out->owner = OWNER_HOST;
    out->else_owner = OWNER_NONE;
    out->likely = !known;
    out->signature = (struct text){ 0 };
    out->transient = false;
    out->next = TEXT_LIT (
        "let the program use less of the host's memory, or raise the limit of its cgroup; see who else "
        "uses the machine's memory (dmesg names the process that was killed)");
}

void failure_judge_sender (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    const struct result *result = of->result;
    uint32_t signal = killing_signal (result->ending, result->code);
    bool killed = signal == SIGKILL, unexplained = out->owner == OWNER_UNKNOWN && !out->signature.len;
    bool own = killed && !result->memory_group_shared;
    if (result->group_memory_kills && (own || unexplained))
        blame_memory (result, true, own, arena, out);
    else if (result->machine_memory_kills && killed && unexplained)
        blame_memory (result, false, false, arena, out);
    else if (unexplained && (killed || signal == SIGTERM))
        failure_append (&out->cause, arena, "; ",
                        killed ? TEXT_LIT ("nothing in its log says by whom (dmesg of the host tells of the kernel, "
                                           "which kills for want of memory)")
                               : TEXT_LIT ("nothing in its log says by whom"),
                        SENTENCE_MAX_BYTES);
    if (unexplained && killed && out->owner == OWNER_UNKNOWN)
        out->next = text_format (
            arena, "see whether the kernel did it: %.*s",
            TEXT_ARG (host_command (of->plan, of->host, TEXT_LIT ("dmesg | grep -i kill"), arena)));
}
