/* error_rule.h - rules for forms of errors: which owner a type of exception, a status, an errno and its object, the
 * package of a frame, or the words of a loader, a compiler or a scheduler speak for.
 *
 * A rule says "likely". It holds for texts that nobody has seen before; known texts are signatures (configs/signatures).
 * Where the rules come from: docs/spec/signatures.md. Pure; rules are constants. */
#ifndef SLICEUP_COMMON_LOGS_ERROR_RULE_H
#define SLICEUP_COMMON_LOGS_ERROR_RULE_H

#include "common/logs/frame_package.h"
#include "common/model/outcome.h"

enum rule_weight {
    RULE_NONE = 0,
    RULE_AFTERMATH, /* follows from an end, or stands in healthy runs: never a cause */
    RULE_CHILD,     /* says only that a child process failed */
    RULE_PEER,      /* says only that another process or host failed */
    RULE_VAGUE,     /* an end without a reason: a bare signal, INTERNAL */
    RULE_PRIOR,     /* the type or the package speaks for an owner */
    RULE_FORM,      /* what is said speaks for an owner */
};

struct error_rule {
    const char *id;
    enum rule_weight weight;
    enum owner owner;   /* UNKNOWN below RULE_PEER and of RULE_VAGUE */
    const char *types;  /* names of exceptions without their modules; NULL: any, also none */
    const char *any;    /* one of these words must be there; NULL: none needs to */
    const char *also;   /* and one of these */
    const char *unless; /* none of these may be */
    uint32_t raised;    /* bit per frame_package: whose frame raised it; 0: anybody's */
    const char *next;   /* what to look at */
};

/* What an error says. */
struct error_clue {
    struct text type;          /* without its module; empty: no exception */
    struct text text;          /* the message */
    enum frame_package raised; /* whose frame raised it */
};

/* The first rule that holds; NULL: none does. */
const struct error_rule *error_rule_match (const struct error_clue *clue);
/* NULL: no rule has this id. */
const struct error_rule *error_rule_find (struct text id);

/* Stands for echoes that name nobody; no text meets it. */
extern const struct error_rule peer_unnamed_rule;

/* ---- inside the room ---- */

/* The same, with the text in small letters. */
struct folded_clue {
    struct error_clue clue;
    struct text type, text;
};
struct error_rules {
    const struct error_rule *items;
    uint32_t n;
};
/* In the order in which they are asked. */
extern const struct error_rules echo_rules, words_rules, status_rules, type_rules;
/* NULL: no errno is named, or its object says nothing. */
const struct error_rule *errno_rule_match (const struct folded_clue *folded);
const struct error_rule *errno_rule_find (struct text id);

#define RAISED(package) (UINT32_C (1) << (package))

#endif
