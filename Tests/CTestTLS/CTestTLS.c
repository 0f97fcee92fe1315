#include "CTestTLS.h"
