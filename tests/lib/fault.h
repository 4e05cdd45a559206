/* fault.h - a simulated run as data: who takes part, and a list of what goes wrong. One line of text says all of it:
 *
 *   seed=17 hosts=3 ladder=fta retries=1 | crash c send 12 2000 0 | cut-in h1 ms 3000 9000
 *
 * A fault: KIND WHO MOMENT AT [AMOUNT [MORE]]. WHO: `c`, the coordinator; `h2`, a host; `last`; `all`. MOMENT: what AT counts:
 * `ms`; `send`, `record`, `effect`: of WHO, from 1; `rung`: programs of that rung; `any`: all along. In a mix, numbers may be left
 * to the seed: `?900` is below 900, `h?` is some host, `4*` before a fault makes four, `30%` makes it in so many seeds of 100. */
#ifndef SLICEUP_TESTS_LIB_FAULT_H
#define SLICEUP_TESTS_LIB_FAULT_H

#include "common/base/buf.h"
#include "common/base/rng.h"
#include "common/model/fact.h"

enum { HOSTS_SIMULATED_MAX = 64, FAULTS_MAX = 48, COORDINATOR = 1000, EVERYBODY = 1001 };

/* name, AMOUNT and MORE */
#define FAULT_KINDS(X)                                                                                                 \
    X (DROP, "drop")       /* this frame of WHO is lost */                                                             \
    X (REPEAT, "repeat")   /* it comes twice, the second time after AMOUNT ms */                                       \
    X (LATE, "late")       /* it comes after AMOUNT ms, so perhaps behind later ones */                                \
    X (LOSS, "loss")       /* for AMOUNT ms MORE % of the frames from and to WHO are lost */                           \
    X (COPIES, "copies")   /* for AMOUNT ms MORE % of them come twice */                                               \
    X (DELAY, "delay")     /* for AMOUNT ms they take up to MORE ms */                                                 \
    X (CUT_IN, "cut-in")   /* for AMOUNT ms nothing comes to WHO */                                                    \
    X (CUT_OUT, "cut-out") /* for AMOUNT ms nothing comes from WHO */                                                  \
    X (PAUSE, "pause")     /* WHO's process stands for AMOUNT ms; MORE: its whole machine */                           \
    X (JUMP, "jump")       /* the host's clock jumps ahead by AMOUNT ms */                                             \
    X (DRIFT, "drift")     /* the host's clock is fast by AMOUNT permille, or slow by MORE */                          \
    X (CRASH, "crash")     /* WHO dies; the coordinator is resumed after AMOUNT ms. MORE: what the disk has of what \
                                 was not durable: 0 nothing, 1 all, 2 half */  \
    X (FAIL, "fail")       /* writing this record fails: the coordinator ends itself. As CRASH */                      \
    X (FULL, "full")       /* for AMOUNT ms nothing can be written */                                                  \
    X (PUT_BACK, "put-back") /* the coordinator dies, and AMOUNT of 1000 of its journal are put back */                \
    X (OFF, "off")           /* the host is gone, and nobody is told */                                                \
    X (REBORN, "reborn")     /* its worker dies unseen, and another begins after AMOUNT ms; MORE times again */        \
    X (REBOOT, "reboot")     /* the same of the host: another boot id, and none of its results */                      \
    X (LEAVE, "leave")       /* the worker is told to end by a signal */                                               \
    X (STRANGER, "stranger") /* the host never joins */                                                                \
    X (SLOW, "slow")         /* a step of its programs takes AMOUNT ms */                                              \
    X (FALL, "fall")         /* its program fails, in the first AMOUNT attempts; 0: in all */                          \
    X (TRIP, "trip")         /* the same for a reason that passes by itself */                                         \
    X (STALL, "stall")   /* with all such hosts the program hangs. AMOUNT, bits: 1 not alone, 2 the others notice */   \
    X (STUCK, "stuck")   /* its program cannot be killed */                                                            \
    X (DIFFER, "differ") /* at the gate all programs of its rung are to say the same, and it does not */               \
    X (SKIP, "skip")     /* its program ends well and never comes to the gate */                                       \
    X (GATES, "gates")   /* the programs of its rung come to AMOUNT gates more */                                      \
    X (WRONG, "wrong")   /* its program reports a wrong metric: AMOUNT is an enum wrong */                             \
    X (FINDING,                                                                                                        \
       "finding") /* its program's result finds something in the cache: AMOUNT is an enum finding_kind; MORE: \
                              of a generation so many later */        \
    X (ELSEWHERE, "elsewhere") /* it sees another storage below the cache root */                                      \
    X (KNOWN_BAD, "known-bad") /* the launch of this rung is known to fail */                                          \
    X (TAMPER, "tamper")   /* the next look over the cache finds a changed file; AMOUNT: another enum finding_kind */  \
    X (OWNER, "owner")     /* another run has the lease until AT, and shows until AMOUNT that it lives */              \
    X (TAKEN, "taken")     /* another run takes our lease over */                                                      \
    X (EARLIER, "earlier") /* an earlier run left AMOUNT of the programs; MORE: that do not fit */                     \
    X (MUTE, "mute")       /* for AMOUNT ms the catalogue does not answer; MORE: it answers that it cannot */          \
    X (CANCEL, "cancel")   /* the user cancels, level AMOUNT */                                                        \
    X (LOOK, "look")       /* somebody asks where programs stand; AMOUNT: because nothing is printed */                \
    X (TOO_LARGE, "too-large")     /* the RUN that is this send cannot be sent */                                      \
    X (UNSTORED, "unstored")       /* output of WHO cannot be stored */                                                \
    X (LIE_TWICE, "lie-twice")     /* WHO sends its next result a second time, with other bytes */                     \
    X (LIE_ATTEMPT, "lie-attempt") /* it sends a result of an attempt AMOUNT later */                                  \
    X (LIE_EPOCH, "lie-epoch")     /* its next frame is of an epoch AMOUNT later */                                    \
    X (LIE_SESSION, "lie-session") /* of another session */                                                            \
    X (LIE_HOLDING, "lie-holding") /* its next heartbeat holds an attempt that it was not given */                     \
    X (LIE_TOLD, "lie-told")       /* its HELLO knows AMOUNT facts more */                                             \
    X (LIE_SEAL, "lie-seal")       /* its next seal is of other bytes; MORE: of another generation */                  \
    X (LIE_LEASE, "lie-lease")     /* it asks for a lease that it was not given */

enum fault_kind {
    FAULT_NONE = 0,
#define FAULT_ENUM(kind, name) FAULT_##kind,
    FAULT_KINDS (FAULT_ENUM)
#undef FAULT_ENUM
        FAULT_N
};
const char *fault_name (enum fault_kind kind);

/* Its own devices only, without those of the next host, another value beside right sums, none, as a local one, twice. */
enum wrong { WRONG_LOCAL = 0, WRONG_LACKS, WRONG_BESIDE, WRONG_MISSING, WRONG_NOT_GLOBAL, WRONG_TWICE, WRONG_N };

enum moment { MOMENT_MS = 0, MOMENT_SEND, MOMENT_RECORD, MOMENT_EFFECT, MOMENT_RUNG, MOMENT_ANY, MOMENT_N };

struct fault {
    enum fault_kind kind;
    uint32_t who;
    enum moment moment;
    uint64_t at, amount, more;
};

struct scenario {
    uint64_t seed;
    uint32_t hosts;
    char ladder
        [8]; /* a rung each: f facts, c survey of the cache, t tiny (solo), o tiny without a cache, a all (gang), s
                       all without one */
    enum cache_mode cache;
    uint32_t writers, retries; /* hosts that may write; struct limits */
    struct climb_policy climb;
    bool splits, farewell;       /* farewell: the world goes on until the last worker has left */
    uint64_t delay_ms, bound_ms; /* frames take up to; virtual time by which the run must have ended */
    struct fault faults[FAULTS_MAX];
    uint32_t faults_n;
    /* Every fact, soft ones too, as it is made; those of a coordinator that dies may be made twice. NULL: nobody hears them. */
    void (*hear) (void *owner, const struct fact *fact);
    void *owner;
};

/* One that nothing happens to. */
struct scenario scenario_calm (uint64_t seed, uint32_t hosts);
/* Adds what the line says. `rng`: fills what a mix leaves open; NULL: nothing may be open. False: it cannot be read. */
bool scenario_read (struct scenario *scenario, const char *line, struct rng *rng);
void scenario_print (const struct scenario *scenario, struct buf *out);
/* When the last fault with a known time is over. */
uint64_t scenario_faults_end_ms (const struct scenario *scenario);

#endif
