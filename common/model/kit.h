/* kit.h - checks the names of files that are sent to a host.
 *
 * The one rule for such names, used where a plan is made and again where a host writes the files: the sender of a plan
 * decides what is in the kit's folder, and nothing outside it. Knows no file. */
#ifndef SLICEUP_COMMON_MODEL_KIT_H
#define SLICEUP_COMMON_MODEL_KIT_H

#include "common/base/digest.h"
#include "common/model/plan.h"

#define KIT_HELPER "sliceup_canary.py"
#define KIT_COMMAND_HELPERS "sliceup" /* the folder of our modules that a command's program imports */

#define KIT_FOLDER KIT_COMMAND_HELPERS "/folder.tar" /* of a rung whose folder travels */

/* 1 to 4 parts of [A-Za-z0-9._+-] joined by '/', none of them beginning with '.'. */
bool kit_name_is_good (struct text name);
/* The identity of a kit: its names and what they hold, in the order given. */
struct digest kit_digest (const struct kit_file *files, uint32_t n);

#endif
