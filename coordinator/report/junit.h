/* junit.h - a run as JUnit XML, for what reads the tests of others: docs/spec/report.md.
 *
 * One suite, a case for each rung of the ladder. A case holds at most one of <failure>, <error> and <skipped>, as every
 * reader of JUnit expects: that of the worst group of its hosts. Each further group of hosts that did not pass, cascades
 * among them, is a case behind it. Pure: same receipt, same bytes. What hosts said is escaped. */
#ifndef SLICEUP_COORDINATOR_REPORT_JUNIT_H
#define SLICEUP_COORDINATOR_REPORT_JUNIT_H

#include "common/base/buf.h"
#include "common/model/receipt.h"

/* Of the first run in the receipt. */
void junit_xml (const struct slice_receipt *receipt, struct buf *out);

#endif
