#include "explain/loss_place.h"

#include <algorithm>
#include <array>

#include "analysis/jump_statement.h"
#include "base/source_lines.h"
#include "base/text.h"

namespace refhist {

namespace {

constexpr std::array<std::string_view, 5> kWaysOut{"return", "continue", "break", "goto", "throw"};
constexpr unsigned kFarthest = 6;  // lines without code between two that have some

class LossStatement {
 public:
  explicit LossStatement(const FollowedWay& way)
      : way_(way), use_(*way.last_use), own_(way.steps[use_.step]) {}

  std::optional<LossPlace> find() {
    const std::size_t end = way_.steps.size();
    std::size_t first = use_.step + 1;
    if (first < end) own_ = in_function_of(way_.steps[first]);
    source_ = source_lines(own_.file);
    if (own_.line == 0 || own_.line > source_.size()) return std::nullopt;
    // Where it has just been taken, the variable only gets it.
    if (use_.step > 0 && assigns(own_.line)) return place(use_.step, own_.line, true);
    const auto found = on_the_way(first);
    // Who was only handed the pointer has not lost it.
    return found && !found->overwritten && !has_variable(own_) ? std::nullopt : found;
  }

 private:
  /// The line has one of the variables, or none does that the function was inlined into.
  [[nodiscard]] bool has_variable(const FollowedStep& own) const {
    const auto has = [&](const FollowedStep& call) {
      const std::vector<std::string> source = source_lines(call.file);
      return call.line != 0 && call.line <= source.size() &&
             std::any_of(use_.variables.begin(), use_.variables.end(), [&](const std::string& name) {
               return has_whole_word(source[call.line - 1], name);
             });
    };
    const auto level = std::find_if(use_.calls.begin(), use_.calls.end(), [&](const FollowedStep& call) {
      return call.function == own.function && call.file == own.file;
    });
    return level == use_.calls.end() || has(*level) || std::none_of(std::next(level), use_.calls.end(), has);
  }

  /// The last use, as a line of that step's function: an inlined one may have been handed the pointer.
  [[nodiscard]] FollowedStep in_function_of(const FollowedStep& step) const {
    const auto call = std::find_if(use_.calls.begin(), use_.calls.end(), [&](const FollowedStep& one) {
      return one.function == step.function && one.file == step.file;
    });
    return call == use_.calls.end() ? own_ : *call;
  }

  /// `first`: the function's next step, or the end.
  std::optional<LossPlace> on_the_way(std::size_t first) {
    if (const auto found = at_line(use_.step, own_.line, first)) return found;
    unsigned before = own_.line;
    for (std::size_t i = first; i < way_.steps.size() && is_own(i); ++i) {
      const unsigned line = way_.steps[i].line;
      for (unsigned at = before + 1; at < line && line - before <= kFarthest; ++at) {
        if (!use_.lines.contains(at) && assigns(at)) return place(i, at, true);
      }
      if (assigns(line)) return place(i, line, true);
      if (const auto found = at_line(i, line, i + 1)) return found;
      before = line;
    }
    return std::nullopt;
  }

  /// What the line does to leave, or what follows it and has no code.
  std::optional<LossPlace> at_line(std::size_t step, unsigned line, std::size_t next) {
    if (const auto silent = silent_assignment(line, next)) return place(step, *silent, true);
    if (has_way_out(text(line)) && !went_on(line, next)) return place(step, line, false);
    const auto jump = jumps_.behind(own_.file, line, use_.lines);
    if (jump && !went_on(*jump, next)) return place(step, *jump, false);
    return std::nullopt;
  }

  /// The way came to what stands behind the line.
  [[nodiscard]] bool went_on(unsigned line, std::size_t next) const {
    const auto behind = use_.lines.upper_bound(line);
    const bool jumps = std::any_of(kWaysOut.begin(), kWaysOut.end(),
                                   [&](std::string_view word) { return trim(text(line)).starts_with(word); });
    if (jumps && !has_whole_word(text(line), "if") && is_executed(line)) return false;
    return next < way_.steps.size() && is_own(next) && behind != use_.lines.end() &&
           way_.steps[next].line == *behind;
  }

  [[nodiscard]] bool is_executed(unsigned line) const {
    return std::any_of(way_.steps.begin() + static_cast<std::ptrdiff_t>(use_.step), way_.steps.end(),
                       [&](const FollowedStep& step) { return step.line == line && step.file == own_.file; });
  }

  /// An assignment without code behind the line, where the way does not go on behind that.
  [[nodiscard]] std::optional<unsigned> silent_assignment(unsigned line, std::size_t next) const {
    const auto behind = use_.lines.upper_bound(line);
    if (behind == use_.lines.end() || next >= way_.steps.size() || !is_own(next)) return std::nullopt;
    if (way_.steps[next].line > line) return std::nullopt;  // told where it goes on
    for (unsigned at = line + 1; at < *behind && at <= line + kFarthest; ++at) {
      if (assigns(at)) return at;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool is_own(std::size_t step) const {
    return way_.steps[step].function == own_.function && way_.steps[step].file == own_.file;
  }

  [[nodiscard]] std::string_view text(unsigned line) const {
    return line == 0 || line > source_.size() ? std::string_view() : std::string_view(source_[line - 1]);
  }

  /// `name = …`, of one of the variables that had the pointer; `*name = …` is of what it points at.
  [[nodiscard]] bool assigns(unsigned line) const {
    return std::any_of(use_.variables.begin(), use_.variables.end(), [&](const std::string& name) {
      const std::string_view all = code(line);
      for (std::size_t at = all.find(name); at != std::string_view::npos; at = all.find(name, at + 1)) {
        const std::string_view before = trim(all.substr(0, at));
        const bool longer = at > 0 && is_identifier_character(all[at - 1]);
        const bool member = before.ends_with('.') || before.ends_with("->");
        const bool pointee = before.ends_with('*') && trim(before.substr(0, before.size() - 1)).empty();
        if (longer || member || pointee) continue;
        const std::string_view rest = trim(all.substr(at + name.size()));
        if (rest.starts_with('=') && !rest.starts_with("==")) return true;
      }
      return false;
    });
  }

  /// The line without its comment.
  [[nodiscard]] std::string_view code(unsigned line) const {
    const std::string_view all = text(line);
    return all.substr(0, std::min(all.find("//"), all.find("/*")));
  }

  [[nodiscard]] LossPlace place(std::size_t step, unsigned line, bool overwritten) const {
    // A jump without code may have some, under its own line, further on.
    while (step + 1 < way_.steps.size() && is_own(step + 1) && way_.steps[step].line != line &&
           way_.steps[step + 1].line == line)
      ++step;
    return {step, own_.function, line, own_.line, overwritten};
  }

  const FollowedWay& way_;
  const LastUse& use_;
  FollowedStep own_;  // the last use, in the function that lost the pointer
  std::vector<std::string> source_;
  JumpStatements jumps_;
};

}  // namespace

std::optional<LossPlace> loss_place(const FollowedWay& way) {
  if (!way.last_use || way.last_use->step >= way.steps.size() || way.last_use->variables.empty())
    return std::nullopt;
  return LossStatement(way).find();
}

}  // namespace refhist
