/* html.h - a run as one file that a browser opens from disk: the page of coordinator/page with its script, its style and
 * its data in it, and a policy that lets nothing else run or load.
 *
 * In it are the state of the run, what every host did at every rung, and of hosts that stand out (failed, last to a
 * gate, slow) also phases and facts. It is at most HTML_MAX_BYTES large: what is old or ordinary is left out first, and
 * it says what. Pure: same report, same bytes. */
#ifndef SLICEUP_COORDINATOR_REPORT_HTML_H
#define SLICEUP_COORDINATOR_REPORT_HTML_H

#include "coordinator/report/report.h"

enum { HTML_MAX_BYTES = 2000000 };

void html_page (const struct report *report, struct buf *out);

#endif
