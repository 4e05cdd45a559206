/* frame_package.h - whose code a frame of a Python traceback is, by the path of its file. Pure. */
#ifndef SLICEUP_COMMON_LOGS_FRAME_PACKAGE_H
#define SLICEUP_COMMON_LOGS_FRAME_PACKAGE_H

#include "common/model/record.h"

enum frame_package {
    PACKAGE_NONE = 0, /* no frame, or one that says nothing: importlib, contextlib, runpy, decorators */
    PACKAGE_USER,     /* in no folder of installed packages */
    PACKAGE_STANDARD, /* Python's own library */
    PACKAGE_TRACE,    /* jax where programs are traced: arguments, shapes, dtypes */
    PACKAGE_BACKEND,  /* jax and torch_xla where devices and processes are set up */
    PACKAGE_COMPILE,  /* jax where XLA compiles; Triton, torch._inductor and torch._dynamo */
    PACKAGE_CACHE,    /* waits for or reads a build or compile cache */
    PACKAGE_KERNEL,   /* jax/_src/pallas */
    PACKAGE_TENSOR,   /* torch: modules, tensors, autograd */
    PACKAGE_GROUP,    /* torch.distributed */
    PACKAGE_CHECKPOINT,
    PACKAGE_NUMERIC, /* libraries of models, arrays and tables */
    PACKAGE_NETWORK,
    PACKAGE_CHILDREN, /* starts other processes and repeats what became of them */
    PACKAGE_INSTALLER,
    PACKAGE_OTHER,
};

extern const struct enum_names frame_package_names; /* none user standard ... other */

enum frame_package frame_package_of (struct text path);

#endif
