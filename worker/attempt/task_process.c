/* task_process.c - the process of a task, and its work. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include "common/logs/classify.h"
#include "common/wire/wire.h"
#include "worker/attempt/attempt_state.h"
#include "worker/attempt/command.h"
#include "worker/attempt/task.h"
#include "worker/environment/installed.h"
#include "worker/environment/kit.h"
#include "worker/facts/host_fact_list.h"
#include "worker/process/subprocess.h"

/* ---- what a program printed is searched for signatures: the whole log, also what the coordinator did not get ---- */

/* Where the `output_bytes` of output are: in `log`, maybe cut in the middle, and the end in `tail`. */
struct printed_log {
    const char *log;
    struct text tail;
    uint64_t output_bytes;
    struct output_cut cut;
};

enum { PIECE_BYTES = 256 * 1024, RESOLVER_FILE_BYTES = 4096, UNPACK_MS = 60 * 1000 };
enum { UNREACHED_MS = 2000, UNUSED_PORT = 47011 };

/* The offset in the output; for a kept line of a cut, the cut's beginning. */
static uint64_t printed_at (const struct output_cut *cut, uint64_t log_at)
{
    if (!cut->tail_at || log_at < cut->cut_at)
        return log_at;
    return log_at < cut->tail_at ? cut->cut_at : cut->tail_from + (log_at - cut->tail_at);
}

/* Does the output before the stop end in the cut? */
static bool ends_in_cut (const struct printed_log *place)
{
    return place->output_bytes > place->cut.cut_at && place->output_bytes <= place->cut.tail_from;
}

/* No more than was printed. */
static int scan_file (const struct printed_log *place, struct classify_run *run, uint64_t *bytes, struct err *err)
{
    bool in_tail = place->output_bytes > place->cut.tail_from;
    uint64_t behind_bytes = in_tail ? place->output_bytes - place->cut.tail_from : 0;
    uint64_t most = in_tail || ends_in_cut (place) ? place->cut.tail_at + behind_bytes : place->output_bytes;
    LOCAL_FD fd = plain_file_open (place->log, O_RDONLY, err); /* the program could have put anything in its place */
    if (fd < 0)
        return err_prefix (err, "the log");
    LOCAL_MEM char *piece = mem_alloc (PIECE_BYTES);
    ssize_t got = 1;
    while (*bytes < most && got != 0) {
        uint64_t left_bytes = most - *bytes;
        got = fd_read (fd, piece, left_bytes < PIECE_BYTES ? (size_t) left_bytes : PIECE_BYTES);
        if (got < 0)
            break;
        classify_bytes (run, (struct text){ piece, (uint32_t) got });
        *bytes += (uint64_t) got;
    }
    return got < 0 ? err_errno (err, ERR_IO, "cannot read the log %s to search it for signatures", place->log) : 0;
}

/* Sets each one's offset in the whole output; lines after a cut are not counted. */
static void place_sightings (struct signature_scan_result *seen, const struct printed_log *place, uint64_t log_bytes)
{
    uint64_t tail_at = place->output_bytes - place->tail.len;
    for (uint32_t i = 0; i < seen->sightings_n; i++) {
        struct sighting *sighting = &seen->sightings[i];
        uint64_t at = sighting->offset;
        sighting->offset = at > log_bytes ? tail_at + (at - log_bytes - 1) : printed_at (&place->cut, at);
        if (at > log_bytes || (place->cut.tail_at && at >= place->cut.cut_at))
            sighting->line = 0;
    }
}

/* What it makes lives in `arena`. */
static int search (const struct printed_log *place, const struct signature_table *table, struct arena *arena,
                   struct signature_scan_result *out, struct err *err)
{
    uint64_t log_bytes = 0;
    struct signature_set *set = signature_set_build (table->signatures.items, table->signatures.n);
    if (!set)
        return err_set (err, ERR_LIMIT, "the texts in the table of signatures have more than %d bytes",
                        SIGNATURE_SET_TEXT_BYTES);
    struct classify_run *run = classify_begin (set);
    int rc = scan_file (place, run, &log_bytes, err);
    bool cut = (ends_in_cut (place) || printed_at (&place->cut, log_bytes) < place->output_bytes) &&
               place->tail.len <= place->output_bytes;
    if (cut) {
        classify_bytes (run, TEXT_LIT ("\n")); /* a cut ends the line */
        classify_bytes (run, place->tail);
    }
    classify_end (run, arena, out);
    place_sightings (out, place, log_bytes);
    signature_set_free (set);
    return cut && place->tail.len ? 0 : rc; /* the end alone is useful */
}

/* ---- what this host is like after a failure ---- */

/* The first absolute path in a line that a program printed; it is only asked for its file system. */
static bool path_in (struct text line, char path[PATH_MAX_BYTES + 1])
{
    uint32_t at = 0;
    while (at < line.len && !(line.ptr[at] == '/' && (at == 0 || strchr (" '\"`([=", line.ptr[at - 1]))))
        at++;
    struct text rest = { line.ptr + at, line.len - at };
    char end = at && strchr ("'\"`", line.ptr[at - 1]) ? line.ptr[at - 1] : ' ';
    rest = text_take_until (&rest, end);
    while (rest.len && end == ' ' && strchr (":,;)]", rest.ptr[rest.len - 1]))
        rest.len--;
    return rest.len && text_to_c (rest, path, PATH_MAX_BYTES + 1);
}

/* The file system of the path in the line. Where that has room, one of this host that is full: the path may be another
 * one, or cut. Without a path the one with the least room of those that a run uses, or one that is full. */
static struct text find_full (const struct msg_run *run, const char *directory, struct text line, struct arena *arena)
{
    const char *const paths[] = { directory, text_copy (arena, run->pins.env_dir).ptr,
                                  text_copy (arena, run->cache.frontend_root).ptr, host_fact_roots_real.tmp };
    char path[PATH_MAX_BYTES + 1];
    struct disk_room least = { .level = DISK_AMPLE, .free_bytes = UINT64_MAX }, named;
    bool found = path_in (line, path) && disk_room_find (path, arena, &named);
    if (found && named.level <= DISK_NEARLY_FULL)
        return named.sentence;
    for (uint32_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        disk_room_lessen (paths[i], DISK_NEARLY_FULL, arena, &least);
    disk_room_lessen_by_mounts (arena, &least);
    return found && least.level != DISK_FULL ? named.sentence : least.sentence;
}

/* Of the path in the line, else one that was written to once. */
static struct text find_read_only (struct text line, struct arena *arena)
{
    char path[PATH_MAX_BYTES + 1];
    struct disk_room room;
    bool found = path_in (line, path) ? disk_room_find (path, arena, &room) : disk_room_find_broken (arena, &room);
    return found && room.level == DISK_READ_ONLY ? room.sentence : (struct text){ 0 };
}

/* Of the first name server in the beginning of the file; the C library's form, resolv.conf(5). */
static struct text find_resolver (struct arena *arena)
{
    char bytes[RESOLVER_FILE_BYTES];
    struct text file = { bytes, (uint32_t) file_read_start ("/etc/resolv.conf", bytes, sizeof bytes) };
    while (file.len) {
        struct text line = text_take_until (&file, '\n'), address = { 0 };
        if (text_starts (line, "nameserver ") || text_starts (line, "nameserver\t"))
            address = text_trimmed ((struct text){ line.ptr + 10, line.len - 10 });
        if (address.len && text_span (address, ".:%-") == address.len)
            return text_format (arena, "its " NOTE_NAME_SERVER " is %.*s", TEXT_ARG (address));
    }
    return (struct text){ 0 };
}

static bool has_one_of (struct text id, const char *const *words)
{
    while (*words && !text_find (id, text_of (*words), NULL))
        words++;
    return *words != NULL;
}

static struct text find_holder (struct arena *arena)
{
    struct device_users users;
    device_users_find (&host_fact_roots_real, DEVICE_USERS_OF_EXCLUSIVE, DEVICE_SEARCH_MS, arena, &users);
    return device_users_sentence (&users, arena);
}

/* Rank 0, where programs meet: a machine that is up refuses what it does not listen to, unless something drops it. The
 * port is that of the line, of torch's variable or the profile's, else one at which likely nobody listens. */
static struct text find_unreached (const struct msg_run *run, struct text line, struct arena *arena)
{
    struct text rest = run->addresses, address = text_take_until (&rest, ','), digits = { 0 };
    uint64_t port = 0;
    uint32_t at;
    struct err why = { 0 };
    if (!run->rank || !address.len || text_equal (address, run->address) || address_is_loopback (address))
        return (struct text){ 0 };
    struct text head = text_format (arena, "%.*s:", TEXT_ARG (address));
    if (text_find (line, head, &at))
        for (digits.ptr = line.ptr + at + head.len;
             digits.ptr + digits.len < line.ptr + line.len && text_is_digit (digits.ptr[digits.len]);)
            digits.len++;
    else
        (void) var_find (&run->profile.env, TEXT_LIT ("MASTER_PORT"), &digits);
    if (!text_to_u64 (digits, &port) || !port || port > UINT16_MAX)
        port = run->profile.port ? run->profile.port : UNUSED_PORT;
    if (tcp_try (text_copy (arena, address).ptr, (uint16_t) port, UNREACHED_MS, &why) ||
        !text_starts (text_of (why.text), "no answer"))
        return (struct text){ 0 };
    return text_format (arena, NOTE_UNREACHED "%.*s%u (%s)", TEXT_ARG (head), (unsigned) port, why.text);
}

static struct text look_after_failure (const struct msg_run *run, const char *directory,
                                       const struct signature_scan_result *seen, struct arena *arena)
{
    static const char *const held[] = { "busy", "in-use", "lockfile", NULL };
    static const char *const processes[] = { "fork-limit", "threads-limit", "host-threads", NULL };
    static const char *const names[] = { "name-resolution", "name-service", "name-unknown", NULL };
    const struct sighting *decides = seen->sightings;
    while (decides < seen->sightings + seen->sightings_n && !decides->decides)
        decides++;
    struct rlimit files;
    if (decides == seen->sightings + seen->sightings_n)
        return find_unreached (run, (struct text){ 0 }, arena);
    if (text_starts (decides->signature, "disk-full"))
        return find_full (run, directory, decides->text, arena);
    if (text_starts (decides->signature, "read-only"))
        return find_read_only (decides->text, arena);
    if (has_one_of (decides->signature, names))
        return find_resolver (arena);
    if (text_is (decides->signature, "files-limit") && !getrlimit (RLIMIT_NOFILE, &files))
        return text_format (arena, NOTE_LIMIT "open files is %llu", (unsigned long long) files.rlim_cur);
    if (has_one_of (decides->signature, processes))
        return process_limit_find (arena);
    return has_one_of (decides->signature, held) ? find_holder (arena) : find_unreached (run, decides->text, arena);
}

/* ---- the task ---- */

/* For a success keeps only texts that no healthy program prints: the form of an error says nothing against it. */
static void keep_always (struct signature_table *table, const struct msg_run *run)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < table->signatures.n; i++)
        if (table->signatures.items[i].always &&
            (table->signatures.items[i].backends.n == 0 ||
             text_is_among (run->profile.backend, table->signatures.items[i].backends.items,
                            table->signatures.items[i].backends.n)))
            table->signatures.items[kept++] = table->signatures.items[i];
    table->signatures.n = kept;
}

static int read_log (const struct msg_run *run, const struct task_request *request, const char *directory,
                     struct text table_bytes, struct arena *arena, struct task_answer *answer, struct err *err)
{
    struct signature_table table = { 0 };
    struct signature_scan_result seen = { 0 };
    struct text log = attempt_file_path (arena, directory, "logs", &run->key, ".log");
    struct printed_log place = { log.ptr, request->tail, request->output_bytes, request->cut };
    if (wire_get_record (table_bytes, &signature_table_record, &table, arena, err) < 0)
        return err_prefix (err, "cannot read the table of signatures");
    if (request->succeeded)
        keep_always (&table, run);
    if (table.signatures.n && search (&place, &table, arena, &seen, err) < 0)
        return -1;
    if (request->succeeded)
        seen.shown_n = seen.frames_n = 0;
    answer->sightings.items = seen.sightings;
    answer->sightings.n = seen.sightings_n;
    answer->shown.items = seen.shown;
    answer->shown.n = seen.shown_n;
    answer->stack.items = arena_array (arena, STACK_FRAMES_MAX, sizeof *answer->stack.items);
    answer->stack.n = stack_choose_frames (seen.frames, seen.frames_n, "raised in", arena, answer->stack.items);
    if (!request->succeeded)
        answer->found = look_after_failure (run, directory, &seen, arena);
    answer->done = true;
    return 0;
}

/* The task READ: finds the RUN's table and searches the log. A missing table is named in `missing`. */
static void log_search_task (const struct msg_run *run, const struct task_request *request, const char *directory,
                             struct arena *arena, struct task_answer *answer)
{
    struct err err = { 0 };
    LOCAL_BUF bytes = { .max = KIT_FILE_MAX_BYTES };
    if (!kit_read_file (&run->signatures, directory, arena, &bytes)) {
        answer->missing.items = arena_array (arena, 1, sizeof *answer->missing.items);
        answer->missing.items[answer->missing.n++] = run->signatures.sha256;
    } else if (read_log (run, request, directory, buf_as_text (&bytes), arena, answer, &err) < 0) {
        task_answer_set_failure (answer, arena, OWNER_SLICEUP, &err);
    }
}

/* ---- what there is to do ---- */

static bool needs_cache (const struct msg_run *run)
{
    return run->rung.kind != PROGRAM_BUILTIN && run->cache.role != CACHE_ROLE_NONE;
}

bool task_prepare_is_needed (const struct msg_run *run)
{
    struct kit_list files;
    kit_list_of (run, &files);
    return files.n || run->rung.needs_env || needs_cache (run) || interpreter_must_be_asked (run);
}

bool task_audit_is_needed (const struct msg_run *run)
{
    return needs_cache (run) && run->cache.role == CACHE_ROLE_READER && run->cache.token != 0;
}

/* ---- preparing ---- */

static int find_environment (const struct msg_run *run, struct arena *arena, struct task_answer *answer)
{
    char path[PATH_MAX];
    struct err err = { 0 };
    if (environment_path (&run->pins, path, sizeof path, &err) < 0)
        return task_answer_set_failure (answer, arena, OWNER_BUNDLE, &err);
    answer->python = text_format (arena, "%s/bin/python", path);
    struct text complete = text_format (arena, "%s/" ENVIRONMENT_COMPLETE, path);
    if (access (answer->python.ptr, X_OK) == 0 && access (complete.ptr, R_OK) == 0)
        return 0;
    err_set (&err, ERR_STATE,
             "there is no complete Python environment at %s; the rung that restores it has to pass first", path);
    return task_answer_set_failure (answer, arena, OWNER_BUNDLE, &err);
}

static int find_kit (const struct msg_run *run, const char *directory, struct arena *arena, struct task_answer *answer)
{
    struct kit_list files;
    struct kit kit;
    struct err err = { 0 };
    kit_list_of (run, &files);
    if (kit_prepare (&files, directory, arena, &kit, &err) < 0)
        return task_answer_set_failure (answer, arena, OWNER_HOST, &err);
    answer->kit = kit.folder;
    answer->helpers = kit.helpers;
    answer->missing.items = arena_array (arena, kit.missing.n + WHEELS_MAX, sizeof *answer->missing.items);
    for (uint32_t i = 0; i < kit.missing.n; i++)
        answer->missing.items[answer->missing.n++] = kit.missing.items[i];
    return 0;
}

/* The program's own copy of the rung's folder: it may write there, and its relative paths begin there. */
static int unpack_folder (const struct msg_run *run, const char *directory, struct arena *arena,
                          struct task_answer *answer)
{
    const struct kit_file *pack = LIST_FIND (run->rung.files, struct kit_file, name, TEXT_LIT (KIT_FOLDER));
    struct err err = { 0 };
    struct text to = text_format (arena, "%s/" COMMAND_FOLDER,
                                  attempt_file_path (arena, directory, "scratch", &run->key, "").ptr);
    if (!pack || answer->missing.n)
        return 0;
    const char *from = text_copy (arena, kit_file_path (answer->kit, pack, arena)).ptr;
    const char *argv[] = { "tar", "-xof", from, "-C", to.ptr, NULL };
    struct subprocess tar = { .argv = argv, .limit_ms = UNPACK_MS, .echo_fd = -1, .held_fd = -1 };
    int status = 0;
    LOCAL_BUF said = { .max = ERR_TEXT_BYTES };
    int rc = folder_make (to.ptr, 0700, &err) < 0 ? -1 : subprocess_run (&tar, &said, &status, &err);
    if (rc == 0 && status)
        rc = err_set (&err, ERR_IO, "tar could not unpack the rung's folder: %.300s", buf_c (&said));
    return rc < 0 ? task_answer_set_failure (answer, arena, OWNER_HOST, &err) : 0;
}

/* With pins the restored environment tells its own. */
static void find_versions (const struct msg_run *run, struct arena *arena, struct task_answer *answer)
{
    struct environ_list list;
    struct text path;
    environ_begin (&list, arena);
    if (run->rung.kind == PROGRAM_COMMAND && !run->pins.file.path.len && run->rung.argv.n &&
        environ_set_all (&list, &run->profile.env, NULL) == 0 &&
        environ_find_program (&list, run->rung.argv.items[0], &path, NULL) == 0)
        installed_find_versions (path.ptr, arena, &answer->versions);
}

/* A complete environment is not rebuilt, so it needs no files. */
static int find_wheels (const struct msg_run *run, const char *folder, struct arena *arena, struct task_answer *answer)
{
    struct err err = { 0 };
    uint32_t missing_n = 0;
    if (!wheels_are_needed (run) || interpreter_of_environment (run, arena))
        return 0;
    if (wheels_link_present (run, folder, arena, answer->missing.items + answer->missing.n, &missing_n, &err) < 0)
        return task_answer_set_failure (answer, arena, OWNER_HOST, &err);
    answer->missing.n += missing_n;
    return 0;
}

static int find_interpreters (const struct msg_run *run, struct arena *arena, struct task_answer *answer)
{
    struct err err = { 0 };
    if (interpreter_must_be_asked (run) && interpreter_ask_paths (run, arena, &answer->loaded, &err) < 0)
        return task_answer_set_failure (answer, arena, OWNER_HOST, &err);
    return 0;
}

static void task_process_prepare (const struct task_context *context, const struct msg_run *run, struct arena *arena,
                                  struct task_answer *answer)
{
    if (find_kit (run, context->directory, arena, answer) < 0 ||
        find_wheels (run, context->directory, arena, answer) < 0 || answer->missing.n)
        return;
    if (unpack_folder (run, context->directory, arena, answer) < 0)
        return;
    if (run->rung.needs_env && find_environment (run, arena, answer) < 0)
        return;
    if (find_interpreters (run, arena, answer) < 0)
        return;
    if (needs_cache (run) && cache_task_prepare (context, &run->cache, arena, answer) < 0)
        return;
    find_versions (run, arena, answer);
    answer->done = true;
}

/* ---- the process ---- */

static void wait_for_device (const struct task_request *request, struct arena *arena, struct task_answer *answer)
{
    answer->done = device_wait (&host_fact_roots_real, request->device_wait_ms, arena, &answer->waited,
                                &answer->problem) == 0;
    if (!answer->done)
        answer->owner = OWNER_DEVICE;
}

static void work (enum task_kind kind, const struct task_context *context, const struct task_request *request,
                  struct arena *arena, struct task_answer *answer)
{
    const struct msg_run *run = request->run;
    if (kind == TASK_PREPARE)
        task_process_prepare (context, run, arena, answer);
    else if (kind == TASK_DEVICE)
        wait_for_device (request, arena, answer);
    else if (kind == TASK_READ)
        log_search_task (run, request, context->directory, arena, answer);
    else if (kind == TASK_SEAL)
        cache_task_seal (&run->cache, arena, answer);
    else
        cache_task_audit (&run->cache, arena, answer);
}

static int task_process_carry_out (enum task_kind kind, const struct task_context *context, struct arena *arena,
                                   struct err *err)
{
    LOCAL_BUF bytes = { 0 };
    struct msg_run run = { 0 };
    struct task_request request;
    struct task_answer answer = { 0 };
    if (task_channel_get_request (SPAWN_CHANNEL_FD, &bytes, arena, &run, &request, err) < 0)
        return -1;
    work (kind, context, &request, arena, &answer);
    return task_channel_put_answer (SPAWN_CHANNEL_FD, &answer, err);
}

int task_main (int argc, char **argv)
{
    uint32_t kind = TASK_NONE;
    struct err err = { 0 };
    LOCAL_ARENA arena = { 0 };
    if (argc != 4 || !enum_value_of (&task_kind_names, text_of (argv[1]), &kind) || kind == TASK_NONE) {
        fprintf (stderr, "sliceup-worker: only the worker itself starts a task: task prepare|device|seal|audit|read "
                         "DIRECTORY HOST\n");
        return 2;
    }
    struct task_context context = { .directory = argv[2], .host = text_of (argv[3]) };
    int rc = task_process_carry_out ((enum task_kind) kind, &context, &arena, &err);
    if (rc < 0)
        fprintf (stderr, "sliceup-worker: task %s failed: %s\n", argv[1], err.text);
    return rc < 0 ? 3 : 0;
}
