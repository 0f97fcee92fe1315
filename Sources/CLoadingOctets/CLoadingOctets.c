#include "CLoadingOctets.h"

_Static_assert(sizeof(clo_field) == 16, "HTTPFields.Position has four numbers of 32 bits");
