// What was done to the disk, and what a power cut leaves of it: the content of a file is on the disk when the file was synchronized, and
// the names in a folder when the folder was. What was not is on the disk in part.
#include "Disk.h"
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

// A file or a folder. The file system may give the number of one that was removed to a new one.
struct node {
    ino_t inode;
    bool is_folder;
    // By the wall clock: the content, or names in a folder; and anything of it.
    simulation_time modified, changed;
    uint8_t *content;
    size_t length, capacity;
};

enum kind { named, removed, renamed, exchanged, written, truncated };

struct change {
    enum kind kind;
    // Which has to be synchronized for it, and which it is about.
    struct node *concerned, *node;
    bool is_synchronized;
    char *name, *to;
    off_t offset;
    uint8_t *bytes;
    size_t count;
};

static const char *root;
static dev_t device;
static struct node **nodes;
static size_t node_count, node_capacity;
static struct change *changes;
static size_t change_count, change_capacity, first_unsynchronized;

// ---- taking note

static struct node *add_node(ino_t inode, bool is_folder) {
    if (node_count == node_capacity) {
        node_capacity = node_capacity == 0 ? 64 : 2 * node_capacity;
        nodes = realloc(nodes, node_capacity * sizeof *nodes);
    }
    struct node *node = calloc(1, sizeof *node);
    node->inode = inode;
    node->is_folder = is_folder;
    node->modified = node->changed = kernel_wall_clock();
    return nodes[node_count++] = node;
}

static struct node *known_node(const struct stat *status) {
    for (size_t i = node_count; i-- > 0;) if (nodes[i]->inode == status->st_ino) return nodes[i];
    return NULL;
}

static struct node *node_of(const struct stat *status) {
    struct node *known = known_node(status);
    return known != NULL ? known : add_node(status->st_ino, S_ISDIR(status->st_mode));
}

static struct node *node_at(const char *path) {
    struct stat status;
    return lstat(path, &status) == 0 ? node_of(&status) : NULL;
}

static struct node *node_open(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 ? node_of(&status) : NULL;
}

static struct node *folder_of(const char *path) {
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    return node_at(folder);
}

// Without the root.
static char *name_in(const char *path) { return strdup(path + strlen(root) + 1); }

static void note_times(const struct change *change) {
    simulation_time now = kernel_wall_clock();
    if (change->concerned != NULL) change->concerned->modified = change->concerned->changed = now;
    if (change->node != NULL) change->node->changed = now;
}

static struct timespec date(simulation_time time) {
    return (struct timespec){ .tv_sec = time / 1000000000, .tv_nsec = time % 1000000000 };
}

static simulation_time nanoseconds(struct timespec date) { return date.tv_sec * 1000000000 + date.tv_nsec; }

// NULL for a file that is not on the disk.
static struct node *node_on_disk(const struct stat *status) {
    return root != NULL && status->st_dev == device ? known_node(status) : NULL;
}

bool disk_image_has(const struct stat *status) { return node_on_disk(status) != NULL; }

void disk_image_set_times(struct stat *status) {
    const struct node *node = node_on_disk(status);
    if (node == NULL) return;
    status->st_mtim = status->st_atim = date(node->modified);
    status->st_ctim = date(node->changed);
}

bool disk_image_give_time(const struct stat *status, const struct timespec *modified) {
    struct node *node = node_on_disk(status);
    if (node == NULL) return false;
    node->modified = nanoseconds(*modified);
    node->changed = kernel_wall_clock();
    return true;
}

static uint64_t changes_until_cut;
static void cut_power(void);

static void add_change(struct change change) {
    if (root == NULL) return;
    if (change_count == change_capacity) {
        change_capacity = change_capacity == 0 ? 256 : 2 * change_capacity;
        changes = realloc(changes, change_capacity * sizeof *changes);
    }
    changes[change_count++] = change;
    if (change.is_synchronized) return;
    note_times(&change);
    static const char *const names[] = { "named", "removed", "renamed", "exchanged", "written", "truncated" };
    kernel_note("on the disk: %s %s", names[change.kind], change.name != NULL ? change.name : "");
    if (changes_until_cut > 0 && --changes_until_cut == 0) cut_power();
}

void disk_image_created(const char *path, int descriptor) {
    struct stat status;
    if ((path != NULL ? lstat(path, &status) : fstat(descriptor, &status)) != 0) return;
    struct node *node = add_node(status.st_ino, S_ISDIR(status.st_mode));
    if (path != NULL) add_change((struct change){ named, folder_of(path), node, .name = name_in(path) });
}

void disk_image_linked(const char *path) {
    add_change((struct change){ named, folder_of(path), node_at(path), .name = name_in(path) });
}

void disk_image_removed(const char *path) {
    add_change((struct change){ removed, folder_of(path), .name = name_in(path) });
}

void disk_image_renamed(const char *from, const char *to) {
    add_change((struct change){ renamed, folder_of(to), node_at(to), .name = name_in(from), .to = name_in(to) });
}

// Of two files. After it, the node of each has the other's name.
void disk_image_exchanged(const char *one, const char *other) {
    add_change((struct change){ exchanged, folder_of(other), .name = name_in(one), .to = name_in(other) });
}

void disk_image_written(int descriptor, off_t offset, const void *bytes, size_t count) {
    struct node *node = node_open(descriptor);
    uint8_t *copy = malloc(count);
    memcpy(copy, bytes, count);
    add_change((struct change){ written, node, node, .offset = offset, .bytes = copy, .count = count });
}

void disk_image_truncated(int descriptor, off_t length) {
    struct node *node = node_open(descriptor);
    add_change((struct change){ truncated, node, node, .offset = length });
}

void disk_image_synchronized(int descriptor) {
    struct node *node = node_open(descriptor);
    for (size_t i = first_unsynchronized; i < change_count; i++) if (changes[i].concerned == node) changes[i].is_synchronized = true;
    while (first_unsynchronized < change_count && changes[first_unsynchronized].is_synchronized) first_unsynchronized++;
    kernel_note("on the disk: synchronized");
}

// ---- what is there at the beginning

static int add_existing(const char *path, const struct stat *status, int type, struct FTW *place) {
    struct node *node = node_of(status);
    if (place->level == 0) return 0;
    // Where set_real_times has left them.
    node->modified = nanoseconds(status->st_mtim);
    node->changed = nanoseconds(status->st_atim);
    char *name = name_in(path);
    add_change((struct change){ named, folder_of(path), node, true, .name = name });
    if (node->is_folder) return 0;
    uint8_t *bytes = malloc((size_t)status->st_size + 1);
    int file = REAL(open)(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = file < 0 ? 0 : REAL(read)(file, bytes, (size_t)status->st_size);
    if (file >= 0) REAL(close)(file);
    add_change((struct change){ written, node, node, true, .bytes = bytes, .count = count < 0 ? 0 : (size_t)count });
    return 0;
}

void disk_image_begin(const char *folder) {
    root = folder;
    struct stat status;
    if (REAL(stat)(root, &status) == 0) device = status.st_dev;
    nftw(root, add_existing, 16, FTW_PHYS);
    first_unsynchronized = change_count;
}

// ---- the power cut

static void resize(struct node *node, size_t length) {
    if (length > node->capacity) {
        node->capacity = 2 * length;
        node->content = realloc(node->content, node->capacity);
    }
    if (length > node->length) memset(node->content + node->length, 0, length - node->length);
    node->length = length;
}

struct entry { char name[PATH_MAX]; struct node *node; };
static struct entry *entries;
static size_t entry_count, entry_capacity;

static void set_name(const char *name, struct node *node) {
    size_t place = 0;
    while (place < entry_count && strcmp(entries[place].name, name) != 0) place++;
    if (node == NULL) {
        if (place < entry_count) entries[place] = entries[--entry_count];
        return;
    }
    if (place == entry_count) {
        if (entry_count == entry_capacity) {
            entry_capacity = entry_capacity == 0 ? 64 : 2 * entry_capacity;
            entries = realloc(entries, entry_capacity * sizeof *entries);
        }
        snprintf(entries[entry_count++].name, PATH_MAX, "%s", name);
    }
    entries[place].node = node;
}

static void rename_entry(const struct change *change) {
    bool is_there = false;
    size_t length = strlen(change->name);
    for (size_t i = 0; i < entry_count; i++) {
        if (strcmp(entries[i].name, change->name) == 0) is_there = true;
        if (strncmp(entries[i].name, change->name, length) != 0 || entries[i].name[length] != '/') continue;
        char below[PATH_MAX];
        if (snprintf(below, sizeof below, "%s%s", change->to, entries[i].name + length) < PATH_MAX) strcpy(entries[i].name, below);
    }
    if (!is_there) return;
    set_name(change->name, NULL);
    set_name(change->to, change->node);
}

static void exchange_entries(const struct change *change) {
    size_t one = 0, other = 0;
    while (one < entry_count && strcmp(entries[one].name, change->name) != 0) one++;
    while (other < entry_count && strcmp(entries[other].name, change->to) != 0) other++;
    if (one == entry_count || other == entry_count) return;
    struct node *node = entries[one].node;
    entries[one].node = entries[other].node;
    entries[other].node = node;
}

static void apply(const struct change *change, bool is_torn) {
    switch (change->kind) {
    case named: set_name(change->name, change->node); break;
    case removed: set_name(change->name, NULL); break;
    case renamed: rename_entry(change); break;
    case exchanged: exchange_entries(change); break;
    case truncated: resize(change->node, (size_t)change->offset); break;
    case written: {
        // Sectors are written whole.
        size_t count = is_torn ? change->count / 2 / 512 * 512 : change->count;
        if (count == 0) break;
        if ((size_t)change->offset + count > change->node->length) resize(change->node, (size_t)change->offset + count);
        memcpy(change->node->content + change->offset, change->bytes, count);
        break;
    }
    }
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place) {
    if (place->level > 0) remove(path);
    return 0;
}

static int compare_entries(const void *a, const void *b) {
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

// Those of the real disk have them until the next disk_image_begin.
static void set_real_times(const char *path, const struct node *node) {
    const struct timespec times[] = { date(node->changed), date(node->modified) };
    utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
}

// Folders come before what is in them. With a folder, all names in it are lost.
static void write_entries(void) {
    char path[2 * PATH_MAX];
    if (entry_count > 0) qsort(entries, entry_count, sizeof *entries, compare_entries);
    nftw(root, remove_entry, 16, FTW_PHYS | FTW_DEPTH);
    for (size_t i = 0; i < entry_count; i++) {
        snprintf(path, sizeof path, "%s/%s", root, entries[i].name);
        struct node *node = entries[i].node;
        if (node->is_folder) {
            REAL(mkdir)(path, 0700);
            continue;
        }
        int file = REAL(open)(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (file < 0) continue;
        if (node->length > 0 && REAL(write)(file, node->content, node->length) != (ssize_t)node->length) abort();
        REAL(close)(file);
    }
    for (size_t i = 0; i < entry_count; i++) {
        snprintf(path, sizeof path, "%s/%s", root, entries[i].name);
        set_real_times(path, entries[i].node);
    }
}

static void leave_remains(void) {
    static const char *const names[] = {
        "nothing is lost", "content is lost", "names are lost", "everything is lost", "some is lost", "a write is torn",
    };
    uint64_t mode = simulation_random(6);
    uint64_t kept_names = simulation_random(change_count - first_unsynchronized + 1);
    size_t torn = change_count;
    for (size_t i = first_unsynchronized; i < change_count; i++) if (!changes[i].is_synchronized && changes[i].kind == written) torn = i;
    kernel_note("the power fails: %s", names[mode]);
    for (size_t i = 0; i < change_count; i++) {
        const struct change *change = &changes[i];
        bool is_content = change->kind == written || change->kind == truncated, is_lost = false;
        if (!change->is_synchronized) {
            switch (mode) {
            case 1: is_lost = is_content; break;
            case 2: is_lost = !is_content && i - first_unsynchronized >= kept_names; break;
            case 3: is_lost = true; break;
            case 4: is_lost = simulation_random(2) == 0; break;
            default: break;
            }
        }
        if (!is_lost) apply(change, mode == 5 && i == torn);
    }
    write_entries();
}

void simulation_cut_power_after(uint64_t count) { changes_until_cut = count; }

static int boots = 1;
int disk_boots(void) { return boots; }

void disk_image_lose(void) {
    leave_remains();
    for (size_t i = 0; i < change_count; i++) {
        free(changes[i].name);
        free(changes[i].to);
        free(changes[i].bytes);
    }
    for (size_t i = 0; i < node_count; i++) {
        free(nodes[i]->content);
        free(nodes[i]);
    }
    change_count = node_count = entry_count = 0;
    boots++;
    disk_image_begin(root);
}

// The other threads end with the process, wherever they are.
static void cut_power(void) {
    if (kernel_has_processes()) {
        kernel_cut_power_of_processes();
        return;
    }
    leave_remains();
    kernel_restart();
}
