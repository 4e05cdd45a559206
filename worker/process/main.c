/* main.c - the beginning of a worker's image (self.h): puts the following pieces into sealed memory, compares
 * them with their digests, and becomes the worker. A static program, because no library is there yet. On failure it
 * prints one sentence and exits with a status of self.h. */
#include "common/base/digest.h"
#include "worker/process/self.h"
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U /* linux/memfd.h; Linux 6.3 */
#endif

enum { SEALS = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };
enum { LIST_BYTES_MAX = IMAGE_PIECES_MAX * 160, PIECE_BYTES_MAX = 1 << 30, WORDS_MAX = 1024, SEAL_ATTEMPTS_MAX = 20 };

struct piece {
    uint64_t offset, bytes;
    struct digest digest;
    char name[IMAGE_NAME_BYTES];
};
struct image {
    int fd;
    char sibling[24]; /* pid of a worker that has the same program in memory; empty: none */
    char path[PATH_MAX], folder[PATH_MAX];
    struct piece pieces[IMAGE_PIECES_MAX];
    int n;
};

static char **arguments;

static _Noreturn __attribute__ ((format (printf, 2, 3))) void refuse (int status, const char *format, ...)
{
    char why[PATH_MAX];
    va_list args;
    va_start (args, format);
    vsnprintf (why, sizeof why, format, args);
    va_end (args);
    self_become_else (arguments, status, why);
    fprintf (stderr, "sliceup-worker: %s\n", why);
    _exit (status);
}

static _Noreturn void refuse_file (const struct image *image, const char *what)
{
    refuse (IMAGE_EXIT_DAMAGED, "the worker's file in %.300s is damaged (%s): copy it there again", image->folder,
            what);
}

/* ---- the file ---- */

static void open_image (struct image *image)
{
    image->fd = open ("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    ssize_t len = image->fd < 0 ? -1 : readlink ("/proc/self/exe", image->path, sizeof image->path - 1);
    if (len < 0)
        refuse (IMAGE_EXIT_UNFIT, "/proc is not mounted (%s): mount -t proc proc /proc", strerror (errno));
    image->path[len] = '\0';
    memcpy (image->folder, image->path, (size_t) len + 1);
    char *slash = strrchr (image->folder, '/');
    if (slash)
        *slash = '\0';
}

/* The table of sections is the last of an executable file, as the linker and strip(1) write it. */
static uint64_t end_of_start (const struct image *image)
{
    Elf64_Ehdr head;
    if (pread (image->fd, &head, sizeof head, 0) != sizeof head)
        refuse_file (image, "it is too short");
    return head.e_shoff + (uint64_t) head.e_shnum * head.e_shentsize;
}

static void image_start_read_piece (struct image *image, const char *line, uint64_t offset)
{
    struct piece *piece = &image->pieces[image->n++];
    char hex[DIGEST_HEX_BYTES];
    if (sscanf (line, "%" SCNu64 " %64s %63s", &piece->bytes, hex, piece->name) != 3 || !piece->bytes ||
        piece->bytes > PIECE_BYTES_MAX || !digest_parse (text_of (hex), &piece->digest))
        refuse_file (image, "its list of parts cannot be read");
    piece->offset = offset;
}

static void image_start_read_list (struct image *image)
{
    static char list[LIST_BYTES_MAX + 1];
    uint64_t begins = end_of_start (image);
    char *next = list;
    int n = 0;
    if (pread (image->fd, list, LIST_BYTES_MAX, (off_t) begins) < 0 || sscanf (list, IMAGE_MARK " %d\n", &n) != 1 ||
        n <= IMAGE_LIBRARIES || n > IMAGE_PIECES_MAX)
        refuse_file (image, "it has no list of its parts");
    char *lines[IMAGE_PIECES_MAX + 1];
    for (int i = 0; i <= n; i++) {
        lines[i] = next;
        if (!(next = strchr (next, '\n')))
            refuse_file (image, "its list of parts is cut off");
        *next++ = '\0';
    }
    uint64_t offset = begins + (uint64_t) (next - list);
    for (int i = 0; i < n; i++, offset += image->pieces[i - 1].bytes)
        image_start_read_piece (image, lines[i + 1], offset);
}

/* ---- memory that nobody can change ---- */

static void copy_into (const struct image *image, const struct piece *piece, int fd)
{
    off_t at = (off_t) piece->offset;
    uint64_t left = piece->bytes;
    while (left) {
        ssize_t n = sendfile (fd, image->fd, &at, left);
        if (n == 0)
            refuse_file (image, "it is too short");
        if (n < 0 && errno != EINTR)
            refuse (IMAGE_EXIT_UNFIT, "cannot copy the worker into memory: %s", strerror (errno));
        left -= n > 0 ? (uint64_t) n : 0;
    }
}

/* Kernels before 6.3 know no MFD_EXEC; later ones may refuse to execute memory that was made without it. */
static int make_memory (const char *name)
{
    int fd = memfd_create (name, MFD_ALLOW_SEALING | MFD_CLOEXEC | MFD_EXEC);
    return fd < 0 && errno == EINVAL ? memfd_create (name, MFD_ALLOW_SEALING | MFD_CLOEXEC) : fd;
}

/* The kernel refuses the seal with EBUSY while anybody else holds a page, as its own lists of new pages do on a busy
 * host. It waits 150 ms for them by itself (linux mm/memfd.c, memfd_wait_for_pins); each further attempt waits again. */
static void seal (int fd)
{
    for (int attempt = 1; fcntl (fd, F_ADD_SEALS, SEALS) < 0; attempt++)
        if (errno != EBUSY || attempt == SEAL_ATTEMPTS_MAX)
            refuse (IMAGE_EXIT_UNFIT, "cannot seal the worker's copy in memory: %s", strerror (errno));
}

static int sealed_memory (const struct image *image, const struct piece *piece)
{
    int fd = make_memory (piece->name);
    if (fd < 0)
        return -1;
    copy_into (image, piece, fd);
    seal (fd);
    return fd;
}

/* If the host forbids executable memory (vm.memfd_noexec), uses an unnamed file that nobody can write any more. */
static int nameless_file (const struct image *image, const struct piece *piece, int why)
{
    char path[LOADER_PATH_BYTES];
    int written = open (image->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0500);
    if (written < 0)
        refuse (IMAGE_EXIT_UNFIT,
                "cannot copy the worker into memory (%s), nor into a file in %.300s (%s): allow one of them, for "
                "example with sysctl vm.memfd_noexec=0",
                strerror (why), image->folder, strerror (errno));
    copy_into (image, piece, written);
    snprintf (path, sizeof path, "/proc/self/fd/%d", written);
    int fd = open (path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        refuse (IMAGE_EXIT_UNFIT, "cannot open the worker's copy in %.300s again: %s", image->folder, strerror (errno));
    close (written);
    return fd;
}

/* Private: kernels before Linux 6.7 map no sealed memory shared, not even to read it. -1: it cannot be read. */
static int image_start_is (const struct piece *piece, int fd)
{
    void *bytes = mmap (NULL, piece->bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (bytes == MAP_FAILED)
        return -1;
    struct digest is = digest_of (bytes, piece->bytes);
    munmap (bytes, piece->bytes);
    return digest_equal (&is, &piece->digest);
}

/* ---- memory that another worker of this user sealed, on the same machine ---- */

/* Nobody can write it any more, and its digest is what counts. -1: it has none such. Only what is called like such memory is
 * opened, since to open a descriptor of another kind may wait. What another user made could lose its mode, or be many that
 * each have to be compared. */
static int memory_of (const char *pid, const struct image *image, int at)
{
    char path[64], link[IMAGE_NAME_BYTES + 32] = "", name[sizeof link];
    const struct piece *piece = &image->pieces[at];
    struct stat st;
    snprintf (path, sizeof path, "/proc/%.20s/fd/%d", pid, IMAGE_FD_FIRST + at);
    snprintf (name, sizeof name, "/memfd:%s (deleted)", piece->name);
    bool called = readlink (path, link, sizeof link - 1) > 0 && strcmp (link, name) == 0;
    int fd = called ? open (path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd >= 0 && fcntl (fd, F_GET_SEALS) == SEALS && fstat (fd, &st) == 0 && (uint64_t) st.st_size == piece->bytes &&
        st.st_uid == geteuid () && (st.st_mode & 0500) == 0500 && image_start_is (piece, fd) == 1)
        return fd;
    if (fd >= 0)
        close (fd);
    return -1;
}

/* Workers that begin together may miss each other. */
static void find_sibling (struct image *image)
{
    DIR *processes = opendir ("/proc");
    struct dirent *entry = processes ? readdir (processes) : NULL;
    for (int fd; entry && !image->sibling[0]; entry = readdir (processes))
        if ((fd = memory_of (entry->d_name, image, IMAGE_PROGRAM)) >= 0) {
            snprintf (image->sibling, sizeof image->sibling, "%.20s", entry->d_name);
            close (fd);
        }
    if (processes)
        closedir (processes);
}

static void image_start_place (const struct image *image, int at)
{
    const struct piece *piece = &image->pieces[at];
    int wanted = IMAGE_FD_FIRST + at, fd = image->sibling[0] ? memory_of (image->sibling, image, at) : -1;
    bool shared = fd >= 0;
    if (!shared)
        fd = sealed_memory (image, piece);
    if (fd < 0)
        fd = nameless_file (image, piece, errno);
    int is = shared ? 1 : image_start_is (piece, fd);
    if (is < 0)
        refuse (IMAGE_EXIT_UNFIT, "cannot read the worker's copy in memory: %s", strerror (errno));
    if (is == 0)
        refuse_file (image, piece->name);
    if (fd == wanted) {
        (void) fcntl (fd, F_SETFD, 0); /* an open descriptor has flags */
        return;
    }
    if (dup2 (fd, wanted) < 0)
        refuse (IMAGE_EXIT_UNFIT, "the worker needs %d file descriptors (%s): raise ulimit -n",
                IMAGE_FD_FIRST + IMAGE_PIECES_MAX, strerror (errno));
    close (fd);
}

/* ---- the worker ---- */

static void allow_descriptors (void)
{
    struct rlimit limit;
    if (getrlimit (RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= IMAGE_FD_FIRST + IMAGE_PIECES_MAX) {
        limit.rlim_cur = limit.rlim_max;
        (void) setrlimit (RLIMIT_NOFILE, &limit); /* dup2 says whether it sufficed */
    }
}

/* Removes the loader's variables (ld.so(8)), which are for the host's libraries and another C library. */
static void clear_environment (char **envp)
{
    char **kept = envp;
    for (; *envp; envp++)
        if (strncmp (*envp, "LD_", 3) != 0)
            *kept++ = *envp;
    *kept = NULL;
}

static _Noreturn void become_worker (const struct image *image, int argc, char **argv)
{
    static struct loader_paths lead;
    char *words[WORDS_MAX + LOADER_LEAD_WORDS] = { NULL };
    if (argc > WORDS_MAX)
        refuse (IMAGE_EXIT_UNFIT, "the command line has more than %d arguments", WORDS_MAX);
    loader_lead (&lead, image->n, image->path, words);
    for (int i = 1; i < argc; i++)
        words[LOADER_LEAD_WORDS + i - 1] = argv[i];
    clear_environment (environ);
    fexecve (IMAGE_FD_FIRST + IMAGE_LOADER, words, environ);
    refuse (IMAGE_EXIT_UNFIT, "cannot execute the dynamic loader of the worker: %s", strerror (errno));
}

static _Noreturn void image_start (int argc, char **argv)
{
    static struct image image;
    arguments = argc > 1 ? argv + 1 : argv + argc;
    open_image (&image);
    image_start_read_list (&image);
    allow_descriptors ();
    find_sibling (&image);
    (void) close (IMAGE_FD_FIRST + image.n); /* marks their end for the worker; mostly not open */
    for (int i = 0; i < image.n; i++)
        image_start_place (&image, i);
    become_worker (&image, argc, argv);
}

/* It runs one command of `sliceup exec` itself, since the head has all for that; else it becomes the worker. */
int main (int argc, char **argv)
{
    if (argc == 2 && strcmp (argv[1], "exec") == 0)
        return remote_exec_main (argc - 1, argv + 1);
    image_start (argc, argv);
}
