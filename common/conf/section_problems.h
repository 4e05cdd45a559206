/* section_problems.h - what is said of a map that its table of keys does not fit: what to write instead. */
#ifndef SLICEUP_COMMON_CONF_SECTION_PROBLEMS_H
#define SLICEUP_COMMON_CONF_SECTION_PROBLEMS_H

#include "common/conf/section.h"

/* A value that its key does not take. */
void section_report_value (const struct conf_key *key, const struct yaml_node *node, struct problem_list *problems);
/* A key that the section does not have: the nearest that it has, or where that key belongs. */
void section_report_unknown (const struct section_schema *section, const struct yaml_node *key,
                             struct problem_list *problems);
void section_report_missing (const struct section_schema *section, const struct yaml_node *map,
                             const struct conf_value values[], struct problem_list *problems);
/* True: the map is that of a file of another kind, which is reported in place of its keys. */
bool section_report_other_file (const struct section_schema *section, const struct yaml_node *map,
                                struct problem_list *problems);

#endif
