#include "common/logs/frame_package.h"

#include "common/logs/words.h"

static const char *const package_words[] = { "none",    "user",     "standard",  "trace", "backend",    "compile",
                                             "cache",   "kernel",   "tensor",    "group", "checkpoint", "numeric",
                                             "network", "children", "installer", "other" };
const struct enum_names frame_package_names = NAMES (package_words);

static bool behind (struct text path, const char *folder, struct text *rest)
{
    uint32_t at, len = text_of (folder).len;
    if (!text_find (path, text_of (folder), &at))
        return false;
    *rest = words_from (path, at + len);
    return true;
}

/* Below the last folder of installed packages: an environment may lie in another one's path. */
static bool installed (struct text path, struct text *inner)
{
    bool found = false;
    *inner = path;
    while (behind (*inner, "site-packages/", inner) || behind (*inner, "dist-packages/", inner))
        found = true;
    return found;
}

/* "/usr/lib/python3.11/", "lib/python3.12/"; those of the interpreter itself, "<frozen importlib>" too. */
static bool standard (struct text path, struct text *inner)
{
    if (!behind (path, "lib/python3", inner) && !behind (path, "lib64/python3", inner))
        return false;
    text_take_until (inner, '/');
    return true;
}

/* The first that is found at the beginning of the path below the installed packages. */
static const struct {
    const char *folders;
    enum frame_package package;
} known[] = {
    { "jax/_src/pallas|jax/experimental/pallas|jax/experimental/mosaic", PACKAGE_KERNEL },
    { "jax/_src/xla_bridge|jax/_src/cloud_tpu_init|jax/_src/distributed|jax/_src/clusters|jax/_src/hardware_utils",
      PACKAGE_BACKEND },
    { "jax/_src/compiler|jax/_src/compilation_cache|jax/_src/lru_cache|jaxlib/", PACKAGE_COMPILE },
    { "jax/experimental/array_serialization|jax/experimental/multihost_utils", PACKAGE_CHECKPOINT },
    { "jax/_src/traceback_util|jax/_src/api_boundary", PACKAGE_NONE },
    { "jax/", PACKAGE_TRACE },
    { "torch_xla/_internal|torch_xla/runtime|torch_xla/distributed|torch_xla/__init__", PACKAGE_BACKEND },
    { "torch/utils/file_baton|torch/_inductor/codecache|filelock/|triton/runtime/cache", PACKAGE_CACHE },
    { "torch/_inductor|torch/_dynamo|torch/_functorch|triton/", PACKAGE_COMPILE },
    { "torch/distributed/checkpoint", PACKAGE_CHECKPOINT },
    { "torch/distributed/run|torch/distributed/launch|torch/distributed/elastic|torch/distributed/launcher|"
      "torch/multiprocessing|accelerate/commands|deepspeed/launcher|lightning/fabric/strategies/launchers|ray/",
      PACKAGE_CHILDREN },
    { "torch/distributed|torch/nn/parallel", PACKAGE_GROUP },
    { "torch/utils/_contextlib|torch/autograd/grad_mode|decorator|wrapt/|click/|fire/|hydra/_internal", PACKAGE_NONE },
    { "torch/", PACKAGE_TENSOR },
    { "torch_xla/", PACKAGE_TENSOR },
    { "orbax/|tensorstore/|safetensors/|flax/training/checkpoints|etils/epath", PACKAGE_CHECKPOINT },
    { "flax/|haiku/|equinox/|optax/|transformers/|diffusers/|peft/|trl/|timm/|numpy/|scipy/|pandas/|sklearn/|einops/|"
      "chex/|jaxtyping/|datasets/|tokenizers/|keras/|tensorflow/|deepspeed/|accelerate/|lightning/|pytorch_lightning/|"
      "vllm/|sglang/|megatron/|xformers/|flash_attn/|bitsandbytes/",
      PACKAGE_NUMERIC },
    { "requests/|urllib3/|httpx/|httpcore/|aiohttp/|huggingface_hub/|google/|gcsfs/|s3fs/|botocore/|boto3/|fsspec/|"
      "grpc/|wandb/|oauth2client/|azure/",
      PACKAGE_NETWORK },
    { "pip/|setuptools/|pkg_resources/|conda/|wheel/|build/|poetry/|packaging/", PACKAGE_INSTALLER },
};

static const struct {
    const char *folders;
    enum frame_package package;
} known_standard[] = {
    { "importlib|contextlib|runpy|threading|concurrent/|functools|asyncio/|multiprocessing/spawn", PACKAGE_NONE },
    { "socket|ssl|urllib/|http/|ftplib|smtplib", PACKAGE_NETWORK },
    { "subprocess|multiprocessing/", PACKAGE_CHILDREN },
};

static bool begins_with_any (struct text inner, const char *folders)
{
    char folder[64];
    for (struct text rest = text_of (folders); rest.len;) {
        struct text one = text_take_until (&rest, '|');
        if (text_to_c (one, folder, sizeof folder) && text_starts (inner, folder))
            return true;
    }
    return false;
}

enum frame_package frame_package_of (struct text path)
{
    struct text inner;
    if (path.len == 0 || path.ptr[0] == '<')
        return PACKAGE_NONE;
    if (installed (path, &inner)) {
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (begins_with_any (inner, known[i].folders))
                return known[i].package;
        return PACKAGE_OTHER;
    }
    if (!standard (path, &inner))
        return PACKAGE_USER;
    for (size_t i = 0; i < sizeof known_standard / sizeof known_standard[0]; i++)
        if (begins_with_any (inner, known_standard[i].folders))
            return known_standard[i].package;
    return PACKAGE_STANDARD;
}
