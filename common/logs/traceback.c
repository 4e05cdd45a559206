#include "common/logs/traceback.h"

#include <string.h>

#include "common/logs/words.h"

static const char heading[] = "Traceback (most recent call last)";
static const char box_top[] = "\xe2\x95\xad", box_side[] = "\xe2\x94\x82", box_bottom[] = "\xe2\x95\xb0";

/* ---- the line with the type ---- */

struct text exception_short_type (struct text type)
{
    uint32_t at = type.len;
    while (at > 0 && type.ptr[at - 1] != '.')
        at--;
    return words_from (type, at);
}

static bool is_type_name (struct text name)
{
    static const char *const ends[] = { "Error",          "Exception", "Interrupt", "Exit",  "Warning",
                                        "Timeout",        "Iteration", "Failure",   "Fault", "Unsupported",
                                        "OutOfResources", "Refused",   "NotFound" };
    struct text last = exception_short_type (name);
    if (!last.len || last.ptr[0] < 'A' || last.ptr[0] > 'Z')
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (text_ends (last, ends[i]))
            return true;
    return false;
}

static bool read_type (struct text body, bool below_frames, struct text *type, struct text *message)
{
    uint32_t end = text_span (body, "_.");
    struct text name = { .ptr = body.ptr, .len = end };
    bool alone = end == body.len, colon = end < body.len && body.ptr[end] == ':';
    struct text last = exception_short_type (name);
    bool any = last.len && (last.len < name.len || (last.ptr[0] >= 'A' && last.ptr[0] <= 'Z')); /* "socket.timeout" */
    if (end < 3 || (!alone && !colon) || !(is_type_name (name) || (below_frames && any)))
        return false;
    *type = name;
    *message = text_trimmed (words_from (body, end + 1));
    return true;
}

bool exception_read_line (struct text body, struct text *type, struct text *message)
{
    return read_type (text_trimmed (body), false, type, message);
}

/* ---- whose code a frame is ---- */

const struct enum_names frame_package_names = NAMED ("none", "user", "standard", "trace", "backend", "compile", "cache",
                                                     "kernel", "tensor", "group", "checkpoint", "numeric", "network",
                                                     "children", "installer", "other");

static bool path_behind (struct text path, const char *folder, struct text *rest)
{
    uint32_t at, len = text_of (folder).len;
    if (!text_find (path, text_of (folder), &at))
        return false;
    *rest = words_from (path, at + len);
    return true;
}

/* Below the last folder of installed packages: an environment may lie in another one's path. */
static bool path_is_installed (struct text path, struct text *inner)
{
    bool found = false;
    *inner = path;
    while (path_behind (*inner, "site-packages/", inner) || path_behind (*inner, "dist-packages/", inner))
        found = true;
    return found;
}

/* "/usr/lib/python3.11/", "lib/python3.12/"; those of the interpreter itself, "<frozen importlib>" too. */
static bool path_is_standard (struct text path, struct text *inner)
{
    if (!path_behind (path, "lib/python3", inner) && !path_behind (path, "lib64/python3", inner))
        return false;
    text_take_until (inner, '/');
    return true;
}

/* The first that is found at the beginning of the path below the installed packages. */
static const struct {
    const char *folders;
    enum frame_package package;
} packages[] = {
    { "jax/_src/pallas|jax/experimental/pallas|jax/experimental/mosaic", PACKAGE_KERNEL },
    { "jax/_src/xla_bridge|jax/_src/cloud_tpu_init|jax/_src/distributed|jax/_src/clusters|jax/_src/hardware_utils",
      PACKAGE_BACKEND },
    { "jax/_src/compiler|jax/_src/compilation_cache|jax/_src/lru_cache|jaxlib/", PACKAGE_COMPILE },
    { "jax/experimental/array_serialization|jax/experimental/multihost_utils", PACKAGE_CHECKPOINT },
    { "jax/_src/traceback_util|jax/_src/api_boundary", PACKAGE_NONE },
    { "jax/", PACKAGE_TRACE },
    { "torch_xla/_internal|torch_xla/runtime|torch_xla/distributed|torch_xla/__init__", PACKAGE_BACKEND },
    { "torch/utils/file_baton|torch/_inductor/codecache|filelock/|triton/runtime/cache", PACKAGE_CACHE },
    { "torch/_inductor|torch/_dynamo|torch/_functorch|triton/", PACKAGE_COMPILE },
    { "torch/distributed/checkpoint", PACKAGE_CHECKPOINT },
    { "torch/distributed/run|torch/distributed/launch|torch/distributed/elastic|torch/distributed/launcher|"
      "torch/multiprocessing|accelerate/commands|deepspeed/launcher|lightning/fabric/strategies/launchers|ray/",
      PACKAGE_CHILDREN },
    { "torch/distributed|torch/nn/parallel", PACKAGE_GROUP },
    { "torch/utils/_contextlib|torch/autograd/grad_mode|decorator|wrapt/|click/|fire/|hydra/_internal", PACKAGE_NONE },
    { "torch/", PACKAGE_TENSOR },
    { "torch_xla/", PACKAGE_TENSOR },
    { "orbax/|tensorstore/|safetensors/|flax/training/checkpoints|etils/epath", PACKAGE_CHECKPOINT },
    { "flax/|haiku/|equinox/|optax/|transformers/|diffusers/|peft/|trl/|timm/|numpy/|scipy/|pandas/|sklearn/|einops/|"
      "chex/|jaxtyping/|datasets/|tokenizers/|keras/|tensorflow/|deepspeed/|accelerate/|lightning/|pytorch_lightning/|"
      "vllm/|sglang/|megatron/|xformers/|flash_attn/|bitsandbytes/",
      PACKAGE_NUMERIC },
    { "requests/|urllib3/|httpx/|httpcore/|aiohttp/|huggingface_hub/|google/|gcsfs/|s3fs/|botocore/|boto3/|fsspec/|"
      "grpc/|wandb/|oauth2client/|azure/",
      PACKAGE_NETWORK },
    { "pip/|setuptools/|pkg_resources/|conda/|wheel/|build/|poetry/|packaging/", PACKAGE_INSTALLER },
};

static const struct {
    const char *folders;
    enum frame_package package;
} packages_of_standard[] = {
    { "importlib|contextlib|runpy|threading|concurrent/|functools|asyncio/|multiprocessing/spawn", PACKAGE_NONE },
    { "socket|ssl|urllib/|http/|ftplib|smtplib", PACKAGE_NETWORK },
    { "subprocess|multiprocessing/", PACKAGE_CHILDREN },
};

static bool begins_with_any (struct text inner, const char *folders)
{
    char folder[64];
    for (struct text rest = text_of (folders); rest.len;) {
        struct text one = text_take_until (&rest, '|');
        if (text_to_c (one, folder, sizeof folder) && text_starts (inner, folder))
            return true;
    }
    return false;
}

enum frame_package frame_package_of (struct text path)
{
    struct text inner;
    if (path.len == 0 || path.ptr[0] == '<' || text_ends (path, "/sliceup_canary.py") ||
        text_ends (path, "/sliceup_program.py") || text_ends (path, "/sliceup_program_children.py") ||
        text_ends (path, "/sliceup_preload.py"))
        return PACKAGE_NONE;
    if (path_is_installed (path, &inner)) {
        for (size_t i = 0; i < sizeof packages / sizeof packages[0]; i++)
            if (begins_with_any (inner, packages[i].folders))
                return packages[i].package;
        return PACKAGE_OTHER;
    }
    if (!path_is_standard (path, &inner))
        return PACKAGE_USER;
    for (size_t i = 0; i < sizeof packages_of_standard / sizeof packages_of_standard[0]; i++)
        if (begins_with_any (inner, packages_of_standard[i].folders))
            return packages_of_standard[i].package;
    return PACKAGE_STANDARD;
}

/* ---- frames ---- */

/* "  File "/a/b.py", line 7, in f"; of rich: "/a/b.py:7 in f"; of faulthandler: no comma before "in". */
static bool frame_path (struct text body, struct text *path)
{
    uint32_t at;
    if (text_find (body, TEXT_LIT ("File \""), &at)) {
        struct text rest = words_from (body, at + 6);
        return text_cut (&rest, '"', path) && text_starts (rest, ", line ");
    }
    struct text trimmed = text_trimmed (body);
    if (!trimmed.len || trimmed.ptr[0] != '/' || !text_find (trimmed, TEXT_LIT (".py:"), &at))
        return false;
    *path = (struct text){ .ptr = trimmed.ptr, .len = at + 3 };
    return text_is_digit (trimmed.ptr[at + 4 < trimmed.len ? at + 4 : at]);
}

bool frame_is_of_user (struct text frame)
{
    struct text path;
    return frame_path (frame, &path) &&
           (frame_package_of (path) == PACKAGE_USER || text_is (path, "<string>") || text_is (path, "<stdin>"));
}

uint32_t traceback_frames (const struct printed_lines *lines, const struct exception *exception,
                           struct text frames[TRACE_FRAMES_MAX])
{
    uint32_t n = 0, at;
    for (uint32_t i = exception->type_line; i-- > exception->first && n < TRACE_FRAMES_MAX;) {
        struct text body = printed_line_body (&lines->items[i]), path;
        if (lines->items[i].speaker == lines->items[exception->first].speaker && frame_path (body, &path) &&
            text_find (body, TEXT_LIT ("File \""), &at))
            frames[n++] = words_from (body, at);
    }
    return n;
}

uint32_t traceback_crash_frames (const struct printed_lines *lines, struct text frames[TRACE_FRAMES_MAX],
                                 int64_t *number)
{
    uint32_t n = 0, at = lines->n, from;
    struct text path;
    while (at > 0 && !text_starts (printed_line_body (&lines->items[at - 1]), "Fatal Python error: "))
        at--;
    if (at == 0 || lines->items[at - 1].worked > WORKED_ON)
        return 0;
    uint32_t speaker = lines->items[at - 1].speaker;
    *number = lines->items[at - 1].number;
    for (bool own = false; at < lines->n && n < TRACE_FRAMES_MAX; at++) {
        struct text body = printed_line_body (&lines->items[at]);
        if (lines->items[at].speaker != speaker)
            continue;
        if (own && frame_path (body, &path) && text_find (body, TEXT_LIT ("File \""), &from))
            frames[n++] = words_from (body, from);
        else if (n || (own && text_starts (body, "Thread 0x")))
            break;
        own |= text_starts (body, "Current thread 0x");
    }
    return n;
}

/* Frames come from the outermost to the innermost: each that says something replaces the one before. */
static void traceback_take_frame (struct exception *exception, struct text path)
{
    enum frame_package package = frame_package_of (path);
    if (package != PACKAGE_NONE)
        exception->raised = package;
}

/* ---- one block ---- */

/* A logger may put its prefix before each line of a traceback: `lead` is that of the heading. */
struct reading {
    const struct printed_lines *lines;
    struct exceptions *out;
    struct arena *arena;
    struct text lead;
};

enum { LEAD_ALIKE_BYTES = 5 };

static struct text without_box (struct text body)
{
    body = text_trimmed (body);
    if (text_starts (body, box_side))
        body = text_trimmed (words_from (body, 3));
    if (text_ends (body, box_side))
        body.len -= 3;
    return body;
}

static struct text body_at (const struct reading *reading, uint32_t line)
{
    return printed_line_body (&reading->lines->items[line]);
}

static bool has_lead (const struct reading *reading, struct text body)
{
    uint32_t alike = reading->lead.len < LEAD_ALIKE_BYTES ? reading->lead.len : LEAD_ALIKE_BYTES;
    return alike && body.len >= reading->lead.len && memcmp (body.ptr, reading->lead.ptr, alike) == 0;
}

/* Without the heading's prefix, if the line has it. */
static struct text inner_at (const struct reading *reading, uint32_t line)
{
    struct text body = body_at (reading, line);
    return has_lead (reading, body) ? words_from (body, reading->lead.len) : body;
}

static bool is_heading (struct text body)
{
    return words_any_exact (body, heading);
}

static bool is_chain_phrase (struct text body)
{
    return words_any_exact (body, "The above exception was the direct cause of|During handling of the above exception");
}

static bool is_same_speaker (const struct reading *reading, uint32_t a, uint32_t b)
{
    return reading->lines->items[a].speaker == reading->lines->items[b].speaker;
}

/* What a shell, the kernel or jax's own remark puts behind an exception. */
static bool is_other_output (struct text body)
{
    bool bracket = body.len > 1 && body.ptr[0] == '[' &&
                   (text_is_digit (body.ptr[1]) || body.ptr[1] == ' ' || words_any_exact (body, "] NVRM|] Xid"));
    return bracket || text_starts (body, "+ ") || text_starts (body, "$ ") ||
           text_starts (body, "--------------------");
}

/* A message ends where something else begins: a line with a level, a time, another speaker, a heading, a phrase. */
static bool ends_message (const struct reading *reading, uint32_t type_line, uint32_t line)
{
    const struct printed_line *next = &reading->lines->items[line], *first = &reading->lines->items[type_line];
    struct text body = inner_at (reading, line), type, message;
    return (next->level != LEVEL_NONE && !has_lead (reading, printed_line_body (next))) ||
           next->speaker != first->speaker || is_heading (body) || is_chain_phrase (body) ||
           (next->body > 0) != (first->body > 0) || text_starts (body, "srun: ") ||
           text_starts (body, "slurmstepd: ") || is_other_output (body) || text_starts (body, "For simplicity, JAX") ||
           exception_read_line (body, &type, &message);
}

static void take_message (struct reading *reading, struct exception *exception, struct text message)
{
    LOCAL_BUF all = { .max = 2 * MESSAGE_MAX_BYTES };
    buf_add_text (&all, text_clip (message, MESSAGE_MAX_BYTES));
    uint32_t line = exception->type_line + 1, blank = 0;
    for (; line < reading->lines->n && line <= exception->type_line + MESSAGE_LINES_MAX && blank < 2; line++) {
        if (ends_message (reading, exception->type_line, line))
            break;
        struct text body = inner_at (reading, line);
        blank = text_trimmed (body).len ? 0 : blank + 1;
        if (blank || all.len + body.len + 1 > MESSAGE_MAX_BYTES)
            continue;
        exception->last = line;
        buf_byte (&all, '\n');
        buf_add_text (&all, body);
    }
    exception->message = text_copy (reading->arena, buf_as_text (&all));
}

/* "XlaRuntimeError     Traceback (most recent call last)": IPython names the type first. */
static struct text ipython_type (struct text body)
{
    struct text trimmed = text_trimmed (body), name = { .ptr = trimmed.ptr, .len = text_span (trimmed, "_.") };
    return is_type_name (name) ? name : (struct text){ 0 };
}

static bool is_frame_text (struct text body, bool boxed)
{
    return !body.len || body.ptr[0] == ' ' || body.ptr[0] == '[' || body.ptr[0] == '|' || boxed ||
           text_starts (body, "Cell In") || text_starts (body, "File ") || text_starts (body, "---");
}

/* From the heading at `line` to the line with the type; false: it is cut off. */
static bool read_frames (struct reading *reading, struct exception *exception, struct text *message)
{
    bool boxed = words_any_exact (body_at (reading, exception->first), box_top), frames = false;
    struct text named = boxed ? (struct text){ 0 } : ipython_type (body_at (reading, exception->first)), path;
    uint32_t end = exception->first + TRACE_LINES_MAX;
    for (uint32_t line = exception->first + 1; line < reading->lines->n && line < end; line++) {
        struct text body = inner_at (reading, line);
        if (!is_same_speaker (reading, exception->first, line))
            continue;
        bool typed = !boxed && !is_frame_text (body, boxed) && read_type (body, frames, &exception->type, message);
        if (is_heading (body) && !typed)
            return false;
        exception->last = line;
        if (words_any_exact (body, box_bottom)) {
            boxed = false;
        } else if (frame_path (boxed ? without_box (body) : body, &path)) {
            traceback_take_frame (exception, path);
            frames = true;
        } else if (typed && (!named.len || text_equal (named, exception_short_type (exception->type)))) {
            exception->type_line = line;
            return true;
        }
    }
    return false;
}

static bool says_harmless (struct text body)
{
    return words_any_exact (body, "Exception ignored in|Exception ignored on|--- Logging error ---|in atexit callback|"
                                  "Error in sys.excepthook|Task exception was never retrieved|Exception in thread|"
                                  "Exception in callback");
}

/* Does the heading, or a line above it, say that nothing ended? */
static bool is_harmless (const struct reading *reading, uint32_t line)
{
    for (uint32_t i = line; i + 2 >= line && i < reading->lines->n; i--)
        if (says_harmless (reading->lines->items[i].text))
            return true;
    return false;
}

static enum chaining chained_by (const struct reading *reading, uint32_t line)
{
    for (uint32_t i = line; i + 3 >= line && i < reading->lines->n; i--) {
        struct text body = body_at (reading, i);
        if (words_any_exact (body, "was the direct cause of"))
            return CHAIN_CAUSE;
        if (words_any_exact (body, "During handling of the above"))
            return CHAIN_CONTEXT;
    }
    return CHAIN_NONE;
}

static struct exception *add_exception (const struct reading *reading, uint32_t line)
{
    struct exceptions *out = reading->out;
    if (out->n == EXCEPTIONS_MAX) {
        memmove (out->items, out->items + 1, (EXCEPTIONS_MAX - 1) * sizeof *out->items);
        out->n--;
    }
    struct exception *exception = &out->items[out->n++];
    *exception =
        (struct exception){ .first = line, .last = line, .type_line = line, .harmless = is_harmless (reading, line) };
    return exception;
}

/* What stands in front of the heading, but for the type of IPython and the box of rich. */
static struct text lead_of (struct text body)
{
    uint32_t at = 0;
    text_find (body, text_of (heading), &at);
    struct text lead = { .ptr = body.ptr, .len = at };
    return words_any_exact (lead, box_top) || ipython_type (body).len ? (struct text){ 0 } : lead;
}

static uint32_t read_block (struct reading *reading, uint32_t line)
{
    struct text message = { 0 };
    reading->lead = lead_of (body_at (reading, line));
    struct exception *exception = add_exception (reading, line);
    exception->chained = reading->out->n > 1 ? chained_by (reading, line) : CHAIN_NONE;
    if (read_frames (reading, exception, &message))
        take_message (reading, exception, message);
    else
        exception->last = exception->last > line + TRACE_LINES_MAX / 2 ? line : exception->last;
    return exception->last;
}

/* Frames whose heading is cut off, or those of a SyntaxError, which has none. */
static void take_frames_above (const struct reading *reading, struct exception *exception, uint32_t line)
{
    enum { ABOVE = 6 };
    struct text path;
    for (uint32_t i = line > ABOVE ? line - ABOVE : 0; i < line; i++)
        if (is_same_speaker (reading, i, line) && frame_path (body_at (reading, i), &path))
            traceback_take_frame (exception, path);
}

/* "ValueError: ..." without a heading: printed alone, or what is left of a traceback. */
static bool read_lone (struct reading *reading, uint32_t line)
{
    struct text type, message, body = body_at (reading, line);
    reading->lead = (struct text){ 0 };
    if (text_starts (body, "E   ")) /* pytest */
        body = words_from (body, 4);
    if (reading->lines->items[line].level >= LEVEL_INFO && reading->lines->items[line].level <= LEVEL_WARNING)
        return false;
    if (!exception_read_line (body, &type, &message) || text_ends (type, "Warning"))
        return false;
    struct exception *exception = add_exception (reading, line);
    exception->type = type;
    take_frames_above (reading, exception, line);
    take_message (reading, exception, message);
    return true;
}

void traceback_find_all (const struct printed_lines *lines, struct arena *arena, struct exceptions *out)
{
    struct reading reading = { .lines = lines, .out = out, .arena = arena };
    *out = (struct exceptions){ .items = arena_array (arena, EXCEPTIONS_MAX, sizeof *out->items) };
    for (uint32_t line = 0; line < lines->n; line++) {
        if (is_heading (printed_line_body (&lines->items[line])))
            line = read_block (&reading, line);
        else if (read_lone (&reading, line))
            line = out->items[out->n - 1].last;
    }
}
