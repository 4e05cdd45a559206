/* main.c - the program in the head of the worker bundle (worker/process/image.h). It runs one command of `sliceup exec`
 * itself, since the head has all for that; else it becomes the worker. */
#include "worker/process/image.h"
#include "worker/process/self.h"
#include <string.h>

int main (int argc, char **argv)
{
    if (argc == 2 && strcmp (argv[1], "exec") == 0)
        return remote_exec_main (argc - 1, argv + 1);
    image_start (argc, argv);
}
