/* code_pages.h - frees the pages of programs and libraries that were needed only to start.
 *
 * A worker waits most of its life, and of 7 MiB of libraries it then uses a small part. What is let go of is code and
 * constants, which the kernel has in its cache of the file and maps again when they are used: that costs one short
 * fault for 64 KiB. Nothing that this process wrote is touched. Any thread, at any time; it cannot fail. */
#ifndef SLICEUP_WORKER_SANDBOX_CODE_PAGES_H
#define SLICEUP_WORKER_SANDBOX_CODE_PAGES_H

void code_pages_let_go (void);

#endif
