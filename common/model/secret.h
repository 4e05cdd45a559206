/* secret.h - decides which values of variables are never shown, and what is shown instead (docs/spec/facts.md, Rules).
 *
 * Judged by the names that people give to variables and options; no value is guessed at. Facts, receipts and views ask
 * it; programs get their variables as they are. Pure; what it gives lives in the arena, or is what it was given. Any
 * thread. */
#ifndef SLICEUP_COMMON_MODEL_SECRET_H
#define SLICEUP_COMMON_MODEL_SECRET_H

#include "common/model/plan.h"

bool name_is_of_secret (struct text name);
bool name_is_of_proxy (struct text name); /* "http_proxy", "NO_PROXY", ... */
/* `value` without the user and password of addresses in it ("http://user:password@host"). */
struct text secret_redact_url (struct arena *arena, struct text value);
/* What may be shown of a variable: "present" of one that is secret by its name, but for a switch; else its value
 * without users and passwords. */
struct text secret_redact_var (struct arena *arena, const struct var *var);
/* A word of a command line: the same of the variable or option that stands before a '=' in it. */
struct text secret_redact_word (struct arena *arena, struct text word);
/* What a program printed, without the values of secret variables of the profile, where they are long enough to be no
 * word, and without users and passwords of addresses. */
struct text secret_redact_values (struct arena *arena, const struct profile *profile, struct text text);
/* The same of all; each still fits a record. */
var_list secret_redact_vars (struct arena *arena, const var_list *vars);

#endif
