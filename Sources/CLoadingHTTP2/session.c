#include "CLoadingHTTP2.h"
