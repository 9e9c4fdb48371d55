/* What `refhist discover` is scored on: reference counted types in the styles that C programs use, and
 * functions with the same names that count nothing of the kind. The first half is listed in
 * discover_program.toml. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- reference counted
 * ------------------------------------------------------------------------------------- */

struct conn {
  char* host;
  int port;
  int refs;
};

struct conn* conn_new(const char* host) {
  struct conn* conn = calloc(1, sizeof *conn);
  conn->host = strdup(host);
  conn->refs = 1;
  return conn;
}

struct conn* conn_get(struct conn* conn) {
  if (conn) conn->refs++;
  return conn;
}

void conn_put(struct conn* conn) {
  if (!conn || --conn->refs > 0) return;
  free(conn->host);
  free(conn);
}

struct image {
  size_t size;
  int count;
  char* pixels;
};

struct image* image_ref(struct image* image) {
  __atomic_fetch_add(&image->count, 1, __ATOMIC_RELAXED);
  return image;
}

static void image_destroy(struct image* image) {
  free(image->pixels);
  free(image);
}

void image_unref(struct image* image) {
  if (__atomic_fetch_sub(&image->count, 1, __ATOMIC_ACQ_REL) == 1) image_destroy(image);
}

struct cookie {
  char text[40];
  atomic_uint refs;
};

void cookie_retain(struct cookie* cookie) {
  unsigned old = atomic_load(&cookie->refs);
  while (!atomic_compare_exchange_weak(&cookie->refs, &old, old + 1)) continue;
}

void cookie_release(struct cookie* cookie) {
  unsigned old = atomic_load(&cookie->refs);
  while (!atomic_compare_exchange_weak(&cookie->refs, &old, old - 1)) continue;
  if (old == 1) free(cookie);
}

struct stream {
  int file;
  long users;
};

long stream_addref(struct stream* stream) { return ++stream->users; }

long stream_release(struct stream* stream) {
  long left = --stream->users;
  if (left == 0) free(stream);
  return left;
}

struct tree_node {
  struct tree_node *left, *right;
  unsigned refcount;
};

void tree_node_incref(struct tree_node* node) { node->refcount += 1; }

void tree_node_decref(struct tree_node* node) {
  if (node == NULL || --node->refcount != 0) return;
  tree_node_decref(node->left);
  tree_node_decref(node->right);
  free(node);
}

struct key {
  unsigned char bits[32];
  int references;
};

struct key* key_new(void) {
  struct key* key = calloc(1, sizeof *key);
  if (key) key->references = 1;
  return key;
}

int key_up_ref(struct key* key) { return __atomic_add_fetch(&key->references, 1, __ATOMIC_RELAXED) > 1; }

void key_free(struct key* key) {
  if (key == NULL || __atomic_sub_fetch(&key->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  memset(key->bits, 0, sizeof key->bits);
  free(key);
}

struct task;
struct task_operations {
  void (*destroy)(struct task*);
};
struct task {
  const struct task_operations* operations;
  int usage;
};

struct task* task_acquire(struct task* task) {
  task->usage++;
  return task;
}

void task_release(struct task* task) {
  if (--task->usage == 0) task->operations->destroy(task);
}

struct page {
  void* data;
  uint16_t flags;
  uint16_t holds;
};

void page_hold(struct page* page) { page->holds++; }

void page_drop(struct page* page) {
  if (--page->holds == 0) free(page);
}

struct blob {
  uint64_t refs;
  char data[];
};

struct blob* blob_grab(struct blob* blob) {
  __atomic_add_fetch(&blob->refs, 1, __ATOMIC_SEQ_CST);
  return blob;
}

void blob_drop(struct blob* blob) {
  if (__atomic_sub_fetch(&blob->refs, 1, __ATOMIC_SEQ_CST) == 0) free(blob);
}

struct volume {
  char name[16];
  int uses;
};

void volume_use(struct volume* volume) { volume->uses++; }

void volume_unuse(struct volume* volume) {
  if (--volume->uses == 0) free(volume);
}

/* An embedded counter with functions of its own, as the kernel's kref. */
struct kref {
  int count;
};

void kref_init(struct kref* kref) { kref->count = 1; }
void kref_get(struct kref* kref) { kref->count++; }

int kref_put(struct kref* kref, void (*release)(struct kref*)) {
  if (--kref->count != 0) return 0;
  release(kref);
  return 1;
}

struct widget {
  int x, y;
  struct kref kref;
};

static void widget_release(struct kref* kref) { free((char*)kref - offsetof(struct widget, kref)); }

struct widget* widget_get(struct widget* widget) {
  kref_get(&widget->kref);
  return widget;
}

void widget_put(struct widget* widget) { kref_put(&widget->kref, widget_release); }

struct session {
  long id;
  atomic_int refs;
};

void session_init(struct session* session) {
  session->id = 0;
  atomic_store(&session->refs, 1);
}

struct session* session_get(struct session* session) {
  atomic_fetch_add(&session->refs, 1);
  return session;
}

bool session_get_unless_zero(struct session* session) {
  int old = atomic_load(&session->refs);
  while (old != 0) {
    if (atomic_compare_exchange_weak(&session->refs, &old, old + 1)) return true;
  }
  return false;
}

void session_put(struct session* session) {
  if (atomic_fetch_sub(&session->refs, 1) == 1) free(session);
}

/* Counts downwards, as GLib's grefcount. */
struct slot {
  void* value;
  int countdown;
};

void slot_ref(struct slot* slot) { slot->countdown -= 1; }

void slot_unref(struct slot* slot) {
  if (slot->countdown == -1) {
    free(slot);
  } else {
    slot->countdown += 1;
  }
}

/* The lowest bit is a flag, the count stands above it. */
struct tagged {
  unsigned word;
};

void tagged_ref(struct tagged* tagged) { __atomic_fetch_add(&tagged->word, 2, __ATOMIC_RELAXED); }

void tagged_unref(struct tagged* tagged) {
  if (__atomic_fetch_sub(&tagged->word, 2, __ATOMIC_ACQ_REL) < 4) free(tagged);
}

struct device {
  int number;
  int refcnt;
};

struct device* ref_device(struct device* device) {
  __sync_fetch_and_add(&device->refcnt, 1);
  return device;
}

void unref_device(struct device* device) {
  if (__sync_sub_and_fetch(&device->refcnt, 1) == 0) free(device);
}

struct Buffer {
  int refs;
  size_t size;
};

struct Buffer* BufferCreate(size_t size) {
  struct Buffer* buffer = malloc(sizeof *buffer + size);
  buffer->refs = 1;
  buffer->size = size;
  return buffer;
}

int BufferAddRef(struct Buffer* buffer) { return ++buffer->refs; }

int BufferRelease(struct Buffer* buffer) {
  int left = --buffer->refs;
  if (left == 0) free(buffer);
  return left;
}

struct store {
  size_t live;
};
struct entry {
  int refs;
  void* value;
};

void store_ref_entry(struct store* store, struct entry* entry) {
  if (store->live) entry->refs++;
}

void store_unref_entry(struct store* store, struct entry* entry) {
  if (--entry->refs > 0) return;
  store->live--;
  free(entry);
}

struct pen {
  float width;
  atomic_int count;
};

struct pen* pen_reference(struct pen* pen) {
  if (pen) atomic_fetch_add(&pen->count, 1);
  return pen;
}

void pen_destroy(struct pen* pen) {
  if (pen && atomic_fetch_sub(&pen->count, 1) == 1) free(pen);
}

/* The counter stands in front of what the caller has. */
struct text_header {
  int refs;
  int length;
};

char* text_ref(char* text) {
  ((struct text_header*)text - 1)->refs++;
  return text;
}

void text_unref(char* text) {
  struct text_header* header = (struct text_header*)text - 1;
  if (--header->refs == 0) free(header);
}

/* ---- same names, something else
 * ---------------------------------------------------------------------------- */

struct table {
  size_t entries;
  void* slots[16];
};

void* table_get(struct table* table, unsigned key) { return table->slots[key % 16]; }

void table_put(struct table* table, unsigned key, void* value) {
  table->slots[key % 16] = value;
  table->entries++;
}

struct queue {
  int items[64];
  unsigned length;
};

int queue_get(struct queue* queue) { return queue->items[--queue->length]; }
void queue_put(struct queue* queue, int item) { queue->items[queue->length++] = item; }

struct ring {
  unsigned char bytes[256];
  unsigned char head, tail;
};

int ring_get(struct ring* ring) { return ring->bytes[ring->tail++]; }
void ring_put(struct ring* ring, int byte) { ring->bytes[ring->head++] = (unsigned char)byte; }

struct text_file {
  const char* at;
  long line;
};

int text_file_get(struct text_file* file) { return *file->at++; }

void text_file_put(struct text_file* file, char c) {
  if (c == '\n') file->line++;
}

struct settings {
  const char* values[8];
  int writes;
};

const char* settings_get(const struct settings* settings, int key) { return settings->values[key]; }

void settings_put(struct settings* settings, int key, const char* value) {
  settings->values[key] = value;
  settings->writes++;
}

struct recursive_lock {
  atomic_flag flag;
  int depth;
};

void recursive_lock_acquire(struct recursive_lock* lock) {
  if (lock->depth++ == 0) {
    while (atomic_flag_test_and_set(&lock->flag)) continue;
  }
}

void recursive_lock_release(struct recursive_lock* lock) {
  if (--lock->depth == 0) atomic_flag_clear(&lock->flag);
}

struct gate {
  int inside;
  void (*wake)(struct gate*);
  int generation;
};

void gate_acquire(struct gate* gate) { gate->inside++; }

void gate_release(struct gate* gate) {
  if (--gate->inside == 0) {
    gate->wake(gate);
    gate->generation++;
  }
}

struct semaphore {
  atomic_int value;
};

void semaphore_acquire(struct semaphore* semaphore) { atomic_fetch_sub(&semaphore->value, 1); }
void semaphore_release(struct semaphore* semaphore) { atomic_fetch_add(&semaphore->value, 1); }

struct spare {
  struct spare* next;
};
struct spares {
  struct spare* first;
  int used;
};

struct spare* spares_get(struct spares* spares) {
  struct spare* spare = spares->first;
  if (spare) spares->first = spare->next;
  spares->used++;
  return spare;
}

void spares_put(struct spares* spares, struct spare* spare) {
  spare->next = spares->first;
  spares->first = spare;
  spares->used--;
}

struct link_pool {
  int in_use;
  int limit;
};

bool link_pool_acquire(struct link_pool* pool) {
  if (pool->in_use == pool->limit) return false;
  pool->in_use++;
  return true;
}

void link_pool_release(struct link_pool* pool) { pool->in_use--; }

struct gauge {
  long value;
};

void gauge_inc(struct gauge* gauge) { gauge->value++; }
void gauge_dec(struct gauge* gauge) { gauge->value--; }

struct rotor {
  int hold_depth;
  int angle;
};

void rotor_hold(struct rotor* rotor) { rotor->hold_depth++; }

void rotor_release(struct rotor* rotor) {
  if (--rotor->hold_depth == 0) rotor->angle = 0;
}

struct pointer_device {
  int grabs;
  bool visible;
};

void pointer_device_grab(struct pointer_device* device) { device->grabs++; }

void pointer_device_ungrab(struct pointer_device* device) {
  if (--device->grabs == 0) device->visible = true;
}

struct radio {
  int users;
  int power;
};

static void radio_power_off(struct radio* radio) { radio->power = 0; }
void radio_use(struct radio* radio) { radio->users++; }

void radio_unuse(struct radio* radio) {
  if (--radio->users == 0) radio_power_off(radio);
}

struct record {
  int edits;
  char text[32];
};

struct record* record_dup(struct record* record) {
  struct record* copy = malloc(sizeof *copy);
  record->edits++;
  *copy = *record;
  return copy;
}

void record_free(struct record* record) {
  record->edits--;
  free(record);
}

struct matrix {
  int rows, columns;
};

struct matrix* matrix_copy(const struct matrix* matrix) {
  struct matrix* copy = malloc(sizeof *copy);
  *copy = *matrix;
  return copy;
}

void matrix_free(struct matrix* matrix) { free(matrix); }

struct panel {
  int children;
};

void panel_attach(struct panel* panel) { panel->children++; }
void panel_detach(struct panel* panel) { panel->children--; }

struct seat {
  int sharers;
};

void seat_share(struct seat* seat) { seat->sharers++; }
void seat_unshare(struct seat* seat) { seat->sharers--; }

struct item {
  int weak;
};

void item_weak_ref(struct item* item) { item->weak++; }
void item_weak_unref(struct item* item) { item->weak--; }

struct book {
  int citations;
};

/* References of the other kind: a bibliography. */
void book_reference(struct book* book) { book->citations++; }
void book_free(struct book* book) { free(book); }

struct surface_view {
  int pins;
  void* mapping;
};

void surface_view_pin(struct surface_view* view) { view->pins++; }

void surface_view_unpin(struct surface_view* view) {
  if (--view->pins == 0) {
    free(view->mapping);
    view->mapping = NULL;
  }
}

struct port {
  int taken;
};

void port_take(struct port* port) { port->taken++; }
void port_drop(struct port* port) { port->taken--; }

struct score {
  int points;
};

void score_get(struct score* score, int* points) { *points = score->points; }
void score_put(struct score* score, int points) { score->points = points; }

struct menu {
  int opened;
};

int menu_get(struct menu* menu) { return menu->opened++; }
void menu_put(struct menu* menu) { menu->opened++; }

struct meter {
  int samples;
};

void meter_take(struct meter* meter) { meter->samples++; }
void meter_release(struct meter* meter) { free(meter); }

struct cell {
  int borrows;
};

void cell_acquire(struct cell* cell) { cell->borrows++; }
void cell_drop(struct cell* cell) { cell->borrows--; }

struct lease_book {
  int out;
  char* notes;
};
struct lease {
  int days;
};

struct lease* lease_get(struct lease_book* book) {
  book->out++;
  return calloc(1, sizeof(struct lease));
}

void lease_put(struct lease_book* book, struct lease* lease) {
  book->out--;
  free(lease);
}

struct clock_source {
  int enables;
  void (*stop)(struct clock_source*);
  int rate;
};

void clock_source_get(struct clock_source* source) { source->enables++; }

void clock_source_put(struct clock_source* source) {
  if (--source->enables == 0) {
    source->stop(source);
    source->rate = 0;
  }
}

struct file_view {
  long offset;
};

void file_view_hold(struct file_view* view) { view->offset += 1; }
void file_view_drop(struct file_view* view) { view->offset -= 1; }

struct roster {
  int names;
};

void roster_clone(struct roster* roster) { roster->names++; }
void roster_destroy(struct roster* roster) { free(roster); }

int main(void) {
  struct conn* conn = conn_new("localhost");
  conn_put(conn_get(conn));
  conn_put(conn);
  return 0;
}
