#include "coordinator/scene/scene.h"
