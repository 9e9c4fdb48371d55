/* summary: Account::Compact adopts what Folder::Parent() returns by dont_AddRef, but Parent() lends the pointer and adds no reference
 * kind: extra-put
 * counts: deficit
 * objects: 1
 * track: own
 * build: g++ -Og -g -std=c++17
 * exit: 0
 */
// mail_folders - the folders of a mail account, the filters that sort mail
// into them, and compaction.

#include <cstddef>
#include <cstdio>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#define DECL_REFCOUNTING(Class)                                                                                        \
public:                                                                                                                \
    void AddRef() { ++mRefCnt; }                                                                                       \
    void Release()                                                                                                     \
    {                                                                                                                  \
        if (--mRefCnt == 0)                                                                                            \
            delete this;                                                                                               \
    }                                                                                                                  \
                                                                                                                       \
private:                                                                                                               \
    size_t mRefCnt = 0;

// A reference on its way: whoever gets it has to keep it in a RefPtr.
template <class T> struct already_AddRefed
{
    explicit already_AddRefed(T *raw) : mRaw(raw) {}
    T *mRaw;
};

template <class T> already_AddRefed<T> dont_AddRef(T *raw) { return already_AddRefed<T>(raw); }

template <class T> class RefPtr
{
public:
    RefPtr() = default;
    RefPtr(T *raw) : mRaw(raw)
    {
        if (mRaw)
            mRaw->AddRef();
    }
    RefPtr(already_AddRefed<T> raw) : mRaw(raw.mRaw) {}
    RefPtr(const RefPtr &other) : RefPtr(other.mRaw) {}
    RefPtr(RefPtr &&other) noexcept : mRaw(other.mRaw) { other.mRaw = nullptr; }
    ~RefPtr()
    {
        if (mRaw)
            mRaw->Release();
    }

    RefPtr &operator=(RefPtr other) noexcept
    {
        std::swap(mRaw, other.mRaw);
        return *this;
    }

    already_AddRefed<T> forget()
    {
        T *raw = mRaw;
        mRaw = nullptr;
        return already_AddRefed<T>(raw);
    }

    T *get() const { return mRaw; }
    operator T *() const & { return mRaw; }
    T *operator->() const { return mRaw; }

private:
    T *mRaw = nullptr;
};

// ---------------------------------------------------------------- folders

class Folder final
{
public:
    static already_AddRefed<Folder> Create(const std::string &name, Folder *parent)
    {
        RefPtr<Folder> folder = new Folder(name, parent);

        if (parent)
            parent->mChildren.push_back(folder);
        return folder.forget();
    }

    // Not counted: parents own their children.
    Folder *Parent() const { return mParent; }
    const std::string &Name() const { return mName; }
    const std::vector<RefPtr<Folder>> &Children() const { return mChildren; }

    // Counted, null if there is none.
    already_AddRefed<Folder> FindChild(const std::string &name) const
    {
        for (const RefPtr<Folder> &child : mChildren)
            if (child->mName == name)
            {
                RefPtr<Folder> found = child;
                return found.forget();
            }
        return already_AddRefed<Folder>(nullptr);
    }

    void Deliver(int size)
    {
        mSizes.push_back(size);
        for (Folder *at = this; at; at = at->mParent)
            at->mTotal += size;
    }

    // Mails are only marked when they are deleted.
    void DeleteOldest()
    {
        if (mDeleted < mSizes.size())
            ++mDeleted;
    }

    bool WantsCompaction() const { return mDeleted >= 6; }

    int DropDeleted()
    {
        int saved = 0;

        for (; mDeleted > 0; --mDeleted)
        {
            saved += mSizes.front();
            mSizes.pop_front();
        }
        return saved;
    }

    void Shrink(int saved) { mTotal -= saved; }
    long Total() const { return mTotal; }

private:
    Folder(const std::string &name, Folder *parent) : mName(name), mParent(parent) {}

    ~Folder()
    {
        for (const RefPtr<Folder> &child : mChildren)
            child->mParent = nullptr;
    }

    std::string mName;
    Folder *mParent;
    std::vector<RefPtr<Folder>> mChildren;
    std::deque<int> mSizes;
    size_t mDeleted = 0;
    long mTotal = 0;

    DECL_REFCOUNTING(Folder)
};

struct Filter
{
    std::string mSender;
    RefPtr<Folder> mTarget;
    int mMatches = 0;
};

// ---------------------------------------------------------------- account

class Account
{
public:
    Account() : mRoot(Folder::Create("root", nullptr)) {}

    // A path as in "lists/kernel"; folders are made where needed.
    already_AddRefed<Folder> Open(const std::string &path)
    {
        RefPtr<Folder> at = mRoot;
        size_t begin = 0;
        while (begin < path.size())
        {
            size_t end = path.find('/', begin);
            if (end == std::string::npos)
                end = path.size();
            std::string name = path.substr(begin, end - begin);
            RefPtr<Folder> next = at->FindChild(name);
            if (!next)
                next = Folder::Create(name, at);
            at = std::move(next);
            begin = end + 1;
        }
        return at.forget();
    }

    void AddFilter(const std::string &sender, const std::string &path)
    {
        mFilters.push_back({sender, Open(path), 0});
    }

    void Receive(const std::string &sender, int size)
    {
        RefPtr<Folder> target;
        for (Filter &filter : mFilters)
            if (sender.find(filter.mSender) != std::string::npos)
            {
                target = filter.mTarget;
                ++filter.mMatches;
                break;
            }
        if (!target)
            target = Open("inbox");
        target->Deliver(size);
        Touch(target);
    }

    // Old mail of the folders that were used last.  Top folders keep theirs.
    void Expire()
    {
        std::vector<RefPtr<Folder>> recent(mRecent.begin(), mRecent.end());

        for (const RefPtr<Folder> &folder : recent)
        {
            if (folder->Parent() == mRoot)
                continue;
            folder->DeleteOldest();
            if (folder->WantsCompaction())
                Compact(folder);
        }
    }

    void Close()
    {
        mRecent.clear();
        mFilters.clear();
        std::printf("%ld bytes, %d saved by %d compactions\n", mRoot->Total(), mSaved, mCompactions);
    }

private:
    void Compact(Folder *folder)
    {
        int saved = folder->DropDeleted();

        folder->Shrink(saved);
        mSaved += saved;
        ++mCompactions;
#ifdef BUG
        RefPtr<Folder> parent = dont_AddRef(folder->Parent()); // GUILTY
#else
        RefPtr<Folder> parent = folder->Parent();
#endif
        while (parent)
        {
            parent->Shrink(saved);
            parent = parent->Parent();
        }
    }

    void Touch(Folder *folder)
    {
        for (size_t i = 0; i < mRecent.size(); ++i)
            if (mRecent[i].get() == folder)
            {
                mRecent.erase(mRecent.begin() + static_cast<std::ptrdiff_t>(i));
                break;
            }
        mRecent.push_front(folder);
        if (mRecent.size() > 4)
            mRecent.pop_back();
    }

    RefPtr<Folder> mRoot;
    std::vector<Filter> mFilters;
    std::deque<RefPtr<Folder>> mRecent;
    int mSaved = 0;
    int mCompactions = 0;
};

int main()
{
    static const char *const senders[] = {"ci@build", "bob@kernel", "shop@mail", "eve@work", "news@paper", "amy@rust"};
    Account account;

    account.AddFilter("@kernel", "lists/kernel");
    account.AddFilter("@rust", "lists/rust");
    account.AddFilter("@lists", "lists");
    account.AddFilter("@announce", "lists");
    account.AddFilter("@build", "work/ci");
    account.AddFilter("@work", "work");
    account.AddFilter("@office", "work");
    account.AddFilter("@payroll", "work");

    for (int n = 0; n < 42; ++n)
    {
        account.Receive(senders[n * 7 % 6 == n % 4 ? 5 : n % 6], 100 + n * 31 % 400);
        if (n % 3 == 2)
            account.Expire();
    }
    account.Close();
    return 0;
}
