#include "CLoadingTLS.h"
