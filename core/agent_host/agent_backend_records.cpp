// The records on their way from the rings to the recorder.
#include <unordered_set>
#include <vector>

#include "agent_host/agent_backend.h"
#include "port/process_memory.h"

namespace refhist {

void AgentBackend::name_threads(std::vector<RecordBatch>& batches) {
  for (RecordBatch& batch : batches) batch.thread = context_.recorder.thread(batch.tid, batch.thread_name);
}

// Before the records are handed on that came after the loss. Looks for damage now, so that two answers about
// a program that stands still tell the same of it.
void AgentBackend::note_lost() {
  agent_->drain->put_right();
  (void)agent_->rules->undecided();
  (void)agent_->rules->unwatched();
  const Damage& damage = agent_->loaded.area->damage();
  const std::uint64_t lost = agent_->drain->lost() + damage.records() + damage.words();
  if (lost != known_lost_) context_.recorder.note_lost();
  known_lost_ = lost;
}

void AgentBackend::work_off(std::vector<RecordBatch> batches) {
  note_lost();
  name_threads(batches);
  std::unordered_set<long> ended = agent_->drain->take_ended();
  const auto apply = [&](const RecordBatch& batch, const agent::Record& record) {
    const std::vector<Recorded>& recorded = agent_->replay->apply(batch, record);
    if ((record.flags & agent::kCandidate) == 0) return;
    const Address return_pc = original(record.return_pc);
    on_candidate_(Candidate{batch.tid, SiteId(record.site), record.sp,
                            record.kind == agent::RecordKind::returned, (record.flags & agent::kLastPut) != 0,
                            return_pc != 0 ? return_pc : record.return_pc, recorded});
  };
  RecordOrder(batches).for_each(apply, [&](long tid) {
    if (ended.erase(tid) != 0) context_.recorder.forget_thread(tid);
  });
  for (const long tid : ended) context_.recorder.forget_thread(tid);  // worked off before
  agent_->drain->give_back(std::move(batches));
  publish_sizes();
}

void AgentBackend::replay() {
  forking_ = false;
  if (agent_) work_off(agent_->drain->take(context_.recorder.next_event()));
}

void AgentBackend::replay_interrupting(long tid) {
  if (agent_) work_off(agent_->drain->take_interrupting(tid));
}

std::vector<AgentBackend::Fault> AgentBackend::replay_faults(bool ended) {
  std::vector<Fault> faults;
  if (!agent_) return faults;
  const auto unreadable = [&](const agent::Record& record) {
    if (!agent_->replay->expects(SiteId(record.site))) return false;
    const Site& site = context_.sites.get(SiteId(record.site));
    const auto& counter = context_.families[site.family.index()].counter;
    if (!counter) return false;
    const Fault fault{SiteId(record.site), record.object + static_cast<Address>(site.object.adjust)};
    std::uint8_t byte = 0;
    if (!ended && read_process(agent_->pid, fault.object + counter->offset, &byte, sizeof byte)) return false;
    faults.push_back(fault);
    return true;
  };
  std::vector<RecordBatch> calls = agent_->drain->take_unread(unreadable);
  std::erase_if(calls, [&](const RecordBatch& batch) {
    return context_.sites.get(SiteId(batch.record(0).site)).counter.has_value();
  });
  work_off(std::move(calls));
  return faults;
}

bool AgentBackend::replay_settled() {
  if (!agent_ || forking_) return false;
  std::vector<RecordBatch> batches = agent_->drain->take_settled();
  if (batches.empty()) return false;
  work_off(std::move(batches));
  return true;
}

void AgentBackend::replay_until(std::uint64_t stamp) {
  std::vector<RecordBatch> batches = agent_->drain->take(context_.recorder.next_event());
  note_lost();
  name_threads(batches);
  const auto apply = [&](const RecordBatch& batch, const agent::Record& record) {
    if (stamp == 0 || record.time < stamp) agent_->replay->apply(batch, record);
  };
  RecordOrder(batches).for_each(apply);
}

}  // namespace refhist
