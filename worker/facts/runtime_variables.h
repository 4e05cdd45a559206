/* runtime_variables.h - which variables of an environment decide what a runtime does.
 *
 * Sources: openxla/xla:docs/errors/error_0200.md (all hosts need the same flags); the variables that torch_xla, jax and
 * libtpu read (pytorch/xla:configuration.yaml, torch_xla/_internal/tpu.py; jax-ml/jax:jax/_src/cloud_tpu_init.py).
 * Pure. */
#ifndef SLICEUP_WORKER_FACTS_RUNTIME_VARIABLES_H
#define SLICEUP_WORKER_FACTS_RUNTIME_VARIABLES_H

#include "common/base/text.h"

bool runtime_variables_contain (struct text name); /* it belongs to a family of docs/spec/facts.md */

#endif
