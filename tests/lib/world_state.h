/* world_state.h - the simulated world, private to world*.c. */
#ifndef SLICEUP_TESTS_LIB_WORLD_STATE_H
#define SLICEUP_TESTS_LIB_WORLD_STATE_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/wire.h"
#include "coordinator/core/coord.h"
#include "worker/core/member.h"
#include "world.h"
#include "world_promises.h"

enum { FRAME_MOST = 1 << 20, KEPT_MAX = 8 };

enum event_kind {
    EV_TO_COORD,
    EV_TO_HOST,
    EV_FLUSH,
    EV_PROGRAM,
    EV_LIMIT,
    EV_FAULT,
    EV_RESUME,
    EV_KEYED,
    EV_ASKED,
    EV_EXITED,
    EV_BACK
};
struct event {
    uint64_t at_ms, order;
    enum event_kind kind;
    uint32_t host, life; /* life: of the process it was meant for */
    struct text frame;   /* owned */
    uint64_t number, token,
        beat; /* FLUSH: durable index; FAULT: which; PROGRAM, LIMIT: which program; ASKED: question, and whom it takes over
                               from, at which beat */
};

/* A result that a worker keeps on its disk. */
struct kept {
    bool used;
    struct result result;
    struct arena arena;
};

struct sim_host {
    struct member *member; /* NULL: dead */
    uint32_t life, boot;
    uint64_t own_seq, counts[MOMENT_N]; /* what it sent, kept, did */
    uint64_t wakes_ms;                  /* when its worker has something to do, by the world's time; it */
    uint64_t stands_until_ms;           /* stands, */
    bool machine_stands;                /* and all of its machine */
    bool off, admitted, allowed; /* off: never again; admitted: its worker got GO, and speaks; allowed: and may */
    uint64_t leased;             /* the generation that its worker was last given the lease of */
    uint64_t reborn;             /* so many times */
    uint64_t jumped_ms, fast_permille, slow_permille;
    struct kept kept[KEPT_MAX];
    uint64_t told, heard_ms; /* the newest fact that its worker was told of; when it last heard anything */
    struct rng rng;
    /* what it runs */
    bool running;
    struct arena run_arena;
    struct msg_run run;
    uint32_t step, run_n;  /* of its programs, which one this is */
    uint32_t came, passed; /* gates */
    bool hung;
    enum ending stopping;
};

struct held {
    uint64_t after;
    struct effect effect;
    struct text frame;
    struct said said;
};

struct world {
    struct scenario scenario;
    struct world_report *report;
    struct rng net, disk;
    uint64_t now_ms, order, next_token, steps, fresh, compared, spun;
    struct event *events; /* a heap by (at_ms, order) */
    uint32_t events_n, events_capacity;
    struct plan plan;
    struct arena arena;
    /* the coordinator */
    struct coord *coord; /* NULL: dead */
    uint32_t coord_life;
    uint64_t counts[MOMENT_N], stands_until_ms, full_until_ms;
    const struct fault *failing; /* by which the next write fails */
    struct outbox outbox;
    uint64_t own_seq[HOSTS_SIMULATED_MAX];
    struct text *facts; /* encoded; index - 1 */
    uint32_t facts_capacity;
    uint64_t recorded, durable;
    struct coord *shadow; /* what a replay of the first `shadowed` facts gives */
    uint64_t shadowed;
    struct held *held; /* from held_first to held_n */
    uint32_t held_first, held_n, held_capacity;
    struct promises promises;
    /* the catalogue */
    struct fact_generation published;
    uint64_t lease_owner_until_ms, lease_owner_beats_until_ms, mute_until_ms, given_token;
    bool mute_fails, misfits;
    enum finding_kind tampers;
    uint32_t earlier; /* so many programs of an earlier run are there; 0: none, or told of already */
    text_list covers; /* as last asked for */
    /* the hosts, and the end */
    bool fired[FAULTS_MAX]; /* faults that happen once */
    bool told_too_late;     /* its coordinator died before it told all of them: they leave by themselves */
    bool ended, silent;     /* the run is over; and the coordinator says nothing more */
    uint64_t leaves_ms;     /* when the process of the ended coordinator leaves */
    struct sim_host hosts[];
};

/* ---- world.c ---- */

struct event *event_add (struct world *world, uint64_t after_ms, enum event_kind kind);
struct text own_copy (struct text from);
/* The frame on its way, past all faults of the network. */
void world_post (struct world *world, enum event_kind kind, uint32_t host, struct text frame);
/* One more of what `moment` counts of `who` happens: its faults of this moment happen, too. True: `who` died of one. */
bool world_count (struct world *world, uint32_t who, enum moment moment);
/* A fault of `kind` of `who` that this moment or this time lies in, and that has not happened; NULL: none. Once taken it has. */
const struct fault *fault_pending (struct world *world, enum fault_kind kind, uint32_t who);
void fault_take (struct world *world, const struct fault *fault);

/* ---- world_coordinator.c ---- */

uint64_t coord_now (const struct world *world);
void coord_input (struct world *world, const struct core_input *in);
/* `disk`: of what is not durable it has 0 nothing, 1 all, 2 half. */
void coord_kill (struct world *world, uint64_t back_ms, uint64_t disk);
void coord_put_back (struct world *world, uint64_t permille);
void coord_begin (struct world *world);
void coord_flush (struct world *world, const struct event *event);
void coord_deliver (struct world *world, const struct event *event);
void coord_answer (struct world *world, const struct event *event);

/* ---- world_host.c ---- */

uint64_t host_now (const struct world *world, uint32_t at);
uint64_t host_deadline_ms (const struct world *world, uint32_t at); /* by the world's time */
void host_note_deadline (struct sim_host *host);                    /* its worker or its clock changed */
void host_step (struct world *world, uint32_t at, const struct member_input *in);
void host_launch (struct world *world, uint32_t at, uint64_t keyed_after_ms);
void host_kill (struct world *world, uint32_t at);
void host_forget (struct world *world, uint32_t at); /* what it kept on its disk */
void host_deliver (struct world *world, const struct event *event);
void host_program_step (struct world *world, uint32_t at);
void host_program_limit (struct world *world, const struct event *event);

#endif
