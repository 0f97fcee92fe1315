#if defined(__has_include) && !__has_include(<nghttp2/nghttp2.h>)
#error "nghttp2's header is missing: install libnghttp2-dev (Debian, Ubuntu) or libnghttp2-devel (Fedora)"
#endif

#include <nghttp2/nghttp2.h>
