/* set.h - a signature set from inside the room: what each needle of its automaton stands for. */
#ifndef SLICEUP_COMMON_LOGS_SET_H
#define SLICEUP_COMMON_LOGS_SET_H

#include "common/logs/automaton.h"
#include "common/logs/signature.h"

enum needle_kind { NEEDLE_TEXT, NEEDLE_ALSO, NEEDLE_UNLESS };

struct needle {
    enum needle_kind kind;
    uint32_t item; /* the signature's index */
    uint32_t also; /* ALSO: which of the signature's */
    uint32_t len;
};

struct signature_set {
    const struct signature *items;
    uint32_t n;
    struct needle *needles; /* of each signature its text first, then its conditions */
    uint32_t *first_of;     /* per signature: index of its text's needle */
    struct automaton automaton;
};

/* NULL: none of the set has this id. */
const struct signature *signature_set_find (const struct signature_set *set, struct text id);

#endif
