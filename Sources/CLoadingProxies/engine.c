#include "engine.h"

#include <dlfcn.h>
#include <pthread.h>

static clx_engine engine;
static bool is_found = false;

static void find(void) {
    // All of version 2 have what is needed here. Nothing may be looked for when it is called, in a process without files.
    void *handle = NULL;
    const char *names[] = {"libduktape.so.207", "libduktape.so.206", "libduktape.so.205", "libduktape.so.2"};
    for (size_t index = 0; index < sizeof names / sizeof *names && handle == NULL; index++)
        handle = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) return;
    const struct {
        const char *symbol;
        void **function;
    } functions[] = {
        {"duk_create_heap", (void **)&engine.create},
        {"duk_eval_raw", (void **)&engine.evaluate},
        {"duk_pcall", (void **)&engine.call},
        {"duk_get_global_string", (void **)&engine.get_global},
        {"duk_put_global_string", (void **)&engine.put_global},
        {"duk_push_c_function", (void **)&engine.push_function},
        {"duk_push_lstring", (void **)&engine.push_text},
        {"duk_push_null", (void **)&engine.push_null},
        {"duk_get_lstring", (void **)&engine.get_text},
        {"duk_pop", (void **)&engine.pop},
    };
    for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
        *functions[index].function = dlsym(handle, functions[index].symbol);
        if (*functions[index].function == NULL) return;
    }
    is_found = true;
}

const clx_engine *clx_engine_find(void) {
    static pthread_once_t finding = PTHREAD_ONCE_INIT;
    pthread_once(&finding, find);
    return is_found ? &engine : NULL;
}
