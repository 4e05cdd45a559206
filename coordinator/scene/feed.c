#include "coordinator/scene/feed.h"
