// The functions of a family are those of a base class that does not lie at the beginning of what the family
// names.
#include <atomic>
#include <cstdio>
#include <cstring>
#include <vector>

struct Named {
  virtual ~Named() = default;
  const char *name = "sheet";
  long pad[3] = {};
};

struct Counted {
  virtual ~Counted() = default;
  void add_ref() { refs_++; }
  void release() {
    if (--refs_ == 0) delete this;
  }
  std::atomic<int> refs_{1};
};

struct Sheet : Named, Counted {
  int width = 0;
};

int main(int argc, char **argv) {
  const bool leaks = argc > 1 && std::strcmp(argv[1], "leaked") == 0;
  constexpr int kSheets = 24;
  std::vector<Sheet *> sheets;
  for (int i = 0; i < kSheets; i++) sheets.push_back(new Sheet);
  for (Sheet *sheet : sheets) {
    sheet->add_ref();
    sheet->width++;
  }
  for (Sheet *sheet : sheets) sheet->release();
  if (leaks) sheets.pop_back();
  for (Sheet *sheet : sheets) sheet->release();
  std::puts("ok");
  return 0;
}
