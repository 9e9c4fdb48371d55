/* summary: the search for the first big job leaves its loop in the middle of a batch, and the jobs that Next has handed out behind the hit are not released
 * kind: missing-put
 * counts: surplus
 * objects: 4
 * track: auto
 * build: g++ -std=c++17 -O2 -g
 */
// jobenum - print queues whose jobs are counted components.  An enumerator
// hands out the jobs in batches, each pointer with a reference for the caller.

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

using HRESULT = int;
using ULONG = unsigned int;

enum : HRESULT
{
    S_OK = 0,
    S_FALSE = 1,
    E_NOTFOUND = -2,
};

struct IUnknown
{
    virtual ULONG AddRef() = 0;
    virtual ULONG Release() = 0;

protected:
    ~IUnknown() = default;
};

struct IJob : IUnknown
{
    virtual int Id() const = 0;
    virtual int Pages() const = 0;
};

struct IEnumJobs : IUnknown
{
    virtual HRESULT Next(ULONG wanted, IJob **jobs, ULONG *got) = 0;
};

template <class Derived, class Interface>
class ComObject : public Interface
{
public:
    ULONG AddRef() final { return ++m_refs; }

    ULONG Release() final
    {
        ULONG left = --m_refs;
        if (left == 0)
            delete static_cast<Derived *>(this);
        return left;
    }

private:
    ULONG m_refs = 1;
};

template <class T>
class ComPtr
{
public:
    ComPtr() = default;
    ComPtr(T *p) : m_p(p) { if (m_p) m_p->AddRef(); }
    ComPtr(const ComPtr &o) : ComPtr(o.m_p) {}
    ComPtr(ComPtr &&o) noexcept : m_p(std::exchange(o.m_p, nullptr)) {}
    ~ComPtr() { if (m_p) m_p->Release(); }
    ComPtr &operator=(ComPtr o) noexcept
    {
        std::swap(m_p, o.m_p);
        return *this;
    }

    void Attach(T *p)
    {
        if (m_p)
            m_p->Release();
        m_p = p;
    }
    T **Out()
    {
        Attach(nullptr);
        return &m_p;
    }
    T *Get() const { return m_p; }
    T *operator->() const { return m_p; }

private:
    T *m_p = nullptr;
};

class CJob final : public ComObject<CJob, IJob>
{
public:
    CJob(int id, int pages) : m_id(id), m_pages(pages) {}
    int Id() const override { return m_id; }
    int Pages() const override { return m_pages; }

private:
    int m_id;
    int m_pages;
};

class CEnumJobs final : public ComObject<CEnumJobs, IEnumJobs>
{
public:
    explicit CEnumJobs(std::vector<ComPtr<IJob>> jobs) : m_jobs(std::move(jobs)) {}

    HRESULT Next(ULONG wanted, IJob **jobs, ULONG *got) override
    {
        *got = 0;
        while (*got < wanted && m_at < m_jobs.size())
        {
            jobs[*got] = m_jobs[m_at++].Get();
            jobs[(*got)++]->AddRef();
        }
        return *got == wanted ? S_OK : S_FALSE;
    }

private:
    std::vector<ComPtr<IJob>> m_jobs;
    size_t m_at = 0;
};

class CQueue
{
public:
    CQueue(int first, int jobs)
    {
        for (int i = 0; i < jobs; ++i)
        {
            ComPtr<IJob> job;
            job.Attach(new CJob(first + i, 1 + (first + i * 7) % 40));
            m_jobs.push_back(job);
        }
    }

    void EnumJobs(IEnumJobs **out) const { *out = new CEnumJobs(m_jobs); }

    void DropOlderThan(int id)
    {
        m_jobs.erase(std::remove_if(m_jobs.begin(), m_jobs.end(),
                                    [id](const ComPtr<IJob> &job) { return job->Id() < id; }),
                     m_jobs.end());
    }

private:
    std::vector<ComPtr<IJob>> m_jobs;
};

static int SumPages(const CQueue &queue)
{
    ComPtr<IEnumJobs> jobs;
    IJob *batch[4];
    ULONG got;
    int pages = 0;

    queue.EnumJobs(jobs.Out());
    while (jobs->Next(4, batch, &got) >= 0 && got)
        for (ULONG i = 0; i < got; ++i)
        {
            pages += batch[i]->Pages();
            batch[i]->Release();
        }
    return pages;
}

static HRESULT FirstAbove(const CQueue &queue, int pages, ComPtr<IJob> &hit)
{
    ComPtr<IEnumJobs> jobs;
    IJob *batch[4];
    ULONG got;

    queue.EnumJobs(jobs.Out());
    while (jobs->Next(4, batch, &got) >= 0 && got)  // ACCEPTED
        for (ULONG i = 0; i < got; ++i)
        {
            if (batch[i]->Pages() > pages)
            {
                hit.Attach(batch[i]);  // ACCEPTED
#ifndef BUG
                while (++i < got)
                    batch[i]->Release();
#endif
                return S_OK;  // GUILTY
            }
            batch[i]->Release();
        }
    return E_NOTFOUND;
}

int main()
{
    std::vector<CQueue> queues;
    std::vector<ComPtr<IJob>> big;

    for (int q = 0; q < 6; ++q)
        queues.emplace_back(100 * q, 17 + q);
    for (size_t q = 0; q < queues.size(); ++q)
        std::printf("queue %zu: %d pages\n", q, SumPages(queues[q]));
    for (int q : {0, 1, 3, 5})
    {
        ComPtr<IJob> job;
        if (FirstAbove(queues[q], q == 5 ? 90 : 33, job) == S_OK)
            big.push_back(job);
    }
    std::sort(big.begin(), big.end(), [](const ComPtr<IJob> &a, const ComPtr<IJob> &b) { return a->Pages() > b->Pages(); });
    for (const ComPtr<IJob> &job : big)
        std::printf("big: job %d, %d pages\n", job->Id(), job->Pages());
    for (CQueue &queue : queues)
        queue.DropOlderThan(110);
    std::printf("left: %d pages\n", SumPages(queues[1]));
    return 0;
}
