/* summary: Session::on_line closes the socket of a client that breaks the protocol and returns without taking the session out of the list of live sessions, which is never destroyed
 * kind: held
 * counts: surplus
 * objects: 5
 * track: libstdcxx
 * build: g++ -O1 -g -std=c++17 -pthread
 * exit: 0
 */
// quote_sessions - a server for stock quotes on Boost.Asio.  Clients send
// lines, two threads run the server's sessions.

#include <boost/asio.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace asio = boost::asio;
using Local = asio::local::stream_protocol;
using boost::system::error_code;

class Session;

// Who is connected, for the console and for broadcasts.  Never destroyed,
// since detached sessions may come here while the process ends.
class SessionList
{
public:
    static SessionList &instance()
    {
        static auto *list = new SessionList;

        return *list;
    }

    void add(std::shared_ptr<Session> session)
    {
        std::lock_guard<std::mutex> lock(mutex_);

        sessions_.insert(std::move(session));
        peak_ = std::max(peak_, sessions_.size());
    }

    void remove(const std::shared_ptr<Session> &session)
    {
        std::lock_guard<std::mutex> lock(mutex_);

        sessions_.erase(session);
    }

    std::vector<std::shared_ptr<Session>> all() const
    {
        std::lock_guard<std::mutex> lock(mutex_);

        return {sessions_.begin(), sessions_.end()};
    }

    size_t peak() const
    {
        std::lock_guard<std::mutex> lock(mutex_);

        return peak_;
    }

private:
    mutable std::mutex mutex_;
    std::set<std::shared_ptr<Session>> sessions_;
    size_t peak_ = 0;
};

class QuoteBook
{
public:
    QuoteBook() { prices_ = {{"ACME", 1200}, {"BOLT", 315}, {"CRUX", 78}, {"DYNE", 4410}}; }

    bool find(const std::string &symbol, int *price) const
    {
        auto at = prices_.find(symbol);

        if (at == prices_.end())
            return false;
        *price = at->second;
        return true;
    }

    std::atomic<int> served{0};
    std::atomic<int> refused{0};

private:
    std::map<std::string, int> prices_;
};

class Session : public std::enable_shared_from_this<Session>
{
public:
    Session(Local::socket socket, QuoteBook &book) : socket_(std::move(socket)), book_(book) {}

    void start()
    {
        SessionList::instance().add(shared_from_this());
        read_line();
    }

    const std::string &user() const { return user_; }

private:
    void read_line()
    {
        auto self = shared_from_this();

        asio::async_read_until(socket_, asio::dynamic_buffer(input_, 256), '\n',
                               [this, self](const error_code &ec, size_t size) { on_line(ec, size); });
    }

    void on_line(const error_code &ec, size_t size)
    {
        if (ec)
        {
            stop();
            return;
        }

        std::istringstream line(input_.substr(0, size));
        std::string verb, argument;

        input_.erase(0, size);
        line >> verb >> argument;
        if (verb == "USER")
        {
            user_ = argument;
            reply("+ hello " + user_);
        }
        else if (verb == "QUOTE" && !user_.empty())
            quote(argument);
        else if (verb == "BYE")
            stop();
        else
        {
            // No excuses: whoever talks nonsense is hung up on.
            ++book_.refused;
#ifdef BUG
            error_code ignored;
            socket_.close(ignored); // GUILTY
#else
            stop();
#endif
        }
    }

    void quote(const std::string &symbol)
    {
        int price;

        if (!book_.find(symbol, &price))
        {
            reply("- unknown " + symbol);
            return;
        }
        ++book_.served;
        reply("+ " + symbol + " " + std::to_string(price));
    }

    void reply(const std::string &text)
    {
        auto self = shared_from_this();

        output_ = text + "\n";
        asio::async_write(socket_, asio::buffer(output_), [this, self](const error_code &ec, size_t) {
            if (ec)
                stop();
            else
                read_line();
        });
    }

    void stop()
    {
        error_code ignored;

        socket_.close(ignored);
        SessionList::instance().remove(shared_from_this());
    }

    Local::socket socket_;
    QuoteBook &book_;
    std::string user_;
    std::string input_;
    std::string output_;
};

// ---------------------------------------------------------------- clients

class Client
{
public:
    explicit Client(asio::io_context &io) : socket_(io) {}

    Local::socket &socket() { return socket_; }

    // One line there, one line back; empty if the server hung up.
    std::string ask(const std::string &line)
    {
        error_code ec;
        std::string answer;

        asio::write(socket_, asio::buffer(line + "\n"), ec);
        if (ec)
            return answer;
        size_t n = asio::read_until(socket_, asio::dynamic_buffer(buffer_), '\n', ec);
        if (ec)
            return answer;
        answer = buffer_.substr(0, n);
        buffer_.erase(0, n);
        return answer;
    }

private:
    Local::socket socket_;
    std::string buffer_;
};

static int visit(asio::io_context &server, asio::io_context &clients, QuoteBook &book, int n)
{
    static const char *const symbols[] = {"ACME", "BOLT", "ZINC", "CRUX", "DYNE"};
    Client client(clients);
    Local::socket theirs(server);
    int good = 0;

    asio::local::connect_pair(client.socket(), theirs);
    std::make_shared<Session>(std::move(theirs), book)->start();

    if (n % 9 != 4)
        client.ask("USER u" + std::to_string(n));
    for (int i = 0; i < 3 + n % 3; ++i)
        if (client.ask(std::string("QUOTE ") + symbols[(n + i) % 5])[0] == '+')
            ++good;
    if (n % 2)
        client.ask("BYE");
    return good;
}

int main()
{
    asio::io_context server(2), clients(1);
    auto work = asio::make_work_guard(server);
    QuoteBook book;
    std::vector<std::thread> threads;
    int good = 0;

    for (int i = 0; i < 2; ++i)
        threads.emplace_back([&server] { server.run(); });
    for (int n = 0; n < 45; ++n)
        good += visit(server, clients, book, n);
    work.reset();
    for (std::thread &thread : threads)
        thread.join();

    std::printf("%d quotes, %d served, %d refused\n", good, book.served.load(), book.refused.load());
    return 0;
}
