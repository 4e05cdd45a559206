/* set.h - a signature set from inside the room: Aho and Corasick's automaton over many needles, with one row of next
 * states per state, and what each needle stands for.
 *
 * To the automaton blanks, tabs and line ends are one letter, and a run of them is read as one. It knows needles by
 * number only. */
#ifndef SLICEUP_COMMON_LOGS_SET_H
#define SLICEUP_COMMON_LOGS_SET_H

#include "common/logs/signature.h"

/* In `next`, beside the row's offset: a needle ends here, or the letter was an ESC: look closer. */
#define AUTOMATON_EVENT UINT32_C (0x80000000)
enum { NEEDLE_NONE = -1 };

struct automaton {
    uint8_t letter_of[256]; /* byte -> column */
    uint32_t letters, states;
    uint32_t *next;    /* states rows of `letters`: offset of the next state's row, and AUTOMATON_EVENT */
    int32_t *own;      /* per state: the last needle added that is spelled by it, or NEEDLE_NONE */
    uint32_t *shorter; /* per state: the state of the longest needle that is an end of it; 0: there is none */
    int32_t *same;     /* per needle: another one with the same letters, or NEEDLE_NONE */
    uint32_t needles;
};

/* Empty needles (also: of nothing but blanks) are never found. The caller bounds the sum of their lengths. */
void automaton_build (struct automaton *automaton, const struct text *needles, uint32_t n);
void automaton_release (struct automaton *automaton);

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
