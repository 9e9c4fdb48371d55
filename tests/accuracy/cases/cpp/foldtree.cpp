/* summary: folding `cond ? a : b` with a constant condition returns early without releasing the folded condition
 * kind: missing-put
 * counts: surplus
 * objects: 30
 * track: own
 * build: g++ -O2 -g -pthread
 * exit: 0
 */
//
// exprfold - front end of an expression compiler: a recursive descent parser
// that builds a tree, constant folding that makes a new tree, code output.
// Functions returning Node* hand a reference to the caller; constructors take
// over the references they are given.
//
#include <cassert>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

class Object {
public:
    Object() : m_refs(1) { ++s_made; }
    virtual ~Object() {}
    [[gnu::noinline]] void addRef();
    [[gnu::noinline]] void release();
    static int s_made;

private:
    int m_refs;
};

int Object::s_made;

void Object::addRef()
{
    assert(m_refs > 0);
    ++m_refs;
}

void Object::release()
{
    assert(m_refs > 0);
    if (--m_refs == 0)
        delete this;
}

struct Symbol : Object {
    explicit Symbol(const std::string &n) : name(n) {}
    std::string name;
    bool isConst = false;
    long value = 0;
};

struct Node : Object {};

struct Num : Node {
    explicit Num(long v) : value(v) {}
    const long value;
};

struct Var : Node {
    explicit Var(Symbol *s) : sym(s) {}
    ~Var() override { sym->release(); }
    Symbol *const sym;
};

struct Binary : Node {
    Binary(char o, Node *l, Node *r) : op(o), lhs(l), rhs(r) {}
    ~Binary() override { lhs->release(), rhs->release(); }
    const char op;
    Node *const lhs, *const rhs;
};

struct Cond : Node {
    Cond(Node *c, Node *a, Node *b) : test(c), yes(a), no(b) {}
    ~Cond() override { test->release(), yes->release(), no->release(); }
    Node *const test, *const yes, *const no;
};

static const Num *asNum(const Node *n) { return dynamic_cast<const Num *>(n); }

class Scope {
public:
    ~Scope()
    {
        for (auto &s : m_syms)
            s.second->release();
    }

    Symbol *lookup(const std::string &name)     // a reference for the caller
    {
        Symbol *&s = m_syms[name];
        if (!s)
            s = new Symbol(name);
        s->addRef();
        return s;
    }

    void define(const std::string &name, long v)
    {
        Symbol *s = lookup(name);
        s->isConst = true;
        s->value = v;
        s->release();
    }

private:
    std::map<std::string, Symbol *> m_syms;
};

class Parser {
public:
    Parser(Scope &sc, const std::string &text) : m_scope(sc), m_p(text.c_str()) {}

    Node *parse()               // cond := sum [ '?' cond ':' cond ]
    {
        Node *c = binary(0);
        if (!accept('?'))
            return c;
        Node *a = parse();
        accept(':');
        return new Cond(c, a, parse());
    }

private:
    Node *binary(int level)
    {
        static const char *const ops[] = {"<>", "+-", "*/"};
        if (level == 3)
            return primary();
        Node *l = binary(level + 1);
        for (;;) {
            const char *o = ops[level];
            char op = accept(o[0]) ? o[0] : accept(o[1]) ? o[1] : 0;
            if (!op)
                return l;
            l = new Binary(op, l, binary(level + 1));
        }
    }

    Node *primary()
    {
        if (accept('(')) {
            Node *n = parse();
            accept(')');
            return n;
        }
        if (std::isdigit(static_cast<unsigned char>(*m_p))) {
            char *end;
            long v = std::strtol(m_p, &end, 10);
            m_p = end;
            return new Num(v);
        }
        std::string name;
        while (std::isalnum(static_cast<unsigned char>(*m_p)))
            name += *m_p++;
        return new Var(m_scope.lookup(name));
    }

    bool accept(char c)
    {
        while (*m_p == ' ')
            ++m_p;
        if (*m_p != c)
            return false;
        for (++m_p; *m_p == ' '; ++m_p) {}
        return true;
    }

    Scope &m_scope;
    const char *m_p;
};

class Folder {
public:
    int folded = 0, branches = 0;

    Node *fold(Node *n)
    {
        if (auto *b = dynamic_cast<Binary *>(n))
            return foldBinary(b);
        if (auto *c = dynamic_cast<Cond *>(n))
            return foldCond(c);
        auto *v = dynamic_cast<Var *>(n);
        if (v && v->sym->isConst)
            return new Num(v->sym->value);
        n->addRef();
        return n;
    }

private:
    Node *foldBinary(Binary *b)
    {
        Node *l = fold(b->lhs), *r = fold(b->rhs);
        const Num *x = asNum(l), *y = asNum(r);
        if (!x || !y || (b->op == '/' && y->value == 0))
            return new Binary(b->op, l, r);
        Node *res = new Num(compute(b->op, x->value, y->value));
        l->release();
        r->release();
        ++folded;
        return res;
    }

    Node *foldCond(Cond *c)
    {
        Node *test = fold(c->test);                     // ACCEPTED
        if (const Num *k = asNum(test)) {
            ++branches;
            Node *taken = k->value ? c->yes : c->no;
#ifdef BUG
            return fold(taken);                         // GUILTY
#else
            test->release();
            return fold(taken);
#endif
        }
        return new Cond(test, fold(c->yes), fold(c->no));
    }

    static long compute(char op, long a, long b)
    {
        switch (op) {
        case '+': return a + b;
        case '-': return a - b;
        case '*': return a * b;
        case '/': return a / b;
        case '<': return a < b;
        default:  return a > b;
        }
    }
};

static std::string emit(const Node *n)
{
    if (const Num *k = asNum(n))
        return " push " + std::to_string(k->value);
    if (auto *v = dynamic_cast<const Var *>(n))
        return " load " + v->sym->name;
    if (auto *b = dynamic_cast<const Binary *>(n))
        return emit(b->lhs) + emit(b->rhs) + " op" + b->op;
    auto *c = static_cast<const Cond *>(n);
    return emit(c->test) + " jz" + emit(c->yes) + " else" + emit(c->no);
}

int main()
{
    static const char *const source[] = {
        "a + 2 * 3 - b", "(a + 1) * (width - 4 * 8)", "debug ? a * 100 : a",
        "a < b ? a : b", "width > 64 ? width / 2 : width * 2 + a", "10 / (5 - 5)",
        "a > 3 ? (debug ? 1 : b + 2 * width) : 7 - 2", "b * (2 + 3) / (1 + c)",
        "1 ? x : y", "c < width ? c + 1 : (width < 10 ? 0 : d)", "a * b + c * d - 3 * 4",
    };
    Scope scope;
    Folder folder;
    std::string last;
    std::size_t code = 0;

    scope.define("width", 80);
    scope.define("debug", 0);
    for (int unit = 0; unit < 6; ++unit)
        for (const char *text : source) {
            Node *tree = Parser(scope, text).parse();
            Node *out = folder.fold(tree);
            tree->release();
            last = emit(out);
            code += last.size();
            out->release();
        }
    std::printf("%d folded, %d branches decided, %zu bytes of code\n",
                folder.folded, folder.branches, code);
    std::printf("%d objects; last:%s\n", Object::s_made, last.c_str());
    return 0;
}
