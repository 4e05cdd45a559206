/* error_rule.h - asks the message of one error for the rules of a set: which owner the type of an exception, an errno and
 * its object, the package of a frame, or the words of a loader, a compiler or a scheduler speak for.
 *
 * A rule says "likely". It holds for texts that nobody has seen before. What it asks stands in struct signature and in
 * configs/signatures/rules.yaml; here is how it is asked. Pure. */
#ifndef SLICEUP_COMMON_LOGS_ERROR_RULE_H
#define SLICEUP_COMMON_LOGS_ERROR_RULE_H

#include "common/logs/signature.h"
#include "common/logs/traceback.h"

/* What an error says. */
struct error_clue {
    struct text type;          /* without its module; empty: no exception */
    struct text text;          /* the message */
    enum frame_package raised; /* whose frame raised it */
};

/* The first rule of the set that holds; NULL: none does. */
const struct signature *error_rule_match (const struct signature_set *set, const struct error_clue *clue);
/* Is it the name of an errno that rules can ask for: ENOENT? */
bool error_rule_knows_errno (struct text name);

#endif
