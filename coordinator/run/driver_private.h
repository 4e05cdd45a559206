/* driver_private.h - the parts of a driver, for the files that make it up:
 *
 *   driver.c            opening, resuming, closing         driver_in.c         messages, ends of workers, time
 *   driver_out.c        facts to the journal; effects, performed once earlier facts are durable
 *   driver_catalogue.c  questions to the catalogue of caches, answered on another thread */
#ifndef SLICEUP_COORDINATOR_RUN_DRIVER_PRIVATE_H
#define SLICEUP_COORDINATOR_RUN_DRIVER_PRIVATE_H

#include <sys/queue.h>

#include "coordinator/catalogue/catalogue.h"
#include "coordinator/journal/database.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/launch/launch.h"
#include "coordinator/monitor/key_file.h"
#include "coordinator/monitor/monitors.h"
#include "coordinator/run/driver.h"

/* ---- kit store ---- */

/* Serves the files that a plan names to its hosts, piece by piece.
 *
 * It serves only files of the plan, and only bytes with the planned sha256: a separate thread reads a whole file and
 * checks it, and it stays in memory (64 MiB for all; the least used go first). So a file that changes while hosts fetch
 * it is served as planned or refused. Wheels are too large for that: a piece is read when a host asks for it, and the
 * host detects a change by the sha256 of the whole. In a large slice hosts give large files to one another (spread): then
 * a host is told where to ask, or to ask again. A host has one waiting request at a time, so none can fill memory.
 * Knows hosts by rank and no sockets. Main thread only. */

/* Gets the answer for a host; it lives until the call returns. */
typedef void kit_answer_fn (void *owner, uint32_t host, const struct msg_chunk *chunk);

/* `host` got nothing from `giver`, wrong bytes, or too few in its time: FAILED, DAMAGED or SLOW. */
typedef void kit_complain_fn (void *owner, uint32_t giver, uint32_t host, enum fetch_word what);

struct kit_store;
/* The caller owns `plan`, which outlives the store. */
struct kit_store *kit_store_open (struct loop *loop, const struct plan *plan, kit_answer_fn *answer,
                                  kit_complain_fn *complain, void *owner, struct err *err);
void kit_store_close (struct kit_store *store); /* NULL is fine; sends no more answers */
/* `pass`: the one that runs. `from`: the IP address of the host's connection. */
void kit_store_answer (struct kit_store *store, uint32_t host, const struct msg_fetch *ask,
                       const struct attempt_key *pass, const char *from, uint64_t now_ms);

/* ---- spread ---- */

/* Decides who gives a large file to whom: the coordinator to a few hosts, and each host that has it to a few others, so that
 * what the coordinator sends grows with the logarithm of the hosts.
 *
 * Pure. Hosts are ranks, and each fetches one file at a time. A place at a giver is held as long as its holder is heard
 * within SPREAD_LEASE_MS, so that nothing has to end well. Where hosts do not reach each other, the coordinator sends to all
 * at once, as if nobody had a file to give. */

enum {
    SPREAD_AT_ONCE = 4, /* from one giver */
    SPREAD_LEASE_MS = 15000,
    SPREAD_LONGEST_MS = 60000,         /* of a place at the coordinator: then the host is served beside them */
    SPREAD_FILE_LEAST_BYTES = 4 << 20, /* the coordinator alone sends less in the time that asking around takes */
    SPREAD_HOSTS_ABOVE = 2 * SPREAD_AT_ONCE
};
#define SPREAD_COORDINATOR UINT32_MAX

struct spread_file {
    uint32_t *owners; /* hosts that have it and give it */
    uint32_t n, capacity, next;
    uint32_t sent_to; /* hosts that get it from the coordinator now */
};
void spread_file_clear (struct spread_file *file); /* frees what it holds */

struct spread;
struct spread *spread_make (uint32_t hosts);
void spread_destroy (struct spread *spread); /* NULL is fine */
/* A new pass: nobody has anything; files are cleared by their owner. Who gave wrong bytes gives no more. */
void spread_begin (struct spread *spread);

enum spread_word { SPREAD_SEND, SPREAD_ASK, SPREAD_WAIT };
/* SEND it; ASK: another host, `*giver`; WAIT: all that have it are busy, it asks again soon. The same again while its
 * place is held. */
enum spread_word spread_want (struct spread *spread, struct spread_file *file, uint32_t host, uint64_t now_ms,
                              uint32_t *giver);
/* Keeps its place. `got`: bytes of its giver. */
void spread_go_on (struct spread *spread, uint32_t host, bool got, uint64_t now_ms);
void spread_have (struct spread *spread, struct spread_file *file, uint32_t host, bool gives);
/* Its giver sent nothing, wrong bytes, or too few in its time: the coordinator sends to this host from now on, and one that
 * sent wrong bytes, or let down two, gives no more. Returns the giver; SPREAD_COORDINATOR: it had none. */
uint32_t spread_fail (struct spread *spread, uint32_t host, enum fetch_word what);

/* ---- log store ---- */

/* Writes the output of programs, from the bulk channel: one bounded file for each attempt and host. A
 * task thread writes. A chunk that cannot be written, or finds the queue full, is lost; this is reported once for each
 * attempt of a host, up to a maximum. Later chunks are then written at their own offsets, so a hole stays. */

struct log_store;
/* Called on the loop's thread; `why` lives until it returns. True: the loss is recorded. */
typedef bool log_store_lost_fn (void *owner, uint32_t host, const struct attempt_key *key, struct text why);
struct log_store *log_store_open (const struct run_dir *dir, const struct plan *plan, struct workqueue *workqueue,
                                  log_store_lost_fn *lost, void *owner);
void log_store_close (struct log_store *store); /* after workqueue_close */
void log_store_add (struct log_store *store, uint32_t host, const struct msg_log *chunk);
/* Results come on the other channel, so they may overtake the output that they count. */
void log_store_expect (struct log_store *store, uint32_t host, const struct result *result);
bool log_store_awaits (struct log_store *store); /* output that was sent is not on disk, and no loss is reported */

/* ---- output watch ---- */

/* The last line that each host printed, and when: for people who wait for a host.
 *
 * Takes the pieces of logs as they come, keeps one line of at most OUTPUT_LINE_BYTES a host, and knows no clock.
 * Silence is reported only if it is certain: not for a log at its limit, and not for an attempt of an earlier
 * coordinator before the host prints. One thread. */

struct output_watch;
/* `resumed`: another process began the running attempt. */
struct output_watch *output_watch_create (uint32_t hosts_n, uint64_t log_bytes, bool resumed);
void output_watch_destroy (struct output_watch *watch); /* NULL is fine */
void output_watch_add (struct output_watch *watch, uint32_t host, const struct msg_log *piece, uint64_t now_ms);
/* Fills `out->groups` of attempt `out->key` with at most OUTPUT_GROUPS_MAX groups of `hosts`, the longest quiet first.
 * Only hosts that have been quiet for 5 s. */
void output_watch_tell (struct output_watch *watch, const uint32_t *hosts, uint32_t n, uint64_t now_ms,
                        struct arena *arena, struct fact_output_awaited *out);

/* ---- host reachability ---- */

/* Asks machines of silent hosts whether they answer: one connect to their ssh port, closed at once, and one ping where
 * this process may send one. Each has 3 s; at most ASKED_AT_ONCE at a time, the others wait. Never blocks: addresses are
 * numbers, and sockets belong to the loop. One thread. */

enum { ASKED_AT_ONCE = 128 };
struct reachability;
typedef void reachability_fn (void *owner, const struct fact_host_asked *answer);
struct reachability *reachability_create (struct loop *loop, uint32_t hosts_n, reachability_fn *answered, void *owner);
void reachability_destroy (struct reachability *reach); /* gives no more answers; NULL is fine */
/* False: the address is no number. No answer follows where the system refuses a socket. */
bool reachability_ask (struct reachability *reach, uint32_t host, struct text address, uint32_t port);
/* Begins and ends what is due. Returns when it is to be called again; UINT64_MAX: nothing is asked. */
uint64_t reachability_poll (struct reachability *reach, uint64_t now_ms);

/* ---- queues ---- */

/* Queues of effects that wait for durable facts, and of remarks that wait for equal ones. */

enum held_kind { HELD_EFFECT, HELD_PUBLISH };
struct held_effect {
    enum held_kind kind;
    uint64_t after_index; /* the last durable fact before it */
    enum effect_kind effect;
    enum fact_kind fact; /* PUBLISH */
    uint32_t host;
    uint32_t exit_status;
    struct text bytes;  /* SEND, PUBLISH: the frame; ADMIT, FIND, TOKEN: the text. Owned */
    bool undeliverable; /* SEND: the RUN of `key` is larger than a frame */
    struct attempt_key key;
    struct fact_generation generation; /* CACHE_PUBLISH; in `arena` */
    uint64_t token;                    /* of the cache's effects, as are flag, lease owner and storage */
    bool flag;
    struct lease_owner lease_owner; /* in `arena` */
    struct text storage;            /* in `arena` */
    text_list covers;               /* in `arena` */
    struct arena arena;
    STAILQ_ENTRY (held_effect) next;
};
struct held_effect_queue { /* {0} is an empty one */
    STAILQ_HEAD (, held_effect) items;
    uint32_t n;
};

void held_release (struct held_effect_queue *queue);
/* Appends a zeroed item; fill it before the next call. */
struct held_effect *held_add (struct held_effect_queue *queue, uint64_t after_index);
void held_copy_bytes (struct held_effect *held, struct text bytes);
/* The first item whose facts are durable, or NULL. Return it with held_done. */
struct held_effect *held_ready (struct held_effect_queue *queue, uint64_t durable_index);
void held_done (struct held_effect_queue *queue);

/* ---- remark queue ---- */

/* Remarks about hosts in the coordinator's own log: one that several hosts share within a second is one line, "h[3,17]:
 * its worker had to be copied anew".
 *
 * Remarks that differ only in numbers are equal. At REMARKS_MAX different ones all are written early, never dropped.
 * Knows no clock. One thread. */

enum { REMARKS_MAX = 16, REMARK_BYTES = 512, REMARK_WAIT_MS = 1000 };

struct remark_queue;
struct remark_queue *remark_queue_create (const struct plan *plan, const struct log *log); /* both outlive it */
void remark_queue_destroy (struct remark_queue *queue); /* writes what waits; NULL is fine */
void remark_queue_add (struct remark_queue *queue, uint32_t host, struct text sentence, uint64_t now_ms);
/* Writes remarks that waited long enough; all of them at UINT64_MAX. */
void remark_queue_tell (struct remark_queue *queue, uint64_t now_ms);
uint64_t remark_queue_due_ms (const struct remark_queue *queue); /* UINT64_MAX: nothing waits */

/* ---- driver private ---- */

/* The rate limit of a host, and whether exceeding it was reported. */
struct host_rate_limit {
    struct rate_limit may[LINK_CHANNELS];
    bool too_much;
};

struct driver {
    struct driver_options options;
    struct run_dir dir;
    struct loop *loop;
    struct coord *coord;
    struct outbox outbox;
    struct held_effect_queue held;
    struct journal *journal;
    struct hub *hub;
    struct launch *launch;
    struct slice_link_keys tickets; /* launcher join: keys of the hosts */
    struct monitors *monitors;
    struct workqueue *workqueue, *log_workqueue; /* separate, because logs must not delay a token */
    uint64_t lease_owner_token;                  /* another run's generation for which a wait was last reported */
    struct err not_ours;                         /* why the cache is not used: who else may change it */
    struct catalogue *catalogue;                 /* only the task thread uses it, once open */
    struct log_store *logs;
    struct kit_store *kits;
    struct output_watch *outputs;
    struct remark_queue *remarks;
    struct reachability *reachability;
    uint64_t reachability_due_ms;
    uint64_t outputs_told_ms;
    uint64_t alive_told_ms; /* last journal_note_alive */
    uint64_t *own_seq;      /* per host: seq of the last frame sent to it */
    struct arena arena;     /* for the message being handled */
    struct buf frame;       /* for the message or fact being written */
    char run_raw[RUN_ID_BYTES];
    uint64_t recorded_index;                  /* the last fact given to the journal */
    uint64_t opening_index;                   /* the last fact by which this process opened or resumed the run */
    uint64_t now_ms;                          /* of this pass */
    uint64_t *refused;                        /* per host: unreadable frames */
    struct host_rate_limit *host_rate_limits; /* per host */
    bool *alive;                              /* per host: a worker process of ours runs */
    uint64_t leave_by_ms;                     /* after the end: time limit for workers to leave */
    uint64_t farewell_by_ms;                  /* and for monitors to receive the end */
    bool begun;                               /* the run's .unbegun is removed */
    bool hears;                               /* frames of hosts are read, and the core's clock runs */
    bool releasing;
    bool more;                  /* work is left for the next pass */
    struct work_budget effects; /* of this pass, once `performing` */
    bool performing;
    bool input_closed; /* level 3, or the journal failed: nothing more is received or sent */
    bool ended;
    uint32_t exit_status;
    struct err problem;
};

/* driver_out.c */
/* The host's folder in the run's, on this machine. */
const char *driver_host_directory (const struct driver *driver, uint32_t host, char directory[RUN_PATH_BYTES]);
void driver_worker_keyed (void *owner, uint32_t rank, struct text public_key); /* a callback: `owner` is the driver */
void driver_step (struct driver *driver, const struct core_input *in);
void driver_take_outbox (struct driver *driver);
void driver_fill_envelope (struct driver *driver, uint32_t host, uint64_t session,
                           struct msg *msg); /* fills its envelope */
void driver_release_held (struct driver *driver);
bool driver_is_out_of_budget (const struct driver *driver); /* this pass's budget for effects is used up */
void driver_end_loop_iteration (struct driver *driver);
void driver_begin_leaving (struct driver *driver, uint32_t exit_status);
void driver_leave_when_alone (struct driver *driver);
uint64_t driver_next_leave_at_ms (const struct driver *driver); /* after the end: when to try again to leave */

/* driver_catalogue.c */
void driver_ask_catalogue (struct driver *driver, const struct held_effect *held);
void driver_end_generation_use (struct driver *driver); /* notes that this run uses no generation any more */

/* driver_in.c */
/* True if the plan has a fixed port, as tickets need; else the opener admits workers (driver_worker_keyed). */
bool driver_joins_by_ticket (const struct plan *plan);
/* Callbacks; `owner` is the driver. */
void driver_on_durable (void *owner, int fd, uint32_t events);
void driver_send_chunk (void *owner, uint32_t host, const struct msg_chunk *chunk);
void driver_note_failed_giver (void *owner, uint32_t giver, uint32_t host, enum fetch_word what);
void driver_note_courier_step (void *owner, uint32_t rank, struct text step);
void driver_host_asked (void *owner, const struct fact_host_asked *answer);
void driver_log_remark (void *owner, uint32_t rank, struct text sentence);
void driver_worker_exited (void *owner, uint32_t rank, struct text why);
void driver_on_loop_iteration (void *owner);

#endif
