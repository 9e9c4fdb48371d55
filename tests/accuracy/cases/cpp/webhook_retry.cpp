/* summary: a delivery's own completion callback holds the delivery, and those that are withdrawn never run it
 * kind: cycle
 * counts: surplus
 * objects: 2
 * track: shared_ptr
 * build: g++ -O2 -g
 */

// Delivers events to webhooks: every event goes to each subscribed endpoint, failed attempts are repeated with growing
// pauses, and an endpoint that is removed takes its deliveries with it.

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace {

class TimerQueue {
public:
    long now() const { return now_; }

    void after(long ms, std::function<void()> fire) { timers_.emplace(now_ + ms, std::move(fire)); }

    bool step() {
        if (timers_.empty())
            return false;
        auto first = timers_.begin();
        auto fire = std::move(first->second);
        now_ = first->first;
        timers_.erase(first);
        fire();
        return true;
    }

private:
    long now_ = 0;
    std::multimap<long, std::function<void()>> timers_;
};

struct Endpoint {
    std::string url;
    std::vector<std::string> topics;
    int failures_left;
    int delivered = 0;
    int given_up = 0;

    bool wants(const std::string &topic) const {
        return std::find(topics.begin(), topics.end(), topic) != topics.end();
    }

    // Stands for the HTTP request.
    bool post(const std::string &) {
        if (failures_left > 0) {
            --failures_left;
            return false;
        }
        return true;
    }
};

enum class State { waiting, delivered, failed, withdrawn };

class Delivery : public std::enable_shared_from_this<Delivery> {
public:
    using Settled = std::function<void(State)>;

    Delivery(int id, Endpoint &to, std::string body) : id_(id), to_(to), body_(std::move(body)) {}

    int id() const { return id_; }
    int attempts() const { return attempts_; }
    Endpoint &to() const { return to_; }
    State state() const { return state_; }

    void on_settled(Settled settled) { settled_ = std::move(settled); }

    void start(TimerQueue &timers) {
        std::weak_ptr<Delivery> weak = weak_from_this();
        timers.after(5, [weak, &timers] {
            if (auto self = weak.lock())
                self->attempt(timers);
        });
    }

    void withdraw() {
        if (state_ == State::waiting)
            state_ = State::withdrawn;                                                          // ACCEPTED
    }

private:
    void attempt(TimerQueue &timers) {
        if (state_ != State::waiting)
            return;
        ++attempts_;
        if (to_.post(body_)) {
            settle(State::delivered);
        } else if (attempts_ == max_attempts) {
            settle(State::failed);
        } else {
            std::weak_ptr<Delivery> weak = weak_from_this();
            timers.after(50L << attempts_, [weak, &timers] {
                if (auto self = weak.lock())
                    self->attempt(timers);
            });
        }
    }

    void settle(State how) {
        state_ = how;
        Settled settled = std::move(settled_);
        settled_ = nullptr;
        if (settled)
            settled(how);
    }

    static constexpr int max_attempts = 4;

    int id_;
    int attempts_ = 0;
    State state_ = State::waiting;
    Endpoint &to_;
    std::string body_;
    Settled settled_;
};

using DeliveryPtr = std::shared_ptr<Delivery>;

class Dispatcher {
public:
    explicit Dispatcher(TimerQueue &timers) : timers_(timers) {}

    Endpoint &add_endpoint(const std::string &url, std::vector<std::string> topics, int failures) {
        endpoints_.push_back(std::make_unique<Endpoint>(Endpoint{url, std::move(topics), failures}));
        return *endpoints_.back();
    }

    int publish(const std::string &topic, const std::string &body) {
        int sent = 0;
        for (auto &endpoint : endpoints_) {
            if (!endpoint->wants(topic))
                continue;
            enqueue(*endpoint, "{\"topic\":\"" + topic + "\",\"body\":\"" + body + "\"}");
            ++sent;
        }
        return sent;
    }

    void remove_endpoint(const std::string &url) {
        for (auto it = pending_.begin(); it != pending_.end();) {
            DeliveryPtr delivery = it->second;
            if (delivery->to().url != url) {
                ++it;
                continue;
            }
            delivery->withdraw();
            it = pending_.erase(it);
            ++withdrawn_;
        }
        auto gone = std::find_if(endpoints_.begin(), endpoints_.end(),
                                 [&url](const std::unique_ptr<Endpoint> &e) { return e->url == url; });
        if (gone != endpoints_.end())
            endpoints_.erase(gone);
    }

    // The deliveries that have been tried most often, for the status page.
    std::vector<DeliveryPtr> slowest(std::size_t most) const {
        std::vector<DeliveryPtr> all;
        for (auto &entry : pending_)
            all.push_back(entry.second);
        std::stable_sort(all.begin(), all.end(),
                         [](const DeliveryPtr &a, const DeliveryPtr &b) { return a->attempts() > b->attempts(); });
        if (all.size() > most)
            all.resize(most);
        return all;
    }

    std::size_t pending() const { return pending_.size(); }

    void report() const {
        for (auto &endpoint : endpoints_)
            std::printf("%-28s %d delivered, %d given up\n", endpoint->url.c_str(), endpoint->delivered,
                        endpoint->given_up);
        std::printf("%d withdrawn, %zu pending, %d attempts in all\n", withdrawn_, pending_.size(), attempts_);
    }

private:
    void enqueue(Endpoint &endpoint, std::string body) {
        auto delivery = std::make_shared<Delivery>(next_id_++, endpoint, std::move(body));
#ifdef BUG
        delivery->on_settled([this, delivery](State how) { settled(*delivery, how); });             // GUILTY
#else
        delivery->on_settled([this, d = delivery.get()](State how) { settled(*d, how); });
#endif
        pending_.emplace(delivery->id(), delivery);
        delivery->start(timers_);
    }

    void settled(Delivery &delivery, State how) {
        if (how == State::delivered)
            ++delivery.to().delivered;
        else
            ++delivery.to().given_up;
        attempts_ += delivery.attempts();
        pending_.erase(delivery.id());
    }

    TimerQueue &timers_;
    std::vector<std::unique_ptr<Endpoint>> endpoints_;
    std::map<int, DeliveryPtr> pending_;
    int next_id_ = 1;
    int withdrawn_ = 0;
    int attempts_ = 0;
};

void show_slowest(const Dispatcher &dispatcher, long now) {
    for (const DeliveryPtr &delivery : dispatcher.slowest(3))
        std::printf("%5ld ms: delivery %d to %s has %d attempts\n", now, delivery->id(), delivery->to().url.c_str(),
                    delivery->attempts());
}

} // namespace

int main() {
    TimerQueue timers;
    Dispatcher dispatcher(timers);

    dispatcher.add_endpoint("https://billing.example/in", {"order.paid", "order.void"}, 0);
    dispatcher.add_endpoint("https://stock.example/hook", {"order.paid", "stock.low"}, 2);
    dispatcher.add_endpoint("https://old-crm.example/cb", {"order.paid", "user.new"}, 1000);
    dispatcher.add_endpoint("https://mail.example/events", {"user.new"}, 5);

    int sent = dispatcher.publish("order.paid", "no 1881");
    sent += dispatcher.publish("user.new", "jo");
    sent += dispatcher.publish("stock.low", "bolts M8");
    sent += dispatcher.publish("order.void", "no 1880");
    std::printf("%d deliveries\n", sent);

    while (timers.now() < 150 && timers.step()) {
    }
    show_slowest(dispatcher, timers.now());
    dispatcher.remove_endpoint("https://old-crm.example/cb");

    sent = dispatcher.publish("order.paid", "no 1882");
    sent += dispatcher.publish("user.new", "kim");
    std::printf("%d more\n", sent);
    while (timers.step()) {
    }
    dispatcher.report();
    return dispatcher.pending() == 0 ? 0 : 1;
}
