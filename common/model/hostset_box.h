/* hostset_box.h - private to host sets: points with several coordinates gathered into boxes, {1-4} x {01-16}.
 *
 * The rule is nodeset's, and decides the text that people see. Of the boxes in order - more points first, then for each
 * coordinate more values first, then the bytewise smaller first value, then the smaller last one - each takes in what
 * follows it and differs from it in one coordinate; first only its neighbour, again and again, and then anything behind
 * it, until nothing changes. nodeset compares all pairs for that; here equal coordinates are found by hashing. */
#ifndef SLICEUP_COMMON_MODEL_HOSTSET_BOX_H
#define SLICEUP_COMMON_MODEL_HOSTSET_BOX_H

#include "common/base/mem.h"
#include <stdint.h>

struct hostset_points {
    uint32_t n, dims;            /* dims > 0 */
    const uint32_t *ids;         /* n rows of `dims` values; no two rows are equal */
    const uint32_t *values_n;    /* per coordinate: its values are 0 ... values_n - 1 */
    const uint32_t *const *rank; /* per coordinate: place of each value in bytewise order */
};
struct number_set {
    const uint32_t *ids;
    uint32_t n;
}; /* rising */
struct hostset_boxes {
    uint32_t n;
    struct number_set *sets;
}; /* n rows of `dims` sets; the boxes are disjoint */

void boxes_gather (const struct hostset_points *points, struct arena *arena, struct hostset_boxes *boxes);

#endif
