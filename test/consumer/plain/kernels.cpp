#include "scale.h"
PENSTOCK_KERNEL(Scale, block);
