/* summary: a CommentEdit in a document's undo stack holds the document by shared_ptr, while the other edits hold it weakly
 * kind: cycle
 * counts: surplus
 * objects: 3
 * track: shared_ptr
 * build: g++ -std=c++20 -O0 -g
 * exit: 0
 */
// Forms of an insurance company, filled in over several sittings. Every edit can be undone.
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace forms
{
class Document;

class Edit
{
  public:
    virtual ~Edit() = default;
    virtual void Apply() = 0;
    virtual void Revert() = 0;
};

class Document : public std::enable_shared_from_this<Document>
{
  public:
    explicit Document(std::string title) : m_title(std::move(title)) {}

    void SetField(const std::string &name, const std::string &value);
    void Comment(const std::string &text);
    void Sign(const std::string &who);

    bool Undo()
    {
        if (m_done.empty())
            return false;
        m_done.back()->Revert();
        m_undone.push_back(std::move(m_done.back()));
        m_done.pop_back();
        return true;
    }

    bool Redo()
    {
        if (m_undone.empty())
            return false;
        m_undone.back()->Apply();
        m_done.push_back(std::move(m_undone.back()));
        m_undone.pop_back();
        return true;
    }

    std::size_t Size() const { return m_fields.size() + m_comments.size() + m_signatures.size(); }
    const std::string &Title() const { return m_title; }

    std::map<std::string, std::string> m_fields;
    std::vector<std::string> m_comments, m_signatures;

  private:
    void Do(std::unique_ptr<Edit> edit)
    {
        edit->Apply();
        m_undone.clear();
        m_done.push_back(std::move(edit));
    }

    std::string m_title;
    std::vector<std::unique_ptr<Edit>> m_done, m_undone;
};

class FieldEdit : public Edit
{
  public:
    FieldEdit(const std::shared_ptr<Document> &doc, std::string name, std::string value)
        : m_doc(doc), m_name(std::move(name)), m_value(std::move(value))
    {
    }

    void Apply() override { Swap(); }
    void Revert() override { Swap(); }

  private:
    void Swap()
    {
        if (auto doc = m_doc.lock())
            std::swap(doc->m_fields[m_name], m_value);
    }

    std::weak_ptr<Document> m_doc;
    std::string m_name, m_value;
};

class CommentEdit : public Edit
{
  public:
    CommentEdit(std::shared_ptr<Document> doc, std::string text) : m_doc(std::move(doc)), m_text(std::move(text)) {} // GUILTY

    void Apply() override
    {
        if (auto doc = Target())
            doc->m_comments.push_back(m_text);
    }

    void Revert() override
    {
        if (auto doc = Target())
            doc->m_comments.pop_back();
    }

  private:
#ifdef BUG
    std::shared_ptr<Document> Target() const { return m_doc; }

    std::shared_ptr<Document> m_doc; // GUILTY
#else
    std::shared_ptr<Document> Target() const { return m_doc.lock(); }

    std::weak_ptr<Document> m_doc;
#endif
    std::string m_text;
};

class SignatureEdit : public Edit
{
  public:
    SignatureEdit(std::weak_ptr<Document> doc, std::string who) : m_doc(std::move(doc)), m_who(std::move(who)) {}

    void Apply() override
    {
        if (auto doc = m_doc.lock())
            doc->m_signatures.push_back(m_who);
    }

    void Revert() override
    {
        if (auto doc = m_doc.lock())
            doc->m_signatures.pop_back();
    }

  private:
    std::weak_ptr<Document> m_doc;
    std::string m_who;
};

void Document::SetField(const std::string &name, const std::string &value)
{
    Do(std::make_unique<FieldEdit>(shared_from_this(), name, value));
}

void Document::Comment(const std::string &text)
{
    Do(std::make_unique<CommentEdit>(shared_from_this(), text)); // ACCEPTED
}

void Document::Sign(const std::string &who)
{
    Do(std::make_unique<SignatureEdit>(weak_from_this(), who));
}

// The documents that are open on a desk.
class Desk
{
  public:
    std::shared_ptr<Document> Open(const std::string &title)
    {
        auto doc = std::make_shared<Document>(title);
        m_open[title] = doc;
        return doc;
    }

    bool Close(const std::string &title) { return m_open.erase(title) != 0; }

    std::size_t Fields() const
    {
        std::size_t n = 0;
        for (const auto &[title, doc] : m_open)
            n += doc->Size();
        return n;
    }

  private:
    std::map<std::string, std::shared_ptr<Document>> m_open;
};
} // namespace forms

int main()
{
    using namespace forms;
    static const char *const fields[] = {"name", "street", "town", "damage", "witness"};
    Desk desk;
    std::size_t sum = 0;
    int closed = 0;

    for (int day = 0; day < 12; ++day)
    {
        std::string title = "claim " + std::to_string(day);
        auto doc = desk.Open(title);

        for (int i = 0; i < 6; ++i)
            doc->SetField(fields[(day + i) % 5], std::to_string(day * i));
        if (day % 5 == 1)
            doc->Comment("the witness could not be reached");
        if (day % 2)
            doc->Undo();
        if (day % 4 == 3)
            doc->Redo();
        if (day == 2)
        {
            doc->Comment("wrong file");
            doc->Undo();
            doc->SetField("town", "Linz");
        }
        if (day % 3 == 0)
            doc->Sign("clerk");
        sum = sum * 7 + desk.Fields();
        if (day > 3)
            closed += desk.Close("claim " + std::to_string(day - 4));
    }
    std::printf("%d closed, %zu\n", closed, sum);
    return 0;
}
