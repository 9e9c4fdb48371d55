#include "history/object_table.h"

#include <algorithm>

#include "base/error.h"

namespace refhist {

ObjectFamily::ObjectFamily(FamilyId id) : value_(static_cast<std::uint16_t>(id.value)) {
  if (id.valid() && id.value >= kNone) fail("there are too many families");
}

ObjectTable::Chunk& ObjectTable::chunk_of(std::size_t id) {
  if (chunks_.size() <= id / kChunk) chunks_.resize(id / kChunk + 1);
  std::unique_ptr<Chunk>& chunk = chunks_[id / kChunk];
  if (chunk == nullptr) chunk = std::make_unique<Chunk>();
  return *chunk;
}

ObjectId ObjectTable::add(const Object& object) {
  if (size_ >= ObjectId::kNone)
    fail("{} objects are the most that can be recorded: refhist reset starts over", size_);
  const ObjectId id(size_++);
  Chunk& chunk = chunk_of(id.index());
  const std::size_t place = id.index() % kChunk;
  if (chunk.room != kChunk) {  // all that follow are added here too: by their places
    auto objects = std::make_unique<Object[]>(kChunk);
    for (std::size_t i = 0, rank = 0; i < place; ++i) {
      if (chunk.has(i)) objects[i] = chunk.objects[rank++];
    }
    chunk.objects = std::move(objects);
    chunk.room = kChunk;
  }
  chunk.objects[place] = object;
  set(chunk.present, place, true);
  ++kept_;
  return id;
}

void ObjectTable::skip_to(ObjectId id) {
  if (id.index() < size_) fail("its objects are not in order");
  const std::size_t last = size_ == 0 ? 0 : (size_ - 1) / kChunk;
  if (size_ != 0 && last != id.index() / kChunk && chunks_[last] != nullptr && !is_tight(*chunks_[last]))
    shrink(*chunks_[last], chunks_[last]->present);
  size_ = id.index();
  chunks_.resize((size_ + kChunk - 1) / kChunk);
}

void ObjectTable::refuse_folded() { fail("this object has been summarized"); }

std::size_t ObjectTable::found(const Chunk& chunk, std::size_t place) {
  if (!chunk.has(place)) refuse_folded();
  return chunk.rank(place);
}

void ObjectTable::set_fold(ObjectId id, Fold how) {
  Chunk& chunk = const_cast<Chunk&>(existing(id));
  const std::size_t place = id.index() % kChunk;
  set(chunk.early, place, how == Fold::early);
  set(chunk.gone, place, how == Fold::gone);
}

void ObjectTable::remove_gone() {
  for (std::unique_ptr<Chunk>& chunk : chunks_) {
    if (chunk == nullptr) continue;
    Bits left = chunk->present;
    for (std::size_t word = 0; word < left.size(); ++word) left[word] &= ~chunk->gone[word];
    if (left != chunk->present) shrink(*chunk, left);
    chunk->early = chunk->gone = Bits{};
    if (chunk->objects == nullptr) chunk.reset();
  }
}

void ObjectTable::shrink(Chunk& chunk, const Bits& left) {
  std::size_t count = 0;
  for (const std::uint64_t word : left) count += std::popcount(word);
  auto objects = count == 0 ? nullptr : std::make_unique<Object[]>(count);
  std::size_t from = 0;
  std::size_t to = 0;
  for (std::size_t place = 0; place < kChunk; ++place) {
    if (!chunk.has(place)) continue;
    const Object& object = chunk.objects[chunk.room == kChunk ? place : from];
    ++from;
    if (is_set(left, place)) objects[to++] = object;
  }
  kept_ -= from - to;
  chunk.present = left;
  chunk.objects = std::move(objects);
  chunk.room = count;
}

void ObjectTable::trim() {
  for (const std::unique_ptr<Chunk>& chunk : chunks_) {
    if (chunk != nullptr && !is_tight(*chunk)) shrink(*chunk, chunk->present);
  }
}

void ObjectTable::Iterator::settle() {
  while (at_ < table_->size_ && !table_->contains(ObjectId(at_))) {
    const Chunk* chunk = table_->chunks_[at_ / kChunk].get();
    at_ = chunk == nullptr || chunk->objects == nullptr ? (at_ / kChunk + 1) * kChunk : at_ + 1;
  }
  at_ = std::min(at_, table_->size_);
}

std::size_t ObjectTable::bytes() const {
  std::size_t bytes = chunks_.capacity() * sizeof(Chunk*);
  for (const std::unique_ptr<Chunk>& chunk : chunks_) {
    if (chunk != nullptr) bytes += sizeof(Chunk) + chunk->room * sizeof(Object);
  }
  return bytes;
}

}  // namespace refhist
