/* type_rules.c - what the type of an exception and the package that raised it speak for, when no word of it does. */
#include "common/logs/error_rule.h"

#define CODE "Correct the program where this is raised."
#define PINS                                                                                                           \
    "Compare the installed packages with the pin set: a package calls another one in a way that it does not know."
#define LIBRARIES                                                                                                      \
    (RAISED (PACKAGE_NUMERIC) | RAISED (PACKAGE_OTHER) | RAISED (PACKAGE_TENSOR) | RAISED (PACKAGE_TRACE) |            \
     RAISED (PACKAGE_CHECKPOINT) | RAISED (PACKAGE_KERNEL) | RAISED (PACKAGE_COMPILE) | RAISED (PACKAGE_NETWORK) |     \
     RAISED (PACKAGE_GROUP) | RAISED (PACKAGE_CHILDREN) | RAISED (PACKAGE_INSTALLER) | RAISED (PACKAGE_BACKEND))
/* A library checks what it is given for many reasons: only errors of the program's own frames speak for the program. */
#define OWN_FRAMES (RAISED (PACKAGE_NONE) | RAISED (PACKAGE_USER) | RAISED (PACKAGE_STANDARD) | RAISED (PACKAGE_TRACE))
#define KNOWN_MODULES                                                                                                  \
    "module 'jax|module 'jaxlib|module 'torch|module 'numpy|module 'tensorflow|module 'flax|module 'transformers|"     \
    "module 'ml_dtypes|module 'pkgutil|module 'pkg_resources|module 'collections|module 'inspect|module 'lib'|"        \
    "module 'triton|module 'scipy|module 'pandas|module 'haiku|module 'optax|module 'orbax|module 'chex|module 'PIL|"  \
    "module 'cv2|module 'ssl|module 'importlib|module 'packaging|module 'setuptools|module 'distutils|module "         \
    "'pyarrow|"                                                                                                        \
    "module 'datasets|module 'pytorch_lightning|module 'torchvision|module 'torchaudio|module 'typing|module 'sympy|"  \
    "module 'wandb|module 'gradio|module 'bitsandbytes|module 'deepspeed|module 'accelerate|module 'peft|module "      \
    "'httpx|"                                                                                                          \
    "module 'networkx|module 'librosa|module 'gym|module 'pydantic|module 'ray|module 'sklearn|module 'attr"

static const struct error_rule items[] = {
    { "cache-lock", RULE_FORM, OWNER_CACHE,
      "KeyboardInterrupt|Timeout|RuntimeError|EOFError|UnpicklingError|JSONDecodeError|BadZipFile", NULL, NULL, NULL,
      RAISED (PACKAGE_CACHE), "A lock in a build or compile cache was left behind: remove it." },
    { "frame-cache", RULE_FORM, OWNER_CACHE, NULL,
      "EOFError|UnpicklingError|BadZipFile|zlib.error|Error -3 while decompressing", "cache", NULL,
      RAISED (PACKAGE_COMPILE), "Remove the entry, or give each version and machine a cache of its own." },
    { "attribute-module", RULE_FORM, OWNER_BUNDLE, NULL, KNOWN_MODULES, "has no attribute", NULL, 0, PINS },
    { "attribute-library", RULE_PRIOR, OWNER_BUNDLE, "AttributeError", "' object has no attribute '", NULL,
      "'NoneType'|'list'|'dict'|'str'|'int'|'tuple'|'float'|'bool'|'Tensor'|'numpy.ndarray'|'Namespace'", LIBRARIES,
      PINS },
    { "keyword-unknown", RULE_FORM, OWNER_BUNDLE, "TypeError",
      "unexpected keyword argument|got multiple values for argument|takes no keyword|positional arguments but|"
      "positional argument but|missing 1 required positional|missing 1 required keyword",
      NULL, NULL, LIBRARIES, PINS },
    { "keyword-constructor", RULE_FORM, OWNER_BUNDLE, "TypeError",
      "__init__() got an unexpected keyword|from_pretrained() got an unexpected", NULL, NULL, 0, PINS },
    { "attribute-import", RULE_FORM, OWNER_BUNDLE, "ImportError", NULL, NULL, NULL, LIBRARIES, PINS },
    { "syntax", RULE_PRIOR, OWNER_PROGRAM,
      "SyntaxError|IndentationError|TabError|NameError|UnboundLocalError|RecursionError", NULL, NULL, NULL,
      RAISED (PACKAGE_NONE) | RAISED (PACKAGE_USER) | RAISED (PACKAGE_STANDARD), CODE },
    { "syntax-installed", RULE_PRIOR, OWNER_BUNDLE, "SyntaxError|IndentationError|TabError|NameError", NULL, NULL, NULL,
      LIBRARIES, PINS },
    { "import", RULE_PRIOR, OWNER_BUNDLE, "ImportError", NULL, NULL, NULL, 0, PINS },
    { "tracing", RULE_FORM, OWNER_PROGRAM,
      "TracerArrayConversionError|TracerIntegerConversionError|TracerBoolConversionError|ConcretizationTypeError|"
      "NonConcreteBooleanIndexError|UnexpectedTracerError|KeyReuseError|ShardingTypeError|ScopeParamShapeError|"
      "ScopeParamNotFoundError|InvalidRngError|FloatingPointError|ScopeVariableNotFoundError|JaxprTypeError|"
      "UserError|Unsupported|TraceContextError",
      NULL, NULL, NULL, 0, CODE },
    { "kernel-trace", RULE_FORM, OWNER_PROGRAM,
      "ValueError|TypeError|NotImplementedError|LoweringError|LoweringException|AssertionError", NULL, NULL, NULL,
      RAISED (PACKAGE_KERNEL), "Change shapes, blocks or dtypes of the kernel at the frame named there." },
    { "compile-frame", RULE_PRIOR, OWNER_COMPILER,
      "AssertionError|KeyError|AttributeError|TypeError|RuntimeError|NotImplementedError|IndexError|CompilationError|"
      "InductorError",
      NULL, NULL, NULL, RAISED (PACKAGE_COMPILE),
      "Reduce the program, try another version of the compiler, and report it." },
    { "installer", RULE_PRIOR, OWNER_BUNDLE, NULL, NULL, NULL, NULL, RAISED (PACKAGE_INSTALLER), PINS },
    { "distributed-start", RULE_PEER, OWNER_LAUNCH,
      "DistStoreError|DistNetworkError|RendezvousConnectionError|RendezvousTimeoutError", NULL, NULL, NULL, 0,
      "Compare address, port and number of processes of the launch on all hosts." },
    { "backend-start", RULE_PRIOR, OWNER_LAUNCH, "ValueError|TypeError|KeyError|AssertionError|RuntimeError", NULL,
      NULL, "INTERNAL|UNKNOWN|ABORTED|Unable to initialize", RAISED (PACKAGE_BACKEND),
      "Compare the variables and flags of the launch with those of the other hosts." },
    { "permission", RULE_PRIOR, OWNER_HOST, "PermissionError", NULL, NULL, NULL, 0,
      "Let the user of the program open the path named there." },
    { "file-missing", RULE_PRIOR, OWNER_LAUNCH,
      "FileNotFoundError|NotADirectoryError|IsADirectoryError|FileExistsError", NULL, NULL, NULL, 0,
      "Correct the path that the launch gives." },
    { "settings-read", RULE_PRIOR, OWNER_LAUNCH,
      "ScannerError|ParserError|TOMLDecodeError|ValidationError|ConfigurationError|ConfigError", NULL, NULL, NULL, 0,
      "Correct the configuration file of the launch." },
    { "network-type", RULE_PRIOR, OWNER_PLATFORM,
      "ConnectionError|ConnectTimeout|ReadTimeout|HTTPError|HfHubHTTPError|ClientConnectorError|ProxyError|SSLError|"
      "ServiceUnavailable|TooManyRequests|NewConnectionError|MaxRetryError|ConnectError|RemoteProtocolError|URLError|"
      "ClientError|EndpointConnectionError|DeadlineExceeded|RetryError|TransportError|RefreshError|Forbidden|"
      "NotFound|CommError|gaierror|InternalServerError|ServerNotFoundError|ClientResponseError|ApiException",
      NULL, NULL, NULL,
      RAISED (PACKAGE_NETWORK) | RAISED (PACKAGE_NUMERIC) | RAISED (PACKAGE_NONE) | RAISED (PACKAGE_OTHER) |
          RAISED (PACKAGE_USER),
      "Look at the service named there and at the network on the way." },
    { "network-frame", RULE_PRIOR, OWNER_PLATFORM,
      "TimeoutError|timeout|OSError|ConnectionError|ConnectionResetError|ConnectionRefusedError", NULL, NULL, NULL,
      RAISED (PACKAGE_NETWORK), "Look at the service named there and at the network on the way." },
    { "checkpoint-frame", RULE_PRIOR, OWNER_LAUNCH,
      "ValueError|KeyError|FileNotFoundError|UnpicklingError|SafetensorError|HeaderTooLarge", NULL, NULL, NULL,
      RAISED (PACKAGE_CHECKPOINT), "Compare the checkpoint's path and structure with what the program restores." },
    { "group-start", RULE_VAGUE, OWNER_UNKNOWN, "RuntimeError|DistBackendError|ValueError|TimeoutError", NULL, NULL,
      NULL, RAISED (PACKAGE_GROUP), NULL },
    { "children-frame", RULE_CHILD, OWNER_UNKNOWN, "RuntimeError|EOFError|AssertionError|SystemExit", NULL, NULL, NULL,
      RAISED (PACKAGE_CHILDREN), NULL },
    { "binding-arguments", RULE_FORM, OWNER_BUNDLE, "TypeError",
      "incompatible function arguments|incompatible constructor arguments", NULL, NULL, LIBRARIES, PINS },
    { "program-type", RULE_PRIOR, OWNER_PROGRAM,
      "TypeError|ValueError|IndexError|KeyError|ZeroDivisionError|AssertionError|NotImplementedError|AttributeError|"
      "OverflowError|LookupError|UnicodeDecodeError|UnicodeEncodeError|ArithmeticError|LinAlgError|UFuncTypeError",
      NULL, NULL,
      "INTERNAL:|UNKNOWN:|FAILED_PRECONDITION:|DATA_LOSS:|ABORTED:|Gloo|NOT_FOUND:|CUDA|GPU|TPU|"
      "unexpected keyword|positional argument",
      OWN_FRAMES, CODE },
    { "program-frame", RULE_PRIOR, OWNER_PROGRAM, "RuntimeError|Exception|EqxRuntimeError|UsageError", NULL, NULL,
      "CUDA error|cudaError|CUBLAS|CUDNN|cuDNN|NCCL|INTERNAL|Unknown|unknown error|unspecified|timed "
      "out|timeout|unhandled|Aborted|failed to|Failed to",
      RAISED (PACKAGE_USER) | RAISED (PACKAGE_TRACE), CODE },
};
const struct error_rules type_rules = { items, sizeof items / sizeof items[0] };
