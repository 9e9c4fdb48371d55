/* summary: a session that ends by its timeout is not taken out of the hub's list of watchers for its topic, the hub holds it for ever
 * kind: held
 * counts: surplus
 * objects: 4
 * track: auto
 * build: clang++ -std=c++17 -O2 -g
 */
// watchhub - sessions watch topics of a hub which lives as long as the process.

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct Watcher
{
    virtual ~Watcher() = default;
    virtual void changed(const std::string &topic, int value) = 0;
};

class Hub
{
public:
    // Never destroyed: sessions of other threads may outlive main's statics.
    static Hub &instance()
    {
        static Hub *const hub = new Hub;
        return *hub;
    }

    void watch(const std::string &topic, std::shared_ptr<Watcher> watcher)
    {
        m_watchers[topic].push_back(std::move(watcher));
    }

    void unwatch(const std::string &topic, const Watcher *watcher)
    {
        auto found = m_watchers.find(topic);
        if (found == m_watchers.end())
            return;
        auto &list = found->second;
        list.erase(std::remove_if(list.begin(), list.end(),
                                  [watcher](const std::shared_ptr<Watcher> &each) { return each.get() == watcher; }),
                   list.end());
        if (list.empty())
            m_watchers.erase(found);
    }

    void publish(const std::string &topic, int value)
    {
        auto found = m_watchers.find(topic);
        if (found == m_watchers.end())
            return;
        std::vector<std::shared_ptr<Watcher>> now = found->second;
        for (auto &watcher : now)
            watcher->changed(topic, value);
    }

private:
    std::map<std::string, std::vector<std::shared_ptr<Watcher>>> m_watchers;
};

class Session : public Watcher, public std::enable_shared_from_this<Session>
{
public:
    Session(int id, int patience) : m_id(id), m_patience(patience) {}

    void open(std::vector<std::string> topics)
    {
        m_topics = std::move(topics);
        for (const std::string &topic : m_topics)
            Hub::instance().watch(topic, shared_from_this());  // ACCEPTED
    }

    void changed(const std::string &topic, int value) override
    {
        m_seen += value;
        m_idle = 0;
        if (topic.back() == '3')
            m_seen += 1000;
    }

    void close()
    {
        for (const std::string &topic : m_topics)
            Hub::instance().unwatch(topic, this);
        m_topics.clear();
        m_open = false;
    }

    void tick()
    {
        if (++m_idle > m_patience)
            expire();
    }

    bool isOpen() const { return m_open; }
    int id() const { return m_id; }
    long seen() const { return m_seen; }

private:
    void expire()
    {
        m_expired = true;
#ifndef BUG
        close();
#endif
        m_open = false;  // GUILTY
    }

    int m_id;
    int m_patience;
    int m_idle = 0;
    long m_seen = 0;
    bool m_open = true;
    bool m_expired = false;
    std::vector<std::string> m_topics;
};

class Server
{
public:
    std::weak_ptr<Session> accept(int id)
    {
        auto session = std::make_shared<Session>(id, id % 20 == 7 ? 2 : 50);
        std::vector<std::string> topics = {"t" + std::to_string(id % 20)};

        if (id % 20 != 7)
            topics.push_back("all");
        session->open(std::move(topics));
        m_sessions.emplace(id, session);
        return session;
    }

    void tick()
    {
        for (auto it = m_sessions.begin(); it != m_sessions.end();)
        {
            it->second->tick();
            if (it->second->isOpen())
                ++it;
            else
            {
                m_seen += it->second->seen();
                it = m_sessions.erase(it);  // ACCEPTED
            }
        }
    }

    void hangUp(int id)
    {
        auto found = m_sessions.find(id);
        if (found == m_sessions.end())
            return;
        found->second->close();
        m_seen += found->second->seen();
        m_sessions.erase(found);
    }

    void shutDown()
    {
        while (!m_sessions.empty())
            hangUp(m_sessions.begin()->first);
    }

    size_t size() const { return m_sessions.size(); }
    long seen() const { return m_seen; }

private:
    std::map<int, std::shared_ptr<Session>> m_sessions;
    long m_seen = 0;
};

int main()
{
    Server server;
    std::vector<std::weak_ptr<Session>> recent;

    for (int id = 0; id < 80; ++id)
    {
        recent.push_back(server.accept(id));
        Hub::instance().publish("all", id);
        if (id % 10 == 9)
        {
            server.tick();
            server.hangUp(id - 5);
            for (int t = 0; t < 7; ++t)
                Hub::instance().publish("t" + std::to_string(t), t);
            if (auto session = recent[id - 4].lock())
                std::printf("session %d has seen %ld\n", session->id(), session->seen());
        }
    }
    for (int i = 0; i < 5; ++i)
        server.tick();
    std::printf("%zu sessions\n", server.size());
    server.shutDown();
    std::printf("seen %ld in all\n", server.seen());
    return 0;
}
