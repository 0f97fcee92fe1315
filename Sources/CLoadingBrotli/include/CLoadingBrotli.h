// Brotli, loaded at run time: its library is not linked, so a program that never receives this coding starts without it.
#ifndef CLOADINGBROTLI_H
#define CLOADINGBROTLI_H

#if defined(__has_include) && !__has_include(<brotli/decode.h>)
#error "Brotli's header is missing: install libbrotli-dev (Debian, Ubuntu) or brotli-devel (Fedora)"
#endif

#include <brotli/decode.h>

#pragma clang assume_nonnull begin

// A function that is called has to be listed here.
#define CLB_FUNCTIONS(FUNCTION) \
    FUNCTION(BrotliDecoderCreateInstance) \
    FUNCTION(BrotliDecoderDecompressStream) \
    FUNCTION(BrotliDecoderDestroyInstance)

struct clb_functions {
#define CLB_FIELD(name) __typeof__(name) *name;
    CLB_FUNCTIONS(CLB_FIELD)
#undef CLB_FIELD
};

// The functions, for the rest of the process. The first call loads the library, which may wait for the disk. NULL
// without the library; the next call tries again.
const struct clb_functions *_Nullable clb_load(void);

#pragma clang assume_nonnull end

#endif
