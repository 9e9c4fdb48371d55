/* summary: upload drops the queue's reference of a tile that the server turned away, and the loop that took the tile from the queue drops it as well
 * kind: extra-put
 * counts: deficit
 * objects: 3
 * track: auto
 * packages: Qt5Core
 * build: g++ -std=c++17 -O2 -g -fPIC
 * exit: 0
 */
// tilequeue - map tiles with explicitly shared data.  The upload queue is a
// plain C ring of void *, so what is in it has its reference taken by hand.

#include <QExplicitlySharedDataPointer>
#include <QHash>
#include <QSharedData>
#include <QString>
#include <QVector>

#include <cstdio>

struct TileKey
{
    qint64 x, y;
    qint64 zoom;
};

class TileData : public TileKey, public QSharedData
{
public:
    TileData(const TileKey &key, const QByteArray &pixels) : TileKey(key), pixels(pixels) {}

    QByteArray pixels;
    int tries = 0;
};

class Tile
{
public:
    Tile() = default;
    Tile(int x, int y, int zoom)
        : d(new TileData({x, y, zoom}, QByteArray(16 + (x * 5 + y * 3) % 16, char('a' + zoom))))
    {
    }
    explicit Tile(TileData *data) : d(data) {}

    bool isNull() const { return !d; }
    int size() const { return d->pixels.size(); }
    QString name() const { return QString("%1/%2/%3").arg(d->zoom).arg(d->x).arg(d->y); }
    TileData *data() const { return d.data(); }

private:
    QExplicitlySharedDataPointer<TileData> d;
};

extern "C" {

struct ring
{
    void *slot[64];
    unsigned head, tail;
};

static bool ring_push(ring *r, void *p)
{
    if (r->head - r->tail == 64)
        return false;
    r->slot[r->head++ % 64] = p;
    return true;
}

static void *ring_pop(ring *r)
{
    return r->head == r->tail ? nullptr : r->slot[r->tail++ % 64];
}

}

static void dropTile(TileData *data)
{
    if (!data->ref.deref())
        delete data;
}

class Cache
{
public:
    Tile get(int x, int y, int zoom)
    {
        QString key = QString("%1/%2/%3").arg(zoom).arg(x).arg(y);
        auto found = m_tiles.constFind(key);
        if (found != m_tiles.constEnd())
            return *found;
        Tile tile(x, y, zoom);
        m_tiles.insert(key, tile);
        return tile;
    }

    int size() const { return m_tiles.size(); }

private:
    QHash<QString, Tile> m_tiles;
};

class Uploader
{
public:
    ~Uploader()
    {
        while (void *p = ring_pop(&m_ring))
            dropTile(static_cast<TileData *>(p));
    }

    bool enqueue(const Tile &tile)
    {
        tile.data()->ref.ref();
        if (ring_push(&m_ring, tile.data()))
            return true;
        dropTile(tile.data());
        return false;
    }

    void run(int tiles)
    {
        while (tiles-- > 0)
        {
            auto *data = static_cast<TileData *>(ring_pop(&m_ring));
            if (!data)
                return;
            if (upload(data))
                ++m_sent;
            dropTile(data);  // ACCEPTED
        }
    }

    void print() const { std::printf("%d sent, %d bytes, %d turned away, %d left\n", m_sent, m_bytes, m_refused, int(m_ring.head - m_ring.tail)); }

private:
    bool upload(TileData *data)
    {
        Tile again(data);

        ++data->tries;
        if (data->x == 5 && data->y % 2)
        {
            ++m_refused;
            m_lastRefused = again.name();
#ifdef BUG
            dropTile(data);  // GUILTY
#endif
            return false;
        }
        m_bytes += again.size();
        return true;
    }

    ring m_ring = {};
    QString m_lastRefused;
    int m_sent = 0;
    int m_bytes = 0;
    int m_refused = 0;
};

static int render(Cache &cache, Uploader &uploader, QVector<Tile> &view)
{
    int queued = 0;

    for (int y = 0; y < 6; ++y)
        for (int x = 0; x < 10; ++x)
        {
            Tile tile = cache.get(x, y, 3);
            view.append(tile);
            queued += uploader.enqueue(tile);
        }
    return queued;
}

int main()
{
    Cache cache;

    {
        Uploader uploader;
        QVector<Tile> view;
        int bytes = 0;

        int queued = render(cache, uploader, view);
        std::printf("%d tiles queued\n", queued);
        uploader.run(57);
        QVector<Tile> corner = view.mid(20, 15);
        for (const Tile &tile : qAsConst(corner))
            bytes += tile.size();
        std::printf("corner %s: %d bytes\n", qPrintable(corner.first().name()), bytes);
        uploader.print();
    }
    std::printf("%d tiles cached\n", cache.size());
    return 0;
}
