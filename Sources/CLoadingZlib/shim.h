#if defined(__has_include) && !__has_include(<zlib.h>)
#error "zlib's header is missing: install zlib1g-dev (Debian, Ubuntu) or zlib-devel (Fedora)"
#endif

#include <zlib.h>
