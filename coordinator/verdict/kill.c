#include "coordinator/verdict/kill.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

enum { SHELL_SIGNALS = 128, EVIDENCE_MAX_BYTES = 1024 };

/* The signal that ended it, also where a shell reports the end of its own program so; 0: none that others send. */
static uint32_t killing_signal (const struct result *result)
{
    if (result->ending == ENDING_SIGNALLED)
        return result->code;
    bool shell = result->code == SHELL_SIGNALS + SIGKILL || result->code == SHELL_SIGNALS + SIGTERM;
    return result->ending == ENDING_EXITED && shell ? result->code - SHELL_SIGNALS : 0;
}

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

/* What an exit status says by custom: of shells (POSIX, 2.8.2 Exit Status for Commands), of timeout(1). */
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

struct text kill_describe_end (const struct result *result, struct arena *arena)
{
    if (result->ending == ENDING_SIGNALLED)
        return text_format (arena, "killed by signal %u (%s)", result->code, strsignal ((int) result->code));
    return describe_status (result->code, arena);
}

static void append (struct text *to, struct arena *arena, const char *mark, struct text more, uint32_t most_bytes)
{
    *to = text_clip (text_format (arena, "%.*s%s%.*s", TEXT_ARG (*to), to->len ? mark : "", TEXT_ARG (more)),
                     most_bytes);
}

/* Whose counter grew by how much; known when it is that of the program's own cgroup, and SIGKILL ended the program. */
static void blame_memory (const struct result *result, bool group, bool known, struct arena *arena, struct verdict *out)
{
    static const char *const where[] = { "on this machine", "of this program's memory cgroup",
                                         "of a memory cgroup that it shares" };
    static const char *const counted[] = { "/proc/vmstat", "the program's memory cgroup",
                                           "a memory cgroup that the program shares" };
    int whose = group ? 1 + result->memory_group_shared : 0;
    uint64_t n = group ? result->group_memory_kills : result->machine_memory_kills;
    struct text processes = n == 1 ? TEXT_LIT ("a process") : text_format (arena, "%" PRIu64 " processes", n);
    struct text limit = result->memory_limit_bytes
                            ? text_format (arena, "%" PRIu64 " bytes", result->memory_limit_bytes)
                            : TEXT_LIT ("none");
    struct text counter = text_format (
        arena, "oom_kill of %s grew by %" PRIu64 " while it ran; memory limit of its cgroup: %.*s", counted[whose], n,
        TEXT_ARG (limit));
    append (&out->cause, arena, "; ",
            text_format (arena, "the kernel killed %.*s %s because memory ran out", TEXT_ARG (processes), where[whose]),
            SENTENCE_MAX_BYTES);
    append (&counter, arena, "\n", out->evidence, EVIDENCE_MAX_BYTES);
    out->evidence = counter;
    out->owner = OWNER_HOST;
    out->likely = !known;
    out->signature = (struct text){ 0 };
    out->transient = false;
    out->next = TEXT_LIT (
        "let the program use less of the host's memory, or raise the limit of its cgroup; see who else "
        "uses the machine's memory (dmesg names the process that was killed)");
}

void kill_judge_sender (const struct judge_case *of, struct arena *arena, struct verdict *out)
{
    const struct result *result = of->result;
    uint32_t signal = killing_signal (result);
    bool killed = signal == SIGKILL, unexplained = out->owner == OWNER_UNKNOWN && !out->signature.len;
    bool own = killed && !result->memory_group_shared;
    if (result->group_memory_kills && (own || unexplained))
        blame_memory (result, true, own, arena, out);
    else if (result->machine_memory_kills && killed && unexplained)
        blame_memory (result, false, false, arena, out);
    else if (unexplained && (killed || signal == SIGTERM))
        append (&out->cause, arena, "; ",
                killed ? TEXT_LIT ("nothing in its log says by whom (dmesg of the host tells of the kernel, "
                                   "which kills for want of memory)")
                       : TEXT_LIT ("nothing in its log says by whom"),
                SENTENCE_MAX_BYTES);
}
