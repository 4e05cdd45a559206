/* traceback.h - the exceptions that a Python program printed: type, message, whose frames, how chained, whether fatal.
 *
 * Reads the forms of CPython 3.8 to 3.13, of rich and of IPython, behind any prefix of a line, with lines of other
 * speakers in between. Pure; texts live in the lines' arena. */
#ifndef SLICEUP_COMMON_LOGS_TRACEBACK_H
#define SLICEUP_COMMON_LOGS_TRACEBACK_H

#include "common/logs/log_line.h"

/* ---- printed_lines.c: the end of a log as lines: cleaned, with who speaks and at which level ----
 *
 * A prefix tells who printed a line: "[rank0]:", "(Worker pid=7)", "3: ", "[1,0]<stderr>:", "pod-1 | ". Lines of one
 * speaker belong together although others print between them. docs/spec/signatures.md names the forms. Pure. */

/* Of a log with more lines the last ones are read, of a longer line its beginning. */
enum { PRINTED_LINES_MAX = 32768, PRINTED_LINE_BYTES = 4096 };

/* Who counted on more often than this behind an error has handled it: what waits in a pipe, or another thread, may print
 * a few steps more. */
enum { WORKED_ON = 3 };

struct printed_line {
    uint64_t offset;  /* of its first byte in the log */
    uint32_t number;  /* of the line in the text, from 1, as line ends count it */
    uint32_t order;   /* among all lines, as printed */
    struct text text; /* without terminal sequences; blanks at its beginning stay */
    uint32_t body;    /* bytes of prefixes and times in front */
    uint32_t speaker; /* equal for lines of one speaker; 0: no prefix */
    enum log_level level;
    uint32_t worked; /* counters of its speaker's work that grew behind it */
};

/* The lines of one speaker stand together, in the order in which they were printed. */
struct printed_lines {
    struct printed_line *items;
    uint32_t n;
    struct text all; /* the texts of the lines, one behind the other as printed */
};

/* `offset`: of the text in the log. Everything lives in the arena. */
void printed_lines_split (struct text text, uint64_t offset, struct arena *arena, struct printed_lines *out);
/* The line behind its prefixes. */
struct text printed_line_body (const struct printed_line *line);

/* ---- traceback.c ---- */

/* Whose code a frame is. */
enum frame_package {
    PACKAGE_NONE = 0, /* no frame, or one that says nothing: importlib, contextlib, runpy, decorators */
    PACKAGE_USER,     /* in no folder of installed packages */
    PACKAGE_STANDARD, /* Python's own library */
    PACKAGE_TRACE,    /* jax where programs are traced: arguments, shapes, dtypes */
    PACKAGE_BACKEND,  /* jax and torch_xla where devices and processes are set up */
    PACKAGE_COMPILE,  /* jax where XLA compiles; Triton, torch._inductor and torch._dynamo */
    PACKAGE_CACHE,    /* waits for or reads a build or compile cache */
    PACKAGE_KERNEL,   /* jax/_src/pallas */
    PACKAGE_TENSOR,   /* torch: modules, tensors, autograd */
    PACKAGE_GROUP,    /* torch.distributed */
    PACKAGE_CHECKPOINT,
    PACKAGE_NUMERIC, /* libraries of models, arrays and tables */
    PACKAGE_NETWORK,
    PACKAGE_CHILDREN, /* starts other processes and repeats what became of them */
    PACKAGE_INSTALLER,
    PACKAGE_OTHER,
};

extern const struct enum_names frame_package_names; /* none user standard ... other */

/* EXCEPTIONS_MAX: of a log with more the last ones are kept. */
enum { EXCEPTIONS_MAX = 96, MESSAGE_MAX_BYTES = 2048, MESSAGE_LINES_MAX = 16, TRACE_LINES_MAX = 600 };
enum { TRACE_FRAMES_MAX = 100 };

enum chaining {
    CHAIN_NONE = 0,
    CHAIN_CAUSE,   /* "the direct cause of": the one before is the cause of this one */
    CHAIN_CONTEXT, /* "During handling of": this one came while that one was handled */
};

struct exception {
    uint32_t first, last;      /* lines */
    uint32_t type_line;        /* the line with the type */
    struct text type;          /* "jaxlib.xla_extension.XlaRuntimeError"; empty: the traceback is cut */
    struct text message;       /* may hold line ends */
    enum frame_package raised; /* whose innermost frame raised it */
    bool harmless;             /* did not end its process: a destructor, a thread, a logging call */
    enum chaining chained;     /* to the one before it in the list */
};

struct exceptions {
    struct exception *items;
    uint32_t n;
};

void traceback_find_all (const struct printed_lines *lines, struct arena *arena, struct exceptions *out);
/* Its frames as `File "p", line 3, in f`, the innermost first; returns how many. Those that rich draws are not told. */
uint32_t traceback_frames (const struct printed_lines *lines, const struct exception *exception,
                           struct text frames[TRACE_FRAMES_MAX]);
/* Those that faulthandler printed last of a crash ("Fatal Python error: ...", the line with that `number`), in the same
 * form; none if the program worked on. */
uint32_t traceback_crash_frames (const struct printed_lines *lines, struct text frames[TRACE_FRAMES_MAX],
                                 int64_t *number);
/* Is the frame one of the user's own files? */
bool frame_is_of_user (struct text frame);
/* "XlaRuntimeError" of "jaxlib.xla_extension.XlaRuntimeError". */
struct text exception_short_type (struct text type);
/* Reads "pkg.Name: message" or a bare name that ends as those of exceptions do. */
bool exception_read_line (struct text body, struct text *type, struct text *message);

/* By the path of its file. */
enum frame_package frame_package_of (struct text path);

#endif
