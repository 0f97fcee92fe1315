#if defined(__has_include) && !__has_include(<zstd.h>)
#error "Zstandard's header is missing: install libzstd-dev (Debian, Ubuntu) or libzstd-devel (Fedora)"
#endif

#include <zstd.h>
#include <zstd_errors.h>
