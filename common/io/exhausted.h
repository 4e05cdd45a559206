/* exhausted.h - a library that is refused memory or a descriptor ends the process by an assertion: libzmq does. */
#ifndef SLICEUP_IO_EXHAUSTED_H
#define SLICEUP_IO_EXHAUSTED_H

/* From now on such an end says what there was too little of, and has exit status 3. Any other abort stays one. `program` is
 * named in the sentence, and lives as long as the process. */
void exhausted_tell (const char *program);

#endif
