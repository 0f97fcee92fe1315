#include "CLoadingOctets.h"

// Everything is in the header. SwiftPM needs a file to compile.
