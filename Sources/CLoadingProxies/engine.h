// Duktape, as far as it is needed here. Its types stand here so that building needs none of its headers.
#ifndef CLX_ENGINE_H
#define CLX_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct duk_hthread clx_script;
typedef int clx_function(clx_script *);

enum {
    // As `duk_peval_lstring` has it: evaluate, catch what is thrown, and neither source nor name are on the stack.
    CLX_EVALUATE = 1 << 3 | 1 << 7 | 1 << 9 | 1 << 11,
};

typedef struct {
    clx_script *(*create)(
        void *(*)(void *, size_t), void *(*)(void *, void *, size_t), void (*)(void *, void *), void *,
        void (*)(void *, const char *));
    int (*evaluate)(clx_script *, const char *, size_t, unsigned);
    int (*call)(clx_script *, int);
    unsigned (*get_global)(clx_script *, const char *);
    unsigned (*put_global)(clx_script *, const char *);
    int (*push_function)(clx_script *, clx_function *, int);
    const char *(*push_text)(clx_script *, const char *, size_t);
    void (*push_null)(clx_script *);
    const char *(*get_text)(clx_script *, int, size_t *);
    void (*pop)(clx_script *);
} clx_engine;

// NULL where there is none.
const clx_engine *clx_engine_find(void);

#endif
