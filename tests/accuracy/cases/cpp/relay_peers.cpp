/* summary: the lookup of a stand-by peer adopts the pointer that the table owns instead of taking a reference
 * kind: missing-get
 * counts: deficit
 * objects: 1
 * track: own
 * build: clang++ -O2 -g
 */

// A message relay: clients open channels to named peers, a peer that is down is replaced by the stand-by of its group, and
// channels keep their peer for as long as they are open.

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace relay {

template <class T> class RefCounted {
public:
    RefCounted(const RefCounted &) = delete;
    RefCounted &operator=(const RefCounted &) = delete;

    void Ref() const { refs_.fetch_add(1, std::memory_order_relaxed); }

    void Unref() const {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1)
            delete static_cast<const T *>(this);
    }

protected:
    RefCounted() : refs_(1) {}
    ~RefCounted() = default;

private:
    mutable std::atomic<int> refs_;
};

enum AdoptTag { kAdopt };

template <class T> class RefPtr {
public:
    RefPtr() = default;
    RefPtr(T *p, AdoptTag) : p_(p) {}
    explicit RefPtr(T *p) : p_(p) {
        if (p_)
            p_->Ref();
    }
    RefPtr(const RefPtr &o) : RefPtr(o.p_) {}
    RefPtr(RefPtr &&o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
    ~RefPtr() {
        if (p_)
            p_->Unref();
    }
    RefPtr &operator=(RefPtr o) noexcept {
        std::swap(p_, o.p_);
        return *this;
    }

    T *get() const { return p_; }
    T *operator->() const { return p_; }
    T &operator*() const { return *p_; }
    explicit operator bool() const { return p_ != nullptr; }

private:
    T *p_ = nullptr;
};

template <class T, class... Args> RefPtr<T> MakeRef(Args &&...args) {
    return RefPtr<T>(new T(std::forward<Args>(args)...), kAdopt);
}

class Peer : public RefCounted<Peer> {
public:
    Peer(int id, int group, bool standby) : id_(id), group_(group), standby_(standby) {}

    int id() const { return id_; }
    int group() const { return group_; }
    bool standby() const { return standby_; }
    bool up() const { return up_; }
    void set_up(bool up) { up_ = up; }

    void deliver(std::size_t bytes) {
        ++messages_;
        bytes_ += bytes;
        window_[messages_ % 12] = bytes;
    }

    unsigned messages() const { return messages_; }
    std::uint64_t bytes() const { return bytes_; }

    std::uint64_t recent() const {
        std::uint64_t sum = 0;
        for (std::uint64_t n : window_)
            sum += n;
        return sum;
    }

private:
    int id_;
    int group_;
    bool standby_;
    bool up_ = true;
    unsigned messages_ = 0;
    std::uint64_t bytes_ = 0;
    std::uint64_t window_[12] = {};
};

class PeerTable {
public:
    void add(int id, int group, bool standby) { peers_.emplace(id, MakeRef<Peer>(id, group, standby)); }

    void set_up(int id, bool up) {
        auto found = peers_.find(id);
        if (found != peers_.end())
            found->second->set_up(up);
    }

    RefPtr<Peer> find(int id) const {
        auto found = peers_.find(id);
        return found == peers_.end() ? RefPtr<Peer>() : found->second;
    }

    RefPtr<Peer> find_standby(int group) const {
        for (const auto &entry : peers_) {
            Peer *peer = entry.second.get();
            if (peer->group() == group && peer->standby() && peer->up())
#ifdef BUG
                return RefPtr<Peer>(peer, kAdopt);                                              // GUILTY
#else
                return RefPtr<Peer>(peer);
#endif
        }
        return RefPtr<Peer>();
    }

    void report() const {
        for (const auto &entry : peers_)
            std::printf("peer %d: %u messages, %llu bytes, %llu of late\n", entry.first, entry.second->messages(),
                        static_cast<unsigned long long>(entry.second->bytes()),
                        static_cast<unsigned long long>(entry.second->recent()));
    }

    std::size_t size() const { return peers_.size(); }

private:
    std::map<int, RefPtr<Peer>> peers_;
};

class Channel {
public:
    Channel(std::uint32_t number, RefPtr<Peer> peer) : number_(number), peer_(std::move(peer)) {}

    std::uint32_t number() const { return number_; }
    const Peer &peer() const { return *peer_; }

    void queue(std::size_t bytes) { backlog_.push_back(bytes); }

    void flush() {
        while (!backlog_.empty() && peer_->up()) {
            peer_->deliver(backlog_.front());
            backlog_.pop_front();
        }
    }

private:
    std::uint32_t number_;
    RefPtr<Peer> peer_;
    std::deque<std::size_t> backlog_;
};

class Relay {
public:
    explicit Relay(PeerTable &peers) : peers_(peers) {}

    // Returns the number of the channel, 0 if neither the peer nor a stand-by can take it.
    std::uint32_t open(int peer_id) {
        RefPtr<Peer> peer = peers_.find(peer_id);
        if (!peer) {
            ++refused_;
            return 0;
        }
        if (!peer->up()) {
            peer = peers_.find_standby(peer->group());
            if (!peer) {
                ++refused_;
                return 0;
            }
            ++redirected_;
        }
        std::uint32_t number = next_number_++;
        channels_.emplace(number, std::make_unique<Channel>(number, std::move(peer)));
        return number;
    }

    bool send(std::uint32_t number, std::size_t bytes) {
        auto found = channels_.find(number);
        if (found == channels_.end())
            return false;
        found->second->queue(bytes);
        return true;
    }

    void poll() {
        for (auto &entry : channels_)
            entry.second->flush();
    }

    bool close(std::uint32_t number) { return channels_.erase(number) == 1; }

    std::vector<std::uint32_t> channels_of(int peer_id) const {
        std::vector<std::uint32_t> numbers;
        for (const auto &entry : channels_)
            if (entry.second->peer().id() == peer_id)
                numbers.push_back(entry.first);
        return numbers;
    }

    int redirected() const { return redirected_; }
    int refused() const { return refused_; }
    std::size_t open_channels() const { return channels_.size(); }

private:
    PeerTable &peers_;
    std::map<std::uint32_t, std::unique_ptr<Channel>> channels_;
    std::uint32_t next_number_ = 1;
    int redirected_ = 0;
    int refused_ = 0;
};

} // namespace relay

int main() {
    relay::PeerTable peers;
    peers.add(10, 1, false);
    peers.add(11, 1, false);
    peers.add(19, 1, true);
    peers.add(20, 2, false);
    peers.add(29, 2, true);
    peers.add(30, 3, false);

    relay::Relay hub(peers);
    std::uint32_t mail = hub.open(10);
    std::uint32_t chat = hub.open(20);
    std::uint32_t feed = hub.open(30);
    for (int i = 0; i < 8; i++) {
        hub.send(mail, 100 + i);
        hub.send(chat, 40);
        hub.send(feed, 1000);
        hub.poll();
    }

    peers.set_up(11, false);
    std::uint32_t logs = hub.open(11);
    for (int i = 0; i < 5; i++)
        hub.send(logs, 64);
    hub.poll();
    std::printf("%zu channels at the stand-by, %zu open\n", hub.channels_of(19).size(), hub.open_channels());

    peers.set_up(30, false);
    hub.open(30);
    hub.open(77);
    hub.close(mail);
    hub.close(logs);
    peers.set_up(11, true);
    logs = hub.open(11);
    hub.send(logs, 64);
    hub.poll();

    peers.report();
    std::printf("%d redirected, %d refused, %zu peers\n", hub.redirected(), hub.refused(), peers.size());
    return hub.send(feed, 1) && hub.close(feed) && hub.close(chat) && hub.close(logs) ? 0 : 1;
}
