/* environment_markers.h - names of what sliceup puts into a Python environment, beside what is installed. */
#ifndef SLICEUP_COMMON_MODEL_ENVIRONMENT_MARKERS_H
#define SLICEUP_COMMON_MODEL_ENVIRONMENT_MARKERS_H

#define ENVIRONMENT_COMPLETE ".sliceup-complete" /* holds the sha256 of its pins: written last */
#define ENVIRONMENT_OURS ".sliceup-environment"  /* empty: we began to build it, so we may remove it */
#define ENVIRONMENT_PINS ".sliceup-pins.txt"     /* the pins as pip was given them */

#endif
