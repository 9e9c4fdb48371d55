// Whoever has the only reference to an object may give its memory back without a put: nobody else can miss
// it. So do error paths, a put that is written out by hand, and a compiler's code behind a constructor that
// throws. An arena takes its objects along, which hold each other. "wrong": a second reference is out, and
// its holder puts it afterwards.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#define APART __attribute__((noinline))

struct Sheet {
  Sheet *next;
  int refs;
  int number;
};

static int made, given;

APART Sheet *sheet_new(int number) {
  Sheet *sheet = static_cast<Sheet *>(std::malloc(sizeof *sheet));
  sheet->next = nullptr;
  sheet->refs = 1;
  sheet->number = number;
  made++;
  return sheet;
}
APART void sheet_get(Sheet *sheet) { sheet->refs++; }
APART void sheet_put(Sheet *sheet) {
  given++;
  if (--sheet->refs == 0) std::free(sheet);
}

// An error path that knows that nobody else has seen the object.
APART Sheet *sheet_read(const char *text) {
  Sheet *sheet = sheet_new(std::atoi(text));
  if (sheet->number != 0) return sheet;
  std::free(sheet);
  return nullptr;
}

// Whoever else has it is not asked.
static void (*volatile give_back)(void *) = std::free;

// The put, written out by hand.
APART void drop_all(Sheet **sheets, int count) {
  for (int i = 0; i < count; i++)
    if (sheets[i] != nullptr && --sheets[i]->refs == 0) std::free(sheets[i]);
}

APART Sheet *sheet_init(Sheet *sheet) {
  sheet->next = nullptr;
  sheet->refs = 1;
  made++;
  return sheet;
}

static void arena() {
  Sheet *sheets = static_cast<Sheet *>(std::malloc(4 * sizeof *sheets));
  for (int i = 0; i < 4; i++) {
    sheet_init(&sheets[i]);
    if (i == 0) continue;
    sheets[i].next = &sheets[i - 1];
    sheet_get(sheets[i].next);
  }
  std::free(sheets);
}

struct Counted {
  int references = 1;
  APART Counted() { made++; }
  virtual ~Counted() = default;
  APART void get() { references++; }
  APART void put() {
    given++;
    if (--references == 0) delete this;
  }
};

struct Stream : Counted {
  char name[40];
  explicit Stream(const char *of) {
    if (std::strlen(of) >= sizeof name) throw std::length_error(of);
    std::strcpy(name, of);
  }
};

APART static Stream *open_stream(const char *name) { return new Stream(name); }

static void streams() {
  const char *names[] = {"first", "one that is longer than any name of a stream has to be", "second",
                         "another one that is longer than any name of a stream has to be", "third"};
  for (const char *name : names) {
    try {
      Stream *stream = open_stream(name);
      stream->get();
      stream->put();
      stream->put();
    } catch (const std::length_error &) {
    }
  }
}

int main(int argc, char **argv) {
  const bool wrong = argc > 1 && std::strcmp(argv[1], "wrong") == 0;
  Sheet *sheets[6];
  const char *texts[6] = {"1", "2", "none", "4", "5", "6"};
  for (int i = 0; i < 6; i++) sheets[i] = sheet_read(texts[i]);
  sheet_get(sheets[3]);
  sheet_put(sheets[3]);
  drop_all(sheets, 6);
  streams();
  arena();
  if (wrong) {
    Sheet *sheet = sheet_new(7);
    sheet_get(sheet);
    give_back(sheet);
    sheet_put(sheet);
  }
  std::printf("made %d\ngiven %d\n", made, given);
  return 0;
}
