/* summary: the idle watch makes a shared_ptr of its own from the raw pointer of a session that the server already shares
 * kind: second-owner
 * counts: deficit
 * objects: 1
 * track: shared_ptr
 * build: g++ -O2 -g
 */

// A line protocol server on socket pairs: HELLO, PING, WATCH, QUIT. Sessions that ask to be watched are asked for a sign of
// life when they have been silent for some rounds, and are told goodbye when none comes.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

class Session;

// Ends a session together with its socket.
struct SessionCloser {
    void operator()(Session *s) const;
};

class Session : public std::enable_shared_from_this<Session> {
public:
    Session(int id, int fd) : fd_(fd), id_(id) {}

    int id() const { return id_; }
    int silent() const { return silent_; }
    bool watched() const { return watched_; }
    bool open() const { return fd_.load() >= 0 && !closing_; }

    void set_watched() { watched_ = true; }
    void hang_up() { closing_ = true; }
    void tick() { ++silent_; }

    void say(const char *line) {
        int fd = fd_.load();
        if (fd >= 0 && write(fd, line, std::strlen(line)) > 0)
            ++lines_out_;
    }

    // The next complete line that has come in.
    bool next_line(char *line, std::size_t size) {
        ssize_t n = read(fd_.load(), in_ + used_, sizeof in_ - used_);
        if (n > 0)
            used_ += static_cast<std::size_t>(n);
        char *end = static_cast<char *>(std::memchr(in_, '\n', used_));
        if (!end)
            return false;
        std::size_t length = static_cast<std::size_t>(end - in_);
        std::snprintf(line, size, "%.*s", static_cast<int>(length), in_);
        used_ -= length + 1;
        std::memmove(in_, end + 1, used_);
        silent_ = 0;
        ++lines_in_;
        return true;
    }

private:
    friend struct SessionCloser;

    std::atomic<int> fd_;
    int id_;
    int silent_ = 0;
    int lines_in_ = 0;
    int lines_out_ = 0;
    bool watched_ = false;
    bool closing_ = false;
    std::size_t used_ = 0;
    char in_[160];
};

void SessionCloser::operator()(Session *s) const {
    int fd = s->fd_.exchange(-1);
    if (fd < 0)
        return;
    close(fd);
    delete s;
}

using SessionPtr = std::shared_ptr<Session>;

class IdleWatch {
public:
    explicit IdleWatch(int patience) : patience_(patience) {}

    void add(Session &session) {
        session.set_watched();
#ifdef BUG
        watched_.emplace_back(&session, SessionCloser());                                       // GUILTY
#else
        watched_.push_back(session.shared_from_this());
#endif
    }

    void round() {
        for (SessionPtr &session : watched_) {
            session->tick();
            if (session->silent() == patience_)
                session->say("ALIVE?\n");
            else if (session->silent() > 2 * patience_) {
                session->say("BYE idle\n");
                session->hang_up();
            }
        }
        watched_.erase(std::remove_if(watched_.begin(), watched_.end(), [](const SessionPtr &s) { return !s->open(); }),
                       watched_.end());
    }

    std::size_t size() const { return watched_.size(); }

private:
    int patience_;
    std::vector<SessionPtr> watched_;
};

class Server {
public:
    Server() : idle_(3) {}

    // Takes the socket over.
    SessionPtr accept(int fd) {
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
        SessionPtr session(new Session(next_id_++, fd), SessionCloser());
        sessions_.emplace(session->id(), session);
        return session;
    }

    void round() {
        char line[80];
        for (auto &entry : sessions_)
            while (entry.second->open() && entry.second->next_line(line, sizeof line))
                command(*entry.second, line);
        idle_.round();
        for (auto it = sessions_.begin(); it != sessions_.end();) {
            if (it->second->open()) {
                ++it;
            } else {
                it = sessions_.erase(it);
                ++ended_;
            }
        }
    }

    // Sessions for the administrator's list, which may be shown for longer than they last.
    std::vector<SessionPtr> snapshot(bool watched_only) const {
        std::vector<SessionPtr> list;
        for (const auto &entry : sessions_)
            if (!watched_only || entry.second->watched())
                list.push_back(entry.second);
        return list;
    }

    std::size_t sessions() const { return sessions_.size(); }
    std::size_t watched() const { return idle_.size(); }
    int ended() const { return ended_; }

private:
    void command(Session &session, const char *line) {
        if (!std::strncmp(line, "HELLO ", 6)) {
            session.say("WELCOME\n");
        } else if (!std::strcmp(line, "PING")) {
            session.say("PONG\n");
        } else if (!std::strcmp(line, "WATCH")) {
            if (!session.watched())
                idle_.add(session);
            session.say("OK\n");
        } else if (!std::strcmp(line, "QUIT")) {
            session.say("BYE\n");
            session.hang_up();
        } else {
            session.say("WHAT?\n");
        }
    }

    std::map<int, SessionPtr> sessions_;
    IdleWatch idle_;
    int next_id_ = 1;
    int ended_ = 0;
};

class Client {
public:
    explicit Client(Server &server) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
            throw 1;
        fd_ = ends[0];
        fcntl(fd_, F_SETFL, O_NONBLOCK);
        server.accept(ends[1]);
    }
    Client(Client &&o) noexcept : fd_(std::exchange(o.fd_, -1)), got_(o.got_) {}
    ~Client() {
        if (fd_ >= 0)
            close(fd_);
    }

    void send(const char *lines) {
        if (write(fd_, lines, std::strlen(lines)) < 0)
            std::perror("send");
    }

    int receive() {
        char text[256];
        ssize_t n = read(fd_, text, sizeof text);
        for (ssize_t i = 0; i < n; i++)
            got_ += text[i] == '\n';
        return got_;
    }

private:
    int fd_ = -1;
    int got_ = 0;
};

} // namespace

int main() {
    Server server;
    std::vector<Client> clients;
    clients.reserve(6);
    for (int i = 0; i < 6; i++)
        clients.emplace_back(server);

    for (Client &client : clients)
        client.send("HELLO there\n");
    server.round();
    clients[0].send("PING\nPING\n");
    clients[2].send("WATCH\nPING\n");
    clients[4].send("LIST\n");
    server.round();
    std::printf("%zu sessions, %zu watched, %zu on the list\n", server.sessions(), server.watched(),
                server.snapshot(true).size());

    clients[5].send("PING\nQUIT\n");
    for (int i = 0; i < 8; i++) {
        clients[0].send("PING\n");
        server.round();
    }
    for (std::size_t i = 0; i < clients.size(); i++)
        std::printf("client %zu got %d lines\n", i, clients[i].receive());
    std::printf("%zu sessions, %zu watched, %d ended\n", server.sessions(), server.watched(), server.ended());

    clients[1].send("QUIT\n");
    server.round();
    return server.sessions() == 3 && server.ended() == 3 ? 0 : 1;
}
