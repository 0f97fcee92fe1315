// Zstandard, loaded at run time: its library is not linked, so a program that never receives this coding starts without it.
#ifndef CLOADINGZSTD_H
#define CLOADINGZSTD_H

#if defined(__has_include) && !__has_include(<zstd.h>)
#error "Zstandard's header is missing: install libzstd-dev (Debian, Ubuntu) or libzstd-devel (Fedora)"
#endif

#include <zstd.h>
#include <zstd_errors.h>

#pragma clang assume_nonnull begin

// A function that is called has to be listed here.
#define CLZ_FUNCTIONS(FUNCTION) \
    FUNCTION(ZSTD_createDCtx) \
    FUNCTION(ZSTD_DCtx_setParameter) \
    FUNCTION(ZSTD_decompressStream) \
    FUNCTION(ZSTD_freeDCtx) \
    FUNCTION(ZSTD_getErrorCode) \
    FUNCTION(ZSTD_isError)

struct clz_functions {
#define CLZ_FIELD(name) __typeof__(name) *name;
    CLZ_FUNCTIONS(CLZ_FIELD)
#undef CLZ_FIELD
};

// The functions, for the rest of the process. The first call loads the library, which may wait for the disk. NULL
// without the library; the next call tries again.
const struct clz_functions *_Nullable clz_load(void);

#pragma clang assume_nonnull end

#endif
