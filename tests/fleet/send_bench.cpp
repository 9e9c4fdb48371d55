// How long sending takes, from BEGIN to COMMIT, with so many senders at once. Each has a connection of its
// own and sends one run after the other. usage: fleet_send_bench TARGET SENDERS RUNS FINDINGS [PAUSE] PAUSE:
// seconds that a sender waits between two runs, as one whose program runs meanwhile.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "fleet/run_sender.h"

namespace {

using namespace refhist;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Json run_of(int sender, int number, int findings) {
  Json list = Json::array();
  for (int i = 0; i < findings; ++i)
    list.push_back(
        {{"fingerprint", fmt::format("{:016x}", 0x9e3779b97f4a7c15ULL * static_cast<unsigned>(i + 1))},
         {"alike", 1 + i % 7},
         {"detail",
          {{"verdict", "leak"},
           {"family", "conn"},
           {"title", fmt::format("leak {}", i)},
           {"place", "a.c:3"},
           {"lines", Json::array()}}}});
  Json places = Json::array();
  for (int i = 0; i < 50; ++i)
    places.push_back(
        {{"place",
          {{"family", "conn"}, {"by", "conn_new"}, {"function", fmt::format("f{}", i)}, {"file", "a.c"}}},
         {"numbers", {100, 10, 50, 80, 400}}});
  return {{"run",
           {{"protocol", 1},
            {"project", "bench"},
            {"name", fmt::format("suite{}", sender % 8)},
            {"branch", "main"},
            {"commit", fmt::format("c{}", number / 4)},
            {"labels", Json::object()},
            {"host", fmt::format("h{}", sender)},
            {"pid", number},
            {"debugger", "gdb"},
            {"refhist", "0"},
            {"program", "/bin/x"},
            {"arguments", "x"},
            {"started_us", now_us()},
            {"seconds", 1.5},
            {"exit_status", 0},
            {"signal", nullptr},
            {"events", 10},
            {"objects", 3},
            {"live", 1},
            {"lost_events", 0},
            {"complete", true},
            {"failed", ""},
            {"failing", 1}}},
          {"findings", std::move(list)},
          {"places", std::move(places)}};
}

struct Times {
  std::vector<double> send, fold;  // milliseconds
};

void send_all(const std::string& target, int sender, int runs, int findings, double pause, Times& times) {
  FleetDatabase database(target, 60);
  RunSender to(database);
  for (int i = 0; i < runs; ++i) {
    std::this_thread::sleep_for(std::chrono::duration<double>(i == 0 ? pause * sender / 64 : pause));
    const Json run = run_of(sender, i, findings);
    auto start = Clock::now();
    to.send(run, "");
    times.send.push_back(milliseconds_since(start));
    start = Clock::now();
    to.fold();
    times.fold.push_back(milliseconds_since(start));
  }
}

void print(const char* what, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) {
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
  };
  fmt::print("{:<22} median {:8.1f} ms   95% {:8.1f} ms   most {:8.1f} ms\n", what, at(0.5), at(0.95), at(1));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5)
    return fmt::print(stderr, "usage: fleet_send_bench TARGET SENDERS RUNS FINDINGS [PAUSE]\n"), 2;
  const int senders = std::atoi(argv[2]);
  const double pause = argc > 5 ? std::atof(argv[5]) : 0;
  std::vector<Times> times(static_cast<std::size_t>(senders));
  std::vector<std::thread> threads;
  const auto start = Clock::now();
  for (int i = 0; i < senders; ++i)
    threads.emplace_back(send_all, argv[1], i, std::atoi(argv[3]), std::atoi(argv[4]), pause,
                         std::ref(times[static_cast<std::size_t>(i)]));
  for (std::thread& thread : threads) thread.join();
  const double seconds = milliseconds_since(start) / 1000;
  Times all;
  for (const Times& one : times) {
    all.send.insert(all.send.end(), one.send.begin(), one.send.end());
    all.fold.insert(all.fold.end(), one.fold.begin(), one.fold.end());
  }
  fmt::print("{} senders, {} runs of {} findings in {:.1f} s: {:.1f} runs/s\n", senders, all.send.size(),
             argv[4], seconds, static_cast<double>(all.send.size()) / seconds);
  print("BEGIN to COMMIT", all.send);
  print("counting (fold)", all.fold);
}
