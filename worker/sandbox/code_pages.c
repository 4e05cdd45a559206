#include "worker/sandbox/confine.h"

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* The loader wrote to its code, so mapping the file again would lose that. */
static bool has_relocated_code (const struct dl_phdr_info *object)
{
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            for (const ElfW (Dyn) *at = (const void *) (object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
                 at->d_tag != DT_NULL; at++)
                if (at->d_tag == DT_TEXTREL || (at->d_tag == DT_FLAGS && (at->d_un.d_val & DF_TEXTREL)))
                    return true;
    return false;
}

/* Only whole pages, since a shared page could be another segment's. A refusal, as for the kernel's object, is fine. */
static int let_go_of (struct dl_phdr_info *object, size_t size, void *owner)
{
    size_t page = (size_t) sysconf (_SC_PAGESIZE);
    (void) size;
    (void) owner;
    for (int i = 0; i < object->dlpi_phnum && !has_relocated_code (object); i++) {
        const ElfW (Phdr) *segment = &object->dlpi_phdr[i];
        size_t begin = (object->dlpi_addr + segment->p_vaddr + page - 1) / page * page;
        size_t end = (object->dlpi_addr + segment->p_vaddr + segment->p_memsz) / page * page;
        if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W) && begin < end)
            (void) madvise ((void *) begin, end - begin, MADV_DONTNEED);
    }
    return 0;
}

void code_pages_let_go (void)
{
    dl_iterate_phdr (let_go_of, NULL);
}
