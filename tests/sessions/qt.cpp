// Qt's reference counts: QSharedPointer, QWeakPointer, and data that derive from QSharedData. Everything is
// inlined. The program counts the references that it takes and gives itself.
#include <QExplicitlySharedDataPointer>
#include <QSharedDataPointer>
#include <QSharedPointer>
#include <QWeakPointer>
#include <cstdio>
#include <cstring>
#include <new>
#include <vector>

#define APART __attribute__((noinline))
namespace {
int strong_births, strong_deaths, strong_gets, strong_puts, locks, weak_gets;
int data_births, data_gets, data_puts, data_deaths;
}  // namespace
struct Page {
  explicit Page(int n) : number(n) {}
  virtual ~Page() { ++strong_deaths; }
  int number;
};
struct Picture final : Page {
  using Page::Page;
  double size = 2;
};
struct Style : QSharedData {
  Style() { ++data_births; }
  Style(const Style &other) : QSharedData(other), colour(other.colour) { ++data_births; }
  ~Style() { ++data_deaths; }
  int colour = 0;
};
using PagePtr = QSharedPointer<Page>;
using StylePtr = QExplicitlySharedDataPointer<Style>;
using CopiedStyle = QSharedDataPointer<Style>;
std::vector<PagePtr> *book;
QWeakPointer<Page> *mark;
Page *subject;
PagePtr *shown;
Style *style;

APART void checkpoint() { __asm__ volatile(""); }
APART PagePtr make_page() {
  ++strong_births;
  return PagePtr(new Picture(1));
}
APART PagePtr make_whole() {
  ++strong_births;
  return QSharedPointer<Picture>::create(2);
}
APART void keep(const PagePtr &page) {
  ++strong_gets;
  book->push_back(page);
}
APART void forget() {
  ++strong_puts;
  book->pop_back();
}
APART void remember(const PagePtr &page) {
  ++weak_gets;
  *mark = page;
}
APART void lose(const PagePtr &page) {
  ++strong_gets;
  new (std::nothrow) PagePtr(page);
}
APART bool look() {
  PagePtr page = mark->toStrongRef();
  if (!page) return false;
  ++locks;
  ++strong_puts;
  return true;
}
APART StylePtr paint() {
  ++data_gets;
  return StylePtr(new Style);
}
APART void wear(const StylePtr &one) {
  ++data_gets;
  ++data_puts;
  StylePtr other(one);
  subject->number += other->colour;
}
APART void change(CopiedStyle copied) { copied->colour = 7; }

int main(int argc, char **argv) {
  std::vector<PagePtr> pages;
  pages.reserve(10);
  book = &pages;
  QWeakPointer<Page> weak;
  mark = &weak;
  PagePtr first = make_page();
  subject = first.data();
  shown = &first;
  keep(first);
  keep(first);
  forget();
  remember(first);
  look();
  {
    PagePtr whole = make_whole();
    keep(whole);
    forget();
    ++strong_puts;
  }
  StylePtr styled = paint();
  style = styled.data();
  wear(styled);
  wear(styled);
  if (argc > 1 && std::strcmp(argv[1], "leak") == 0) lose(first);
  std::printf(
      "strong_births %d\nstrong_deaths %d\nstrong_gets %d\nlocks %d\nstrong_puts %d\nweak_gets "
      "%d\ndata_births %d\ndata_gets %d\ndata_puts %d\n",
      strong_births, strong_deaths, strong_gets, locks, strong_puts, weak_gets, data_births, data_gets,
      data_puts);
  std::fflush(stdout);
  checkpoint();
  pages.clear();
  first.reset();
  look();
  CopiedStyle copied(new Style);
  change(copied);
  return 5;
}
