#include "coordinator/verdict/stands.h"

#include <string.h>

#include "common/logs/traceback.h"
#include "common/model/hostset.h"
#include "coordinator/verdict/agree.h"

enum { NAMES_BYTES = 256 };

/* Packages in which programs wait for other hosts; jaxlib and torch_xla are told as what people import. */
static const struct {
    const char *folder, *word;
} runtimes[] = {
    { "jax", "jax" },       { "jaxlib", "jax" },      { "torch", "torch" },          { "torch_xla", "torch_xla" },
    { "mpi4py", "mpi4py" }, { "horovod", "horovod" }, { "tensorflow", "tensorflow" }
};

struct stand {
    bool known, stopped;
    bool child;                /* it waits for a process that it started */
    bool waits, children_wait; /* maybe for another host: any of its processes; one that it started */
    struct text inner, own;    /* frames: the innermost, and the innermost of the user's own files */
    struct text wait;          /* of the main thread, in the kernel's words */
    struct text runtime;       /* of the innermost frame; empty: it is no runtime's */
};

/* ---- one stand ---- */

/* What stands between `before` and `after`; empty: not there. */
static struct text text_between (struct text line, const char *before, const char *after)
{
    uint32_t from, to;
    if (!text_find (line, text_of (before), &from))
        return (struct text){ 0 };
    from += text_of (before).len;
    struct text rest = { line.ptr + from, line.len - from };
    if (!text_find (rest, text_of (after), &to))
        return (struct text){ 0 };
    return (struct text){ rest.ptr, to };
}

static struct text runtime_of (struct text frame)
{
    struct text folder = text_between (frame, "/site-packages/", "/");
    if (!folder.len)
        folder = text_between (frame, "/dist-packages/", "/");
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        if (text_is (folder, runtimes[i].folder))
            return text_of (runtimes[i].word);
    return (struct text){ 0 };
}

/* What stands behind `mark`, if it begins with the state of a thread (worker/process/thread_waits.c); else empty. */
static struct text state_behind (struct text line, const char *mark)
{
    static const char *const states[] = { "running", "sleeping",     "waiting uninterruptibly",
                                          "stopped", "tracing stop", "idle",
                                          "zombie",  "dead" };
    uint32_t at;
    if (!text_find (line, text_of (mark), &at))
        return (struct text){ 0 };
    at += text_of (mark).len;
    struct text rest = { line.ptr + at, line.len - at };
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (text_starts (rest, states[i]))
            return rest;
    return (struct text){ 0 };
}

/* "python3: main thread sleeping in futex (futex_do_wait)": what the kernel says, without its own function. */
static struct text wait_of (struct text line, const char *mark)
{
    struct text wait = state_behind (line, mark);
    uint32_t at;
    return text_find (wait, TEXT_LIT (" ("), &at) ? (struct text){ wait.ptr, at } : wait;
}

/* Of a program that was looked at while it ran, and of one that an exception ended. */
static bool is_inner (struct text line)
{
    return text_starts (line, "main thread: File ") || text_starts (line, "raised in: File ");
}

/* In a call in which a program may wait for another host. */
static bool wait_is_of_network (struct text wait)
{
    static const char *const calls[] = { "recv",   "read",   "poll",    "ppoll", "select", "pselect6",
                                         "epoll_", "accept", "connect", "send",  "write" };
    const struct text sleeping = TEXT_LIT ("sleeping in ");
    if (!text_starts (wait, sleeping.ptr))
        return false;
    wait = (struct text){ wait.ptr + sleeping.len, wait.len - sleeping.len };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (text_starts (wait, calls[i]))
            return true;
    return false;
}

static void stand_take_frame (struct stand *stand, struct text line, bool inner)
{
    bool own = frame_is_of_user (line);
    if (inner)
        stand->inner = line;
    if (own && !stand->own.len)
        stand->own = line;
    stand->child |= !own && text_find (line, TEXT_LIT ("/subprocess.py\""), NULL);
}

/* The first process started the others. */
static void stand_take_wait (struct stand *stand, struct text wait)
{
    bool network = wait_is_of_network (wait);
    stand->children_wait |= stand->wait.len && network;
    stand->waits |= network;
    stand->wait = stand->wait.len ? stand->wait : wait;
}

static struct stand stand_read (struct text lines)
{
    struct stand stand = { 0 };
    while (lines.len) {
        struct text line = text_take_until (&lines, '\n');
        if (is_inner (line) || text_starts (line, "called from: File ")) {
            stand_take_frame (&stand, line, is_inner (line));
        } else {
            stand_take_wait (&stand, wait_of (line, ": main thread "));
            stand_take_wait (&stand, wait_of (line, " processes ")); /* that do the same */
        }
    }
    bool accepts = text_starts (stand.wait, "sleeping in accept"); /* it is held up by somebody who does not come */
    stand.known = !accepts && (stand.inner.len > 0 || stand.wait.len > 0);
    stand.runtime = runtime_of (stand.inner);
    stand.stopped = text_starts (stand.wait, "stopped") || text_starts (stand.wait, "tracing stop");
    return stand;
}

/* `File "/home/me/fault.py", line 4 in maybe` as `fault.py:4 maybe ()`. */
static struct text frame_print (struct text frame, struct arena *arena)
{
    struct text path = text_between (frame, "File \"", "\""), file = path;
    while (path.len)
        file = text_take_until (&path, '/');
    struct text line = { 0 }, name = { 0 };
    uint32_t at;
    if (text_find (frame, TEXT_LIT ("\", line "), &at))
        line = (struct text){ frame.ptr + at + 8, text_digits_end (frame, at + 8) - (at + 8) };
    if (text_find (frame, TEXT_LIT (" in "), &at))
        name = (struct text){ frame.ptr + at + 4, frame.len - at - 4 };
    if (!name.len || text_is (name, "<module>"))
        return text_format (arena, "%.*s:%.*s", TEXT_ARG (file), TEXT_ARG (line));
    return text_format (arena, "%.*s:%.*s %.*s ()", TEXT_ARG (file), TEXT_ARG (line), TEXT_ARG (name));
}

/* Of one that waits in a runtime its own wait says nothing more. */
static struct text stand_print_read (const struct stand *stand, struct arena *arena)
{
    struct text place = { 0 };
    if (stand->own.len)
        place = frame_print (stand->own, arena);
    if (stand->runtime.len)
        return text_format (arena, "%.*s%s%.*s", TEXT_ARG (place), place.len ? ", in " : "", TEXT_ARG (stand->runtime));
    if (stand->inner.len && !text_equal (stand->inner, stand->own))
        place = text_format (arena, "%.*s%s%.*s", TEXT_ARG (place), place.len ? ", in " : "",
                             TEXT_ARG (frame_print (stand->inner, arena)));
    return text_format (arena, "%.*s%s%.*s", TEXT_ARG (place), place.len && stand->wait.len ? ", " : "",
                        TEXT_ARG (stand->wait));
}

struct text stand_print (struct text lines, struct arena *arena, bool *framed)
{
    struct stand stand = stand_read (lines);
    *framed = stand.inner.len > 0;
    return stand_print_read (&stand, arena);
}

/* By its own doing, below a line of the user's own: not in a runtime, and none of its processes in a wait that may be for
 * another host, but for one that waits for a program that it started. Who serves the others and sleeps may look for them
 * again and again. */
static bool stand_is_held (const struct stand *stand, bool serves)
{
    bool own = stand->inner.len && stand->own.len && !stand->runtime.len && stand->wait.len,
         looks = serves && text_find (stand->wait, TEXT_LIT ("nanosleep"), NULL);
    if (stand->stopped || !own || looks)
        return stand->stopped;
    return stand->child ? !stand->children_wait : !stand->waits;
}

/* flock(2), and the locks of fcntl(2), which sleep in the same place of the kernel (linux fs/locks.c). */
bool stand_waits_for_lock (struct text lines)
{
    return text_find (lines, TEXT_LIT (": main thread sleeping in flock"), NULL) ||
           text_find (lines, TEXT_LIT ("(locks_lock_inode_wait)"), NULL);
}

bool stand_holds_itself (struct text lines)
{
    struct stand stand = stand_read (lines);
    return stand_is_held (&stand, false);
}

struct text stand_phrase (struct text lines, struct arena *arena)
{
    struct stand stand = stand_read (lines);
    if (stand.stopped)
        return TEXT_LIT ("was stopped by a signal");
    return stand.inner.len ? text_format (arena, "stood in %.*s", TEXT_ARG (stand_print_read (&stand, arena)))
                           : (struct text){ 0 };
}

bool stand_is_line (struct text line)
{
    return is_inner (line) || text_starts (line, "called from: File ") || state_behind (line, " thread ").len ||
           state_behind (line, " threads ").len || state_behind (line, " processes ").len;
}

enum stand_line stand_line_read (struct text line, struct text *said)
{
    struct text mark = line;
    *said = line;
    if (!is_inner (line) && !text_starts (line, "called from: File "))
        return STAND_WAIT;
    (void) text_take_until (&mark, ' ');
    while (!text_starts (mark, "File "))
        (void) text_take_until (&mark, ' ');
    *said = mark;
    return frame_is_of_user (line) ? STAND_OWN_FRAME : STAND_FRAME;
}

/* ---- all of them ---- */

/* Equal where two stand in one place; empty: not known. Polling moves between lines and functions of a runtime, so of its
 * frames only the file counts. Roughly: in one file of the user, in the same call. */
static struct text stand_key (const struct stand *stand, bool roughly, struct arena *arena)
{
    struct text file = text_between (stand->inner, "File \"", "\""), own = stand->own;
    if (!stand->known)
        return (struct text){ 0 };
    if (roughly)
        own = text_between (own, "File \"", "\"");
    return text_format (arena, "%d %.*s %.*s %.*s", stand->stopped, TEXT_ARG (own), TEXT_ARG (file),
                        TEXT_ARG (stand->inner.len && !roughly ? (struct text){ 0 } : stand->wait));
}

/* Marks those that stand elsewhere than most; returns in how many places all stand or more, 0 if most stand in none. */
static uint32_t stands_mark_elsewhere (const struct stand *stands, uint32_t n, bool roughly, bool *lags,
                                       struct arena *arena)
{
    struct text *keys = arena_array (arena, n, sizeof *keys), first = { 0 };
    uint32_t places = 0;
    for (uint32_t i = 0; i < n; i++)
        keys[i] = stand_key (&stands[i], roughly, arena);
    struct text most = majority_value (keys, n);
    for (uint32_t i = 0; i < n; i++) {
        lags[i] = most.len && keys[i].len && !text_equal (keys[i], most);
        places += lags[i] && !text_equal (keys[i], first);
        first = lags[i] ? keys[i] : first;
    }
    return most.len ? places + 1 : 0;
}

static struct text stands_fold_names (const struct stand_host *hosts, const struct stand *stands, uint32_t n,
                                      const bool *lags, bool lag, struct arena *arena)
{
    struct text *names = arena_array (arena, n, sizeof *names);
    uint32_t named = 0;
    for (uint32_t i = 0; i < n; i++)
        if (stands[i].known && lags[i] == lag)
            names[named++] = hosts[i].name;
    return hostset_folded (names, named, NAMES_BYTES, arena);
}

/* The first of those that lag, or that do not; NULL: there is none. */
static const struct stand *stands_first (const struct stand *stands, uint32_t n, const bool *lags, bool lag,
                                         uint32_t *count)
{
    const struct stand *first = NULL;
    *count = 0;
    for (uint32_t i = 0; i < n; i++) {
        bool one = stands[i].known && lags[i] == lag;
        first = one && !first ? &stands[i] : first;
        *count += one;
    }
    return first;
}

/* "h2 stands in fault.py:4 maybe ()", "h[1-2] are sleeping in wait4". */
static struct text stands_say (struct text who, uint32_t n, const struct stand *stand, struct arena *arena)
{
    const char *verb = n == 1 ? "is" : "are";
    if (stand->stopped)
        return text_format (arena, "%.*s %s stopped by a signal", TEXT_ARG (who), verb);
    if (stand->inner.len)
        verb = n == 1 ? "stands in" : "stand in";
    return text_format (arena, "%.*s %s %.*s", TEXT_ARG (who), verb, TEXT_ARG (stand_print_read (stand, arena)));
}

static void stands_explain (const struct stand_host *hosts, const struct stand *stands, uint32_t n, const bool *lags,
                            struct arena *arena, struct text *who, struct text *others)
{
    uint32_t lagging, rest_n;
    const struct stand *first = stands_first (stands, n, lags, true, &lagging),
                       *other = stands_first (stands, n, lags, false, &rest_n);
    struct text rest = stands_fold_names (hosts, stands, n, lags, false, arena);
    if (!first && (other->inner.len || other->stopped))
        *who = stands_say (text_format (arena, "%.*s all", TEXT_ARG (rest)), rest_n, other, arena);
    if (!first)
        return;
    *who = stands_say (stands_fold_names (hosts, stands, n, lags, true, arena), lagging, first, arena);
    if (other->runtime.len && !first->runtime.len) /* else nothing says who is ahead */
        *others = text_format (arena, "%.*s wait%s for %s in %.*s", TEXT_ARG (rest), rest_n == 1 ? "s" : "",
                               lagging == 1 ? "it" : "them", TEXT_ARG (other->runtime));
    else
        *others = stands_say (rest, rest_n, other, arena);
}

/* Marks those outside of what the others wait in; returns how many, 0 if all or none are. */
static uint32_t stands_mark_outside (const struct stand *stands, uint32_t n, uint32_t known, bool *lags)
{
    bool waited = false;
    uint32_t outside = 0;
    for (uint32_t i = 0; i < n; i++)
        waited = waited || (stands[i].runtime.len && !stands[i].stopped);
    for (uint32_t i = 0; i < n; i++) {
        lags[i] = stands[i].stopped || (waited && stands[i].known && !stands[i].runtime.len);
        outside += lags[i];
    }
    return 2 * outside <= known ? outside : 0; /* of a majority it would be no finding */
}

/* Where some have ended, and the others wait in a runtime: marks those that are held, 0 if they are not the fewer. */
static uint32_t stands_mark_left (const struct stand_host *hosts, const struct stand *stands, uint32_t n, bool *lags)
{
    uint32_t held = 0;
    bool wait = true;
    for (uint32_t i = 0; i < n; i++) {
        lags[i] = !hosts[i].ended && stands[i].known && stand_is_held (&stands[i], hosts[i].serves);
        held += lags[i];
        wait = wait && (hosts[i].ended || lags[i] || stands[i].runtime.len);
    }
    if (wait && 2 * held < n)
        return held;
    memset (lags, 0, n * sizeof *lags);
    return 0;
}

/* "h[1-2] wait in torch"; empty: nobody does. */
static struct text stands_waiting (const struct stand_host *hosts, const struct stand *stands, uint32_t n,
                                   const bool *lags, struct arena *arena)
{
    uint32_t rest_n;
    const struct stand *other = stands_first (stands, n, lags, false, &rest_n);
    if (!other)
        return (struct text){ 0 };
    return text_format (arena, "%.*s wait%s in %.*s",
                        TEXT_ARG (stands_fold_names (hosts, stands, n, lags, false, arena)), rest_n == 1 ? "s" : "",
                        TEXT_ARG (other->runtime));
}

static struct stand *stands_find_server (const struct stand_host *hosts, struct stand *stands, uint32_t n)
{
    struct stand *server = NULL;
    for (uint32_t i = 0; i < n; i++) {
        if (stands[i].inner.len)
            return NULL;
        server = hosts[i].serves && text_starts (stands[i].wait, "sleeping") ? &stands[i] : server;
    }
    return server;
}

/* Those that stand roughly alike are told as most of them stand. */
static void stands_tell_as_most (struct stand *stands, uint32_t n, const bool *lags, struct arena *arena)
{
    struct text *keys = arena_array (arena, n, sizeof *keys);
    uint32_t at = 0;
    for (uint32_t i = 0; i < n; i++)
        keys[i] = lags[i] ? (struct text){ 0 } : stand_key (&stands[i], false, arena);
    struct text most = majority_value (keys, n);
    while (at < n && !text_equal (keys[at], most))
        at++;
    for (uint32_t i = 0; i < n && most.len; i++)
        if (keys[i].len)
            stands[i] = stands[at];
}

uint32_t stands_find_lagging (const struct stand_host *hosts, uint32_t n, bool *lags, struct arena *arena,
                              struct text *who, struct text *others)
{
    struct stand *stands = arena_array (arena, n, sizeof *stands);
    bool *roughly = arena_array (arena, n, sizeof *roughly);
    uint32_t known = 0, ended = 0, lagging, places;
    *who = *others = (struct text){ 0 };
    for (uint32_t i = 0; i < n; i++)
        stands[i] = stand_read (hosts[i].lines);
    struct stand *server = stands_find_server (hosts, stands, n);
    if (server)
        server->known = false;
    for (uint32_t i = 0; i < n; i++) {
        known += stands[i].known;
        ended += hosts[i].badly;
    }
    if (ended) {
        lagging = stands_mark_left (hosts, stands, n, lags);
        *others = lagging ? stands_waiting (hosts, stands, n, lags, arena) : *others;
        return lagging;
    }
    lagging = known > 1 ? stands_mark_outside (stands, n, known, lags) : 0;
    places = known > 1 && !lagging ? stands_mark_elsewhere (stands, n, false, lags, arena) : 1;
    if (places != 1 && places != 2 && stands_mark_elsewhere (stands, n, true, roughly, arena) == 2) {
        memcpy (lags, roughly, n * sizeof *lags); /* who collects at a barrier waits with those that he collects from */
        stands_tell_as_most (stands, n, lags, arena);
        places = 2;
    }
    for (uint32_t i = 0; i < n && server; i++) /* it may stand where most do */
        server->known |= !lags[i] && stands[i].known && text_equal (stands[i].wait, server->wait);
    if (known < 2 || !places) {
        memset (lags, 0, n * sizeof *lags);
        return 0;
    }
    (void) stands_first (stands, n, lags, true, &lagging);
    stands_explain (hosts, stands, n, lags, arena, who, others);
    return lagging;
}
