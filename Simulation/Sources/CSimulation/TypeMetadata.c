// What the Swift runtime makes of types and looks up of their conformances when a program first needs them. It takes a sixth of a world's
// time, so it is done before worlds are forked: for each variable in which compiled code keeps a type that it has looked up by its name
// (mangled ...MD), and by each function that looks up a table of a conformance (...Wl). Both are found in the tables of symbols.
#include "Kernel.h"
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern const void *swift_getTypeByMangledNameInContext2(const char *name, size_t length, const void *context, const void *arguments);

// Before it is known, its halves are the distance to the name, and the name's negative length.
struct type_cache { int32_t distance, negative_length; };

static void look_up_type(struct type_cache *cache) {
    if (cache->negative_length >= 0) return;
    const char *name = (const char *)cache + cache->distance;
    const void *found = swift_getTypeByMangledNameInContext2(name, (size_t)-(int64_t)cache->negative_length, NULL, NULL);
    if (found != NULL) memcpy(cache, &found, sizeof found);
}

static void prepare_symbol(const char *name, void *address) {
    size_t length = strlen(name);
    if (length < 4 || name[0] != '$' || name[1] != 's') return;
    if (strcmp(name + length - 2, "MD") == 0) look_up_type(address);
    else if (strcmp(name + length - 2, "Wl") == 0) ((const void *(*)(void))address)();
}

static void prepare_symbols(const char *file, const ElfW(Ehdr) *head, uintptr_t base) {
    const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(file + head->e_shoff);
    for (int i = 0; i < head->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB) continue;
        const ElfW(Sym) *symbols = (const ElfW(Sym) *)(file + sections[i].sh_offset);
        const char *names = file + sections[sections[i].sh_link].sh_offset;
        for (size_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++) {
            if (symbols[k].st_shndx == SHN_UNDEF) continue;
            prepare_symbol(names + symbols[k].st_name, (void *)(base + symbols[k].st_value));
        }
    }
}

// The program and the libraries of Swift. Those that have been stripped have no table.
static int prepare_image(struct dl_phdr_info *image, size_t size, void *unused) {
    (void)size;
    (void)unused;
    bool is_program = image->dlpi_name[0] == 0;
    if (!is_program && strstr(image->dlpi_name, "/swift/") == NULL) return 0;
    int descriptor = REAL(open)(is_program ? "/proc/self/exe" : image->dlpi_name, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (descriptor < 0) return 0;
    if (REAL(fstat)(descriptor, &status) == 0 && status.st_size > (off_t)sizeof(ElfW(Ehdr))) {
        const char *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (file != MAP_FAILED) {
            prepare_symbols(file, (const ElfW(Ehdr) *)file, image->dlpi_addr);
            munmap((void *)file, (size_t)status.st_size);
        }
    }
    REAL(close)(descriptor);
    return 0;
}

void simulation_prepare_types(void) { dl_iterate_phdr(prepare_image, NULL); }
