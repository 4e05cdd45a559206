#include "coordinator/journal/workqueue.h"

#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "common/base/mem.h"

enum { WORKQUEUE_MAX = 4096 };

struct work_item {
    work_item_fn *work, *done;
    void *job;
    struct work_item *next;
};

struct chain {
    struct work_item *first, **end;
};

struct workqueue {
    struct loop *loop;
    pthread_t thread;
    pthread_mutex_t lock; /* guards what follows */
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

static void chain_add (struct chain *chain, struct work_item *work_item)
{
    work_item->next = NULL;
    *chain->end = work_item;
    chain->end = &work_item->next;
}

static struct work_item *chain_take (struct chain *chain)
{
    struct work_item *work_item = chain->first;
    if (work_item && (chain->first = work_item->next) == NULL)
        chain->end = &chain->first;
    return work_item;
}

static struct work_item *wait_for_work_item (struct workqueue *workqueue)
{
    pthread_mutex_lock (&workqueue->lock);
    while (workqueue->waiting.first == NULL && !workqueue->closing)
        pthread_cond_wait (&workqueue->given, &workqueue->lock);
    struct work_item *work_item = chain_take (&workqueue->waiting);
    pthread_mutex_unlock (&workqueue->lock);
    return work_item;
}

static void hand_back (struct workqueue *workqueue, struct work_item *work_item)
{
    pthread_mutex_lock (&workqueue->lock);
    chain_add (&workqueue->finished, work_item);
    pthread_mutex_unlock (&workqueue->lock);
    uint64_t one = 1;
    if (write (workqueue->wake_fd, &one, sizeof (one)) < 0)
        return; /* the counter is full: the loop is awake already */
}

static void *workqueue_run (void *owner)
{
    struct workqueue *workqueue = owner;
    struct work_item *work_item;
    while ((work_item = wait_for_work_item (workqueue)) != NULL) {
        work_item->work (work_item->job);
        hand_back (workqueue, work_item);
    }
    return NULL;
}

/* All that is finished by now: what is finished meanwhile wakes the loop again. */
static struct work_item *take_finished (struct workqueue *workqueue)
{
    pthread_mutex_lock (&workqueue->lock);
    struct work_item *all = workqueue->finished.first;
    for (struct work_item *work_item = all; work_item; work_item = work_item->next)
        workqueue->n--;
    chain_init (&workqueue->finished);
    pthread_mutex_unlock (&workqueue->lock);
    return all;
}

static void workqueue_deliver (void *owner, int fd, uint32_t events)
{
    (void) events;
    struct workqueue *workqueue = owner;
    uint64_t count;
    if (read (fd, &count, sizeof (count)) < 0)
        count = 0; /* nothing to read away is fine */
    for (struct work_item *work_item = take_finished (workqueue), *next; work_item; work_item = next) {
        next = work_item->next;
        if (work_item->done)
            work_item->done (work_item->job);
        mem_free (work_item);
    }
}

struct workqueue *workqueue_open (struct loop *loop, struct err *err)
{
    struct workqueue *workqueue = mem_alloc (sizeof (*workqueue));
    workqueue->loop = loop;
    chain_init (&workqueue->waiting);
    chain_init (&workqueue->finished);
    pthread_mutex_init (&workqueue->lock, NULL);
    pthread_cond_init (&workqueue->given, NULL);
    workqueue->wake_fd = eventfd (0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (workqueue->wake_fd < 0) {
        err_errno (err, ERR_IO, "cannot create a descriptor for the queue of disk work");
        goto failed;
    }
    if (loop_watch (loop, workqueue->wake_fd, EPOLLIN, workqueue_deliver, workqueue, err) < 0)
        goto failed;
    errno = pthread_create (&workqueue->thread, NULL, workqueue_run, workqueue);
    if (errno == 0)
        return workqueue;
    err_errno (err, ERR_IO, "cannot start a thread for the queue of disk work");
    loop_forget (loop, workqueue->wake_fd);
failed:
    if (workqueue->wake_fd >= 0)
        close (workqueue->wake_fd);
    mem_free (workqueue);
    return NULL;
}

void workqueue_close (struct workqueue *workqueue)
{
    if (workqueue == NULL)
        return;
    pthread_mutex_lock (&workqueue->lock);
    workqueue->closing = true;
    pthread_cond_signal (&workqueue->given);
    pthread_mutex_unlock (&workqueue->lock);
    pthread_join (workqueue->thread, NULL);
    workqueue_deliver (workqueue, workqueue->wake_fd, 0);
    loop_forget (workqueue->loop, workqueue->wake_fd);
    close (workqueue->wake_fd);
    pthread_cond_destroy (&workqueue->given);
    pthread_mutex_destroy (&workqueue->lock);
    mem_free (workqueue);
}

uint32_t workqueue_length (struct workqueue *workqueue)
{
    pthread_mutex_lock (&workqueue->lock);
    uint32_t n = workqueue->n;
    pthread_mutex_unlock (&workqueue->lock);
    return n;
}

bool workqueue_submit (struct workqueue *workqueue, work_item_fn *work, work_item_fn *done, void *job)
{
    pthread_mutex_lock (&workqueue->lock);
    bool room = workqueue->n < WORKQUEUE_MAX && !workqueue->closing;
    if (room) {
        struct work_item *work_item = mem_alloc (sizeof (*work_item));
        *work_item = (struct work_item){ work, done, job, NULL };
        chain_add (&workqueue->waiting, work_item);
        workqueue->n++;
        pthread_cond_signal (&workqueue->given);
    }
    pthread_mutex_unlock (&workqueue->lock);
    return room;
}
