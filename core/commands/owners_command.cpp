// `refhist owners`: who holds an object.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "analysis/stack_places.h"
#include "base/error.h"
#include "base/text.h"
#include "commands/command.h"
#include "events/program_access.h"
#include "reachability/owner_words.h"
#include "reports/findings.h"
#include "reports/member_names.h"
#include "session/allocation_place.h"
#include "session/long_work.h"
#include "session/reach_scans.h"

namespace refhist {

namespace {

using Json = nlohmann::ordered_json;

/// What is known of the memory that a word lies in.
struct Holder {
  ObjectId object;    ///< the live tracked object
  std::string field;  ///< of it: "peer.conn"; empty when not known
  const Block* allocation = nullptr;
};

ObjectId object_around(const SessionState& state, Address at) {
  for (const ObjectId id : state.history.containing(at)) {
    if (state.history.object(id).state == ObjectState::live) return id;
  }
  return {};
}

Holder holder_of(SessionState& state, const OwnerWord& word) {
  Holder holder;
  if (word.at == 0) return holder;
  holder.object = object_around(state, word.at);
  if (holder.object.valid()) {
    const Address begin = state.history.object(holder.object).address;
    holder.field = member_at(state, typed_object(state, holder.object, begin, word.at), word.at);
  }
  holder.allocation = state.recorder.allocations().covering(word.at);
  return holder;
}

std::string line_of(SessionState& state, const StackPlaces& stacks, const OwnerWord& word, Address target) {
  std::string text = word.at == 0 ? word.where : fmt::format("{:#x} {}", word.at, word.where);
  if (const std::string frame = stacks.of(word.at); !frame.empty()) text += ", " + frame;
  if (word.value != target) text += fmt::format(", points {:#x} bytes into it", word.value - target);
  const Holder holder = holder_of(state, word);
  if (holder.object.valid()) {
    const Address begin = state.history.object(holder.object).address;
    text += fmt::format("\n    in {} at +{:#x}{}", object_title(state, holder.object), word.at - begin,
                        holder.field.empty() ? "" : ", member " + holder.field);
  }
  if (holder.allocation != nullptr) {
    const std::string place = allocation_place(state, *holder.allocation);
    text += fmt::format("\n    in a block of {} bytes{}", holder.allocation->size,
                        place.empty() ? "" : " allocated in " + place);
  }
  return text + "\n";
}

Json word_json(SessionState& state, const StackPlaces& stacks, const OwnerWord& word, Address target) {
  const Holder holder = holder_of(state, word);
  Json json{{"word", word.at == 0 ? Json(nullptr) : Json(fmt::format("{:#x}", word.at))},
            {"where", word.where},
            {"frame", stacks.of(word.at)},
            {"offset", word.value - target},
            {"object", nullptr},
            {"member", holder.field},
            {"block", nullptr}};
  if (holder.object.valid())
    json["object"] = fmt::format("{:#x}", state.history.object(holder.object).address);
  if (holder.allocation != nullptr)
    json["block"] = {{"address", fmt::format("{:#x}", holder.allocation->begin)},
                     {"size", holder.allocation->size},
                     {"obtained_in", allocation_place(state, *holder.allocation)}};
  return json;
}

OwnerWords find_words(CommandContext& context, const Object& object) {
  SessionState& state = context.state;
  ReachOptions options = reach_options(state);
  LongWork work(context.port, state.telling(), LongWork::For::command);
  options.progress = [&](std::size_t done, std::size_t total) {
    return work.go_on(
        [&] { return fmt::format("looking for owners: {} of {} MiB", done >> 20, total >> 20); });
  };
  return find_owner_words(context.port, state.modules, extent_of(object), options);
}

}  // namespace

void run_owners(CommandContext& context) {
  SessionState& state = context.state;
  if (context.arguments.words().empty()) fail("usage: refhist owners ADDR|EXPR");
  const std::vector<ObjectId> objects = objects_named(context);
  if (!state.alive) fail("there is no process whose memory could be searched");
  if (context.port.process().state == ProcessState::running)
    fail("the program is running: interrupt it first");
  const ProgramAccess access(context.port, state.process, state.tracer_here);
  const auto read = [&](Address address, void* out, std::size_t size) {
    return access.read_memory(address, out, size, true);
  };
  const StackPlaces stacks(context.port, read, state.modules, state.unwinder, state.namer);
  Json list = Json::array();
  for (const ObjectId id : objects) {
    const Object object = state.history.object(id);
    const OwnerWords found = find_words(context, object);
    Json words = Json::array();
    std::string lines;
    for (const OwnerWord& word : found.words) {
      words.push_back(word_json(state, stacks, word, object.address));
      lines += "  " + line_of(state, stacks, word, object.address);
    }
    list.push_back({{"object", fmt::format("{:#x}", object.address)},
                    {"words", std::move(words)},
                    {"why_not_all", found.why_not_all}});
    context.text += fmt::format(
        "{}: {} it\n{}", object_title(state, id),
        found.words.size() == 1 ? "1 word points at" : fmt::format("{} words point at", found.words.size()),
        lines);
    if (!found.why_not_all.empty())
      context.text += fmt::format("note: some may be missing: {}\n", found.why_not_all);
  }
  if (context.arguments.has("--json"))
    context.text = Json{{"schema", "refhist/1"}, {"owners", std::move(list)}}.dump(
                       2, ' ', false, Json::error_handler_t::replace) +
                   "\n";
}

}  // namespace refhist
