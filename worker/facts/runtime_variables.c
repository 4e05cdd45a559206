#include "worker/facts/runtime_variables.h"

#include "common/model/secret.h"

static const char *const beginnings[] = {
    "XLA_",       "LIBTPU_", "TPU_",  "PJRT_",         "PT_XLA_", "PTXLA_",  "JAX_",  "MEGASCALE_",
    "CLOUD_TPU_", "TF_CPP_", "GRPC_", "DIST_SERVICE_", "CUDA_",   "NVIDIA_", "NCCL_",
};
static const char *const names[] = {
    "LD_LIBRARY_PATH", "LD_PRELOAD", "PYTHONPATH", "ALLOW_MULTIPLE_LIBTPU_LOAD", "MASTER_ADDR", "MASTER_PORT",
};

bool runtime_variables_contain (struct text name)
{
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (text_starts (name, beginnings[i]))
            return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (text_is (name, names[i]))
            return true;
    return name_is_of_proxy (name);
}
