/* policy_changes.h - the launch policy of a host, whole: what was set for its programs, held against what they saw after
 * their imports. Pure; results live in the arena or in the receipt. */
#ifndef SLICEUP_COORDINATOR_STORY_POLICY_CHANGES_H
#define SLICEUP_COORDINATOR_STORY_POLICY_CHANGES_H

#include "common/model/receipt.h"

struct policy_edit {
    struct text name, was, is;
};
struct policy_changes {
    uint32_t set_n, told_n; /* variables that were set for any scope, and those of them that programs reported */
    struct policy_edit *edited;
    uint32_t edited_n; /* seen with other words than were set for any scope */
    struct var *added;
    uint32_t added_n; /* seen, and neither set, nor inherited by the profile's will, nor of the frontend's own needs */
};
void policy_changes_find (const struct policy_receipt *policy, struct arena *arena, struct policy_changes *out);
/* Did a program see the variable with the words that were set for it, in any order? */
bool policy_is_as_launched (const struct policy_receipt *policy, const struct var *seen, struct arena *arena);

#endif
