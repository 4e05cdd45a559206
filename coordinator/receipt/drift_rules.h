/* drift_rules.h - which rule a fact is under, and how bad a difference in it is. Pure. */
#ifndef SLICEUP_COORDINATOR_RECEIPT_DRIFT_RULES_H
#define SLICEUP_COORDINATOR_RECEIPT_DRIFT_RULES_H

#include "coordinator/receipt/drift.h"

/* The first rule of the query that matches, a built-in one when the query has none, else "agree"; never NULL. */
const struct drift_rule *drift_rule_of (const struct drift_query *query, struct text fact);
/* '*' stands for any bytes, also none; everything else for itself. */
bool drift_pattern_matches (struct text pattern, struct text text);
/* `order` is a multiple of the step: what is between is free for telling findings about like facts apart. */
enum { DRIFT_ORDER_STEP = 4, DRIFT_ORDER_ABSENT = 1 << 16 };
enum drift_severity drift_severity_of (struct text fact, uint32_t *order);

#endif
