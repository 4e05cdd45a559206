#include "common/io/errand.h"

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/mem.h"

enum { ERRANDS_MAX = 4096 };

struct errand {
    errand_fn *work, *done;
    void *parcel;
    struct errand *next;
};

struct chain { struct errand *first, **end; };

struct errands {
    struct loop *loop;
    pthread_t thread;
    pthread_mutex_t lock;       /* guards what follows */
    pthread_cond_t given;
    struct chain waiting, finished;
    uint32_t n;
    bool closing;
    int wake_fd;
};

static void chain_init (struct chain *chain)
{
    chain->first = NULL;
    chain->end = &chain->first;
}

static void chain_add (struct chain *chain, struct errand *errand)
{
    errand->next = NULL;
    *chain->end = errand;
    chain->end = &errand->next;
}

static struct errand *chain_take (struct chain *chain)
{
    struct errand *errand = chain->first;
    if (errand && (chain->first = errand->next) == NULL)
        chain->end = &chain->first;
    return errand;
}

static struct errand *wait_for_errand (struct errands *errands)
{
    pthread_mutex_lock (&errands->lock);
    while (errands->waiting.first == NULL && !errands->closing)
        pthread_cond_wait (&errands->given, &errands->lock);
    struct errand *errand = chain_take (&errands->waiting);
    pthread_mutex_unlock (&errands->lock);
    return errand;
}

static void hand_back (struct errands *errands, struct errand *errand)
{
    pthread_mutex_lock (&errands->lock);
    chain_add (&errands->finished, errand);
    pthread_mutex_unlock (&errands->lock);
    uint64_t one = 1;
    if (write (errands->wake_fd, &one, sizeof (one)) < 0)
        return; /* the counter is full: the loop is awake already */
}

static void *errands_run (void *owner)
{
    struct errands *errands = owner;
    struct errand *errand;
    while ((errand = wait_for_errand (errands)) != NULL) {
        errand->work (errand->parcel);
        hand_back (errands, errand);
    }
    return NULL;
}

/* All that is finished by now: what is finished meanwhile wakes the loop again. */
static struct errand *take_finished (struct errands *errands)
{
    pthread_mutex_lock (&errands->lock);
    struct errand *all = errands->finished.first;
    for (struct errand *errand = all; errand; errand = errand->next)
        errands->n--;
    chain_init (&errands->finished);
    pthread_mutex_unlock (&errands->lock);
    return all;
}

static void errands_deliver (void *owner, int fd, uint32_t events)
{
    (void) events;
    struct errands *errands = owner;
    uint64_t count;
    if (read (fd, &count, sizeof (count)) < 0)
        count = 0; /* nothing to read away is fine */
    for (struct errand *errand = take_finished (errands), *next; errand; errand = next) {
        next = errand->next;
        if (errand->done)
            errand->done (errand->parcel);
        mem_free (errand);
    }
}

struct errands *errands_open (struct loop *loop, struct err *err)
{
    struct errands *errands = mem_alloc (sizeof (*errands));
    errands->loop = loop;
    chain_init (&errands->waiting);
    chain_init (&errands->finished);
    pthread_mutex_init (&errands->lock, NULL);
    pthread_cond_init (&errands->given, NULL);
    errands->wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (errands->wake_fd < 0) {
        err_errno (err, ERR_IO, "no descriptor for what waits for disks");
        goto failed;
    }
    if (loop_watch (loop, errands->wake_fd, EPOLLIN, errands_deliver, errands, err) < 0)
        goto failed;
    errno = pthread_create (&errands->thread, NULL, errands_run, errands);
    if (errno == 0)
        return errands;
    err_errno (err, ERR_IO, "no thread for what waits for disks");
    loop_forget (loop, errands->wake_fd);
failed:
    if (errands->wake_fd >= 0)
        close (errands->wake_fd);
    mem_free (errands);
    return NULL;
}

void errands_close (struct errands *errands)
{
    if (errands == NULL)
        return;
    pthread_mutex_lock (&errands->lock);
    errands->closing = true;
    pthread_cond_signal (&errands->given);
    pthread_mutex_unlock (&errands->lock);
    pthread_join (errands->thread, NULL);
    errands_deliver (errands, errands->wake_fd, 0);
    loop_forget (errands->loop, errands->wake_fd);
    close (errands->wake_fd);
    pthread_cond_destroy (&errands->given);
    pthread_mutex_destroy (&errands->lock);
    mem_free (errands);
}

bool errands_submit (struct errands *errands, errand_fn *work, errand_fn *done, void *parcel)
{
    pthread_mutex_lock (&errands->lock);
    bool room = errands->n < ERRANDS_MAX && !errands->closing;
    if (room) {
        struct errand *errand = mem_alloc (sizeof (*errand));
        *errand = (struct errand) { work, done, parcel, NULL };
        chain_add (&errands->waiting, errand);
        errands->n++;
        pthread_cond_signal (&errands->given);
    }
    pthread_mutex_unlock (&errands->lock);
    return room;
}
