/* secret.h - decides which values of variables are never shown, and what replaces them (docs/spec/facts.md, Rules).
 *
 * It judges by the names of variables and options, never by values. Facts, receipts and views use it; programs get
 * their variables unchanged. Pure; results live in the arena, or are the argument itself. Any thread. */
#ifndef SLICEUP_COMMON_MODEL_SECRET_H
#define SLICEUP_COMMON_MODEL_SECRET_H

#include "common/model/plan.h"

bool name_is_of_secret (struct text name);
bool name_is_of_proxy (struct text name); /* "http_proxy", "NO_PROXY", ... */
/* `value` without users and passwords in URLs ("http://user:password@host"). */
struct text secret_redact_url (struct arena *arena, struct text value);
/* What may be shown of a variable: "present" if its name is secret and it is no switch; else its value without users
 * and passwords. */
struct text secret_redact_var (struct arena *arena, const struct var *var);
/* A word of a command line: the same for the variable or option before a '=' in it. */
struct text secret_redact_word (struct arena *arena, struct text word);
/* A program's output without the values of the profile's secret variables (those too long to be a common word) and
 * without users and passwords in URLs. */
struct text secret_redact_values (struct arena *arena, const struct profile *profile, struct text text);
/* secret_redact_var of all; each still fits a record. */
var_list secret_redact_vars (struct arena *arena, const var_list *vars);

#endif
