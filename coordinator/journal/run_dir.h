/* run_dir.h - makes, finds and names the files of a run: <home>/runs/<run id>/...
 *
 *   created               when the folder was made, in wall ms; above all others even if the clock was set back; written
 *                         twice: if the two differ, the folder's own time counts instead
 *   taken-over            the same for its last resume or cancellation by another coordinator
 *   journal.db            the facts                     hub.json         ports and public key, for monitors
 *   journal.db.mark       the last acknowledged fact
 *   coordinator.key 0600  CURVE pair of the run         monitor.key 0600 CURVE pair for monitors on this machine
 *   monitors/<name>.pub   public keys of other monitors
 *   hosts/<host>/         a local worker's directory    logs/<host>/<rung>.<pass>.<attempt>.log
 *   receipt.json          the slice's                   receipts/<host>.json
 *   drift.json, report.md, junit.xml, trace.perfetto.json   written by `sliceup drift` and `report` at its end
 *
 * Beside it, <home>/runs/<run id>.unbegun, from before the folder is there until the run's first fact is durable. */
#ifndef SLICEUP_COORDINATOR_JOURNAL_RUN_DIR_H
#define SLICEUP_COORDINATOR_JOURNAL_RUN_DIR_H

#include "common/model/fact.h"

enum { RUN_PATH_BYTES = 2048, RUN_ID_HEX_BYTES = 33 };
#define RUN_FILE_RECEIPT "receipt.json"
#define RUN_FILE_DRIFT "drift.json"
#define RUN_FILE_MARKDOWN "report.md"
#define RUN_FILE_JUNIT "junit.xml"
#define RUN_FILE_TRACE "trace.perfetto.json"

struct run_dir {
    char home[1024];
    char id[RUN_ID_HEX_BYTES];
};

/* Makes a new random id, its .unbegun and its folders (0700); called by run_begun_create_run. On failure nothing is
 * left. This, find and list refuse a runs folder that others may write (home_folder_check): ERR_REFUSED. */
int run_dir_create (struct run_dir *dir, const char *home, struct err *err);
/* Notes that another coordinator drives it now: it is "last", until another run is begun or taken over. */
int run_dir_note_taken_over (const struct run_dir *dir, struct err *err);
/* When a coordinator last began to drive it: "last" is the run with the highest value, the newest of equals. */
uint64_t run_dir_held_ms (const struct run_dir *dir, uint64_t created_ms);
/* `wanted` is an id, a unique prefix of one, or "last", the one that was begun or taken over last. If it is not found
 * or ambiguous, the error lists the runs. */
int run_dir_find (struct run_dir *dir, const char *home, const char *wanted, struct err *err);
/* The run `id` below `home`, unchecked. False: not a run id, or not an absolute path. */
bool run_dir_name (struct run_dir *dir, struct text home, struct text id);
/* The checks of run_dir_find on a run that it found. */
int run_dir_check (const struct run_dir *dir, struct err *err);
/* "<home>/runs/<id>/<name>"; name "" is the folder itself. Returns `out`. */
const char *run_dir_path (const struct run_dir *dir, const char *name, char out[RUN_PATH_BYTES]);
#define RUN_PATH(dir, name) run_dir_path (dir, name, (char[RUN_PATH_BYTES]){ "" }) /* lives to the end of the block */
/* "<home>/runs/<id>.unbegun". Returns `out`. */
const char *run_dir_unbegun_path (const struct run_dir *dir, char out[RUN_PATH_BYTES]);
/* "logs/<host>/<rung>.<pass>.<attempt>.log" below the run's folder. */
const char *run_dir_log_path (const struct run_dir *dir, const struct plan *plan, uint32_t host,
                              const struct attempt_key *key, char out[RUN_PATH_BYTES]);

/* Are the names of a plan from a journal safe as parts of a path? By the rules of the configuration. Call it before
 * run_dir_log_path. */
bool run_dir_names_path_safe (const struct plan *plan);

/* hub.json: where a live run listens, and its address for other machines. */
struct run_addresses {
    char address[NAME_MAX_BYTES + 1]; /* bound */
    char reach[NAME_MAX_BYTES + 1];   /* for other machines */
    uint16_t control_port, bulk_port, events_port;
    char public_key[41];
};
/* Fills `reach`: `wanted` if given, else the bound address, else this machine's name. */
void run_addresses_set_reach (struct run_addresses *hub, struct text wanted);
/* The address for clients on this machine. */
const char *run_addresses_local (const struct run_addresses *hub);
int run_addresses_save (const struct run_dir *dir, const struct run_addresses *hub, struct err *err);
int run_addresses_load (const struct run_dir *dir, struct run_addresses *hub, struct err *err);

/* Calls `fn` for every run under `home`, newest first even if the clock was set back; -1 stops. */
typedef int run_dir_fn (void *owner, const struct run_dir *dir, uint64_t created_ms);
int run_dir_each (const char *home, run_dir_fn *fn, void *owner, struct err *err);

/* A folder directly below the home: whoever may change it chooses keys, journals and programs, as with the home. */
/* "runs", "envs", "slices", or a path below one: it must belong to this process's user, be closed to other writers, and
 * be no link (safe_path.h). `elsewhere`: it may be a link, and root's, since large files may lie on another disk. A
 * missing one is fine. ERR_REFUSED names path, owner, mode and what to do. */
int home_folder_check (const char *home, const char *name, bool elsewhere, struct err *err);

/* ---- run_facts.c: reads and decodes the journal of a run ---- */

/* Calls `fn` for every fact of the run's journal, in order. The fact lives until `fn` returns. */
typedef void run_fact_fn (void *owner, const struct fact *fact);
int run_facts_each (const struct run_dir *dir, run_fact_fn *fn, void *owner, struct err *err);
/* The same for only the first fact, which holds the plan. ERR_STATE: there is none. */
int run_facts_read_first (const struct run_dir *dir, run_fact_fn *fn, void *owner, struct err *err);
/* The plan, from the first fact; copied into `arena`. */
int run_facts_read_plan (const struct run_dir *dir, struct arena *arena, struct plan *plan, struct err *err);
/* Sets whether the run has ended. */
int run_facts_read_end (const struct run_dir *dir, bool *ended, struct err *err);
/* Calls `fn` for only the last fact, without verifying those before it. */
int run_facts_read_last (const struct run_dir *dir, run_fact_fn *fn, void *owner, struct err *err);
/* Decodes the journal's fact `index` into `arena`, which is reset first. ERR_DAMAGE: not a fact. */
int run_facts_decode (const char *run_id, uint64_t index, struct text bytes, struct arena *arena, struct fact *fact,
                      struct err *err);
/* Call it after checking all facts: names hosts that contradict the record on standard error, each once for a run. Not
 * while a terminal is drawn. */
void run_facts_warn (const char *run_id);
/* Readers call this for every fact. ERR_DAMAGE: another run's, or the journal lacks what several workers knew. */
int run_facts_check_fact (const char *run_id, const struct fact *fact, struct err *err);
/* Sets the error for a journal that lacks what a worker knew; always -1. */
int run_facts_set_lost_error (const char *run_id, struct text why, struct err *err);

#endif
