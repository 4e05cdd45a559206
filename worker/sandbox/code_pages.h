/* code_pages.h - frees the pages of programs and libraries that were needed only to start.
 *
 * A worker waits most of its life, and then uses a small part of 7 MiB of libraries. It frees only code and constants,
 * which the kernel maps again from its file cache: that costs one short fault for 64 KiB. Pages that this process wrote
 * stay. Any thread, at any time; it cannot fail. */
#ifndef SLICEUP_WORKER_SANDBOX_CODE_PAGES_H
#define SLICEUP_WORKER_SANDBOX_CODE_PAGES_H

void code_pages_let_go (void);

#endif
