#include "common/logs/candidate.h"

#include <errno.h>
#include <string.h>

#include "common/logs/set.h"

/* ---- rules: which owner the type of an exception, an errno and its object, the package of a frame, or the words of a
 * loader, a compiler or a scheduler speak for ---- */

/* A rule says "likely". It holds for texts that nobody has seen before. What it asks stands in struct signature and in
 * configs/signatures/rules.yaml; here is how it is asked. */

/* What an error says. */
struct error_clue {
    struct text type;          /* without its module; empty: no exception */
    struct text text;          /* the message */
    enum frame_package raised; /* whose frame raised it */
};
/* What is asked, with its text in small letters. */
struct folded_clue {
    struct error_clue clue;
    struct text type, text, first_line;
};

/* ---- errno: one has many spellings: "[Errno 28]", "(os error 28)", "errno: 28", "ENOSPC", the text of strerror ---- */

static const struct {
    int number;
    const char *name, *says;
} spelled[] = {
    { ENOENT, "ENOENT", "No such file or directory" },
    { EACCES, "EACCES", "Permission denied" },
    { EPERM, "EPERM", "Operation not permitted" },
    { EIO, "EIO", "Input/output error" },
    { ENXIO, "ENXIO", "No such device or address" },
    { ENODEV, "ENODEV", "No such device" },
    { EBUSY, "EBUSY", "Device or resource busy" },
    { EEXIST, "EEXIST", "File exists" },
    { ENOTEMPTY, "ENOTEMPTY", "Directory not empty" },
    { ENFILE, "ENFILE", "Too many open files in system" },
    { ENOMEM, "ENOMEM", "Cannot allocate memory" },
    { ENOEXEC, "ENOEXEC", "Exec format error" },
    { ENOSYS, "ENOSYS", "Function not implemented" },
    { ETIMEDOUT, "ETIMEDOUT", "Connection timed out" },
    { ECONNREFUSED, "ECONNREFUSED", "Connection refused" },
    { ENAMETOOLONG, "ENAMETOOLONG", "File name too long" },
    { EFBIG, "EFBIG", "File too large" },
    { ENOSPC, "ENOSPC", "No space left on device" },
    { EDQUOT, "EDQUOT", "Disk quota exceeded" },
    { EADDRINUSE, "EADDRINUSE", "Address already in use" },
    { EADDRNOTAVAIL, "EADDRNOTAVAIL", "Cannot assign requested address" },
    { EMFILE, "EMFILE", "Too many open files" },
    { EROFS, "EROFS", "Read-only file system" },
    { ESTALE, "ESTALE", "Stale file handle" },
};
enum { SPELLED = sizeof spelled / sizeof spelled[0] };

static uint32_t errno_row (struct text name)
{
    uint32_t row = 0;
    while (row < SPELLED && !text_is (name, spelled[row].name))
        row++;
    return row;
}

bool error_rule_knows_errno (struct text name)
{
    return errno_row (name) < SPELLED;
}

/* "[Errno 28]", "os error 28)", "errno: 28", "errno=28", "errno = 28": the first number behind the word. */
static bool has_number (struct text folded, const char *word, uint64_t number)
{
    uint64_t value;
    for (uint32_t at; text_find (folded, text_of (word), &at);) {
        uint32_t from = at + text_of (word).len;
        while (from < folded.len && strchr (" :=", folded.ptr[from]))
            from++;
        struct text digits = words_from (folded, from);
        digits.len = text_digits_end (folded, from) - from;
        if (text_to_u64 (digits, &value) && value == number)
            return true;
        folded = words_from (folded, from);
    }
    return false;
}

static bool names_errno (const struct folded_clue *folded, struct text name)
{
    uint32_t row = errno_row (name);
    return row < SPELLED && (text_find (folded->clue.text, name, NULL) ||
                             text_find (folded->clue.text, text_of (spelled[row].says), NULL) ||
                             has_number (folded->text, "errno", (uint64_t) spelled[row].number) ||
                             has_number (folded->text, "os error", (uint64_t) spelled[row].number));
}

/* ---- asking ---- */

static bool any_in (struct text folded, const struct text *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (words_holds (folded, words[i]))
            return true;
    return false;
}

static bool asks_nothing (const struct signature *rule)
{
    return rule->types.n + rule->any.n + rule->raised.n + rule->error.len == 0;
}

static bool error_rule_holds (const struct signature *rule, const struct folded_clue *folded)
{
    struct text text = rule->first_line ? folded->first_line : folded->text;
    if (rule->types.n && !text_is_among (folded->clue.type, rule->types.items, rule->types.n))
        return false;
    if (rule->raised.n && !text_is_among (text_of (enum_name_of (&frame_package_names, folded->clue.raised)),
                                          rule->raised.items, rule->raised.n))
        return false;
    if (rule->error.len && !names_errno (folded, rule->error))
        return false;
    if (rule->any.n && !any_in (text, rule->any.items, rule->any.n) &&
        !any_in (folded->type, rule->any.items, rule->any.n))
        return false;
    if (rule->also.n && !any_in (text, rule->also.items, rule->also.n))
        return false;
    return !asks_nothing (rule) && !any_in (text, rule->unless.items, rule->unless.n);
}

/* The first rule of the set that holds; NULL: none does. */
static const struct signature *error_rule_match (const struct signature_set *set, const struct error_clue *clue)
{
    char text[WORDS_FOLDED_BYTES], type[WORDS_FOLDED_BYTES];
    struct folded_clue folded = { *clue, words_fold (clue->type, type), words_fold (clue->text, text), { 0 } };
    struct text rest = folded.text;
    folded.first_line = text_take_until (&rest, '\n');
    for (uint32_t i = 0; i < set->n; i++)
        if (set->items[i].rule && error_rule_holds (&set->items[i], &folded))
            return &set->items[i];
    return NULL;
}

/* ---- candidates ---- */

/* Lines that are no exception and say by their form that something ended or failed. */
#define FATAL_WORDS                                                                                                    \
    "Check failed|terminate called|Fatal Python error|Segmentation fault|panic:|Assertion `|fatal error|*** "          \
    "SIG|what():|"                                                                                                     \
    "LLVM ERROR|core dumped|Bus error|CUDA error|Caught signal|Floating point exception|Illegal instruction|"          \
    "double free|corruption|assertion failed|Assertion failed|Aborted|FATAL"
/* From "kein Speicherplatz" on: strerror's and bash's in German, French and Spanish, as rules.yaml has them. */
#define ERROR_WORDS                                                                                                    \
    "Error:|ERROR|Error Code|Failed|failed|Killed|No space|denied|not found|cannot|Cannot|can't|refused|timed out|"    \
    "times out|Unable|exited|CANCELLED|Exited|killed|Errno|fatal|Warning  |OOM|oom|Evicted|preempt|exception|XID|"     \
    "Xid|Invalid|invalid|could not|Could not|DUE TO|unreachable|unable|missing|No such|signal|terminated|Terminated|"  \
    "unrecognized|Back-off|No module|FAILED|Insufficient|insufficient|exceeded|Exceeded|exhausted|EXHAUSTED|"          \
    "UNAVAILABLE|INTERNAL|INVALID|usage:|unsupported|Unsupported|conflict|mismatch|No matching|required|halted|lost|"  \
    "reset|busy|in use|quota|aborted|error|incompatible|unavailable|Missing|UNREACHABLE|not supported|"                \
    "used by another|expired|NotReady|healthy|evicted|Error response|timeout|(most recent call first)|"                \
    "kein Speicherplatz|Plattenplatz (|Aucun espace|quota d'|queda espacio|cuota de disco|Hauptspeicher|"              \
    "allouer de la|asignar memoria|ist belegt|ressource occup|recurso ocupado|bereits verwendet|utilis|ya se est|"     \
    "Kommando nicht|introuvable|orden no enc|Fallo temp|no se pudo|Namensaufl|nicht bekannt|solution du nom|"          \
    "Nom ou serv"

struct found_place {
    struct word_finder fatal, error;
    const struct signature_set *set;
    const struct printed_lines *lines;
    struct arena *arena;
    struct candidates *out;
};

/* Steps behind what ended a program by its nature are late, not work. */
static bool is_over (const struct printed_line *line, struct text said)
{
    return line->worked > WORKED_ON &&
           !words_any (said, "oom_kill|oom-kill|oomkilled|invoked oom|out of memory: kill|memory cgroup out of memory|"
                             "due to time limit|due to preemption|due to node failure|nvrm: xid|evicted|systemd-oomd");
}

/* ---- exceptions ---- */

static struct error_clue clue_of (const struct exception *exception)
{
    return (struct error_clue){ .type = exception_short_type (exception->type),
                                .text = exception->message,
                                .raised = exception->raised };
}

/* "RuntimeError: ValueError: ..." and "...: jaxlib.XlaRuntimeError: INTERNAL: ...": the inner type counts. */
static struct error_clue unwrapped (struct error_clue clue)
{
    struct text rest = clue.text, type, message;
    for (uint32_t depth = 0; depth < 3; depth++) {
        struct text line = rest;
        line = text_take_until (&line, '\n');
        if (!exception_read_line (line, &type, &message) || !message.len)
            break;
        clue.type = exception_short_type (type);
        rest = words_from (rest, (uint32_t) (message.ptr - rest.ptr));
    }
    return clue;
}

static enum rule_weight weight_of (const struct signature *rule)
{
    return rule ? rule->rule : RULE_NONE;
}

/* Types of the ways back that programs try before they give up. */
static bool is_probe (const struct exception *exception)
{
    return words_is (exception_short_type (exception->type),
                     "ImportError|ModuleNotFoundError|KeyError|AttributeError|StopIteration|IndexError|LookupError|"
                     "FileNotFoundError|TypeError|NameError|KeyboardInterrupt|Empty|ValueError");
}

/* Of two in one chain: what says more; then the older, but for a probe whose handling failed in another way, and for a
 * socket's own words, which say nothing of whom the program waited for. */
static bool outranks (const struct exception *newer, const struct signature *of_newer, const struct exception *older,
                      const struct signature *of_older)
{
    if (weight_of (of_newer) != weight_of (of_older))
        return weight_of (of_newer) > weight_of (of_older);
    if (text_is (older->message, "timed out"))
        return newer->message.len && !text_is (newer->message, "timed out");
    return newer->chained == CHAIN_CONTEXT && is_probe (older) && !is_probe (newer);
}

/* NULL: the chain has no exception with a type. */
static const struct exception *cause_in_chain (const struct signature_set *set, const struct exception *first,
                                               uint32_t n, const struct signature **rule)
{
    const struct exception *best = NULL;
    for (uint32_t i = 0; i < n; i++) {
        struct error_clue clue = unwrapped (clue_of (&first[i]));
        const struct signature *match = error_rule_match (set, &clue);
        if (!first[i].type.len || (best && !outranks (&first[i], match, best, *rule)))
            continue;
        best = &first[i];
        *rule = match;
    }
    return best;
}

static struct candidate *candidate_add (struct found_place *finding, uint32_t at)
{
    const struct printed_line *line = &finding->lines->items[at];
    struct candidate *candidate = &finding->out->items[finding->out->n++];
    *candidate = (struct candidate){
        .first = at, .last = at, .shown = at, .said_to = at, .order = line->order, .text = printed_line_body (line)
    };
    return candidate;
}

static uint32_t chain_length (const struct exceptions *exceptions, uint32_t at)
{
    uint32_t n = 1;
    while (at + n < exceptions->n && exceptions->items[at + n].chained)
        n++;
    return n;
}

static void add_cut_off (struct found_place *finding, const struct exception *exception)
{
    struct candidate *candidate = candidate_add (finding, exception->first);
    candidate->last = exception->last;
    candidate->cut_off = true;
    candidate->over = finding->lines->items[exception->first].worked > WORKED_ON;
}

static void add_chain (struct found_place *finding, const struct exception *first, uint32_t n)
{
    const struct signature *rule = NULL;
    const struct exception *cause = cause_in_chain (finding->set, first, n, &rule), *last = &first[n - 1];
    if (!cause) {
        add_cut_off (finding, first);
        return;
    }
    struct candidate *candidate = candidate_add (finding, first->first);
    candidate->last = last->last;
    candidate->shown = cause->type_line;
    candidate->said_to = cause->last;
    candidate->exception = true;
    candidate->fatal = !last->harmless;
    candidate->harmless = last->harmless;
    candidate->over = finding->lines->items[last->type_line].worked > WORKED_ON;
    candidate->text = text_format (finding->arena, "%.*s: %.*s", TEXT_ARG (cause->type), TEXT_ARG (cause->message));
    candidate->rule = rule;
}

/* ---- lines ---- */

static bool looks_like_end (const struct found_place *finding, const struct printed_line *line, struct text body)
{
    return line->level == LEVEL_FATAL || word_finder_finds (&finding->fatal, body);
}

/* In Chinese or Japanese, by the first byte of its letters: no word of these is looked for before the rules do. */
static bool is_east_asian (struct text body)
{
    uint32_t at = 0;
    while (at < body.len && ((unsigned char) body.ptr[at] < 0xE3 || (unsigned char) body.ptr[at] > 0xE9))
        at++;
    return at < body.len;
}

static bool looks_like_error (const struct found_place *finding, const struct printed_line *line, struct text body)
{
    return line->level == LEVEL_ERROR || word_finder_finds (&finding->error, body) || is_east_asian (body);
}

static bool is_stack (struct text body)
{
    struct text trimmed = text_trimmed (body);
    return text_starts (trimmed, "@ ") || text_starts (trimmed, "File \"") || text_starts (trimmed, "frame #") ||
           text_starts (trimmed, "#") || text_starts (trimmed, "PC: @");
}

/* A line announces what stands below it: "... failed:", "Check failed: ..." goes on for a line. */
static struct text text_from (struct found_place *finding, uint32_t at, bool end)
{
    struct text body = printed_line_body (&finding->lines->items[at]);
    bool announces = end || text_ends (body, ":");
    if (!announces || at + 1 == finding->lines->n || finding->lines->items[at + 1].level != LEVEL_NONE)
        return body;
    struct text next = printed_line_body (&finding->lines->items[at + 1]);
    return is_stack (next) ? body : text_format (finding->arena, "%.*s\n%.*s", TEXT_ARG (body), TEXT_ARG (next));
}

/* "Fatal Python error: Segmentation fault": the frames below begin with the innermost. */
static enum frame_package crash_package (const struct found_place *finding, uint32_t at)
{
    for (uint32_t i = at + 1; i < finding->lines->n && i < at + 12; i++) {
        struct text body = printed_line_body (&finding->lines->items[i]), path;
        uint32_t from;
        if (!text_find (body, TEXT_LIT ("File \""), &from))
            continue;
        struct text rest = words_from (body, from + 6);
        enum frame_package package = text_cut (&rest, '"', &path) ? frame_package_of (path) : PACKAGE_NONE;
        if (package != PACKAGE_NONE)
            return package;
    }
    return PACKAGE_NONE;
}

static void candidate_add_line (struct found_place *finding, uint32_t at)
{
    const struct printed_line *line = &finding->lines->items[at];
    struct text body = printed_line_body (line);
    bool end = looks_like_end (finding, line, body);
    struct error_clue clue = { .text = text_from (finding, at, end) };
    if (words_any_exact (body, "Fatal Python error|(most recent call first)")) {
        clue.raised = crash_package (finding, at);
        clue.type = TEXT_LIT ("Timeout"); /* of a program that hung: its stack says where */
    }
    struct candidate *candidate = candidate_add (finding, at);
    candidate->fatal = end;
    candidate->harmless = line->level == LEVEL_INFO || line->level == LEVEL_WARNING;
    candidate->over = is_over (line, body);
    candidate->text = clue.text;
    candidate->rule = error_rule_match (finding->set, &clue);
}

static bool may_be_candidate (const struct found_place *finding, const struct printed_line *line)
{
    struct text body = printed_line_body (line);
    return !is_stack (body) && (looks_like_end (finding, line, body) || looks_like_error (finding, line, body));
}

/* The lines outside of exceptions that look like an error, at most CANDIDATES_MAX, the last printed; by index. */
static bool *lines_wanted (const struct found_place *finding)
{
    const struct printed_lines *lines = finding->lines;
    bool *wanted = arena_array (finding->arena, lines->n, sizeof *wanted);
    uint32_t *by_order = arena_array (finding->arena, lines->n, sizeof *by_order), n = 0;
    for (uint32_t i = 0; i < lines->n; i++)
        by_order[lines->items[i].order] = i;
    for (uint32_t i = lines->n; i > 0 && n < CANDIDATES_MAX; i--)
        n += wanted[by_order[i - 1]] = may_be_candidate (finding, &lines->items[by_order[i - 1]]);
    return wanted;
}

void candidate_words (struct word_finder *finder)
{
    word_finder_make (finder, FATAL_WORDS "|" ERROR_WORDS "|(most recent call last)|\nE0|\nE1|\nF0|\nF1");
}

static int by_order (const void *a, const void *b)
{
    uint32_t left = ((const struct candidate *) a)->order, right = ((const struct candidate *) b)->order;
    return left < right ? -1 : left > right;
}

void candidates_find (const struct signature_set *set, const struct printed_lines *lines,
                      const struct exceptions *exceptions, struct arena *arena, struct candidates *out)
{
    struct found_place finding = { .set = set, .lines = lines, .arena = arena, .out = out };
    word_finder_make (&finding.fatal, FATAL_WORDS);
    word_finder_make (&finding.error, ERROR_WORDS);
    bool *wanted = lines_wanted (&finding);
    *out = (struct candidates){ .items = arena_array (arena, CANDIDATES_MAX + EXCEPTIONS_MAX, sizeof *out->items) };
    for (uint32_t i = 0; i < exceptions->n;) {
        uint32_t n = chain_length (exceptions, i);
        add_chain (&finding, &exceptions->items[i], n);
        for (uint32_t k = exceptions->items[i].first; k <= exceptions->items[i + n - 1].last; k++)
            wanted[k] = false;
        i += n;
    }
    for (uint32_t i = 0; i < lines->n; i++)
        if (wanted[i])
            candidate_add_line (&finding, i);
    sort_items (out->items, out->n, sizeof *out->items, by_order);
}
